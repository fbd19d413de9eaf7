//! HTTP/1.1 messages on one connection that is kept. Standard library only.

use std::io::{Error, ErrorKind, Read, Result, Write};
use std::net::TcpStream;

const BLOCK: usize = 32 * 1024;

/// A message's first line and headers; names are in small letters.
pub struct Head {
    pub first: String,
    headers: Vec<(String, String)>,
}

impl Head {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    pub fn closes(&self) -> bool {
        self.header("connection").is_some_and(|value| value.eq_ignore_ascii_case("close"))
    }

    fn is_chunked(&self) -> bool {
        self.header("transfer-encoding").is_some_and(|value| value.eq_ignore_ascii_case("chunked"))
    }
}

/// Reads messages one after another and writes whole ones.
pub struct Connection {
    stream: TcpStream,
    buffer: Vec<u8>,
    at: usize,
}

impl Connection {
    pub fn new(stream: TcpStream) -> Result<Self> {
        stream.set_nodelay(true)?;
        Ok(Connection { stream, buffer: Vec::with_capacity(2 * BLOCK), at: 0 })
    }

    pub fn send(&mut self, bytes: &[u8]) -> Result<()> {
        self.stream.write_all(bytes)
    }

    /// None where the other side has closed between two messages.
    pub fn head(&mut self) -> Result<Option<Head>> {
        if self.at == self.buffer.len() && self.fill()? == 0 {
            return Ok(None);
        }
        let first = self.line()?;
        let mut headers = vec![];
        loop {
            let line = self.line()?;
            if line.is_empty() {
                return Ok(Some(Head { first, headers }));
            }
            if let Some((name, value)) = line.split_once(':') {
                headers.push((name.to_ascii_lowercase(), value.trim().to_string()));
            }
        }
    }

    /// Gives `take` the body piece by piece; a body without a stated length ends with the connection if `to_the_end`.
    pub fn body(&mut self, head: &Head, to_the_end: bool, take: &mut dyn FnMut(&[u8])) -> Result<()> {
        if head.is_chunked() {
            loop {
                let size = self.line()?;
                let size = size.split(';').next().unwrap_or("").trim();
                let size =
                    usize::from_str_radix(size, 16).map_err(|_| Error::new(ErrorKind::InvalidData, "chunk size"))?;
                self.exactly(size, take)?;
                self.line()?;
                if size == 0 {
                    return Ok(());
                }
            }
        }
        if let Some(length) = head.header("content-length") {
            let length = length.parse().map_err(|_| Error::new(ErrorKind::InvalidData, "content-length"))?;
            return self.exactly(length, take);
        }
        while to_the_end && (self.at < self.buffer.len() || self.fill()? > 0) {
            take(&self.buffer[self.at..]);
            self.at = self.buffer.len();
        }
        Ok(())
    }

    fn exactly(&mut self, mut left: usize, take: &mut dyn FnMut(&[u8])) -> Result<()> {
        while left > 0 {
            if self.at == self.buffer.len() {
                self.must_fill()?;
            }
            let end = self.buffer.len().min(self.at + left);
            take(&self.buffer[self.at..end]);
            left -= end - self.at;
            self.at = end;
        }
        Ok(())
    }

    fn line(&mut self) -> Result<String> {
        let mut seen = 0;
        loop {
            let rest = &self.buffer[self.at..];
            if let Some(place) = rest[seen..].iter().position(|&byte| byte == b'\n') {
                let line = String::from_utf8_lossy(&rest[..seen + place]).trim_end_matches('\r').to_string();
                self.at += seen + place + 1;
                return Ok(line);
            }
            seen = rest.len();
            self.must_fill()?;
        }
    }

    fn must_fill(&mut self) -> Result<()> {
        match self.fill()? {
            0 => Err(Error::new(ErrorKind::UnexpectedEof, "the connection ended in the middle")),
            _ => Ok(()),
        }
    }

    fn fill(&mut self) -> Result<usize> {
        self.buffer.drain(..self.at);
        self.at = 0;
        let length = self.buffer.len();
        self.buffer.resize(length + BLOCK, 0);
        let read = self.stream.read(&mut self.buffer[length..]);
        self.buffer.truncate(length + *read.as_ref().unwrap_or(&0));
        read
    }
}
