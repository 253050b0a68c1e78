//! Processes that are threads: a transport through memory, to test what is between processes
//! without any.
//!
//! It behaves as a transport may at its worst: only the order between two processes is kept, a
//! message comes some calls of `progress` after it was sent, and who is killed is found out later.

use motet_comm::{Gone, Header, MemoryOffer, SharedMemory, Transport, TransportError};
use motet_sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use motet_sync::{Mutex, thread};
use std::cell::Cell;
use std::collections::VecDeque;
use std::sync::Arc;

type Message = (usize, Header, Vec<u8>);

/// What all processes share.
struct Network {
    /// By receiver, then by sender.
    lines: Vec<Vec<Line>>,
    killed: Vec<AtomicBool>,
    /// Whose end nobody is told.
    vanished: Vec<AtomicBool>,
    /// Memory that is offered, if the processes share some.
    memories: Option<Mutex<Vec<Arc<[AtomicU64]>>>>,
}

/// Memory of the network, as one of the processes has it.
struct NetworkMemory {
    words: Arc<[AtomicU64]>,
    network: Arc<Network>,
    process: usize,
}

// SAFETY: the words stay where they are while they are counted, and have no other use.
unsafe impl SharedMemory for NetworkMemory {
    unsafe fn words(&self) -> &[AtomicU64] {
        &self.words
    }

    fn process(&self) -> u64 {
        self.process as u64 + 1
    }

    fn is_gone(&self, process: u64) -> bool {
        self.network.killed[process as usize - 1].load(Ordering::Acquire)
    }
}

/// What is on its way from one process to another.
#[derive(Default)]
struct Line {
    messages: Mutex<VecDeque<Message>>,
    /// Held while one is delivered: two threads must not deliver two of them in the wrong order.
    turn: Mutex<()>,
}

/// One process's end.
pub(crate) struct Endpoint {
    network: Arc<Network>,
    process: usize,
    /// Makes the number of calls that a message waits for.
    calls: AtomicU32,
    /// Those whose end was told.
    told: Mutex<Vec<usize>>,
    /// Bytes that were sent from here.
    bytes: AtomicUsize,
    /// Those of the longest message.
    longest: AtomicUsize,
}

std::thread_local! {
    /// How often this thread has looked for what comes.
    static LOOKS: Cell<usize> = const { Cell::new(0) };
}

/// How often this thread has looked for what comes from other processes.
pub(crate) fn looks() -> usize {
    LOOKS.get()
}

/// The ends of a network of so many processes.
pub(crate) fn network(processes: usize) -> Vec<Arc<Endpoint>> {
    ends(processes, false)
}

fn ends(processes: usize, share: bool) -> Vec<Arc<Endpoint>> {
    let lines = || (0..processes).map(|_| Line::default()).collect();
    let flags = || (0..processes).map(|_| AtomicBool::new(false)).collect();
    let network = Arc::new(Network {
        lines: (0..processes).map(|_| lines()).collect(),
        killed: flags(),
        vanished: flags(),
        memories: share.then(Mutex::default),
    });
    let end = |process| Endpoint {
        network: Arc::clone(&network),
        process,
        calls: AtomicU32::new(0),
        told: Mutex::default(),
        bytes: AtomicUsize::new(0),
        longest: AtomicUsize::new(0),
    };
    (0..processes)
        .map(|process| Arc::new(end(process)))
        .collect()
}

/// Runs `life` as every process at once; what each gives, in order.
pub(crate) fn processes<R: Send + 'static>(
    count: usize,
    life: impl Fn(Arc<Endpoint>) -> R + Send + Sync + 'static,
) -> Vec<R> {
    run_all(network(count), life)
}

/// The same, as processes that share memory.
pub(crate) fn sharing<R: Send + 'static>(
    count: usize,
    life: impl Fn(Arc<Endpoint>) -> R + Send + Sync + 'static,
) -> Vec<R> {
    run_all(ends(count, true), life)
}

fn run_all<R: Send + 'static>(
    ends: Vec<Arc<Endpoint>>,
    life: impl Fn(Arc<Endpoint>) -> R + Send + Sync + 'static,
) -> Vec<R> {
    let life = Arc::new(life);
    let lives = ends.into_iter().map(|end| {
        let life = Arc::clone(&life);
        thread::spawn(move || life(end))
    });
    let lives: Vec<_> = lives.collect();
    lives.into_iter().map(|life| life.join().unwrap()).collect()
}

impl Endpoint {
    /// The process is gone, as by a signal: it sends nothing more, and takes nothing in.
    pub(crate) fn kill(&self) {
        self.network.killed[self.process].store(true, Ordering::Release);
    }

    /// The process is gone, as by a cut cable: no others are told, and nobody sees it.
    pub(crate) fn vanish(&self) {
        self.network.vanished[self.process].store(true, Ordering::Release);
        self.kill();
    }

