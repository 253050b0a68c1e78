//! A client of a node of another process.

use crate::said::Said;
use motet_http::Peer;
use motet_ports::wait_blocking;
use motet_service::{Fault, Options, Value};
use serde_json::json;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Instant;

/// `motet serve` with its demonstration; it ends when this goes.
struct Serving {
    child: Child,
    /// Kept open as long as it serves.
    _out: BufReader<ChildStdout>,
    url: String,
}

impl Serving {
    fn start(program: &Path) -> Result<Serving, String> {
        let mut command = Command::new(program);
        command.args("serve --json --listen 127.0.0.1:0 --threads 1".split(' '));
        let child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn();
        let mut child = child.map_err(|why| format!("{}: {why}", program.display()))?;
        let mut line = String::new();
        let mut out = BufReader::new(child.stdout.take().ok_or("it has no output")?);
        let read = out.read_line(&mut line).said();
        let told: Value = serde_json::from_str(&line).unwrap_or_default();
        let mut serving = Serving {
            child,
            _out: out,
            url: told["url"].as_str().unwrap_or_default().to_owned(),
        };
        read?;
        match serving.url.is_empty() {
            false => Ok(serving),
            true => {
                let ended = serving.child.try_wait();
                Err(format!("motet serve does not serve: {ended:?}"))
            }
        }
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        // It may have ended by itself.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Microseconds of a two-way message that changes a state, in groups of so many.
pub(super) fn measure(program: &Path, group: usize, groups: usize) -> Result<f64, String> {
    let serving = Serving::start(program)?;
    let peer = Peer::at(&serving.url).said()?;
    let exchange = async || -> Result<(), Fault> {
        let call = |_| peer.call("/source", "make", json!(1), Options::default());
        let calls: Vec<_> = (0..group).map(call).collect();
        for call in calls {
            let made = call.await?;
            if made != json!(4) {
                return Err(Fault::failed(format!("the answer is {made}")));
            }
        }
        Ok(())
    };
    let measured = wait_blocking(async {
        for _ in 0..groups {
            exchange().await?;
        }
        let begun = Instant::now();
        for _ in 0..groups {
            exchange().await?;
        }
        Ok::<_, Fault>(begun.elapsed().as_secs_f64() * 1e6 / (group * groups) as f64)
    });
    let measured = measured.said()?;
    measured.said()
}
