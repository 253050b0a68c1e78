//! How the processes of a run begin together.

use super::control::{ENDED, EarlyEnd, HELLO, IncomingMessage, Later};
use super::{CONTROL, context_of, number};
use crate::transport::{Header, Transport, TransportError};
use motet_sync::thread;
use std::time::{Duration, Instant};

/// Tells all processes that this one begins run `run` with so many ranks. Waits until all have said
/// the same, within the limit. Gives the first rank of each process, then the number of all ranks.
///
/// # Errors
/// [`EarlyEnd::Silent`], [`EarlyEnd::Lost`], [`EarlyEnd::Transport`], [`EarlyEnd::Elsewhere`]; the
/// others are told.
pub(crate) fn handshake(
    transport: &dyn Transport,
    run: u16,
    ranks: usize,
    later: &Later,
    limit: Duration,
) -> Result<Box<[usize]>, EarlyEnd> {
    let own = transport.process();
    let hello = Header {
        context: context_of(run, CONTROL, 0),
        source: number(ranks),
        destination: 0,
        tag: HELLO,
    };
    let mut heard = Heard {
        hello,
        counts: vec![None; transport.processes()],
        ended: None,
    };
    heard.counts[own] = Some(ranks);
    let mut refused = None;
    for process in (0..transport.processes()).filter(|&process| process != own) {
        // The others are told all the same: first that this one was here, then why the run ends.
        let sent = transport
            .send(process, hello, &mut Vec::new())
            .map_err(failed);
        refused = refused.or(sent.err());
    }
    heard.hear_earlier(later);
    // Who has given the run up has said so, and may have gone since then.
    let met = match (heard.ended.take(), refused) {
        (Some(ended), _) => Err(ended),
        (None, Some(refusal)) => Err(refusal),
        (None, None) => heard.wait(transport, later, limit),
    };
    if let Err(ending) = met {
        say_ended(transport, hello, &ending);
        // What that has met is of this run, and not of the next one.
        let _ = transport.progress(&mut |process, header, payload| {
            let came = (process, header, std::mem::take(payload));
            later.lock().push(came);
        });
        return Err(ending);
    }
    let mut firsts = vec![0];
    for count in heard.counts.into_iter().flatten() {
        firsts.push(firsts[firsts.len() - 1] + count);
    }
    Ok(firsts.into_boxed_slice())
}

/// What has been heard of the others.
struct Heard {
    hello: Header,
    /// By process: its ranks.
    counts: Vec<Option<usize>>,
    ended: Option<EarlyEnd>,
}

impl Heard {
    /// A message has come; it again if it is for later.
    fn hear(&mut self, (process, header, payload): IncomingMessage) -> Option<IncomingMessage> {
        let of_this_run = header.context == self.hello.context;
        match header.tag {
            HELLO if of_this_run => self.counts[process] = Some(header.source as usize),
            ENDED if of_this_run => {
                let message = String::from_utf8_lossy(&payload).into_owned();
                self.ended
                    .get_or_insert(EarlyEnd::Elsewhere { process, message });
            }
            _ => return Some((process, header, payload)),
        }
        None
    }

    fn missing(&self) -> Vec<usize> {
        let all = self.counts.iter().enumerate();
        all.filter_map(|(process, count)| count.is_none().then_some(process))
            .collect()
    }

    /// Hears what came before this process had come to the run.
    fn hear_earlier(&mut self, later: &Later) {
        later.lock().retain_mut(|(process, header, payload)| {
            let early = (*process, *header, std::mem::take(payload));
            let kept = self.hear(early);
            kept.map(|(_, _, kept)| *payload = kept).is_some()
        });
    }

    /// Waits for the hello of all, or for one that has given the run up.
    fn wait(
        &mut self,
        transport: &dyn Transport,
        later: &Later,
        limit: Duration,
    ) -> Result<(), EarlyEnd> {
        let begun = Instant::now();
        loop {
            let came = transport.progress(&mut |process, header, payload| {
                let kept = self.hear((process, header, std::mem::take(payload)));
                later.lock().extend(kept);
            });
            if let Some(ended) = self.ended.take() {
                return Err(ended);
            }
            // First: a loss is told once, also with the last hello.
            let moved = came.map_err(failed)?;
            let (processes, waited) = (self.missing(), begun.elapsed());
            if processes.is_empty() {
                return Ok(());
            }
            if moved == 0 {
                thread::yield_now();
            }
            if waited >= limit {
                return Err(EarlyEnd::Silent { processes, waited });
            }
        }
    }
}

