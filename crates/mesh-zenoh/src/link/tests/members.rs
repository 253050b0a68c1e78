//! Who is let in, as whom, and for how long.

use super::super::handshake::{CHECKS, NOBODY, handshake};
use super::*;
use crate::seal::Session;
use motet_mesh::Key;

fn rights() -> MeshRights {
    MeshRights::only(vec![Key::new("a/**").unwrap()], Vec::new())
}

#[test]
fn sem_g561_a_member_is_let_in_under_its_own_name_with_the_rights_that_its_grant_says() {
    let now = Instant::now();
    let of_pass = member(7, "b", Some(2_000), rights());
    let (mut a, mut b) = (End::new("a", "b", now), End::of("b", "a", of_pass, now));
    bring(&mut a, &mut b, now);
    assert_eq!(a.rights(), Some(&rights()));
    assert_eq!(b.rights(), Some(&MeshRights::all()));
    a.act(|link, out| link.send(&[1], FramePriority::Ordered, now, out));
    b.act(|link, out| link.send(&[2], FramePriority::Ordered, now, out));
    bring(&mut a, &mut b, now);
    assert_eq!((a.frames(), b.frames()), (vec![vec![2]], vec![vec![1]]));
}

/// Nobody is heard who shows this in place of what "b" has, and none of it is answered.
fn stays_out(identity: Arc<MemberIdentity>, why: &str) {
    let now = Instant::now();
    let (mut a, mut b) = (End::new("a", "b", now), End::of("b", "a", identity, now));
    bring(&mut a, &mut b, now);
    a.handshakes.clear();
    b.act(|link, out| link.tick(now, out));
    let said: Vec<_> = b.wire[0].drain(..).collect();
    assert!(!said.is_empty(), "{why}: it tries");
    for message in said {
        a.act(|link, out| link.comes(&message, now, out));
    }
    assert!(a.told.is_empty() && a.handshakes.is_empty(), "{why}");
}

#[test]
fn sem_g561_who_has_another_name_another_mesh_or_a_grant_of_another_stays_out() {
    stays_out(member(7, "c", None, rights()), "another name");
    stays_out(member(8, "b", None, rights()), "another mesh");
    stays_out(member(8, "b", None, MeshRights::all()), "another mesh");
    // A grant with another key than that which signs is none, and neither is one that was changed.
    let seed = [5; 32];
    let grant = Grant {
        name: "b".to_owned(),
        until: None,
        rights: rights(),
        member: member_of(&[6; 32]),
    };
    let key = RunKey::of_byte(7);
    let (text, signature, authority) = MemberIdentity::sign_grant(&key, &grant);
    assert!(MemberIdentity::new(&seed, (&text, &signature), authority).is_none());
    assert!(MemberIdentity::new(&[6; 32], (&text, &signature), authority).is_some());
    let wider = text.replace("publish a/**", "publish **");
    assert!(MemberIdentity::new(&[6; 32], (&wider, &signature), authority).is_none());
    // Signed by the member, and not by the authority.
    let own = RunKey::of_byte(6);
    let (text, signature, other) = MemberIdentity::sign_grant(&own, &grant);
    assert!(MemberIdentity::new(&[6; 32], (&text, &signature), authority).is_none());
    assert!(MemberIdentity::new(&[6; 32], (&text, &signature), other).is_some());
}

#[test]
fn sem_g561_whose_time_is_over_stays_out() {
    WALL.with(|wall| wall.set(2_000));
    let now = Instant::now();
    for (until, is_up) in [(1_999, false), (2_000, false), (2_001, true)] {
        let of_pass = member(7, "b", Some(until), rights());
        let (mut a, mut b) = (End::new("a", "b", now), End::of("b", "a", of_pass, now));
        bring(&mut a, &mut b, now);
        assert_eq!(a.link.is_up(), is_up, "{until}");
    }
}

#[test]
fn sem_g564_a_link_ends_with_the_time_of_a_member_and_both_ends_are_told() {
    let now = Instant::now();
    let of_pass = member(7, "b", Some(2_000), rights());
    let (mut a, mut b) = (End::new("a", "b", now), End::of("b", "a", of_pass, now));
    bring(&mut a, &mut b, now);
    for at in [1_999, 2_000] {
        WALL.with(|wall| wall.set(at));
        for end in [&mut a, &mut b] {
            end.act(|link, out| link.tick(now, out));
        }
        bring(&mut a, &mut b, now);
        let is_up = at < 2_000;
        assert_eq!((a.link.is_up(), b.link.is_up()), (is_up, is_up));
    }
    let why = |end: &End| match end.told.last() {
        Some(CarrierEvent::Down(_, why)) => why.clone(),
        other => panic!("{other:?}"),
    };
    assert!(
        why(&a).contains("its time in the mesh has ended"),
        "{}",
        why(&a)
    );
    assert!(why(&b).contains("the time of this node"), "{}", why(&b));
    for _ in 0..3 {
        for end in [&mut a, &mut b] {
            end.act(|link, out| link.tick(now, out));
        }
        bring(&mut a, &mut b, now);
    }
    assert!(!a.link.is_up() && !b.link.is_up());
    assert_eq!((a.downs(), b.downs()), (1, 1));
}

