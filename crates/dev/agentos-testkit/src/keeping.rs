//! A fake model server that keeps its connections, as most servers do. It speaks OpenAI's chat wire.
//!
//! Owns: its threads, which end with the process. Never: checks a key.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use serde_json::json;

/// Pieces of each answer.
pub const PIECES: [&str; 3] = ["one ", "two ", "three"];

/// Starts a server. Returns its address, and the number of connections that were made. A request that contains `bye` ends its own.
///
/// # Errors
/// If it cannot listen.
pub fn start_keeping_server() -> io::Result<(String, Arc<AtomicUsize>)> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let url = format!("http://{}", listener.local_addr()?);
    let made = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&made);
    thread::spawn(move || {
        for connection in listener.incoming().flatten() {
            count.fetch_add(1, Ordering::SeqCst);
            // A client that breaks off ends the thread of its connection.
            thread::spawn(move || drop(keep_answering(connection)));
        }
    });
    Ok((url, made))
}

fn keep_answering(mut connection: TcpStream) -> io::Result<()> {
    let mut input = BufReader::new(connection.try_clone()?);
    while let Some(length) = read_head(&mut input)? {
        let mut body = vec![0; length];
        input.read_exact(&mut body)?;
        connection.write_all(write_answer().as_bytes())?;
        if String::from_utf8_lossy(&body).contains("bye") {
            break;
        }
    }
    Ok(())
}

/// Reads the head of a request, and returns the length of its body. `None` at the end of the connection.
fn read_head(input: &mut BufReader<TcpStream>) -> io::Result<Option<usize>> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        if input.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        let line = line.trim_end().to_ascii_lowercase();
        if let Some(number) = line.strip_prefix("content-length: ") {
            length = number.parse().map_err(io::Error::other)?;
        }
        if line.is_empty() {
            return Ok(Some(length));
        }
    }
}

/// Writes a chunked stream of all pieces, whose end is written with them.
fn write_answer() -> String {
    let mut answer =
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n".to_owned();
    let mut add = |text: &str| answer.push_str(&format!("{:x}\r\n{text}\r\n", text.len()));
    for piece in PIECES {
        let piece = json!({"choices": [{"index": 0, "delta": {"content": piece}}]});
        add(&format!("data: {piece}\n\n"));
    }
    let end = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]});
    add(&format!("data: {end}\n\ndata: [DONE]\n\n"));
    add("");
    answer
}
