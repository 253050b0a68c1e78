//! Port sets: behaviours 35 to 42 and 124, and what the shared mode keeps.

use crate::support::{here, in_parallel, on_dispatchers, post_all, take_all};
use motet_dispatch::{Dispatcher, Enqueue, QueueConfig, QueueError, Task};
use motet_ports::one_of::{OneOf2, OneOf3, OneOf20};
use motet_ports::{
    Choice, JoinedReceive, Port, PortSet, PostAnyError, Receive, SharedPortSet, SuccessFailurePort,
};
use motet_testkit::{Drops, Gate, Log, patience, within};
use proptest::prelude::*;
use std::any::Any;

#[derive(Debug, Clone, PartialEq)]
struct Circle(u32);

trait Shape: Send {
    fn area(&self) -> u32;
}

impl Shape for Circle {
    fn area(&self) -> u32 {
        3 * self.0 * self.0
    }
}

type AnyShape = Box<dyn Shape>;

#[test]
fn ccr_035_sem_g258_each_item_lands_in_the_port_of_its_type() {
    let set = PortSet::<(i32, String)>::new();
    set.post(7).unwrap();
    set.post("seven".to_owned()).unwrap();
    set.post(8).unwrap();
    assert_eq!(set.item_count(), 3);
    assert_eq!(set.port::<i32, _>().items(), [7, 8]);
    assert_eq!(set.p1().items(), ["seven"]);
    let (numbers, words) = set.ports();
    assert_eq!((numbers.item_count(), words.item_count()), (2, 1));
}

#[test]
fn ccr_036_ccr_124_sem_g258_the_exact_type_decides_not_the_order_in_the_set() {
    // "Base before derived": the trait object stands first.
    let set = PortSet::<(AnyShape, Circle)>::new();
    set.post(Circle(1)).unwrap();
    set.post_any(Box::new(Circle(2))).unwrap();
    set.post(Box::new(Circle(3)) as AnyShape).unwrap();
    set.post_any(Box::new(Box::new(Circle(4)) as AnyShape))
        .unwrap();
    assert_eq!(set.p1().items(), [Circle(1), Circle(2)]);
    let areas: Vec<_> = take_all(set.p0())
        .iter()
        .map(|shape| shape.area())
        .collect();
    assert_eq!(areas, [27, 48]);
}

#[test]
fn ccr_037_sem_g258_an_item_of_no_type_of_the_set_comes_back() {
    let set = PortSet::<(i32, String)>::new();
    let drops = Drops::new();
    let error = set.post_any(Box::new(drops.make())).unwrap_err();
    assert!(matches!(error, PostAnyError::PortNotFound { .. }));
    assert_eq!(
        error.to_string(),
        "item not posted: its type is none of the port set's, which are (i32, alloc::string::String); \
         post one of these, or add a port for it"
    );
    assert_eq!((set.item_count(), drops.dropped()), (0, 0));
    assert!(error.into_item().is::<motet_testkit::Dropped>());
    assert_eq!(drops.dropped(), 1);
    let shared = SharedPortSet::<(i32, String)>::new();
    assert!(shared.post_any(Box::new(1.5)).is_err());
    assert_eq!(shared.shared_port().item_count(), 0);
}

#[test]
fn ccr_038_sem_g258_nothing_is_a_type_of_its_own() {
    let set = PortSet::<(u32, Option<String>)>::new();
    set.post(None::<String>).unwrap();
    set.post_any(Box::new(None::<String>)).unwrap();
    assert_eq!(set.p1().items(), [None, None]);
    let refusing = PortSet::<(u32, String)>::new();
    assert!(refusing.post_any(Box::new(None::<String>)).is_err());
    assert!(refusing.post_any(Box::new(())).is_err());
    let signals = PortSet::<(u32, ())>::new();
    signals.post(()).unwrap();
    assert_eq!(signals.p1().test(), Some(()));
}

