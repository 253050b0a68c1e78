//! What holds for all processes of a model: its end, its seed, who may schedule for whom, and how
//! soon.

use crate::{ModelError, Options, Tie, Time};

/// The options of a run and the links of its model.
#[derive(Debug)]
pub(crate) struct Rules {
    pub(crate) processes: usize,
    pub(crate) seed: u64,
    pub(crate) end: Time,
    /// Events at this time or later are left to the next part of the run.
    pub(crate) stop: Time,
    pub(crate) tie: Tie,
    pub(crate) most_events: u64,
    pub(crate) most_pending: usize,
    pub(crate) trace: bool,
    lookahead: Time,
    links: Option<ProcessLinks>,
}

/// For each process the processes that it may schedule events for, in their order, and with which
/// least delay.
#[derive(Debug)]
pub(crate) struct ProcessLinks(Vec<Vec<(u32, Time)>>);

impl Rules {
    /// # Errors
    /// More processes than can be numbered.
    pub(crate) fn new(
        processes: usize,
        options: &Options,
        links: Option<ProcessLinks>,
    ) -> Result<Self, ModelError> {
        check_number(processes)?;
        Ok(Rules {
            processes,
            seed: options.seed,
            end: options.end,
            stop: options.end,
            tie: options.tie,
            most_events: options.most_events,
            most_pending: options.most_pending,
            trace: options.trace,
            lookahead: options.lookahead,
            links,
        })
    }

    /// Whether an event for another process is as the model promises.
    #[inline]
    pub(crate) fn check(
        &self,
        from: usize,
        to: usize,
        time: Time,
        delay: Time,
    ) -> Result<(), Box<ModelError>> {
        if to >= self.processes {
            let processes = self.processes;
            return Err(Box::new(ModelError::NoSuchProcess {
                from,
                to,
                processes,
                time,
            }));
        }
        let lookahead = match &self.links {
            None => self.lookahead,
            Some(links) => match links.lookahead(from, to) {
                Some(lookahead) => lookahead,
                None => return Err(Box::new(ModelError::NotLinked { from, to, time })),
            },
        };
        if delay < lookahead {
            return Err(Box::new(ModelError::TooSoon {
                from,
                to,
                time,
                delay,
                lookahead,
            }));
        }
        Ok(())
    }

    /// The least delay of any event for another process.
    pub(crate) fn least_lookahead(&self) -> (Time, Option<(usize, usize)>) {
        match &self.links {
            None => (self.lookahead, None),
            Some(links) => {
                let least = links.all().min_by_key(|&(_, _, lookahead)| lookahead);
                least.map_or((Time::MAX, None), |(from, to, least)| {
                    (least, Some((from, to)))
                })
            }
        }
    }

    /// The links that the model has declared, and with which least delay.
    pub(crate) fn all_links(&self) -> Option<impl Iterator<Item = (usize, usize, Time)> + '_> {
        self.links.as_ref().map(ProcessLinks::all)
    }

    /// A cycle of links without lookahead, if there is one: its processes, the first again at the
    /// end.
    pub(crate) fn cycle_without_lookahead(&self) -> Option<Vec<usize>> {
        match &self.links {
            Some(links) => links.cycle_without_lookahead(),
            None => (self.lookahead == 0 && self.processes > 1).then(|| vec![0, 1, 0]),
        }
    }
}

/// # Errors
/// More processes than can be numbered.
fn check_number(processes: usize) -> Result<(), ModelError> {
    match u32::try_from(processes) {
        Ok(_) => Ok(()),
        Err(_) => Err(ModelError::TooManyProcesses { processes }),
    }
}

