//! A stand-in for a model server that costs next to nothing, so that what stands before it is what is measured.
//!
//!     upstream PORT
//!
//! POST …/chat/completions and …/embeddings; GET /v1/models; GET /stats: what it has answered so far.
//! One thread per connection, connections are kept, every event of a stream is a write of its own.

mod answers;
mod message;

use answers::Asked;
use message::Connection;
use std::io::Result;
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

static REQUESTS: AtomicU64 = AtomicU64::new(0);
static INPUT_TOKENS: AtomicU64 = AtomicU64::new(0);
static OUTPUT_TOKENS: AtomicU64 = AtomicU64::new(0);

const MODELS: &str =
    "{\"object\":\"list\",\"data\":[{\"id\":\"fake\",\"object\":\"model\",\"created\":1,\"owned_by\":\"fake\"}]}";

fn serve(stream: TcpStream) -> Result<()> {
    let mut connection = Connection::new(stream)?;
    while let Some(head) = connection.head()? {
        let mut body = Vec::new();
        connection.body(&head, false, &mut |piece| body.extend_from_slice(piece))?;
        let mut words = head.first.split(' ');
        match (words.next().unwrap_or(""), words.next().unwrap_or("")) {
            ("GET", "/stats") => connection.send(&answers::json(&stats()))?,
            ("GET", _) => connection.send(&answers::json(MODELS))?,
            (_, path) if path.ends_with("/embeddings") => {
                let texts = answers::count_texts(&body);
                note(texts * answers::TEXT_TOKENS, 0);
                connection.send(&answers::embeddings(texts, &body))?;
            }
            _ => {
                let asked = Asked::read(&body);
                let id = note(answers::PROMPT_TOKENS, asked.tokens);
                match asked.streams {
                    true => answers::stream(&asked, id, &mut |bytes| connection.send(bytes))?,
                    false => connection.send(&answers::whole(&asked, id))?,
                }
            }
        }
        if head.closes() {
            break;
        }
    }
    Ok(())
}

/// Counts a request with the tokens its answer will have; returns its number.
fn note(input: usize, output: usize) -> u64 {
    INPUT_TOKENS.fetch_add(input as u64, Relaxed);
    OUTPUT_TOKENS.fetch_add(output as u64, Relaxed);
    REQUESTS.fetch_add(1, Relaxed) + 1
}

fn stats() -> String {
    let [requests, input, output] = [&REQUESTS, &INPUT_TOKENS, &OUTPUT_TOKENS].map(|counter| counter.load(Relaxed));
    format!("{{\"requests\":{requests},\"input_tokens\":{input},\"output_tokens\":{output}}}")
}

fn main() {
    let port = std::env::args().nth(1).and_then(|word| word.parse().ok()).expect("upstream PORT");
    let listener = TcpListener::bind(("127.0.0.1", port)).expect("the port is taken");
    for stream in listener.incoming().flatten() {
        // A connection that breaks off ends its thread and nothing else.
        let serving = std::thread::Builder::new().stack_size(256 * 1024).spawn(move || serve(stream));
        drop(serving);
    }
}