#[test]
fn ccr_039_sem_g259_a_shared_set_keeps_the_order_of_posts_between_types() {
    let set = SharedPortSet::<(i32, &str, bool)>::new();
    set.post("one").unwrap();
    set.post(2).unwrap();
    set.post_any(Box::new(true)).unwrap();
    set.post("four").unwrap();
    assert_eq!(
        set.shared_port().items(),
        [
            OneOf3::P1("one"),
            OneOf3::P0(2),
            OneOf3::P2(true),
            OneOf3::P1("four"),
        ]
    );
}

// Behaviours 40 and 41 are compile errors: see the documentation of `SharedPortSet`. What does
// compile is to match.
#[test]
fn ccr_040_ccr_041_sem_g259_a_shared_set_has_one_port_and_its_receivers_match() {
    let set = SharedPortSet::<(u32, String)>::new();
    let log = Log::new();
    let told = log.clone();
    Receive::persistent(set.shared_port(), move |item| match item {
        OneOf2::P0(n) => told.push(format!("number {n}")),
        OneOf2::P1(word) => told.push(format!("word {word}")),
    })
    .activate(&here())
    .unwrap();
    set.post(1).unwrap();
    set.post("two".to_owned()).unwrap();
    assert_eq!(log.take(), ["number 1", "word two"]);
}

#[test]
fn ccr_042_ports_of_a_set_are_ports_of_their_own() {
    on_dispatchers(5, |dispatcher, queue| {
        const EACH: u32 = 500;
        let set = PortSet::<(u32, u64)>::new();
        let handled = Log::new();
        let (small, large) = (handled.clone(), handled.clone());
        Receive::persistent(set.p0(), move |n| small.push(u64::from(n)))
            .activate(queue)
            .unwrap();
        Receive::persistent(set.p1(), move |n| large.push(n))
            .activate(queue)
            .unwrap();
        in_parallel(2, move |number| {
            for n in 0..EACH {
                match number {
                    0 => set.post(n).unwrap(),
                    _ => set.post(u64::from(n + EACH)).unwrap(),
                }
            }
        });
        dispatcher.wait_idle();
        // Any order between the ports will do; nothing is lost.
        let mut all = handled.take();
        all.sort_unstable();
        assert!(all.into_iter().eq(0..u64::from(2 * EACH)));
    });
}

#[test]
fn sem_g258_ports_of_a_set_take_part_in_joins() {
    let set = PortSet::<(&str, u32)>::new();
    let log = Log::new();
    let told = log.clone();
    JoinedReceive::once((set.p0(), set.p1()), move |pair| told.push(pair))
        .activate(&here())
        .unwrap();
    set.post(36).unwrap();
    assert_eq!(set.item_count(), 1);
    set.post("Ada").unwrap();
    assert_eq!(log.take(), [("Ada", 36)]);
    assert_eq!(set.item_count(), 0);
}

#[test]
fn sem_g258_a_refused_item_comes_back_as_it_was() {
    within(patience(), || {
        let dispatcher = Dispatcher::new(1);
        let queue = dispatcher.queue(QueueConfig::bounded("queue", 1));
        let set = PortSet::<(u32, String)>::new();
        let shared = SharedPortSet::<(u32, String)>::new();
        Receive::persistent(set.p0(), |_| ())
            .activate(&queue)
            .unwrap();
        dispatcher.wait_idle();
        Receive::persistent(shared.shared_port(), |_| ())
            .activate(&queue)
            .unwrap();
        dispatcher.wait_idle();
        // The only thread is held and the only place is taken.
        let (held, gate) = (Gate::new(), Gate::new());
        let (holds, waits) = (held.clone(), gate.clone());
        queue
            .enqueue(Task::new(move || {
                holds.open();
                waits.pass();
            }))
            .unwrap();
        held.pass();
        queue.enqueue(Task::new(|| ())).unwrap();
        assert_eq!(set.post(7_u32).unwrap_err().item, 7);
        let refused = set.post_any(Box::new(8_u32)).unwrap_err();
        assert_eq!(
            refused.to_string(),
            format!("item not posted: {}", QueueError::Full)
        );
        assert_eq!(refused.into_item().downcast_ref(), Some(&8_u32));
        assert_eq!(
            set.post_one_of(OneOf2::P0(9)).unwrap_err().item,
            OneOf2::P0(9)
        );
        assert_eq!(shared.post("ten".to_owned()).unwrap_err().item, "ten");
        let refused = shared.post_any(Box::new(11_u32)).unwrap_err();
        assert_eq!(refused.into_item().downcast_ref(), Some(&11_u32));
        gate.open();
        dispatcher.wait_idle();
        set.post(12_u32).unwrap();
    });
}

