//! What has come and waits until the node takes it has a limit.

use super::super::waiting::{MOST, cost};
use super::*;

/// Time passes at both ends, and what they say comes.
fn second(a: &mut End, b: &mut End, now: &mut Instant) {
    *now += Duration::from_secs(1);
    for end in [&mut *a, &mut *b] {
        end.act(|link, out| link.tick(*now, out));
    }
    bring(a, b, *now);
}

fn bytes_of(end: &End) -> u64 {
    end.frames().iter().map(|frame| frame.len() as u64).sum()
}

#[test]
fn sem_g585_a_node_that_takes_nothing_gets_no_more_than_the_window_and_is_not_held_dead() {
    let mut now = Instant::now();
    let (mut a, mut b) = pair(now);
    b.is_busy = true;
    let frames: Vec<Vec<u8>> = (0..200_u8).map(|n| vec![n; PART / 2]).collect();
    for frame in &frames {
        a.act(|link, out| link.send(frame, FramePriority::Ordered, now, out));
    }
    bring(&mut a, &mut b, now);
    let come = bytes_of(&b);
    assert!((WINDOW / 2..=WINDOW).contains(&come), "{come}");
    for _ in 0..10 {
        second(&mut a, &mut b, &mut now);
        assert_eq!(bytes_of(&b), come, "a heartbeat brings no more");
    }
    b.goes_on();
    bring(&mut a, &mut b, now);
    assert!(b.frames() == frames, "the rest comes once it is taken");
    assert_eq!((a.downs(), b.downs()), (0, 0));
}

#[test]
fn sem_g494_who_leaves_says_so_behind_what_the_window_holds_back() {
    let now = Instant::now();
    for takes in [true, false] {
        let (mut a, mut b) = pair(now);
        b.is_busy = true;
        let frames: Vec<Vec<u8>> = (0..200_u8).map(|n| vec![n; PART / 2]).collect();
        for frame in &frames {
            a.act(|link, out| link.send(frame, FramePriority::Ordered, now, out));
        }
        assert!(a.link.takes_frames());
        a.act(|link, out| link.leave(now, out));
        bring(&mut a, &mut b, now);
        assert!(!a.link.has_heard_all() && b.frames().len() < frames.len());
        assert!(
            a.link.takes_frames(),
            "others go on while it waits to say so"
        );
        if takes {
            b.goes_on();
            bring(&mut a, &mut b, now);
            assert!(b.frames() == frames, "all comes before");
        } else {
            // It has had its time.
            a.act(|link, out| link.say_left(true, out));
            bring(&mut a, &mut b, now);
        }
        assert!(a.link.has_heard_all());
        assert!(!a.link.takes_frames(), "none goes behind that");
        b.act(|link, out| link.gone(out));
        let last = b.told.last();
        let is_left = matches!(last, Some(CarrierEvent::Down(_, why)) if why == "it has left");
        assert!(is_left, "{last:?}");
    }
}

#[test]
fn sem_g585_the_loss_of_what_came_last_is_seen_though_the_node_is_busy() {
    let mut now = Instant::now();
    let (mut a, mut b) = pair(now);
    b.is_busy = true;
    a.act(|link, out| link.send(&[1], FramePriority::Ordered, now, out));
    bring(&mut a, &mut b, now);
    now += PAUSE;
    a.act(|link, out| link.send(&[2], FramePriority::Ordered, now, out));
    a.wire[1].clear();
    for at in 1..=6 {
        second(&mut a, &mut b, &mut now);
        let broken = usize::from(at >= 4);
        assert_eq!((a.downs(), b.downs()), (broken, broken), "{at}");
    }
}

#[test]
fn sem_g585_a_frame_that_is_longer_than_the_window_comes_alone() {
    let now = Instant::now();
    let (mut a, mut b) = pair(now);
    for n in 0..3_u8 {
        let frame = vec![n; 5 << 20];
        a.act(|link, out| link.send(&frame, FramePriority::Ordered, now, out));
    }
    for come in 1..=3 {
        b.is_busy = true;
        bring(&mut a, &mut b, now);
        assert_eq!(b.frames().len(), come);
        assert!(b.link.parts.len() as u64 <= WINDOW);
        b.goes_on();
    }
    assert_eq!((a.downs(), b.downs()), (0, 0));
}

#[test]
fn sem_g585_urgent_frames_wait_as_well_and_go_before_others() {
    let now = Instant::now();
    let (mut a, mut b) = pair(now);
    b.is_busy = true;
    let send = |a: &mut End, n: u32, priority| {
        let frame = n.to_le_bytes();
        a.act(|link, out| link.send(&frame, priority, now, out));
    };
    for n in 0..20_000 {
        send(&mut a, n, FramePriority::Urgent);
    }
    send(&mut a, 20_000, FramePriority::Ordered);
    bring(&mut a, &mut b, now);
    let come = b.frames().len() as u64 * cost(4);
    assert!((MOST / 2..=MOST).contains(&come), "{come}");
    b.goes_on();
    bring(&mut a, &mut b, now);
    let numbers: Vec<_> = (0..=20_000_u32).map(|n| n.to_le_bytes().to_vec()).collect();
    assert!(b.frames() == numbers);
    assert_eq!((a.downs(), b.downs()), (0, 0));
}

