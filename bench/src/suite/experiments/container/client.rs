//! Clients that keep their connections.

use crate::said::Said;
use motet_machine::system::SystemLimits;
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

    fn text(self, at: SocketAddr, form: Form) -> String {
        if form == Form::Soap {
            return self.soap(at);
        }
        match self {
            Ask::Read => format!("GET /counter HTTP/1.1\r\nhost: {at}\r\n\r\n"),
            Ask::Change => format!(
                "POST /counter/-/add HTTP/1.1\r\nhost: {at}\r\ncontent-type: application/json\r\ncontent-length: 1\r\n\r\n1"
            ),
        }
    }

    fn soap(self, at: SocketAddr) -> String {
        const SOAP: &str = "http://schemas.xmlsoap.org/soap/envelope/";
        let path = "/axis2/services/Counter";
        match self {
            Ask::Read => format!("GET {path}/read HTTP/1.1\r\nhost: {at}\r\n\r\n"),
            Ask::Change => {
                let body = format!(
                    "<e:Envelope xmlns:e=\"{SOAP}\"><e:Body><n:add xmlns:n=\"http://ws.apache.org/axis2\"><n>1</n></n:add></e:Body></e:Envelope>"
                );
                format!(
                    "POST {path} HTTP/1.1\r\nhost: {at}\r\ncontent-type: text/xml; charset=utf-8\r\nsoapaction: \"urn:add\"\r\ncontent-length: {}\r\n\r\n{body}",
                    body.len()
                )
            }
        }
    }
}

/// How it is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// A number in JSON, as motet's services take it.
    Json,
    /// Axis2's: an address for what is read, an envelope for what changes.
    Soap,
}

/// An answer may take so long.
const PATIENCE: Duration = Duration::from_secs(30);

/// Messages per second, when so many are sent over so many connections.
pub(super) fn rate(
    at: SocketAddr,
    connections: usize,
    (ask, form): (Ask, Form),
    messages: usize,
) -> Result<f64, String> {
    // Both ends of each, and what else is open.
    let files = 2 * connections as u64 + 100;
    if let Some(most) = SystemLimits::here().open_files
        && most < files
    {
        return Err(format!(
            "{connections} connections need {files} open files, and ulimit -n allows {most}"
        ));
    }
    let each = (messages / connections).max(1);
    let connected = (0..connections).map(|_| connect(at));
    let streams = connected.collect::<Result<Vec<_>, String>>()?;
    let begun = Instant::now();
    let clients: Vec<_> = streams
        .into_iter()
        .map(|mut stream| {
            thread::spawn(move || {
                let text = ask.text(at, form);
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
    set.said()?;
    Ok(BufReader::new(stream))
}

/// Sends, and reads the whole answer.
fn exchange(stream: &mut BufReader<TcpStream>, text: &str) -> Result<(), String> {
    let sent = stream.get_mut().write_all(text.as_bytes());
    sent.map_err(|why| format!("a request is not taken: {why}"))?;
    let (mut line, mut length, mut chunked) = (String::new(), 0, false);
    for number in 0.. {
        let text = next(stream, &mut line)?;
        if number == 0 && !text.starts_with("HTTP/1.1 200") {
            return Err(format!("the answer is {text:?}"));
        }
        if text.is_empty() {
            break;
        }
        if let Some((name, value)) = text.split_once(':') {
            if name.eq_ignore_ascii_case("content-length") {
                length = value.trim().parse().map_err(|_| format!("{text:?}"))?;
            }
            chunked |= name.eq_ignore_ascii_case("transfer-encoding")
                && value.trim().eq_ignore_ascii_case("chunked");
        }
    }
    let read = match chunked {
        true => chunks(stream, &mut line)?,
        false => body(stream, length)?,
    };
    match read {
        0 => Err("the answer is empty".to_owned()),
        _ => Ok(()),
    }
}

/// The next line, without its end.
fn next<'a>(stream: &mut BufReader<TcpStream>, line: &'a mut String) -> Result<&'a str, String> {
    line.clear();
    let read = stream.read_line(line);
    match read.map_err(|why| format!("no answer: {why}"))? {
        0 => Err("half an answer: the connection was closed".to_owned()),
        _ => Ok(line.trim_end()),
    }
}

fn body(stream: &mut BufReader<TcpStream>, length: usize) -> Result<usize, String> {
    let mut body = vec![0; length];
    let read = stream.read_exact(&mut body);
    read.map_err(|why| format!("half an answer: {why}"))?;
    Ok(length)
}

/// Chunks to the last one, and how many bytes they have.
fn chunks(stream: &mut BufReader<TcpStream>, line: &mut String) -> Result<usize, String> {
    let mut all = 0;
    loop {
        let text = next(stream, line)?;
        let length = text.split(';').next().unwrap_or_default();
        let length = usize::from_str_radix(length.trim(), 16)
            .map_err(|_| format!("{text:?} where the length of a chunk belongs"))?;
        all += body(stream, length)?;
        // What follows a chunk: the end of its line.
        next(stream, line)?;
        if length == 0 {
            return Ok(all);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{Ipv4Addr, TcpListener};

    /// What a client says of this answer.
    fn answered(answer: impl Into<String>) -> Result<f64, String> {
        let answer = answer.into();
        let server = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let at = server.local_addr().unwrap();
        let serving = thread::spawn(move || {
            let (mut stream, _) = server.accept().unwrap();
            let mut asked = [0; 512];
            let _ = stream.read(&mut asked).unwrap();
            stream.write_all(answer.as_bytes()).unwrap();
        });
        let rate = rate(at, 1, (Ask::Read, Form::Soap), 1);
        serving.join().unwrap();
        rate
    }

    #[test]
    fn whole_answers_are_read_in_one_piece_and_in_chunks() {
        let (whole, chunks) = (
            "content-length: 2\r\n\r\n17",
            "Transfer-Encoding: chunked\r\n\r\n",
        );
        assert!(answered(format!("HTTP/1.1 200 OK\r\n{whole}")).is_ok());
        let two = format!("HTTP/1.1 200 OK\r\n{chunks}2\r\n17\r\na\r\n0123456789\r\n0\r\n\r\n");
        assert!(answered(two).is_ok());
        for (wrong, says) in [
            ("HTTP/1.1 404 Not Found\r\n\r\n", "404"),
            ("HTTP/1.1 200 OK\r\n\r\n", "empty"),
            (
                "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n17",
                "half an answer",
            ),
            ("HTTP/1.1 200 OK\r\n", "half an answer"),
            (
                "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nx\r\n",
                "length of a chunk",
            ),
        ] {
            let said = answered(wrong).unwrap_err();
            assert!(said.contains(says), "{wrong:?}: {said}");
        }
    }
}
