//! Two ends of a link, and what lies between them.

mod members;
mod taken;

use super::waiting::{PART, PAUSE, WINDOW};
use super::*;
use crate::grant::Grant;
use crate::identity::member_of;
use crate::key::RunKey;
use motet_mesh::MeshRights;
use proptest::prelude::*;
use std::cell::Cell;
use std::collections::VecDeque;

motet_sync::thread_local! {
    /// What the clock of the wall says in a test.
    static WALL: Cell<u64> = const { Cell::new(1_000) };
}

/// What the key of a mesh makes; who has it is `key`.
fn member(key: u8, name: &str, until: Option<u64>, rights: MeshRights) -> Arc<MemberIdentity> {
    let seed = crate::key::random().unwrap();
    let grant = Grant {
        name: name.to_owned(),
        until,
        rights,
        member: member_of(&seed),
    };
    let (text, signature, authority) = MemberIdentity::sign_grant(&RunKey::of_byte(key), &grant);
    Arc::new(MemberIdentity::new(&seed, (&text, &signature), authority).unwrap())
}

/// One end, with what it has sent and told.
struct End {
    link: Link,
    wire: [VecDeque<Vec<u8>>; 2],
    told: Vec<CarrierEvent>,
    flush: bool,
    /// Its node takes nothing of what it is told.
    is_busy: bool,
    untaken: usize,
    /// All that it has sent.
    handshakes: Vec<Vec<u8>>,
}

impl End {
    fn new(me: &str, peer: &str, now: Instant) -> End {
        End::of(me, peer, member(7, me, None, MeshRights::all()), now)
    }

    /// An end that says that it is `me`, and shows who it is by this.
    fn of(me: &str, peer: &str, identity: Arc<MemberIdentity>, now: Instant) -> End {
        End::between(me, peer, identity, (0, 0), now)
    }

    /// With the starts of both ends.
    fn between(
        me: &str,
        peer: &str,
        identity: Arc<MemberIdentity>,
        starts: (u64, u64),
        now: Instant,
    ) -> End {
        let ends = Ends {
            me: PeerName::new(me),
            peer: PeerName::new(peer),
            starts,
            identity,
            silence: Duration::from_secs(3),
            wall: || WALL.with(Cell::get),
        };
        let mut effects = Vec::new();
        let untaken = Untaken::default();
        let link = Link::new(ends, untaken, now, &mut |effect| effects.push(effect));
        let mut end = End {
            link,
            wire: Default::default(),
            told: Vec::new(),
            flush: false,
            is_busy: false,
            untaken: 0,
            handshakes: Vec::new(),
        };
        effects.into_iter().for_each(|effect| end.take(effect));
        end
    }

    fn take(&mut self, effect: Effect) {
        match effect {
            Effect::Send(priority, message) => {
                if message[0] == HANDSHAKE {
                    self.handshakes.push(message.clone());
                }
                self.wire[priority as usize].push_back(message);
            }
            Effect::Tell(event) => self.told.push(event),
            Effect::Flush => self.flush = true,
        }
    }

    /// What the carrier's thread does soon.
    fn flush(&mut self, now: Instant) -> bool {
        let flush = std::mem::take(&mut self.flush);
        let mut at = now;
        let mut ends = !flush;
        while !ends {
            at += PAUSE;
            self.act(|link, out| ends = link.flush(at, out) == Flush::End);
        }
        flush
    }

    fn act(&mut self, body: impl FnOnce(&mut Link, &mut dyn FnMut(Effect))) {
        let mut effects = VecDeque::new();
        body(&mut self.link, &mut |effect| effects.push_back(effect));
        while let Some(effect) = effects.pop_front() {
            let is_told = matches!(effect, Effect::Tell(_));
            self.take(effect);
            self.untaken += usize::from(is_told && self.is_busy);
            if is_told && !self.is_busy {
                self.link.taken(&mut |effect| effects.push_back(effect));
            }
        }
    }

