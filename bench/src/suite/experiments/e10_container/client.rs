//! Clients that keep their connections.

use motet_sync::thread;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

/// What is asked for.
#[derive(Debug, Clone, Copy)]
pub(super) enum Ask {
    /// GET of the state.
    Read,
    /// POST of a number that is added.
    Change,
}

impl Ask {
    pub(super) fn name(self) -> &'static str {
        match self {
            Ask::Read => "read",
            Ask::Change => "change",
        }
    }

    fn text(self, at: SocketAddr) -> String {
        match self {
            Ask::Read => format!("GET /counter HTTP/1.1\r\nhost: {at}\r\n\r\n"),
            Ask::Change => format!(
                "POST /counter/-/add HTTP/1.1\r\nhost: {at}\r\ncontent-type: application/json\r\ncontent-length: 1\r\n\r\n1"
            ),
        }
    }
}

/// An answer may take so long.
const PATIENCE: Duration = Duration::from_secs(30);

/// Messages per second, when so many are sent over so many connections.
pub(super) fn rate(
    at: SocketAddr,
    connections: usize,
    ask: Ask,
    messages: usize,
) -> Result<f64, String> {
    let each = (messages / connections).max(1);
    let connected = (0..connections).map(|_| connect(at));
    let streams = connected.collect::<Result<Vec<_>, String>>()?;
    let begun = Instant::now();
    let clients: Vec<_> = streams
        .into_iter()
        .map(|mut stream| {
            thread::spawn(move || {
                let text = ask.text(at);
                (0..each).try_for_each(|_| exchange(&mut stream, &text))
            })
        })
        .collect();
    for client in clients {
        client
            .join()
            .map_err(|_| "a client panicked".to_owned())??;
    }
    Ok((each * connections) as f64 / begun.elapsed().as_secs_f64())
}

fn connect(at: SocketAddr) -> Result<BufReader<TcpStream>, String> {
    let stream = TcpStream::connect(at).map_err(|why| format!("{at}: {why}"))?;
    let set = stream
        .set_nodelay(true)
        .and(stream.set_read_timeout(Some(PATIENCE)));
    set.map_err(|why| why.to_string())?;
    Ok(BufReader::new(stream))
}

/// Sends, and reads the whole answer.
fn exchange(stream: &mut BufReader<TcpStream>, text: &str) -> Result<(), String> {
    let sent = stream.get_mut().write_all(text.as_bytes());
    sent.map_err(|why| format!("a request is not taken: {why}"))?;
    let (mut line, mut length, mut is_first) = (String::new(), 0, true);
    loop {
        line.clear();
        let read = stream.read_line(&mut line);
        read.map_err(|why| format!("no answer: {why}"))?;
        let text = line.trim_end();
        if is_first && !text.starts_with("HTTP/1.1 200") {
            return Err(format!("the answer is {text:?}"));
        }
        is_first = false;
        if text.is_empty() {
            break;
        }
        if let Some((name, value)) = text.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse().map_err(|_| format!("{text:?}"))?;
        }
    }
    let mut body = vec![0; length];
    let read = stream.read_exact(&mut body);
    read.map_err(|why| format!("half an answer: {why}"))?;
    match length {
        0 => Err("the answer is empty".to_owned()),
        _ => Ok(()),
    }
}
