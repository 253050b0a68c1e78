//! A member of an overlay that does what the lines on its standard input say, and answers each by
//! one.
//!
//! ```text
//!   overlay_member NAME KEY-FILE HOST:PORT [KNOWN HOST:PORT …]
//!
//!   members            who can be reached            put KEY VALUE      copies that were made
//!   present            who is in the room            get KEY            the value, or none
//!   say TEXT           tells the room                holders KEY        who holds the key
//!   heard              what came, and from whom      (end of input)     leaves
//! ```
//!
//! Members route for each other, so each needs a way to its neighbours alone.

use motet_dispatch::{Dispatcher, QueueConfig};
use motet_mesh::{Overlay, OverlayConfig, Room};
use motet_mesh_zenoh::{RunKey, Zenoh, ZenohConfig};
use motet_ports::wait_blocking;
use std::error::Error;
use std::io::{self, BufRead, Write};
use std::path::Path;
use std::sync::Arc;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let mut next = |what: &str| arguments.next().ok_or(format!("{what} is missing"));
    let (name, key, listen) = (next("NAME")?, next("KEY-FILE")?, next("HOST:PORT")?);
    let carrier = Zenoh::open(&ZenohConfig {
        key: Some(RunKey::read(Path::new(&key))?),
        listen: vec![listen],
        known: arguments.collect(),
        routes: true,
        ..ZenohConfig::named(name)
    })?;
    let dispatcher = Dispatcher::new(2);
    let node = carrier.join(Arc::new(dispatcher.queue(QueueConfig::named("member"))));
    let overlay = Overlay::join(&node, "laws", OverlayConfig::default())?;
    let room = overlay.room::<String>("hall", 64)?;
    for line in io::stdin().lock().lines() {
        let told = match answer(&overlay, &room, &line?) {
            Ok(told) => told,
            Err(why) => format!("error {why}"),
        };
        let mut out = io::stdout().lock();
        writeln!(out, "{told}")?;
        out.flush()?;
    }
    assert!(
        overlay.members().contains(node.name()),
        "it is a member to the end"
    );
    Ok(())
}

fn answer(overlay: &Overlay, room: &Room<String>, line: &str) -> Result<String, Box<dyn Error>> {
    let mut words = line.splitn(3, ' ');
    let mut next = || words.next().unwrap_or_default();
    let names = |names: Vec<motet_mesh::PeerName>| {
        let names: Vec<&str> = names.iter().map(motet_mesh::PeerName::as_str).collect();
        names.join(" ")
    };
    Ok(match (next(), next(), next()) {
        ("members", ..) => names(overlay.members()),
        ("present", ..) => names(room.present()),
        ("holders", key, _) => names(overlay.lookup(key)?),
        ("put", key, value) => wait_blocking(overlay.put(key, value))??.copies.to_string(),
        ("get", key, _) => {
            let value = wait_blocking(overlay.get::<String>(key))??;
            value.unwrap_or_else(|| "none".to_owned())
        }
        ("say", text, _) => room.say(text.to_owned())?.subscribers.to_string(),
        ("heard", ..) => {
            let mut heard = Vec::new();
            while let Some(sample) = room.port().test() {
                heard.push(format!("{}:{}", sample.publisher(), *sample.value));
            }
            heard.join(" ")
        }
        (word, ..) => return Err(format!("{word:?} is no command").into()),
    })
}
