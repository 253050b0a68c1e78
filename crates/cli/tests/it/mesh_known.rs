//! `motet mesh` with addresses where nobody of the mesh answers.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Stdio};

use serde_json::Value;

use crate::program::ProgramFolder;

/// A process that ends with the test.
struct Member(Child);

impl Member {
    fn start(place: &ProgramFolder, arguments: &str) -> Member {
        let mut command = place.command(&format!("mesh {arguments}"));
        command.stdin(Stdio::null());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        Member(command.spawn().unwrap())
    }

    fn first_line_out(&mut self) -> String {
        first_line(self.0.stdout.as_mut().unwrap())
    }

    fn first_line_err(&mut self) -> String {
        first_line(self.0.stderr.as_mut().unwrap())
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

fn first_line(from: &mut impl Read) -> String {
    let mut line = String::new();
    BufReader::new(from).read_line(&mut line).unwrap();
    line
}

#[test]
fn sem_g593_each_peer_that_has_not_answered_is_named_with_why() {
    let place = ProgramFolder::new();
    for key in ["one.key", "two.key"] {
        place
            .run(&format!("mesh keys new {key} --json"))
            .quiet_success();
    }
    let mut there = Member::start(&place, "join --key one.key --name a --json");
    let told: Value = serde_json::from_str(&there.first_line_out()).unwrap();
    let address = told["addresses"][0].as_str().unwrap();
    for (command, peer, words) in [
        ("join", address, "another key"),
        ("pub n 1", "127.0.0.1:1", "no connection"),
        ("sub n", "no-such-host.invalid:7450", "host is not found"),
    ] {
        let arguments = format!("{command} --key two.key --name b --peer {peer}");
        let mut lost = Member::start(&place, &arguments);
        let told = lost.first_line_err();
        let is_told = told.contains(peer) && told.contains(words);
        assert!(is_told, "{command}: {told}");
        place
            .run(&format!(
                "mesh peers --key two.key --name c --within 0.1 --peer {peer}"
            ))
            .refusal(&[peer, words]);
    }
    let found = place.run(&format!(
        "mesh peers --key one.key --name d --within 2 --peer {address} --peer 127.0.0.1:1"
    ));
    assert_eq!(
        (found.code, found.out.as_str()),
        (0, "a\n"),
        "{}",
        found.err
    );
    assert!(found.err.contains("--peer 127.0.0.1:1"), "{}", found.err);
    assert!(!found.err.contains(address), "{}", found.err);
}