    /// Its node is busy no longer, and takes what it was told meanwhile.
    fn goes_on(&mut self) {
        self.is_busy = false;
        for _ in 0..std::mem::take(&mut self.untaken) {
            self.act(|link, out| link.taken(out));
        }
    }

    fn frames(&self) -> Vec<Vec<u8>> {
        let frames = |event: &CarrierEvent| match event {
            CarrierEvent::Frame(_, frame) => vec![frame.clone()],
            CarrierEvent::Frames(_, frames) => frames.iter().map(<[u8]>::to_vec).collect(),
            _ => Vec::new(),
        };
        self.told.iter().flat_map(frames).collect()
    }

    /// What the peer may, by the last link to come up.
    fn rights(&self) -> Option<&MeshRights> {
        let mut last_first = self.told.iter().rev();
        last_first.find_map(|event| match event {
            CarrierEvent::Up(_, _, rights) => Some(rights),
            _ => None,
        })
    }

    fn downs(&self) -> usize {
        let is_down = |event: &&CarrierEvent| matches!(event, CarrierEvent::Down(..));
        self.told.iter().filter(is_down).count()
    }

    /// `Up` and `Down` come by turns, and frames while it is up.
    fn check(&self) {
        let mut up = false;
        for event in &self.told {
            match event {
                CarrierEvent::Up(..) => assert!(!std::mem::replace(&mut up, true)),
                CarrierEvent::Down(..) => assert!(std::mem::take(&mut up)),
                CarrierEvent::Frame(..) | CarrierEvent::Frames(..) => assert!(up),
            }
        }
    }
}

/// Brings everything that is under way, the urgent priority first.
fn bring(one: &mut End, other: &mut End, now: Instant) {
    loop {
        let mut idle = !(one.flush(now) | other.flush(now));
        for priority in 0..2 {
            for turn in 0..2 {
                let (from, to) = if turn == 0 {
                    (&mut *one, &mut *other)
                } else {
                    (&mut *other, &mut *one)
                };
                while let Some(message) = from.wire[priority].pop_front() {
                    idle = false;
                    to.act(|link, out| link.comes(&message, now, out));
                }
            }
        }
        if idle {
            return;
        }
    }
}

fn pair(now: Instant) -> (End, End) {
    let mut ends = (End::new("a", "b", now), End::new("b", "a", now));
    bring(&mut ends.0, &mut ends.1, now);
    assert!(ends.0.link.is_up() && ends.1.link.is_up());
    ends
}

#[test]
fn sem_g236_frames_of_any_length_come_whole_and_in_order() {
    let now = Instant::now();
    let (mut a, mut b) = pair(now);
    let frames: Vec<Vec<u8>> = [0, 1, PART - 1, PART, PART + 1, 3 * PART, 5 << 20]
        .iter()
        .map(|length| vec![*length as u8; *length])
        .collect();
    for frame in &frames {
        a.act(|link, out| link.send(frame, FramePriority::Ordered, now, out));
    }
    let under_way: usize = a.wire[1].iter().map(Vec::len).sum();
    assert!(under_way as u64 <= WINDOW, "{under_way}");
    bring(&mut a, &mut b, now);
    assert_eq!(b.frames(), frames);
    for frame in frames.clone() {
        b.act(|link, out| link.send_owned(frame, FramePriority::Ordered, now, out));
    }
    bring(&mut a, &mut b, now);
    assert_eq!(a.frames(), frames);
    assert_eq!((a.downs(), b.downs()), (0, 0));
}