fn failed(error: TransportError) -> EarlyEnd {
    match error {
        TransportError::Lost { process, reason } => EarlyEnd::Lost { process, reason },
        TransportError::Failed { reason } => EarlyEnd::Transport { reason },
    }
}

/// Tells all that this process has given the run up: who comes later must not wait for it.
fn say_ended(transport: &dyn Transport, hello: Header, ending: &EarlyEnd) {
    let text = match ending {
        EarlyEnd::Lost { process, reason } => format!("process {process} is lost: {reason}"),
        EarlyEnd::Silent { processes, waited } => {
            format!("processes {processes:?} had not come after {waited:.1?}")
        }
        EarlyEnd::Transport { reason } => reason.clone(),
        // Whoever has said it has said it to all.
        EarlyEnd::Elsewhere { .. } | EarlyEnd::Stuck(_) => return,
    };
    let ended = Header {
        source: 0,
        tag: ENDED,
        ..hello
    };
    for process in (0..transport.processes()).filter(|&process| process != transport.process()) {
        // Who is gone need not be told.
        let _ = transport.send(process, ended, &mut text.clone().into_bytes());
    }
}

#[cfg(all(test, not(motet_loom)))]
mod tests {
    use super::*;

    /// The first of two. The other says hello, and is gone when that is taken in.
    struct Goes;

    impl Transport for Goes {
        fn process(&self) -> usize {
            0
        }

        fn processes(&self) -> usize {
            2
        }

        fn send(&self, _: usize, _: Header, _: &mut Vec<u8>) -> Result<(), TransportError> {
            Ok(())
        }

        fn progress(
            &self,
            deliver: &mut dyn FnMut(usize, Header, &mut Vec<u8>),
        ) -> Result<usize, TransportError> {
            let hello = Header {
                context: context_of(1, CONTROL, 0),
                source: 1,
                destination: 0,
                tag: HELLO,
            };
            deliver(1, hello, &mut Vec::new());
            let (process, reason) = (1, "it has ended".to_owned());
            Err(TransportError::Lost { process, reason })
        }
    }

    #[test]
    fn a_process_that_is_lost_as_the_last_one_comes_ends_the_run() {
        let met = handshake(&Goes, 1, 1, &Later::default(), Duration::from_secs(60));
        let lost = matches!(met, Err(EarlyEnd::Lost { process: 1, .. }));
        assert!(lost, "{met:?}");
    }

    /// The first of three. The second is gone.
    struct SecondIsGone;

    impl Transport for SecondIsGone {
        fn process(&self) -> usize {
            0
        }

        fn processes(&self) -> usize {
            3
        }

        fn send(&self, process: usize, _: Header, _: &mut Vec<u8>) -> Result<(), TransportError> {
            let reason = "it was lost before".to_owned();
            match process {
                1 => Err(TransportError::Lost { process, reason }),
                _ => Ok(()),
            }
        }

        fn progress(
            &self,
            _: &mut dyn FnMut(usize, Header, &mut Vec<u8>),
        ) -> Result<usize, TransportError> {
            Ok(0)
        }
    }

    #[test]
    fn sem_g311_what_one_said_before_it_left_counts_more_than_its_end() {
        let ended = Header {
            context: context_of(1, CONTROL, 0),
            source: 0,
            destination: 0,
            tag: ENDED,
        };
        let said = "process 2 is lost: it has ended";
        let later = Later::default();
        let say = || later.lock().push((1, ended, said.as_bytes().to_vec()));
        say();
        let met = handshake(&SecondIsGone, 1, 1, &later, Duration::from_secs(60));
        let Err(EarlyEnd::Elsewhere { process, message }) = met else {
            panic!("{met:?}");
        };
        assert_eq!((process, message.as_str()), (1, said));
        say();
        let met = handshake(&SecondIsGone, 2, 1, &later, Duration::from_secs(60));
        let lost = matches!(met, Err(EarlyEnd::Lost { process: 1, .. }));
        assert!(lost, "of another run it has said nothing: {met:?}");
    }
}