#[test]
fn sem_g564_an_end_whose_peer_is_gone_says_what_it_knows_of_why() {
    let now = Instant::now();
    let ended = ["its time in the mesh has ended", "the time of this node"];
    let (broke, left) = (["its connection broke"; 2], ["it has left", ended[1]]);
    // A certificate ends connections when its last second begins.
    for (at, leaves, told) in [
        (2_000, false, ended),
        (1_999, false, ended),
        (1_000, false, broke),
        (1_999, true, left),
    ] {
        WALL.with(|wall| wall.set(1_000));
        let of_pass = member(7, "b", Some(2_000), rights());
        let (mut a, mut b) = (End::new("a", "b", now), End::of("b", "a", of_pass, now));
        bring(&mut a, &mut b, now);
        b.act(|link, out| link.send(&[1], FramePriority::Ordered, now, out));
        b.act(|link, out| link.send(&[2], FramePriority::Ordered, now, out));
        if leaves {
            b.act(|link, out| link.leave(now, out));
            assert!(!b.link.has_heard_all(), "nothing has come yet");
        }
        bring(&mut a, &mut b, now);
        assert_eq!(b.link.has_heard_all(), leaves);
        assert_eq!((a.frames(), a.downs()), (vec![vec![1], vec![2]], 0));
        WALL.with(|wall| wall.set(at));
        for (end, told) in [&mut a, &mut b].into_iter().zip(told) {
            end.act(|link, out| link.gone(out));
            let last = end.told.last();
            let is_told = |why: &String| why.contains(told);
            assert!(
                matches!(last, Some(CarrierEvent::Down(_, why)) if is_told(why)),
                "{at}: {last:?}"
            );
        }
    }
    WALL.with(|wall| wall.set(1_000));
}

#[test]
fn sem_g561_a_handshake_of_which_a_byte_was_changed_is_none() {
    let now = Instant::now();
    let of_pass = || member(7, "b", Some(2_000), rights());
    let mut b = End::of("b", "a", of_pass(), now);
    let hello = b.wire[0].pop_front().expect("it greets");
    let mut a = End::new("a", "b", now);
    a.handshakes.clear();
    for at in 1..hello.len() {
        let mut changed = hello.clone();
        changed[at] ^= 1 << (at % 8);
        a.act(|link, out| link.comes(&changed, now, out));
        a.act(|link, out| link.comes(&hello[..at], now, out));
    }
    let longer = [&hello[..], &[0; 9_000]].concat();
    a.act(|link, out| link.comes(&longer, now, out));
    assert!(a.handshakes.is_empty(), "nobody is answered");
    // The handshake of another link of the same member is no part of this one, nor is that to
    // another peer.
    let mut to_c = End::of("b", "c", of_pass(), now);
    let other = to_c.wire[0].pop_front().expect("it greets");
    a.act(|link, out| link.comes(&other, now, out));
    let mixed = [&hello[..33], &other[33..]].concat();
    a.act(|link, out| link.comes(&mixed, now, out));
    assert!(a.handshakes.is_empty());
    a.act(|link, out| link.comes(&hello, now, out));
    assert_eq!(a.handshakes.len(), 1, "the right one is");
}

#[test]
fn sem_g561_nobody_takes_the_session_of_another_with_a_pass_of_the_same_name() {
    let now = Instant::now();
    let earlier = member(7, "b", None, rights());
    let (mut a, mut b) = (End::new("a", "b", now), End::new("b", "a", now));
    let names = (&PeerName::new("b"), &PeerName::new("a"));
    let session_of = |message: &[u8]| -> Session { message[1..33].try_into().unwrap() };
    let (mine, theirs) = (session_of(&a.handshakes[0]), session_of(&b.handshakes[0]));
    for to in [NOBODY, mine] {
        let stolen = handshake(&earlier, (names.0, 0, &theirs), (names.1, 0, &to));
        a.act(|link, out| link.comes(&stolen, now, out));
    }
    bring(&mut a, &mut b, now);
    assert!(a.link.is_up() && b.link.is_up());
    assert_eq!(
        a.rights(),
        Some(&MeshRights::all()),
        "those of who has the session"
    );
    b.act(|link, out| link.send(&[2], FramePriority::Ordered, now, out));
    bring(&mut a, &mut b, now);
    assert_eq!(a.frames(), [[2]]);
    let downs = a.downs();
    for to in [NOBODY, mine] {
        let stolen = handshake(&earlier, (names.0, 0, &theirs), (names.1, 0, &to));
        a.act(|link, out| link.comes(&stolen, now, out));
    }
    bring(&mut a, &mut b, now);
    assert_eq!((a.downs(), a.rights()), (downs, Some(&MeshRights::all())));
}

