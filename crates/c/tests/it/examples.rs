//! The examples run as they are, with the shared library and with the static one.

use crate::cc::{Linked, cc, compiled, done, folder};
use motet_testkit::{patience, within};
use std::process::Command;

fn run(name: &str, arguments: &'static [&'static str], linked: Linked) -> Option<String> {
    let cc = cc()?;
    let source = folder("examples").join(name).with_extension("c");
    let program = compiled(&cc, &source, linked);
    let run = move || done(Command::new(program).args(arguments));
    Some(within(patience(), run))
}

#[test]
fn hello_port_greets_needs_cc() {
    for linked in [Linked::Shared, Linked::Static] {
        if let Some(said) = run("hello_port", &[], linked) {
            assert_eq!(said, "hello motet\n");
        }
    }
}

#[test]
fn join_feeds_both_philosophers_needs_cc() {
    if let Some(said) = run("join", &[], Linked::Shared) {
        assert_eq!(said, "both have had 1000 meals or more\n");
    }
}

#[test]
fn bank_sums_are_right_needs_cc() {
    if let Some(said) = run("bank", &[], Linked::Shared) {
        assert_eq!(said, "1000 sums, each of 800\n");
    }
}

#[test]
fn ranks_heat_is_the_same_on_any_number_of_ranks_needs_cc() {
    for (ranks, linked) in [
        (&["1"], Linked::Static),
        (&["2"], Linked::Shared),
        (&["5"], Linked::Shared),
    ] {
        if let Some(said) = run("ranks_heat", ranks, linked) {
            let last = said.lines().last();
            let rod = "60 cells after 7400 steps: 0.983605 ... 0.016392";
            assert_eq!(last, Some(rod), "{ranks:?}");
        }
    }
}

#[test]
fn ping_pong_says_how_long_it_takes_needs_cc() {
    if let Some(said) = run("ping_pong", &["100", "40"], Linked::Shared) {
        assert!(said.starts_with("40 bytes: "), "{said}");
    }
}
