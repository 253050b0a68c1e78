//! Calls that are made while a service starts.

use motet_dispatch::{Dispatcher, spawn};
use motet_ports::{Port, reply, wait_blocking};
use motet_service::{Create, Cx, Fault, Node, Service, State, contract, data};
use std::sync::LazyLock;
use std::time::Duration;

/// What lets the service begin.
static BEGIN: LazyLock<Port<()>> = LazyLock::new(Port::new);

/// So many calls are made meanwhile.
const CALLS: u32 = 200;

#[data]
#[derive(Default)]
struct Notes {
    numbers: Vec<u32>,
}

#[contract(uri = "test:notes/1", state = Notes)]
trait Notebook {
    #[update]
    fn write(&mut self, number: u32);
    /// The same; it might wait.
    #[update]
    async fn write_slowly(&mut self, number: u32);
    /// How many there are.
    #[query]
    fn count(&self) -> usize;
}

#[derive(Service)]
#[service(contract = Notebook, name = "notebook", start = begin)]
struct OneNotebook {
    #[state]
    notes: State<Notes>,
}

impl OneNotebook {
    async fn begin(&mut self, _: &Cx) -> Result<(), Fault> {
        BEGIN.recv().await;
        Ok(())
    }
}

impl Notebook for OneNotebook {
    fn write(&mut self, number: u32) {
        self.notes.numbers.push(number);
    }
    async fn write_slowly(&mut self, number: u32) {
        self.notes.numbers.push(number);
    }
    fn count(&self) -> usize {
        self.notes.numbers.len()
    }
}

#[test]
fn sem_g367_changes_that_are_asked_for_while_the_service_starts_are_in_order() {
    motet_testkit::within(Duration::from_secs(60), || {
        let dispatcher = Dispatcher::new(2);
        let builder = Node::builder("begins").register::<OneNotebook>();
        let node = builder.start(&dispatcher).unwrap();
        let (to, made) = reply();
        let (there, create) = (node.clone(), Create::<OneNotebook>::of().at("/notes"));
        let creating = async move {
            let notes = there.create(create).await.unwrap();
            to.post(notes).unwrap();
        };
        spawn(&node.queue(), creating).unwrap();
        let asked = async {
            // It has its place before it begins.
            let notes: NotebookClient = loop {
                match node.client("/notes") {
                    Ok(client) => break client,
                    Err(_) => std::thread::yield_now(),
                }
            };
            let write = |number| match number % 3 {
                0 => notes.post(NotebookRequest::WriteSlowly(number)),
                _ => notes.post(NotebookRequest::Write(number)),
            };
            (0..CALLS).for_each(|number| write(number).unwrap());
            let count = notes.count().into_future();
            BEGIN.post(()).unwrap();
            // And while the ports of its interleave are taken.
            (CALLS..2 * CALLS).for_each(|number| write(number).unwrap());
            made.await.unwrap();
            assert!(count.await.unwrap() >= CALLS as usize);
            let numbers = notes.write(0).await.map(|()| notes.get().into_future());
            let numbers = numbers.unwrap().await.unwrap().numbers.clone();
            let all: Vec<u32> = (0..2 * CALLS).chain([0]).collect();
            assert_eq!(numbers, all);
        };
        wait_blocking(asked).unwrap();
    });
}
