//! What can be a message: every type that serde can write and read, and what stays in its process.

use crate::worlds::{everywhere, fails_everywhere, on, worlds};
use motet_comm::{ANY_SOURCE, CommError, Communicator, Local, RunError, Value, World};
use serde::{Deserialize, Serialize};
use std::any::type_name;
use std::collections::{BTreeMap, HashMap};
use std::fmt::Debug;
use std::num::NonZeroU16;
use std::sync::Arc;
use std::time::Duration;

/// A type with named fields, a reference to nothing, and a parameter.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Particle<N> {
    name: String,
    place: [f64; 3],
    charge: Option<N>,
    seen_by: HashMap<u32, Vec<String>>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Metres(f32);

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Nothing;

/// Variants of every kind, one of which holds others.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
enum Shape {
    Empty,
    Circle(Metres),
    Box { wide: u8, high: i64 },
    Both(Box<Shape>, Box<Shape>),
}

fn particle(rank: usize) -> Particle<NonZeroU16> {
    let seen = |by| (by, vec![format!("{rank} by {by}"); by as usize]);
    Particle {
        name: format!("particle {rank}"),
        place: [rank as f64, -0.5, 1.0 / 3.0],
        charge: NonZeroU16::new(rank as u16),
        seen_by: (0..4).map(seen).collect(),
    }
}

fn shape(rank: usize) -> Shape {
    match rank % 4 {
        0 => Shape::Empty,
        1 => Shape::Circle(Metres(rank as f32)),
        2 => Shape::Box {
            wide: rank as u8,
            high: -(rank as i64),
        },
        _ => Shape::Both(Box::new(shape(rank - 1)), Box::new(shape(rank - 2))),
    }
}

fn nested(rank: usize) -> Vec<Vec<Vec<u16>>> {
    vec![vec![], vec![vec![], vec![rank as u16; rank]], vec![vec![1]]]
}

fn table(rank: usize) -> HashMap<String, Option<BTreeMap<i8, char>>> {
    let letters = ('a'..).take(rank).zip(-3..);
    let full = letters.map(|(letter, key)| (key, letter)).collect();
    HashMap::from([("empty".to_owned(), None), ("full".to_owned(), Some(full))])
}

fn result(rank: usize) -> Result<(Nothing, Duration), String> {
    match rank % 2 {
        0 => Ok((Nothing, Duration::from_millis(rank as u64))),
        _ => Err(format!("rank {rank} is odd")),
    }
}

/// Sends what `make` makes for each rank in every way that takes values, and looks at what came.
async fn travels<T>(comm: &Communicator, make: fn(usize) -> T) -> Result<(), CommError>
where
    T: Value + Clone + PartialEq + Debug + Sync,
{
    let (rank, size) = (comm.rank(), comm.size());
    let (dest, source) = ((rank + 1) % size, (rank + size - 1) % size);
    let (mine, theirs) = (make(rank), make(source));
    let all: Vec<T> = (0..size).map(make).collect();
    let name = type_name::<T>();

    comm.send(dest, 0, mine.clone()).await?;
    assert_eq!(comm.recv::<T>(source, 0).await?, theirs, "send: {name}");
    let sent = comm.issend(dest, 1, mine.clone());
    let came = comm.irecv::<T>(ANY_SOURCE, 1).wait().await?;
    sent.wait().await?;
    assert_eq!(came, theirs, "issend: {name}");
    assert_eq!(comm.shift(mine.clone(), 1).await?, theirs, "shift: {name}");
    let mut ring = comm.ring::<T>().await?;
    let came = ring.shift_right(mine.clone()).await?;
    assert_eq!(came, theirs, "ring: {name}");

    let root = size - 1;
    let told = comm.broadcast(root, (rank == root).then(|| mine.clone()));
    assert_eq!(told.await?, all[root], "broadcast: {name}");
    let gathered = comm.gather(root, mine.clone()).await?;
    let expected = (rank == root).then(|| all.clone());
    assert_eq!(gathered, expected, "gather: {name}");
    let part = comm.scatter(root, gathered).await?;
    assert_eq!(part, mine, "scatter: {name}");
    let gathered = comm.allgather(mine.clone()).await?;
    assert_eq!(gathered, all, "allgather: {name}");
    let exchanged = comm.alltoall(vec![mine; size]).await?;
    assert_eq!(exchanged, all, "alltoall: {name}");
    let last = comm.allreduce(make(rank), |_, right| right).await?;
    assert_eq!(last, all[root], "allreduce: {name}");
    Ok(())
}

