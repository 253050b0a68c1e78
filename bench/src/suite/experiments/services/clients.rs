//! Many clients of one service at the same time, each of which makes one call after the other.

use super::calls::{Count, Counter, CountsClient};
use crate::said::Said;
use motet_dispatch::{Dispatcher, spawn};
use motet_ports::{Port, wait_blocking};
use motet_service::{Create, Fault, Node};
use std::future::IntoFuture;
use std::time::Instant;

/// Microseconds of a message, when `clients` tasks on `workers` make `each` Updates.
pub(crate) fn on_motet(workers: usize, clients: usize, each: usize) -> Result<f64, String> {
    let dispatcher = Dispatcher::new(workers);
    let measured = wait_blocking(async {
        let node = Node::builder("bench").register::<Counter>();
        let node = node.start(&dispatcher)?;
        let counter: CountsClient = node.create(Create::<Counter>::of()).await?;
        let done = Port::new();
        let begun = Instant::now();
        for _ in 0..clients {
            let (counter, done) = (counter.clone(), done.clone());
            let calling = async move {
                let mut called = Ok(0);
                for _ in 0..each {
                    called = counter.add(1).into_future().await;
                    if called.is_err() {
                        break;
                    }
                }
                drop(done.post(called.map(drop)));
            };
            spawn(&node.queue(), calling).map_err(|why| Fault::failed(why.reason.to_string()))?;
        }
        for _ in 0..clients {
            done.recv().await?;
        }
        let took = begun.elapsed();
        let state: &Count = &counter.get().await?.state;
        let all = (clients * each) as u64;
        if state.n != all {
            let reason = format!("{} updates were done, not {all}", state.n);
            return Err(Fault::failed(reason));
        }
        node.shutdown().await;
        Ok(took.as_secs_f64() * 1e6 / all as f64)
    });
    let measured = measured.said()?;
    measured.said()
}

/// The same with a task of tokio that has a queue, and a oneshot for each answer.
pub(crate) fn on_tokio(workers: usize, clients: usize, each: usize) -> Result<f64, String> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(workers)
        .build()
        .said()?;
    runtime.block_on(async {
        let (send, mut recv) =
            tokio::sync::mpsc::channel::<(u64, tokio::sync::oneshot::Sender<u64>)>(1024);
        tokio::spawn(async move {
            let mut count = 0;
            while let Some((n, to)) = recv.recv().await {
                count += n;
                // Whoever has gone does not wait.
                let _ = to.send(count);
            }
        });
        let begun = Instant::now();
        let calling: Vec<_> = (0..clients)
            .map(|_| {
                let send = send.clone();
                tokio::spawn(async move {
                    for _ in 0..each {
                        let (to, answer) = tokio::sync::oneshot::channel();
                        send.send((1, to)).await.said()?;
                        answer.await.said()?;
                    }
                    Ok::<(), String>(())
                })
            })
            .collect();
        for calling in calling {
            calling.await.said()??;
        }
        Ok(begun.elapsed().as_secs_f64() * 1e6 / (clients * each) as f64)
    })
}