#[test]
fn sem_g237_a_message_that_is_lost_breaks_the_link_at_both_ends_and_a_new_one_begins() {
    let now = Instant::now();
    let (mut a, mut b) = pair(now);
    for n in 0..3_u8 {
        let at = now + PAUSE * u32::from(n);
        a.act(|link, out| link.send(&[n], FramePriority::Ordered, at, out));
    }
    a.wire[1].remove(1);
    bring(&mut a, &mut b, now);
    assert_eq!(b.frames(), [[0]]);
    assert_eq!((a.downs(), b.downs()), (1, 1));
    a.act(|link, out| link.send(&[9], FramePriority::Ordered, now, out));
    bring(&mut a, &mut b, now);
    assert_eq!(b.frames(), [[0], [9]]);
    a.check();
    b.check();
}

#[test]
fn sem_g237_the_loss_of_the_last_message_breaks_the_link_too() {
    let mut now = Instant::now();
    let (mut a, mut b) = pair(now);
    a.act(|link, out| link.send(&[1], FramePriority::Ordered, now, out));
    a.wire[1].clear();
    for second in 1..=6 {
        now += Duration::from_secs(1);
        for end in [&mut a, &mut b] {
            end.act(|link, out| link.tick(now, out));
        }
        bring(&mut a, &mut b, now);
        // The first keep-alive that lacks it, and 3 s more.
        let broken = usize::from(second >= 4);
        assert_eq!((a.downs(), b.downs()), (broken, broken), "{second}");
    }
    a.act(|link, out| link.send(&[2], FramePriority::Ordered, now, out));
    bring(&mut a, &mut b, now);
    assert_eq!(b.frames(), [[2]]);
}

#[test]
fn sem_g238_an_end_that_hears_nothing_for_so_long_says_so_and_one_that_pulses_does_not() {
    let mut now = Instant::now();
    let (mut a, mut b) = pair(now);
    for _ in 0..10 {
        now += Duration::from_secs(1);
        a.act(|link, out| link.tick(now, out));
        b.act(|link, out| link.tick(now, out));
        bring(&mut a, &mut b, now);
    }
    assert_eq!((a.downs(), b.downs()), (0, 0));
    now += Duration::from_secs(3);
    a.act(|link, out| link.tick(now, out));
    assert_eq!(a.downs(), 1);
    bring(&mut a, &mut b, now);
    assert!(a.link.is_up() && b.link.is_up(), "the next link has begun");
    assert_eq!((a.downs(), b.downs()), (1, 1));
}

#[test]
fn sem_g239_who_has_another_key_is_not_heard() {
    let now = Instant::now();
    let other = member(8, "b", None, MeshRights::all());
    let (mut a, mut b) = (End::new("a", "b", now), End::of("b", "a", other, now));
    bring(&mut a, &mut b, now);
    assert!(!a.link.is_up() && !b.link.is_up());
    assert!(a.told.is_empty() && b.told.is_empty());
}

#[test]
fn a_peer_that_does_not_confirm_gets_no_more_than_the_window() {
    let now = Instant::now();
    let (mut a, _) = pair(now);
    for _ in 0..100 {
        a.act(|link, out| link.send(&[0; PART], FramePriority::Ordered, now, out));
    }
    let under_way: usize = a.wire[1].iter().map(Vec::len).sum();
    assert!(under_way as u64 <= WINDOW, "{under_way}");
}

#[test]
fn sem_g236_frames_in_quick_succession_share_a_message_and_the_first_waits_for_none() {
    let now = Instant::now();
    let (mut a, mut b) = pair(now);
    let frames: Vec<Vec<u8>> = (0..100_u8).map(|n| vec![n; usize::from(n)]).collect();
    for (sent, frame) in frames.iter().enumerate() {
        a.act(|link, out| link.send(frame, FramePriority::Ordered, now, out));
        assert_eq!(a.wire[1].len(), 1, "after {sent} frames before");
    }
    a.act(|link, out| assert!(link.flush(now, out) == Flush::Wait));
    assert_eq!(a.wire[1].len(), 1, "no pause has been");
    a.flush(now);
    assert_eq!(a.wire[1].len(), 2, "the 99 others are one message");
    bring(&mut a, &mut b, now);
    assert_eq!(b.frames(), frames);
    let later = now + 8 * PAUSE;
    a.act(|link, out| link.send(&[1], FramePriority::Ordered, later, out));
    assert_eq!(a.wire[1].len(), 1, "after a pause a frame goes at once");
    for _ in 0..PART / 4 {
        a.act(|link, out| link.send(&[2; 2], FramePriority::Ordered, later, out));
    }
    assert_eq!(
        a.wire[1].len(),
        2,
        "a message that is full waits for no flush"
    );
}

