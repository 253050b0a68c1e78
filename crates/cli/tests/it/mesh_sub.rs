//! `motet mesh sub` and `top`: from where they begin, and what a publisher sees of them.

use motet_testkit::{patience, within};
use rustix::process::Signal;

use crate::mesh::Running;
use crate::mesh_pub::says;
use crate::program::ProgramFolder;

#[test]
fn sem_g597_sub_says_what_is_there_where_the_number_of_from_is_not() {
    within(patience(), || {
        let place = ProgramFolder::new();
        let publish = "pub n --name p --class durable --log kept";
        let mut first = Running::start(&place, &format!("{publish} --subscribers 0 a b"));
        assert_eq!(first.next()["published"], 2);
        assert_eq!(first.end(), Some(0));
        let mut publisher = Running::start(&place, publish);
        let mut subscriber = Running::start(&place, "sub n --name s --from 5");
        let mut errors = subscriber.errors();
        says(&mut errors, "p mismatch: n: its log has the samples 1 to 2");
        for line in ["c", "d", "e"] {
            publisher.write(line);
        }
        let sample = subscriber.next();
        assert_eq!(
            (&sample["number"], &sample["value"]),
            (&5.into(), &"e".into())
        );
        subscriber.signal(Signal::INT);
        assert_eq!(subscriber.next_or_end(), None);
        assert_eq!(publisher.end(), Some(0));
    });
}

#[test]
fn sem_g607_top_does_not_count_as_a_subscriber() {
    within(patience(), || {
        let place = ProgramFolder::new();
        let top = Running::start(&place, "top a/* --name t");
        let mut publisher = Running::start(&place, "pub a/b --name p");
        let mut errors = publisher.errors();
        publisher.write("1");
        // They meet meanwhile.
        for _ in 0..2 {
            says(&mut errors, "waiting for 1 subscriber of a/b");
        }
        let mut subscriber = Running::start(&place, "sub a/b --name s --count 1");
        assert_eq!(subscriber.next()["number"], 1);
        assert_eq!(subscriber.end(), Some(0));
        assert_eq!(publisher.end(), Some(0));
        drop(top);
    });
}