#[test]
fn sem_g258_a_success_failure_port_takes_results() {
    let done = SuccessFailurePort::<(), String>::new();
    done.post_result(Ok(())).unwrap();
    done.post_result(Err("out of paper".to_owned())).unwrap();
    assert_eq!(done.p0().test(), Some(()));
    assert_eq!(done.p1().test().as_deref(), Some("out of paper"));
    // Both halves may be of one type: the result says which is meant.
    let same = SuccessFailurePort::<u32, u32>::new();
    same.post_result(Err(1)).unwrap();
    assert_eq!((same.p0().item_count(), same.p1().item_count()), (0, 1));
}

#[test]
fn sem_g258_sets_may_have_twenty_types() {
    struct Of<const N: usize>;
    #[rustfmt::skip]
    type Twenty = (
        Of<0>, Of<1>, Of<2>, Of<3>, Of<4>, Of<5>, Of<6>, Of<7>, Of<8>, Of<9>,
        Of<10>, Of<11>, Of<12>, Of<13>, Of<14>, Of<15>, Of<16>, Of<17>, Of<18>, Of<19>,
    );
    let set = PortSet::<Twenty>::new();
    set.post(Of::<19>).unwrap();
    set.post_any(Box::new(Of::<10>)).unwrap();
    assert_eq!((set.p19().item_count(), set.p10().item_count()), (1, 1));
    assert_eq!(set.item_count(), 2);
    let shared = SharedPortSet::<Twenty>::new();
    shared.post(Of::<19>).unwrap();
    assert!(matches!(shared.shared_port().test(), Some(OneOf20::P19(_))));
}

#[test]
fn sem_g259_what_came_through_a_shared_set_can_go_to_ports_of_its_own() {
    let shared = SharedPortSet::<(u32, &str)>::new();
    let set = PortSet::<(u32, &str)>::new();
    let out = set.clone();
    Receive::persistent(shared.shared_port(), move |item| {
        out.post_one_of(item).unwrap()
    })
    .activate(&here())
    .unwrap();
    shared.post(1).unwrap();
    shared.post("two").unwrap();
    assert_eq!((set.p0().items(), set.p1().items()), (vec![1], vec!["two"]));
}

#[test]
fn sem_g259_the_order_of_each_poster_holds_between_types() {
    within(patience(), || {
        const POSTERS: u32 = 3;
        const EACH: u32 = 2_000;
        let set = SharedPortSet::<(u32, u64)>::new();
        let poster = set.clone();
        in_parallel(POSTERS as usize, move |number| {
            let from = u32::try_from(number).unwrap() * EACH;
            for n in from..from + EACH {
                if n % 3 == 0 {
                    poster.post(u64::from(n)).unwrap();
                } else {
                    poster.post(n).unwrap();
                }
            }
        });
        let all: Vec<u32> = take_all(set.shared_port())
            .into_iter()
            .map(|item| match item {
                OneOf2::P0(n) => n,
                OneOf2::P1(n) => u32::try_from(n).unwrap(),
            })
            .collect();
        for poster in 0..POSTERS {
            let own: Vec<_> = all
                .iter()
                .filter(|n| *n / EACH == poster)
                .copied()
                .collect();
            assert!(own.into_iter().eq(poster * EACH..(poster + 1) * EACH));
        }
    });
}