#[test]
fn sem_g239_messages_of_strangers_change_nothing() {
    let now = Instant::now();
    let (mut a, mut b) = pair(now);
    let mut random = motet_testkit::Random::new(1);
    for _ in 0..100_000 {
        let length = [HEAD + 17, 1 + 32 + 32 + 64 + 90, random.below(400)][random.below(3)];
        let mut message: Vec<u8> = (0..length).map(|_| random.below(256) as u8).collect();
        if let Some(kind) = message.first_mut() {
            *kind = [HANDSHAKE, SEALED, 7][random.below(3)];
        }
        a.act(|link, out| link.comes(&message, now, out));
    }
    assert!(a.wire.iter().all(VecDeque::is_empty), "nobody is answered");
    assert_eq!((a.downs(), a.frames().len()), (0, 0));
    b.act(|link, out| link.send(&[3], FramePriority::Ordered, now, out));
    bring(&mut a, &mut b, now);
    assert_eq!(a.frames(), [[3]]);
}

#[test]
fn sem_g239_a_handshake_that_somebody_repeats_breaks_no_link_that_works() {
    let mut now = Instant::now();
    let (mut a, mut b) = pair(now);
    let mut breaks = |a: &mut End, b: &mut End| {
        now += Duration::from_secs(3);
        a.act(|link, out| link.tick(now, out));
        bring(a, b, now);
        now
    };
    for _ in 0..3 {
        breaks(&mut a, &mut b);
        breaks(&mut b, &mut a);
    }
    let at = breaks(&mut a, &mut b);
    assert_eq!((a.downs(), b.downs()), (7, 7));
    // Then those too that were sent in answer to the old ones.
    for is_brought_at_once in [true, false, true] {
        let (of_a, of_b) = (a.handshakes.clone(), b.handshakes.clone());
        for old in of_b {
            a.act(|link, out| link.comes(&old, at, out));
            if is_brought_at_once {
                bring(&mut a, &mut b, at);
            }
        }
        for old in of_a {
            b.act(|link, out| link.comes(&old, at, out));
            if is_brought_at_once {
                bring(&mut a, &mut b, at);
            }
        }
        bring(&mut a, &mut b, at);
        assert_eq!((a.downs(), b.downs()), (7, 7));
    }
    a.act(|link, out| link.send(&[1], FramePriority::Ordered, at, out));
    b.act(|link, out| link.send(&[2], FramePriority::Ordered, at, out));
    bring(&mut a, &mut b, at);
    assert_eq!((a.frames(), b.frames()), (vec![vec![2]], vec![vec![1]]));
    breaks(&mut b, &mut a);
    assert!(a.link.is_up() && b.link.is_up());
    assert_eq!((a.downs(), b.downs()), (8, 8), "a new link begins at once");
}

#[test]
fn sem_g238_what_somebody_repeats_is_no_sign_of_life() {
    let now = Instant::now();
    let (mut a, mut b) = pair(now);
    b.act(|link, out| link.send(&[1], FramePriority::Ordered, now, out));
    let mut said: Vec<_> = b.wire[1].iter().cloned().collect();
    said.extend(b.handshakes.iter().cloned());
    bring(&mut a, &mut b, now);
    let later = now + Duration::from_secs(3);
    for message in &said {
        a.act(|link, out| link.comes(message, later, out));
    }
    a.act(|link, out| link.tick(later, out));
    assert_eq!(a.downs(), 1);
}

