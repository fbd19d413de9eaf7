//! What the stand-in for a model server answers: chats of " tok0 tok1 …", whole or streamed, and embeddings.

use std::thread::sleep;
use std::time::{Duration, Instant};

/// What every chat is said to have been asked with, and every text of an embedding request to be long.
pub const PROMPT_TOKENS: usize = 20;
pub const TEXT_TOKENS: usize = 8;
const UNCAPPED_TOKENS: usize = 200;
const DIMENSIONS: usize = 256;
/// Of a model with "narrow" in its name: ten million of them fit on a disk.
const NARROW_DIMENSIONS: usize = 32;
/// Between two tokens of a model with "paced" in its name: 50 tokens/s, as a busy server gives them.
const PACE: Duration = Duration::from_millis(20);
const STREAM_HEAD: &[u8] =
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\ntransfer-encoding: chunked\r\n\r\n";

/// What a request asks for, as far as the answer depends on it.
pub struct Asked {
    pub tokens: usize,
    pub streams: bool,
    with_usage: bool,
    usage_in_every_chunk: bool,
    is_paced: bool,
}

impl Asked {
    pub fn read(body: &[u8]) -> Self {
        let says = |key: &str| value_of(body, key).is_some_and(|value| value.starts_with(b"true"));
        Asked {
            tokens: number(body, "max_completion_tokens").or(number(body, "max_tokens")).unwrap_or(UNCAPPED_TOKENS),
            streams: says("stream"),
            with_usage: says("include_usage"),
            usage_in_every_chunk: says("continuous_usage_stats"),
            is_paced: is_named(body, "paced"),
        }
    }
}

pub fn json(body: &str) -> Vec<u8> {
    let head = format!("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n", body.len());
    (head + body).into_bytes()
}

pub fn whole(asked: &Asked, id: u64) -> Vec<u8> {
    let text: String = (0..asked.tokens).map(|place| format!(" tok{place}")).collect();
    json(&format!(
        "{{\"id\":\"chatcmpl-{id}\",\"object\":\"chat.completion\",\"created\":1700000000,\"model\":\"fake\",\
         \"choices\":[{{\"index\":0,\"message\":{{\"role\":\"assistant\",\"content\":\"{text}\"}},\"logprobs\":null,\
         \"finish_reason\":\"stop\"}}],\"usage\":{}}}",
        usage(asked.tokens)
    ))
}

/// Every event is a write of its own, as vLLM's are. `send` fails where the client has left.
pub fn stream(asked: &Asked, id: u64, send: &mut dyn FnMut(&[u8]) -> std::io::Result<()>) -> std::io::Result<()> {
    send(STREAM_HEAD)?;
    let head = format!(
        "data: {{\"id\":\"chatcmpl-{id}\",\"object\":\"chat.completion.chunk\",\"created\":1700000000,\"model\":\"fake\",\"choices\":["
    );
    let mut event = |tail: &str| send(format!("{:x}\r\n{head}{tail}\r\n", head.len() + tail.len()).as_bytes());
    let tail = |tokens| match asked.usage_in_every_chunk {
        true => format!("],\"usage\":{}}}\n\n", usage(tokens)),
        false => "]}\n\n".to_string(),
    };
    let choice =
        |delta: &str, reason| format!("{{\"index\":0,\"delta\":{delta},\"logprobs\":null,\"finish_reason\":{reason}}}");
    let begun = Instant::now();
    event(&(choice("{\"role\":\"assistant\",\"content\":\"\"}", "null") + &tail(0)))?;
    for place in 0..asked.tokens {
        if asked.is_paced {
            sleep((PACE * (place as u32 + 1)).saturating_sub(begun.elapsed()));
        }
        // No two tokens are alike: LiteLLM ends a stream that says the same thing a hundred times.
        event(&(choice(&format!("{{\"content\":\" tok{place}\"}}"), "null") + &tail(place + 1)))?;
    }
    event(&(choice("{}", "\"stop\"") + &tail(asked.tokens)))?;
    if asked.with_usage {
        event(&format!("],\"usage\":{}}}\n\n", usage(asked.tokens)))?;
    }
    send(b"e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n")
}

pub fn embeddings(texts: usize, body: &[u8]) -> Vec<u8> {
    let width = if is_named(body, "narrow") { NARROW_DIMENSIONS } else { DIMENSIONS };
    let vector: Vec<String> =
        (0..width).map(|place| ((place * 37 % 101) as f32 / 700.0 - 0.07).to_string()).collect();
    let vector = vector.join(",");
    let data: Vec<String> = (0..texts)
        .map(|index| format!("{{\"object\":\"embedding\",\"index\":{index},\"embedding\":[{vector}]}}"))
        .collect();
    let tokens = texts * TEXT_TOKENS;
    let usage = format!("{{\"prompt_tokens\":{tokens},\"total_tokens\":{tokens}}}");
    let data = data.join(",");
    json(&format!("{{\"object\":\"list\",\"data\":[{data}],\"model\":\"fake-embed\",\"usage\":{usage}}}"))
}

/// The texts of an embedding request: one, or the strings of a list.
pub fn count_texts(body: &[u8]) -> usize {
    let Some(input) = value_of(body, "input") else { return 1 };
    if input.first() != Some(&b'[') {
        return 1;
    }
    let (mut texts, mut inside, mut escaped) = (0, false, false);
    for &byte in input {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => {
                inside = !inside;
                texts += usize::from(inside);
            }
            b']' if !inside => break,
            _ => {}
        }
    }
    texts
}

/// Whether the model's name has this word in it.
fn is_named(body: &[u8], word: &str) -> bool {
    value_of(body, "model").is_some_and(|value| {
        let name = value[1..].split(|&byte| byte == b'"').next().unwrap_or(b"");
        String::from_utf8_lossy(name).contains(word)
    })
}

fn usage(tokens: usize) -> String {
    let total = PROMPT_TOKENS + tokens;
    format!("{{\"prompt_tokens\":{PROMPT_TOKENS},\"completion_tokens\":{tokens},\"total_tokens\":{total}}}")
}

fn number(body: &[u8], key: &str) -> Option<usize> {
    let value = value_of(body, key)?;
    let end = value.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(value.len());
    std::str::from_utf8(&value[..end]).ok()?.parse().ok()
}

/// The rest of the body from the value of the first such key on.
fn value_of<'a>(body: &'a [u8], key: &str) -> Option<&'a [u8]> {
    let name = format!("\"{key}\"").into_bytes();
    let mut from = 0;
    while let Some(place) = body[from..].windows(name.len()).position(|window| window == name) {
        from += place + name.len();
        let rest = body[from..].trim_ascii_start();
        if rest.first() == Some(&b':') {
            return Some(rest[1..].trim_ascii_start());
        }
    }
    None
}