impl ProcessLinks {
    /// # Errors
    /// A process that is not there; more processes than can be numbered.
    pub(crate) fn new(
        processes: usize,
        links: impl Iterator<Item = (usize, usize, Time)>,
    ) -> Result<Self, ModelError> {
        check_number(processes)?;
        let mut from_each = vec![Vec::new(); processes];
        for (from, to, lookahead) in links {
            if let Some(to) = [from, to].into_iter().find(|&process| process >= processes) {
                let time = 0;
                return Err(ModelError::NoSuchProcess {
                    from,
                    to,
                    processes,
                    time,
                });
            }
            if from != to {
                from_each[from].push((to as u32, lookahead));
            }
        }
        for links in &mut from_each {
            // Of two links between the same processes the one with the smaller delay counts.
            links.sort_unstable();
            links.dedup_by_key(|link| link.0);
        }
        Ok(ProcessLinks(from_each))
    }

    fn lookahead(&self, from: usize, to: usize) -> Option<Time> {
        let links = &self.0[from];
        let found = links.binary_search_by_key(&(to as u32), |link| link.0);
        found.ok().map(|at| links[at].1)
    }

    fn all(&self) -> impl Iterator<Item = (usize, usize, Time)> + '_ {
        let from_each = self.0.iter().enumerate();
        from_each.flat_map(|(from, links)| {
            let link = move |&(to, lookahead): &(u32, Time)| (from, to as usize, lookahead);
            links.iter().map(link)
        })
    }

    /// A cycle of links without lookahead, if there is one: its processes, the first again at the
    /// end.
    pub(crate) fn cycle_without_lookahead(&self) -> Option<Vec<usize>> {
        #[derive(Clone, Copy, PartialEq)]
        enum Seen {
            Never,
            OnTheWay,
            Done,
        }
        let mut seen = vec![Seen::Never; self.0.len()];
        for start in 0..self.0.len() {
            if seen[start] != Seen::Never {
                continue;
            }
            // The way from `start`, and for each process on it the next link to follow.
            let mut way = vec![(start, 0)];
            seen[start] = Seen::OnTheWay;
            while let Some((process, next)) = way.last_mut() {
                let Some(&(to, lookahead)) = self.0[*process].get(*next) else {
                    seen[*process] = Seen::Done;
                    way.pop();
                    continue;
                };
                *next += 1;
                let to = to as usize;
                if lookahead > 0 {
                    continue;
                }
                match seen[to] {
                    Seen::Done => {}
                    Seen::Never => {
                        seen[to] = Seen::OnTheWay;
                        way.push((to, 0));
                    }
                    Seen::OnTheWay => {
                        let on_it = way.iter().map(|&(process, _)| process);
                        let cycle = on_it.skip_while(|&process| process != to);
                        return Some(cycle.chain([to]).collect());
                    }
                }
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn links(links: &[(usize, usize, Time)]) -> ProcessLinks {
        ProcessLinks::new(5, links.iter().copied()).unwrap()
    }

    #[test]
    fn more_processes_than_can_be_numbered_are_refused_before_there_is_room_for_their_links() {
        let processes = usize::MAX;
        let refused = ProcessLinks::new(processes, std::iter::empty()).err();
        assert_eq!(refused, Some(ModelError::TooManyProcesses { processes }));
    }

    #[test]
    fn a_cycle_without_lookahead_is_named() {
        let cycle = |all: &[_]| links(all).cycle_without_lookahead();
        assert_eq!(cycle(&[(0, 1, 0), (1, 2, 0), (2, 0, 1), (2, 3, 0)]), None);
        let found = cycle(&[(4, 1, 0), (1, 2, 0), (0, 4, 0), (2, 3, 0), (3, 1, 0)]);
        assert_eq!(found, Some(vec![1, 2, 3, 1]));
    }

    #[test]
    fn of_two_links_the_sooner_counts() {
        let links = links(&[(0, 1, 7), (0, 1, 3), (0, 2, 9), (1, 1, 0)]);
        assert_eq!(links.lookahead(0, 1), Some(3));
        assert_eq!(links.lookahead(1, 0), None);
        assert_eq!(links.all().collect::<Vec<_>>(), [(0, 1, 3), (0, 2, 9)]);
        assert!(ProcessLinks::new(2, [(0, 2, 1)].into_iter()).is_err());
    }
}