#[test]
fn sem_g561_a_session_that_is_no_key_agrees_with_none() {
    let now = Instant::now();
    let (identity, names) = (
        member(7, "b", None, rights()),
        (&PeerName::new("b"), &PeerName::new("a")),
    );
    let mut a = End::new("a", "b", now);
    // A point of small order: all agreements with it are the same.
    let weak: Session = std::array::from_fn(|at| u8::from(at == 0));
    for _ in 0..3 {
        let mine: Session = a.handshakes.last().unwrap()[1..33].try_into().unwrap();
        for to in [NOBODY, mine] {
            let message = handshake(&identity, (names.0, 0, &weak), (names.1, 0, &to));
            a.act(|link, out| link.comes(&message, now, out));
        }
        a.act(|link, out| link.tick(now, out));
    }
    assert!(a.told.is_empty());
    // One of the same member that is right still brings the link up.
    let mut b = End::of("b", "a", identity, now);
    bring(&mut a, &mut b, now);
    a.act(|link, out| link.tick(now, out));
    bring(&mut a, &mut b, now);
    assert!(a.link.is_up() && b.link.is_up());
}

#[test]
fn sem_g239_what_anybody_repeats_and_seals_before_each_answer_keeps_no_link_from_beginning() {
    let now = Instant::now();
    let old = End::new("b", "a", now);
    let of_pass = member(7, "b", None, rights());
    let stale = End::of("b", "a", Arc::clone(&of_pass), now).handshakes[0].clone();
    let mut forged = vec![0; HEAD + 40];
    forged[0] = SEALED;
    let (mut a, mut b) = (End::new("a", "b", now), End::of("b", "a", of_pass, now));
    for _ in 0..100 {
        for end in [&mut a, &mut b] {
            end.act(|link, out| link.tick(now, out));
        }
        while let Some(message) = a.wire[0].pop_front() {
            b.act(|link, out| link.comes(&message, now, out));
        }
        while let Some(answer) = b.wire[0].pop_front() {
            for repeated in [&stale, &old.handshakes[0], &forged] {
                a.act(|link, out| link.comes(repeated, now, out));
            }
            a.act(|link, out| link.comes(&answer, now, out));
        }
        if a.link.is_up() && b.link.is_up() {
            break;
        }
    }
    assert!(a.link.is_up() && b.link.is_up());
    b.act(|link, out| link.send(&[2], FramePriority::Ordered, now, out));
    bring(&mut a, &mut b, now);
    assert_eq!(a.frames(), [[2]]);
}

#[test]
fn sem_g561_a_handshake_between_other_starts_of_both_is_none() {
    let now = Instant::now();
    let of_pass = || member(7, "b", None, rights());
    for (of_a, of_b, is_up) in [((1, 2), (2, 1), true), ((1, 3), (2, 1), false)] {
        let of_key = member(7, "a", None, MeshRights::all());
        let mut a = End::between("a", "b", of_key, of_a, now);
        let mut b = End::between("b", "a", of_pass(), of_b, now);
        bring(&mut a, &mut b, now);
        assert_eq!((a.link.is_up(), b.link.is_up()), (is_up, is_up));
    }
    let mut earlier = End::between("b", "a", of_pass(), (2, 9), now);
    let hello = earlier.wire[0].pop_front().expect("it greets");
    let of_key = member(7, "a", None, MeshRights::all());
    let mut a = End::between("a", "b", of_key, (1, 2), now);
    a.handshakes.clear();
    a.act(|link, out| link.comes(&hello, now, out));
    assert!(
        a.handshakes.is_empty(),
        "it was for an earlier start of this node"
    );
}

#[test]
fn sem_g569_handshakes_that_somebody_repeats_are_answered_a_few_times_between_heartbeats() {
    let mut now = Instant::now();
    let of_pass = member(7, "b", None, rights());
    let mut old = Vec::new();
    for _ in 0..50 {
        old.extend(End::of("b", "a", Arc::clone(&of_pass), now).handshakes);
    }
    let (mut a, mut b) = (End::new("a", "b", now), End::of("b", "a", of_pass, now));
    bring(&mut a, &mut b, now);
    for _ in 0..3 {
        a.handshakes.clear();
        for hello in old.iter().cycle().take(1_000) {
            a.act(|link, out| link.comes(hello, now, out));
        }
        assert!(a.handshakes.len() <= usize::from(CHECKS));
        now += Duration::from_secs(1);
        for end in [&mut a, &mut b] {
            end.act(|link, out| link.tick(now, out));
        }
        bring(&mut a, &mut b, now);
        assert_eq!((a.downs(), b.downs()), (0, 0));
    }
    // The peer begins a new link meanwhile: that is up once this end has missed it.
    b.act(|link, out| link.end("it is gone for a moment", out));
    for _ in 0..4 {
        for hello in old.iter().chain(&old) {
            a.act(|link, out| link.comes(hello, now, out));
        }
        now += Duration::from_secs(1);
        for end in [&mut a, &mut b] {
            end.act(|link, out| link.tick(now, out));
        }
        bring(&mut a, &mut b, now);
    }
    assert!(a.link.is_up() && b.link.is_up());
}