#[test]
fn sem_g100_any_type_that_serde_knows_is_a_message() {
    everywhere(
        async |comm| {
            travels(&comm, particle).await?;
            travels(&comm, shape).await?;
            travels(&comm, nested).await?;
            travels(&comm, table).await?;
            travels(&comm, result).await?;
            travels(&comm, |rank| (rank > 0).then_some(())).await?;
            travels(&comm, |rank| Metres(rank as f32)).await?;
            travels(&comm, |_| Nothing).await
        },
        |_, _| (),
    );
}

/// Refuses to be written and to be read: only who moves it gets it across.
#[derive(Debug, Clone, PartialEq)]
struct Unwritable(usize);

impl Serialize for Unwritable {
    fn serialize<S: serde::Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
        panic!("{self:?} is written")
    }
}

impl<'de> Deserialize<'de> for Unwritable {
    fn deserialize<D: serde::Deserializer<'de>>(_: D) -> Result<Self, D::Error> {
        panic!("one is read")
    }
}

#[test]
fn sem_g100_inside_a_process_nothing_is_written() {
    on(
        worlds(),
        async |comm| travels(&comm, Unwritable).await,
        |_, _| (),
    );
}

#[test]
fn sem_g100_inside_a_process_a_value_is_moved() {
    on(
        worlds(),
        async |comm| {
            let (rank, size) = (comm.rank(), comm.size());
            let (dest, source) = ((rank + 1) % size, (rank + size - 1) % size);
            let mine = vec![rank; 1000];
            comm.send(dest, 1, mine.as_ptr().addr()).await?;
            comm.send(dest, 0, mine).await?;
            let came = comm.recv::<Vec<usize>>(source, 0).await?;
            assert_eq!(came, vec![source; 1000]);
            let was: usize = comm.recv(source, 1).await?;
            Ok(came.as_ptr().addr() == was)
        },
        |_, _| true,
    );
}

#[test]
fn sem_g100_a_local_is_one_of_any_type() {
    on(
        worlds(),
        async |comm| {
            travels(&comm, |rank| Local([rank; 300])).await?;
            // A type without serde, which all share: what comes is what was sent.
            let mine = Arc::new(comm.rank());
            let all = comm.allgather(Local(mine.clone())).await?;
            let ranks: Vec<usize> = all.iter().map(|Local(shared)| **shared).collect();
            assert_eq!(ranks, (0..comm.size()).collect::<Vec<_>>());
            Ok(Arc::ptr_eq(&mine, &all[comm.rank()].0))
        },
        |_, _| true,
    );
}

#[test]
fn sem_g100_a_local_is_another_type_than_what_it_holds() {
    everywhere(
        async |comm| {
            let rank = comm.rank();
            comm.send(rank, 0, Local(rank)).await?;
            let error = comm.recv::<usize>(rank, 0).await.unwrap_err();
            assert!(matches!(error, CommError::WrongType { .. }), "{error}");
            Ok(comm.recv::<Local<usize>>(rank, 0).await?.0)
        },
        |rank, _| rank,
    );
    fails_everywhere(
        2,
        async |comm| match comm.rank() {
            0 => comm.allgather(Local(1)).await.map(drop),
            _ => comm.allgather(1).await.map(drop),
        },
        |_, error| {
            let RunError::Rank { error, .. } = error else {
                panic!("{error}")
            };
            assert!(matches!(error, CommError::Mismatch { .. }), "{error}");
        },
    );
}

#[test]
fn sem_g100_a_closure_and_a_handle_go_as_locals() {
    let body = async |comm: Communicator| {
        let (rank, size) = (comm.rank(), comm.size());
        let (tell, told) = std::sync::mpsc::channel::<String>();
        let dest = (rank + 1) % size;
        let call = move |word: &str| drop(tell.send(format!("{word} {rank}")));
        let call: Box<dyn FnOnce(&str) + Send> = Box::new(call);
        comm.send(dest, 0, Local(call)).await?;
        let Local(call) = comm
            .recv::<Local<Box<dyn FnOnce(&str) + Send>>>(ANY_SOURCE, 0)
            .await?;
        call("called for");
        comm.barrier().await?;
        Ok::<_, CommError>(told.recv())
    };
    let told = World::threads(3).run(body).expect("it ends well");
    let expected = [0, 1, 2].map(|rank| Ok(format!("called for {rank}")));
    assert_eq!(told, expected);
}