#[test]
fn sem_g237_ends_that_are_up_with_other_sessions_of_each_other_find_each_other() {
    let now = Instant::now();
    let mut a = End::new("a", "b", now);
    let mut b = End::new("b", "a", now);
    let hello = a.wire[0].pop_front().expect("it greets");
    b.wire[0].clear();
    b.act(|link, out| link.comes(&hello, now, out));
    let slow = b.wire[0].pop_front().expect("it answers");
    b.act(|link, out| {
        link.end("it is gone for a moment", out);
        link.tick(now, out);
    });
    let hello = b.wire[0].pop_front().expect("it greets again");
    a.act(|link, out| link.comes(&hello, now, out));
    let answer = a.wire[0].pop_front().expect("it answers");
    b.act(|link, out| link.comes(&answer, now, out));
    a.act(|link, out| link.comes(&slow, now, out));
    assert!(a.link.is_up() && b.link.is_up());
    bring(&mut a, &mut b, now);
    for _ in 0..2 {
        a.act(|link, out| link.send(&[1], FramePriority::Ordered, now, out));
        b.act(|link, out| link.send(&[2], FramePriority::Ordered, now, out));
        bring(&mut a, &mut b, now);
    }
    assert_eq!(a.frames(), [[2], [2]]);
    assert_eq!(b.frames(), [[1], [1]]);
    a.check();
    b.check();
}

#[test]
fn sem_g237_what_a_stranger_seals_while_a_link_begins_keeps_it_from_nothing() {
    let now = Instant::now();
    let (mut a, mut b) = (End::new("a", "b", now), End::new("b", "a", now));
    let old = b.wire[0][0].clone();
    let mut forged = vec![0; HEAD + 40];
    forged[0] = SEALED;
    for _ in 0..3 {
        // An earlier greeting of the peer, which it knows nothing of any more.
        a.act(|link, out| link.comes(&old, now, out));
        a.act(|link, out| link.comes(&forged, now, out));
        b.act(|link, out| link.end("it is gone for a moment", out));
        b.act(|link, out| link.tick(now, out));
    }
    bring(&mut a, &mut b, now);
    assert!(a.link.is_up() && b.link.is_up());
    b.act(|link, out| link.send(&[2], FramePriority::Ordered, now, out));
    a.act(|link, out| link.send(&[1], FramePriority::Ordered, now, out));
    bring(&mut a, &mut b, now);
    assert_eq!((a.frames(), b.frames()), (vec![vec![2]], vec![vec![1]]));
    a.check();
    b.check();
}

#[derive(Debug, Clone, Copy)]
enum Step {
    Send(bool, u16),
    Flush(bool),
    Bring(bool, bool),
    Lose(bool, bool),
    Repeat(bool, bool),
    Old(bool, u8),
    Garble(bool, u8),
    Forge(bool),
    Busy(bool),
    GoOn(bool),
    Wait(u16),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => (any::<bool>(), any::<u16>()).prop_map(|(who, n)| Step::Send(who, n)),
        2 => any::<bool>().prop_map(Step::Flush),
        8 => (any::<bool>(), any::<bool>()).prop_map(|(who, priority)| Step::Bring(who, priority)),
        1 => (any::<bool>(), any::<bool>()).prop_map(|(who, priority)| Step::Lose(who, priority)),
        1 => (any::<bool>(), any::<bool>()).prop_map(|(who, priority)| Step::Repeat(who, priority)),
        1 => (any::<bool>(), any::<u8>()).prop_map(|(who, n)| Step::Old(who, n)),
        1 => (any::<bool>(), any::<u8>()).prop_map(|(who, byte)| Step::Garble(who, byte)),
        1 => any::<bool>().prop_map(Step::Forge),
        1 => any::<bool>().prop_map(Step::Busy),
        1 => any::<bool>().prop_map(Step::GoOn),
        1 => (0..4000_u16).prop_map(Step::Wait),
    ];
    prop::collection::vec(step, 0..120)
}

