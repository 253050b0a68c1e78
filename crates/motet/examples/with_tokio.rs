//! A tokio program with motet inside: tokio serves the connections, motet does the work.
//!
//! ```text
//!  client ══ connection ══► tokio task ── (line, reply) ──► (lines) ──► motet handler: counts
//!         ◄════════════════            ◄───── reply ──────                   │
//!                                                                         (counts)
//!                       journal: a tokio task ◄── awaited by ── motet async handler
//! ```
//!
//! A pipe in memory stands for each connection; with a socket nothing else changes.

use motet::{Dispatcher, FromHandler, Port, QueueConfig, Receive, ReplyPort, reply};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, duplex};

struct Line {
    text: String,
    reply: ReplyPort<usize>,
}

/// Answers each line of a connection with the number of its words.
async fn serve(connection: DuplexStream, lines: Port<Line>) -> std::io::Result<()> {
    let (read, mut write) = tokio::io::split(connection);
    let mut read = BufReader::new(read).lines();
    while let Some(text) = read.next_line().await? {
        let (reply, count) = reply();
        lines.post(Line { text, reply }).expect("the queue is open");
        // tokio's thread is free meanwhile: the reply wakes this task.
        let count = count.await.map_err(std::io::Error::other)?;
        write.write_all(format!("{count}\n").as_bytes()).await?;
    }
    Ok(())
}

/// Sends a line of `words` words; returns what comes back.
async fn ask(connection: DuplexStream, words: usize) -> std::io::Result<usize> {
    let (read, mut write) = tokio::io::split(connection);
    let line = format!("{}\n", vec!["la"; words].join(" "));
    write.write_all(line.as_bytes()).await?;
    let mut answer = String::new();
    BufReader::new(read).read_line(&mut answer).await?;
    answer.trim().parse().map_err(std::io::Error::other)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    const CLIENTS: usize = 100;
    let tokio = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .build()?;
    let dispatcher = Dispatcher::new(2);
    let queue = dispatcher.queue(QueueConfig::named("words"));
    let (lines, counts, written) = (Port::named("lines"), Port::new(), Port::new());

    // motet works; what it found also goes to the journal.
    let found = counts.clone();
    Receive::persistent(&lines, move |Line { text, reply }| {
        let count = text.split_whitespace().count();
        found.post(count).expect("the queue is open");
        // A client that has gone does not want its answer any more.
        drop(reply.post(count));
    })
    .activate(&queue)?;

    // A motet handler awaits a tokio task: input and output stay on tokio's threads.
    let (io, total) = (tokio.handle().clone(), written.clone());
    FromHandler::new_async(move || async move {
        let (mut journal, mut disk) = duplex(64);
        let copied = io.spawn(async move {
            let mut text = Vec::new();
            tokio::io::copy(&mut disk, &mut text).await.map(|_| text)
        });
        for _ in 0..CLIENTS {
            let line = format!("{}\n", counts.recv().await);
            journal
                .write_all(line.as_bytes())
                .await
                .expect("it is read");
        }
        drop(journal);
        let text = copied
            .await
            .expect("it does not panic")
            .expect("it is read");
        total
            .post(String::from_utf8(text).expect("numbers"))
            .expect("nobody refuses");
    })
    .activate(&queue)?;

    let answers: usize = tokio.block_on(async {
        let mut clients = Vec::new();
        for words in 1..=CLIENTS {
            let (here, there) = duplex(1024);
            tokio::spawn(serve(there, lines.clone()));
            clients.push(tokio::spawn(ask(here, words)));
        }
        let mut sum = 0;
        for client in clients {
            sum += client.await.expect("it does not panic")?;
        }
        Ok::<_, std::io::Error>(sum)
    })?;

    // The main thread may block for motet: it runs no tasks.
    let journal = written.recv_blocking()?;
    let noted: usize = journal.lines().flat_map(str::parse::<usize>).sum();
    println!("{CLIENTS} clients sent {answers} words; the journal says {noted}");
    assert_eq!(answers, CLIENTS * (CLIENTS + 1) / 2);
    assert_eq!(noted, answers);
    Ok(())
}
