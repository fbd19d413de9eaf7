//! So many clients that send the same request again and again, each its next one when it has its answer.
//!
//!     load --port P --path /v1/chat/completions --key K --body JSON (--chunks N | --expect TEXT)
//!          --clients C (--requests N | --seconds S) [--warm-up N]
//!
//! Prints one JSON object; times are milliseconds. A wrong status, a broken connection, a stream without its [DONE] or
//! with too few pieces of text, and a document without the expected text are errors, never requests that were served.

mod answer;
mod message;

use answer::Answer;
use message::Connection;
use std::collections::HashMap;
use std::net::TcpStream;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Barrier};
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(120);

struct Plan {
    port: u16,
    request: Vec<u8>,
    chunks: usize,
    expected: Vec<u8>,
    clients: usize,
    requests: usize,
    seconds: f64,
    warm_up: usize,
    taken: AtomicUsize,
    warmed: AtomicUsize,
    start: Barrier,
}

/// Durations are microseconds.
#[derive(Default)]
struct Found {
    whole: Vec<u32>,
    first: Vec<u32>,
    gaps: Vec<u32>,
    events: usize,
    errors: usize,
    connections: usize,
    first_error: String,
}

struct Client {
    plan: Arc<Plan>,
    connection: Option<Connection>,
    found: Found,
}

impl Client {
    fn run(mut self) -> Found {
        // Who cannot connect says so with its first request.
        let _ = self.connected();
        while self.plan.warmed.fetch_add(1, Relaxed) < self.plan.warm_up {
            self.ask();
        }
        let warm_errors = std::mem::take(&mut self.found).first_error;
        self.plan.start.wait();
        let deadline = Instant::now() + Duration::from_secs_f64(self.plan.seconds);
        while match self.plan.requests {
            0 => Instant::now() < deadline,
            most => self.plan.taken.fetch_add(1, Relaxed) < most,
        } {
            self.ask();
        }
        if self.found.first_error.is_empty() {
            self.found.first_error = warm_errors;
        }
        self.found
    }

    fn ask(&mut self) {
        let mut answer = Answer::new(self.plan.chunks, &self.plan.expected);
        let began = Instant::now();
        let problem = match self.exchange(&mut answer) {
            Ok(200) if answer.is_whole() => None,
            Ok(status) => Some(format!("status {status}, {} pieces of text: {}", answer.events, answer.words())),
            Err(error) => {
                self.connection = None;
                Some(error.to_string())
            }
        };
        let found = &mut self.found;
        if let Some(words) = problem {
            found.errors += 1;
            if found.first_error.is_empty() {
                found.first_error = words;
            }
            return;
        }
        found.whole.push(began.elapsed().as_micros() as u32);
        found.first.extend(answer.first.map(|first| first.duration_since(began).as_micros() as u32));
        found.gaps.extend(&answer.gaps);
        found.events += answer.events;
    }

    fn connected(&mut self) -> std::io::Result<&mut Connection> {
        if self.connection.is_none() {
            let stream = TcpStream::connect(("127.0.0.1", self.plan.port))?;
            stream.set_read_timeout(Some(PATIENCE))?;
            self.found.connections += 1;
            self.connection = Some(Connection::new(stream)?);
        }
        Ok(self.connection.as_mut().expect("it was just made"))
    }

    fn exchange(&mut self, answer: &mut Answer) -> std::io::Result<u16> {
        let plan = self.plan.clone();
        let connection = self.connected()?;
        connection.send(&plan.request)?;
        let gone = || std::io::Error::other("the connection was closed instead of an answer");
        let head = connection.head()?.ok_or_else(gone)?;
        connection.body(&head, true, &mut |piece| answer.take(piece))?;
        if head.closes() {
            self.connection = None;
        }
        Ok(head.first.split(' ').nth(1).and_then(|word| word.parse().ok()).unwrap_or(0))
    }
}

fn read_plan() -> Plan {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let mut options: HashMap<String, String> =
        words.chunks_exact(2).map(|pair| (pair[0].trim_start_matches('-').to_string(), pair[1].clone())).collect();
    let mut option = |name: &str| options.remove(name).unwrap_or_default();
    let (port, path, key, body) = (option("port"), option("path"), option("key"), option("body"));
    let request = format!(
        "POST {path} HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\nauthorization: Bearer {key}\r\n\
         content-type: application/json\r\naccept: */*\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    let clients = option("clients").parse().expect("--clients");
    Plan {
        port: port.parse().expect("--port"),
        request: request.into_bytes(),
        chunks: option("chunks").parse().unwrap_or(0),
        expected: option("expect").into_bytes(),
        clients,
        requests: option("requests").parse().unwrap_or(0),
        seconds: option("seconds").parse().unwrap_or(0.0),
        warm_up: option("warm-up").parse().unwrap_or(0),
        taken: AtomicUsize::new(0),
        warmed: AtomicUsize::new(0),
        start: Barrier::new(clients + 1),
    }
}

fn main() {
    let plan = Arc::new(read_plan());
    let threads: Vec<_> = (0..plan.clients)
        .map(|_| {
            let client = Client { plan: plan.clone(), connection: None, found: Found::default() };
            std::thread::Builder::new().stack_size(256 * 1024).spawn(move || client.run()).expect("a thread")
        })
        .collect();
    plan.start.wait();
    let began = Instant::now();
    let mut all = Found::default();
    for thread in threads {
        let found = thread.join().expect("a client's thread");
        all.whole.extend(found.whole);
        all.first.extend(found.first);
        all.gaps.extend(found.gaps);
        all.events += found.events;
        all.errors += found.errors;
        all.connections += found.connections;
        if all.first_error.is_empty() {
            all.first_error = found.first_error;
        }
    }
    report(all, began.elapsed().as_secs_f64());
}

fn report(mut all: Found, seconds: f64) {
    for durations in [&mut all.whole, &mut all.first, &mut all.gaps] {
        durations.sort_unstable();
    }
    println!(
        "{{\"served\":{},\"errors\":{},\"seconds\":{seconds:.4},\"rate\":{:.2},\"p50\":{:.4},\"p99\":{:.4},\"chunks\":{},\
         \"chunk_rate\":{:.1},\"first_p50\":{:.4},\"first_p99\":{:.4},\"gap_p50\":{:.4},\"gap_p99\":{:.4},\
         \"reconnected\":{},\"first_error\":\"{}\"}}",
        all.whole.len(),
        all.errors,
        all.whole.len() as f64 / seconds,
        quantile(&all.whole, 0.5),
        quantile(&all.whole, 0.99),
        all.events,
        all.events as f64 / seconds,
        quantile(&all.first, 0.5),
        quantile(&all.first, 0.99),
        quantile(&all.gaps, 0.5),
        quantile(&all.gaps, 0.99),
        all.connections,
        all.first_error
    );
}

/// Milliseconds, of sorted microseconds.
fn quantile(sorted: &[u32], share: f64) -> f64 {
    let place = (sorted.len() as f64 * share).ceil() as usize;
    sorted.get(place.saturating_sub(1)).map_or(0.0, |&found| f64::from(found) / 1000.0)
}