    /// Bytes that this process has sent.
    pub(crate) fn bytes_sent(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Bytes of the longest message that it has sent.
    pub(crate) fn longest_sent(&self) -> usize {
        self.longest.load(Ordering::Relaxed)
    }

    fn seen(&self, words: Arc<[AtomicU64]>) -> Arc<dyn SharedMemory> {
        Arc::new(NetworkMemory {
            words,
            network: Arc::clone(&self.network),
            process: self.process,
        })
    }

    fn is_killed(&self, process: usize) -> bool {
        self.network.killed[process].load(Ordering::Acquire)
    }
}

impl Transport for Endpoint {
    fn process(&self) -> usize {
        self.process
    }

    fn processes(&self) -> usize {
        self.network.lines.len()
    }

    fn send(
        &self,
        process: usize,
        header: Header,
        payload: &mut Vec<u8>,
    ) -> Result<(), TransportError> {
        if !self.is_killed(self.process) {
            let line = &self.network.lines[process][self.process].messages;
            let payload = std::mem::take(payload);
            self.bytes.fetch_add(payload.len(), Ordering::Relaxed);
            self.longest.fetch_max(payload.len(), Ordering::Relaxed);
            line.lock().push_back((self.process, header, payload));
        }
        Ok(())
    }

    fn send_some(
        &self,
        process: usize,
        header: Header,
        bytes: &[u8],
    ) -> Result<Gone, TransportError> {
        // As if there were little room, and often none.
        let room = 64 * (self.calls.load(Ordering::Relaxed) as usize % 7).saturating_sub(3);
        let mut gone = Gone::default();
        for piece in bytes[..room.min(bytes.len())].chunks(128) {
            self.send(process, header, &mut piece.to_vec())?;
            gone.bytes += piece.len();
            gone.messages += 1;
        }
        Ok(gone)
    }

    fn read_next(
        &self,
        process: usize,
        header: &Header,
        wanted: &mut dyn FnMut() -> bool,
        read: &mut dyn FnMut(&[u8], usize),
    ) -> bool {
        // Now and then it makes room for what comes.
        if self.calls.load(Ordering::Relaxed).is_multiple_of(2) {
            return false;
        }
        let line = &self.network.lines[self.process][process];
        let Some(_turn) = line.turn.try_lock() else {
            return false;
        };
        let is_it = |(_, came, _): &mut Message| came == header && wanted();
        let Some((.., payload)) = line.messages.lock().pop_front_if(is_it) else {
            return false;
        };
        let mut follow = payload.len();
        for block in payload.chunks(64) {
            follow -= block.len();
            read(block, follow);
        }
        true
    }

    fn progress(
        &self,
        deliver: &mut dyn FnMut(usize, Header, &mut Vec<u8>),
    ) -> Result<usize, TransportError> {
        self.progress_but(&mut |_| false, deliver)
    }

    fn progress_but(
        &self,
        leave: &mut dyn FnMut(&Header) -> bool,
        deliver: &mut dyn FnMut(usize, Header, &mut Vec<u8>),
    ) -> Result<usize, TransportError> {
        LOOKS.set(LOOKS.get() + 1);
        let calls = self.calls.fetch_add(1, Ordering::Relaxed) as usize;
        if self.is_killed(self.process) {
            // Its thread is to end.
            let reason = "killed by the test".to_owned();
            return Err(TransportError::Failed { reason });
        }
        if calls.is_multiple_of(3) {
            return Ok(0);
        }
        let lines = &self.network.lines[self.process];
        let mut delivered = 0;
        for turn in 0..lines.len() {
            // One message of each at a time, beginning with another process each time.
            let line = &lines[(calls + turn) % lines.len()];
            let Some(_turn) = line.turn.try_lock() else {
                continue;
            };
            // Whoever delivers may send: the messages are not locked then.
            let mut is_wanted = |(_, header, _): &mut Message| !leave(header);
            let message = line.messages.lock().pop_front_if(&mut is_wanted);
            if let Some((process, header, mut payload)) = message {
                deliver(process, header, &mut payload);
                delivered += 1;
            }
        }
        let mut others = (0..lines.len()).filter(|&process| process != self.process);
        let gone = others.find(|&process| {
            self.is_killed(process)
                && !self.network.vanished[process].load(Ordering::Acquire)
                && lines[process].messages.lock().is_empty()
                && !self.told.lock().contains(&process)
        });
        match gone {
            Some(process) if delivered == 0 => {
                self.told.lock().push(process);
                let reason = "killed by the test".to_owned();
                Err(TransportError::Lost { process, reason })
            }
            _ => Ok(delivered),
        }
    }

    fn offer(&self, words: usize) -> Option<MemoryOffer> {
        let mut memories = self.network.memories.as_ref()?.lock();
        let words: Arc<[AtomicU64]> = (0..words).map(|_| AtomicU64::new(0)).collect();
        memories.push(Arc::clone(&words));
        Some(MemoryOffer {
            found_by: [memories.len() as u64, 7],
            memory: self.seen(words),
            kept: Box::new(()),
        })
    }

    fn open(&self, _: usize, found_by: [u64; 2], words: usize) -> Option<Arc<dyn SharedMemory>> {
        let memories = self.network.memories.as_ref()?.lock();
        let known = memories.get((found_by[0] as usize).checked_sub(1)?)?;
        (known.len() == words && found_by[1] == 7).then(|| self.seen(Arc::clone(known)))
    }
}