/// Carries out a step; `sent` is what each end has been given to send.
fn carry_out(step: Step, ends: &mut [End; 2], sent: &mut [Vec<Vec<u8>>; 2], now: &mut Instant) {
    match step {
        Step::Send(who, n) => {
            let end = &mut ends[usize::from(who)];
            if end.link.is_up() {
                let frame = [&n.to_le_bytes()[..], &vec![1; usize::from(n)]].concat();
                sent[usize::from(who)].push(frame.clone());
                end.act(|link, out| link.send(&frame, FramePriority::Ordered, *now, out));
            }
        }
        Step::Flush(who) => {
            ends[usize::from(who)].flush(*now);
        }
        Step::Bring(who, priority) => {
            let message = ends[usize::from(who)].wire[usize::from(priority)].pop_front();
            if let Some(message) = message {
                ends[usize::from(!who)].act(|link, out| link.comes(&message, *now, out));
            }
        }
        Step::Lose(who, priority) => {
            let wire = &mut ends[usize::from(who)].wire[usize::from(priority)];
            drop(wire.pop_front());
        }
        Step::Repeat(who, priority) => {
            let wire = &ends[usize::from(who)].wire[usize::from(priority)];
            let message = wire.front().cloned();
            if let Some(message) = message {
                ends[usize::from(!who)].act(|link, out| link.comes(&message, *now, out));
            }
        }
        Step::Old(who, n) => {
            let handshakes = &ends[usize::from(who)].handshakes;
            let old = handshakes[usize::from(n) % handshakes.len()].clone();
            ends[usize::from(!who)].act(|link, out| link.comes(&old, *now, out));
        }
        Step::Garble(who, byte) => {
            let message = ends[usize::from(who)].wire[1].front_mut();
            if let Some(message) = message {
                let at = usize::from(byte) % message.len();
                message[at] ^= 1 + byte % 255;
            }
        }
        Step::Forge(who) => {
            let mut forged = vec![0; HEAD + 40];
            forged[0] = SEALED;
            ends[usize::from(who)].act(|link, out| link.comes(&forged, *now, out));
        }
        Step::Busy(who) => ends[usize::from(who)].is_busy = true,
        Step::GoOn(who) => ends[usize::from(who)].goes_on(),
        Step::Wait(millis) => {
            *now += Duration::from_millis(millis.into());
            ends.iter_mut()
                .for_each(|end| end.act(|link, out| link.tick(*now, out)));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn prop_sem_g237_what_comes_is_a_run_of_what_was_sent_whatever_the_engine_does(
        steps in steps(),
    ) {
        let mut now = Instant::now();
        let (a, b) = pair(now);
        let mut ends = [a, b];
        let mut sent = [Vec::new(), Vec::new()];
        for step in steps {
            carry_out(step, &mut ends, &mut sent, &mut now);
        }
        let [mut a, mut b] = ends;
        a.goes_on();
        b.goes_on();
        bring(&mut a, &mut b, now);
        for _ in 0..3 {
            now += Duration::from_secs(1);
            a.act(|link, out| link.tick(now, out));
            b.act(|link, out| link.tick(now, out));
            bring(&mut a, &mut b, now);
        }
        prop_assert!(a.link.is_up() && b.link.is_up(), "a link comes back once messages do");
        a.check();
        b.check();
        let is_cut = |event: &CarrierEvent| match event {
            CarrierEvent::Down(_, why) => why.contains("more than it may"),
            _ => false,
        };
        prop_assert!(!a.told.iter().chain(&b.told).any(is_cut), "nobody sends more than it may");
        for (got, sent) in [(b.frames(), &sent[0]), (a.frames(), &sent[1])] {
            let mut rest = sent.iter();
            for frame in got {
                prop_assert!(rest.any(|other| *other == frame), "out of order, or twice");
            }
        }
    }
}
