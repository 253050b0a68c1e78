//! What callers on threads see of one service could have happened one call after the other.

use crate::shop::{CornerShop, Line, ShopClient, Stock, node};
use motet_dispatch::{Dispatcher, spawn};
use motet_ports::{reply, wait_blocking};
use motet_service::{Create, FaultCode};
use motet_sync::thread;
use motet_testkit::{History, Random, Sequential, patience, stress, within};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What a shop is to one caller.
#[derive(Clone, PartialEq, Eq, Hash, Default)]
struct Twin {
    items: BTreeMap<&'static str, i64>,
    version: u64,
}

#[derive(Debug, Clone)]
enum Call {
    Insert(&'static str, i64),
    Upsert(&'static str, i64),
    Delete(&'static str),
    Add(i64),
    Replace,
    Count(&'static str),
    Get,
}

#[derive(Debug, PartialEq)]
enum Answer {
    Done(bool),
    Count(Option<i64>),
    State(u64, Vec<(String, i64)>),
}

impl Sequential for Twin {
    type Call = Call;
    type Answer = Answer;

    fn answer(&mut self, call: &Call) -> Answer {
        match *call {
            Call::Insert(name, count) => {
                let is_new = !self.items.contains_key(name);
                if is_new {
                    self.items.insert(name, count);
                    self.version += 1;
                }
                Answer::Done(is_new)
            }
            Call::Upsert(name, count) => {
                self.items.insert(name, count);
                self.version += 1;
                Answer::Done(true)
            }
            Call::Delete(name) => {
                let was_there = self.items.remove(name).is_some();
                self.version += u64::from(was_there);
                Answer::Done(was_there)
            }
            Call::Add(count) => {
                // Who writes changes the state, also where there is nothing to write.
                self.items.values_mut().for_each(|item| *item += count);
                self.version += 1;
                Answer::Count(Some(self.items.values().sum()))
            }
            Call::Replace => {
                self.items.clear();
                self.version += 1;
                Answer::Done(true)
            }
            Call::Count(name) => Answer::Count(self.items.get(name).copied()),
            Call::Get => {
                let items = self.items.iter();
                let items = items.map(|(name, count)| ((*name).to_owned(), *count));
                Answer::State(self.version, items.collect())
            }
        }
    }
}

/// The same asked of the shop.
async fn ask(shop: &ShopClient, call: &Call) -> Answer {
    match *call {
        Call::Insert(name, count) => match shop.insert(Line::new(name, count)).await {
            Ok(()) => Answer::Done(true),
            Err(fault) => {
                assert_eq!(fault.code(), FaultCode::DuplicateEntry, "{fault}");
                Answer::Done(false)
            }
        },
        Call::Upsert(name, count) => {
            shop.upsert(Line::new(name, count)).await.unwrap();
            Answer::Done(true)
        }
        Call::Delete(name) => Answer::Done(shop.delete(name.to_owned()).await.is_ok()),
        Call::Add(count) => Answer::Count(Some(shop.add(count).await.unwrap())),
        Call::Replace => {
            shop.replace(Stock::default()).await.unwrap();
            Answer::Done(true)
        }
        Call::Count(name) => Answer::Count(shop.count(name.to_owned()).await.ok()),
        Call::Get => {
            let got = shop.get().await.unwrap();
            Answer::State(got.version, got.state.items.clone().into_iter().collect())
        }
    }
}

const NAMES: [&str; 2] = ["ants", "bees"];

fn some_call(random: &mut Random) -> Call {
    let (name, count) = (NAMES[random.below(2)], random.below(4) as i64);
    match random.below(12) {
        0 | 1 => Call::Insert(name, count),
        2 => Call::Upsert(name, count),
        3 => Call::Delete(name),
        4 | 5 => Call::Add(count),
        6 => Call::Replace,
        7..=9 => Call::Count(name),
        _ => Call::Get,
    }
}

/// So many call on workers of the service, and one from a thread of its own.
const TASKS: u64 = 3;
const CALLS: usize = 8;

/// Makes calls one after the other.
async fn some_calls(shop: ShopClient, history: Arc<History<Twin>>, seed: u64) {
    let mut random = Random::new(seed);
    for _ in 0..CALLS {
        let call = some_call(&mut random);
        let from = history.begins();
        let answer = ask(&shop, &call).await;
        history.ended(from, call, answer);
    }
}

#[test]
fn lin_stress_sem_g596_callers_of_a_service() {
    within(patience(), || {
        let dispatcher = Dispatcher::new(2);
        stress(60, |seed| {
            let node = node(&dispatcher);
            let created = wait_blocking(node.create(Create::<CornerShop>::of()));
            let shop = created.unwrap().unwrap();
            let history = Arc::new(History::new());
            let calls = |caller: u64| {
                let seed = seed * (TASKS + 1) + caller;
                some_calls(shop.clone(), Arc::clone(&history), seed)
            };
            let mut ended = Vec::new();
            for task in 0..TASKS {
                let (to, end) = reply();
                let calling = calls(task);
                let running = async move {
                    calling.await;
                    to.post(()).unwrap();
                };
                spawn(&node.queue(), running).unwrap();
                ended.push(end);
            }
            let calling = calls(TASKS);
            let outside = thread::spawn(move || wait_blocking(calling).unwrap());
            for end in ended {
                wait_blocking(end).unwrap().expect("asking does not panic");
            }
            outside.join().expect("asking does not panic");
            if let Err(history) = history.check(&Twin::default()) {
                panic!("seed {seed}: {history}");
            }
            wait_blocking(node.shutdown()).unwrap();
        });
    });
}
