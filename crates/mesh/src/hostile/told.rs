//! What a hostile peer has told and kept: others are heard all the same.

use super::{Limited, few_rights, hello};
use crate::frame::Frame;
use crate::start_from::LogPlace;
use crate::{FramePriority, PeerChange, PeerName, Qos};

/// How often a peer says the same: more than wait for somebody who watches.
const OFTEN: u64 = 2_000;

fn mismatch(key: &str, why: &str) -> Frame {
    Frame::Mismatch {
        subscription: 1,
        key: key.to_owned(),
        why: why.to_owned(),
    }
}

fn bytes(frame: &Frame) -> Vec<u8> {
    frame.to_bytes().expect("a small frame")
}

#[test]
fn sem_g218_what_a_hostile_peer_says_often_pushes_no_change_of_others_out() {
    let not_allowed = super::not_allowed(1, 1, "a".to_owned());
    let kinds: [&dyn Fn(u64) -> Vec<u8>; 5] = [
        &|_| vec![0xff],
        &|incarnation| {
            let form = crate::frame::FORM;
            bytes(&Frame::Hello { form, incarnation })
        },
        &|_| {
            let (form, incarnation) = (0, 1);
            bytes(&Frame::Hello { form, incarnation })
        },
        &|_| bytes(&mismatch("a", "why not")),
        &|_| bytes(&not_allowed),
    ];
    for (seed, kind) in kinds.iter().enumerate() {
        let limited = Limited::new(seed as u64, few_rights());
        let (victim, q) = (limited.node("victim"), limited.node("q"));
        let changes = victim.peer_changes();
        limited.sends("victim", [hello()]);
        limited.network.kill("q");
        limited.replay.run();
        for n in 0..OFTEN {
            let to = PeerName::new("victim");
            let sent = limited.carrier.send(&to, kind(n), FramePriority::Ordered);
            sent.expect("a link");
        }
        limited.replay.run();
        let told: Vec<_> = std::iter::from_fn(|| changes.test()).collect();
        let is_down = |it: &PeerChange| matches!(it, PeerChange::Down(q, _) if q.as_str() == "q");
        assert!(told.iter().any(is_down), "kind {seed}: {}", told.len());
        assert!(told.len() < 100, "kind {seed}: {}", told.len());
        drop(q);
    }
}

#[test]
fn sem_g217_of_long_texts_of_a_peer_the_beginning_is_told() {
    let limited = Limited::new(1, few_rights());
    let victim = limited.node("victim");
    let changes = victim.peer_changes();
    let long = "ä".repeat(100_000);
    let refuses = Frame::NotAllowed {
        topic: 1,
        subscription: 1,
        key: long.clone(),
        why: long.clone(),
    };
    let no_key = Frame::Subscribe {
        subscription: 1,
        pattern: long.clone(),
        type_name: "u32".to_owned(),
        from: LogPlace::New,
    };
    limited.sends("victim", [hello(), mismatch(&long, &long), refuses, no_key]);
    let mut lengths = Vec::new();
    for change in std::iter::from_fn(|| changes.test()) {
        match change {
            PeerChange::Mismatch(_, key, why) => lengths.extend([key.len(), why.len()]),
            PeerChange::Refused(_, why) => lengths.push(why.len()),
            _ => {}
        }
    }
    assert_eq!(lengths.len(), 5, "{lengths:?}");
    assert!(lengths.iter().all(|it| *it <= 1024), "{lengths:?}");
}

#[test]
fn sem_g217_of_a_type_whose_name_is_made_up_no_more_than_4_kib_is_kept() {
    let limited = Limited::new(2, few_rights());
    let victim = limited.node("victim");
    let _topic = victim.topic::<u32>("s/x", Qos::latest(4)).expect("a topic");
    let of_type = |subscription, length| Frame::Subscribe {
        subscription,
        pattern: "s/**".to_owned(),
        type_name: "x".repeat(length),
        from: LogPlace::New,
    };
    let changes = victim.peer_changes();
    limited.sends("victim", [hello(), of_type(1, 4096), of_type(2, 4097)]);
    let told = std::iter::from_fn(|| changes.test());
    let refused = told.filter(|it| matches!(it, PeerChange::Refused(..)));
    let known = victim.peers()[0].subscriptions.len();
    assert_eq!((refused.count(), known), (1, 1));
}