#[test]
fn sem_g585_a_peer_that_sends_more_than_it_may_is_cut_off_until_the_node_has_taken_it() {
    for priority in [FramePriority::Ordered, FramePriority::Urgent] {
        let mut now = Instant::now();
        let (mut a, mut b) = pair(now);
        b.is_busy = true;
        // Past what waits at its own end.
        for _ in 0..4 * MOST / PART as u64 {
            a.act(|link, out| link.seal(priority, with_head(&[0; PART]), WHOLE, out));
        }
        bring(&mut a, &mut b, now);
        let why = match b.told.last() {
            Some(CarrierEvent::Down(_, why)) => why.clone(),
            other => panic!("{other:?}"),
        };
        assert!(why.contains("it sends more than it may"), "{why}");
        let told = b.told.len();
        for _ in 0..10 {
            second(&mut a, &mut b, &mut now);
        }
        assert!(!b.link.is_up() && b.told.len() == told && bytes_of(&b) <= MOST);
        assert_eq!((a.link.is_up(), a.downs()), (false, 1));
        b.goes_on();
        bring(&mut a, &mut b, now);
        assert!(a.link.is_up() && b.link.is_up(), "it begins at once");
        a.act(|link, out| link.send(&[7], FramePriority::Ordered, now, out));
        bring(&mut a, &mut b, now);
        assert_eq!(b.frames().last(), Some(&vec![7]));
        a.check();
        b.check();
    }
}

#[test]
fn sem_g585_links_that_begin_anew_bring_no_more_than_one_does() {
    let mut now = Instant::now();
    let (mut a, mut b) = pair(now);
    b.is_busy = true;
    for _ in 0..100 {
        for n in 0..3_u32 {
            let at = now + PAUSE * n;
            if a.link.is_up() {
                a.act(|link, out| link.send(&[0; PART / 2], FramePriority::Ordered, at, out));
            }
        }
        bring(&mut a, &mut b, now);
        a.act(|link, out| link.break_off("it begins anew", out));
        second(&mut a, &mut b, &mut now);
    }
    assert!(bytes_of(&b) > WINDOW / 2 && bytes_of(&b) <= 2 * WINDOW);
    assert!(b.told.len() < 100);
    b.goes_on();
    for _ in 0..2 {
        second(&mut a, &mut b, &mut now);
    }
    assert!(a.link.is_up() && b.link.is_up());
    a.check();
    b.check();
}

#[test]
fn sem_g585_what_waits_is_counted_also_for_the_next_start_of_the_peer() {
    let mut now = Instant::now();
    let (mut a, mut b) = pair(now);
    b.is_busy = true;
    let frame = vec![1; 2 << 20];
    a.act(|link, out| link.send(&frame, FramePriority::Ordered, now, out));
    bring(&mut a, &mut b, now);
    b.act(|link, out| link.end("it is gone", out));
    let untaken = b.link.hands_over();
    let mut next = End::new("b", "a", now);
    next.link.untaken = untaken;
    (next.is_busy, next.untaken) = (true, b.untaken);
    next.wire[0].clear();
    let mut a = End::new("a", "b", now);
    for _ in 0..5 {
        second(&mut a, &mut next, &mut now);
    }
    assert!(!a.link.is_up() && next.told.is_empty());
    next.goes_on();
    bring(&mut a, &mut next, now);
    assert!(a.link.is_up() && next.link.is_up());
}

/// The bytes of the frames that the node has not taken, but for the longest.
fn waits_beside_the_longest(end: &End) -> usize {
    let lengths = |event: &CarrierEvent| match event {
        CarrierEvent::Frame(_, frame) => frame.len(),
        CarrierEvent::Frames(_, frames) => frames.iter().map(<[u8]>::len).sum(),
        _ => 0,
    };
    let untaken = &end.told[end.told.len() - end.untaken..];
    let longest = untaken.iter().map(lengths).max().unwrap_or(0);
    untaken.iter().map(lengths).sum::<usize>() - longest
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn prop_sem_g585_whatever_a_member_makes_up_what_waits_for_the_node_has_a_limit(
        steps in prop::collection::vec((0..10_u8, 0..5_u8, 0..2 * PART, any::<bool>()), 0..200),
    ) {
        let mut now = Instant::now();
        let (mut a, mut b) = pair(now);
        b.is_busy = true;
        for (step, kind, length, is_urgent) in steps {
            let priority = match is_urgent {
                true => FramePriority::Urgent,
                false => FramePriority::Ordered,
            };
            match step {
                0 => second(&mut a, &mut b, &mut now),
                1 => a.act(|link, out| link.break_off("it begins anew", out)),
                2 if b.untaken > 0 => {
                    b.untaken -= 1;
                    b.act(|link, out| link.taken(out));
                }
                // Mostly of a kind that brings much.
                3..=7 => a.act(|link, out| {
                    link.seal(priority, with_head(&vec![0; length]), WHOLE, out);
                }),
                _ => a.act(|link, out| {
                    link.seal(priority, with_head(&vec![0; length & !3]), kind, out);
                }),
            }
            bring(&mut a, &mut b, now);
            let waits = waits_beside_the_longest(&b) as u64;
            prop_assert!(waits <= WINDOW + MOST, "{waits}");
        }
        b.goes_on();
        for _ in 0..8 {
            second(&mut a, &mut b, &mut now);
        }
        prop_assert!(a.link.is_up() && b.link.is_up());
        b.check();
    }
}
