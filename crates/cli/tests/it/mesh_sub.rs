//! `motet mesh sub` and `top`: from where they begin, and what a publisher sees of them.

use std::process::{Command, Stdio};

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
        let mut top = Running::start(&place, "top a/* --name t");
        let mut lines = Command::new("sh")
            .args(["-c", "while echo 1; do sleep 0.1; done"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let input = Stdio::from(lines.stdout.take().unwrap());
        let arguments = "pub a/b --name p --rendezvous meet";
        let mut publisher = Running::start_with(&place, arguments, input);
        let mut errors = publisher.errors();
        // They meet meanwhile.
        for _ in 0..2 {
            says(&mut errors, "waiting for 1 subscriber of a/b");
        }
        let mut subscriber = Running::start(&place, "sub a/b --name s --count 1");
        assert_eq!(subscriber.next()["number"], 1);
        assert_eq!(subscriber.end(), Some(0));
        // Lines come until it has met the publisher.
        let line = top.next();
        assert_eq!(
            (&line["key"], &line["publisher"]),
            (&"a/b".into(), &"p".into())
        );
        drop((top, publisher));
        // Nobody reads what it writes any more.
        lines.wait().unwrap();
    });
}