/// What a program may do with a shared set.
#[derive(Debug, Clone)]
enum Step {
    Number(u32),
    Word(String),
    Untyped(u32),
    UntypedWord(String),
    Stranger,
    Take,
    PutBack(u32),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        any::<u32>().prop_map(Step::Number),
        "[a-z]{0,3}".prop_map(Step::Word),
        any::<u32>().prop_map(Step::Untyped),
        "[a-z]{0,3}".prop_map(Step::UntypedWord),
        Just(Step::Stranger),
        Just(Step::Take),
        any::<u32>().prop_map(Step::PutBack),
    ]
}

proptest! {
    #[test]
    fn prop_sem_g259_a_shared_set_is_a_list_of_what_was_posted(
        steps in proptest::collection::vec(step(), 0..60)
    ) {
        let set = SharedPortSet::<(u32, String)>::new();
        let mut model = std::collections::VecDeque::new();
        for step in steps {
            match step {
                Step::Number(n) => {
                    set.post(n).unwrap();
                    model.push_back(OneOf2::P0(n));
                }
                Step::Word(word) => {
                    set.post(word.clone()).unwrap();
                    model.push_back(OneOf2::P1(word));
                }
                Step::Untyped(n) => {
                    set.post_any(Box::new(n)).unwrap();
                    model.push_back(OneOf2::P0(n));
                }
                Step::UntypedWord(word) => {
                    set.post_any(Box::new(word.clone())).unwrap();
                    model.push_back(OneOf2::P1(word));
                }
                Step::Stranger => {
                    let item: Box<dyn Any + Send> = Box::new('x');
                    prop_assert!(set.post_any(item).is_err());
                }
                Step::Take => prop_assert_eq!(set.shared_port().test(), model.pop_front()),
                Step::PutBack(n) => {
                    set.shared_port().put_back(OneOf2::P0(n)).unwrap();
                    model.push_front(OneOf2::P0(n));
                }
            }
        }
        prop_assert_eq!(set.shared_port().items(), Vec::from(model));
    }
}

#[test]
fn sem_g258_clones_of_a_set_have_the_same_ports() {
    let given = Port::named("given");
    let set = PortSet::<(u32, bool)>::with_ports((given.clone(), Port::default()));
    let twin = set.clone();
    post_all(&given, [1, 2]);
    twin.post(true).unwrap();
    assert_eq!(set.item_count(), 3);
    assert_eq!(twin.p0().name(), Some("given"));
    assert!(format!("{set:?}").starts_with("PortSet [Port {"), "{set:?}");
}

/// What the branches of a choice over a set are, for one that says what came.
fn choose(set: &PortSet<(u32, &'static str, Vec<u8>)>, log: &Log<String>) {
    let (number, word, bytes) = (log.clone(), log.clone(), log.clone());
    let handlers = (
        move |n: u32| number.push(format!("number {n}")),
        move |text: &'static str| word.push(format!("word {text}")),
        move |list: Vec<u8>| bytes.push(format!("{} bytes", list.len())),
    );
    Choice::of(set, handlers).activate(&here()).unwrap();
}

#[test]
fn sem_g266_a_choice_over_a_port_set_handles_one_item_of_whichever_type() {
    let (set, log) = (PortSet::new(), Log::new());
    choose(&set, &log);
    set.post("first").unwrap();
    set.post(7_u32).unwrap();
    set.post("late").unwrap();
    assert_eq!(log.take(), ["word first"]);
    assert_eq!(
        (set.p0().items(), set.p1().items()),
        (vec![7], vec!["late"])
    );
    let receivers =
        set.p0().receiver_count() + set.p1().receiver_count() + set.p2().receiver_count();
    assert_eq!(receivers, 0, "the others have left");
}

#[test]
fn sem_g266_the_order_of_the_types_decides_among_items_that_are_there() {
    let (set, log) = (PortSet::new(), Log::new());
    set.post(vec![1_u8, 2]).unwrap();
    set.post("second").unwrap();
    choose(&set, &log);
    choose(&set, &log);
    assert_eq!(log.take(), ["word second", "2 bytes"]);
}
