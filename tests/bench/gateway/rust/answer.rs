//! What came back for one request: when, how much, and whether it is the whole of what was asked for.

use std::time::Instant;

/// Reads a body as it arrives.
pub struct Answer {
    /// Pieces of text a stream must have, 0 where the answer is one JSON document that must hold `expected`.
    chunks: usize,
    expected: Vec<u8>,
    rest: Vec<u8>,
    pub events: usize,
    pub first: Option<Instant>,
    last: Option<Instant>,
    /// Microseconds between two pieces of text.
    pub gaps: Vec<u32>,
    is_done: bool,
}

impl Answer {
    pub fn new(chunks: usize, expected: &[u8]) -> Self {
        Answer {
            chunks,
            expected: expected.to_vec(),
            rest: vec![],
            events: 0,
            first: None,
            last: None,
            gaps: Vec::with_capacity(chunks),
            is_done: false,
        }
    }

    pub fn take(&mut self, piece: &[u8]) {
        self.rest.extend_from_slice(piece);
        if self.chunks > 0 {
            let mut from = 0;
            while let Some(length) = self.rest[from..].iter().position(|&byte| byte == b'\n') {
                let line = from..from + length;
                from += length + 1;
                self.read(line);
            }
            self.rest.drain(..from);
        }
    }

    pub fn is_whole(&self) -> bool {
        match self.chunks {
            0 => contains(&self.rest, &self.expected),
            chunks => self.is_done && self.events >= chunks,
        }
    }

    /// The beginning of what was not understood.
    pub fn words(&self) -> String {
        String::from_utf8_lossy(&self.rest[..self.rest.len().min(300)]).replace(['"', '\\', '\n', '\r'], "'")
    }

    fn read(&mut self, line: std::ops::Range<usize>) {
        let line = &self.rest[line];
        if !line.starts_with(b"data:") {
            return;
        }
        if contains(line, b"[DONE]") {
            self.is_done = true;
        } else if has_text(line) {
            let now = Instant::now();
            self.events += 1;
            self.first.get_or_insert(now);
            if let Some(before) = self.last.replace(now) {
                self.gaps.push(now.duration_since(before).as_micros() as u32);
            }
        }
    }
}

/// Whether a chunk brings text: its "content" is a string that is not empty.
fn has_text(line: &[u8]) -> bool {
    let key = b"\"content\":";
    let Some(place) = line.windows(key.len()).position(|window| window == key) else { return false };
    let value = line[place + key.len()..].trim_ascii_start();
    value.first() == Some(&b'"') && value.get(1) != Some(&b'"')
}

fn contains(text: &[u8], wanted: &[u8]) -> bool {
    text.windows(wanted.len()).any(|window| window == wanted)
}
