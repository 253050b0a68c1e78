//! Making a schedule that fails small.

use super::Attempt;

/// Runs that a search for a smaller schedule may take.
const BUDGET: usize = 2_000;

/// The attempt with the fewest decisions that are not the default which was found, starting from
/// one that failed; and how many runs that took.
///
/// Only the same failure counts: the smallest schedule of another one explains nothing.
pub(super) fn shrink(first: Attempt, run: impl Fn(Vec<u32>) -> Attempt) -> (Attempt, usize) {
    let mut search = Search {
        best: first,
        run,
        runs: 0,
    };
    search.shorten();
    // Large pieces first; one by one until nothing changes.
    let mut size = search.script().len().div_ceil(2);
    while size > 0 && search.runs < BUDGET {
        let changed = search.replace_pieces(size);
        size = if size > 1 {
            size / 2
        } else {
            usize::from(changed)
        };
    }
    (search.best, search.runs)
}

struct Search<R> {
    best: Attempt,
    run: R,
    runs: usize,
}

impl<R: Fn(Vec<u32>) -> Attempt> Search<R> {
    /// The decisions of the best attempt, without the defaults at its end.
    fn script(&self) -> Vec<u32> {
        let mut script: Vec<u32> = self
            .best
            .decisions
            .iter()
            .map(|decision| decision.taken)
            .collect();
        while script.last() == Some(&0) {
            script.pop();
        }
        script
    }

    /// Keeps what `script` leads to if that fails in the same way and is smaller.
    fn attempt(&mut self, script: Vec<u32>) -> bool {
        self.runs += 1;
        let attempt = (self.run)(script);
        let better = attempt.fails_as(&self.best) && attempt.deviations() < self.best.deviations();
        if better {
            self.best = attempt;
        }
        better
    }

    /// Looks for the shortest beginning that fails, as if longer ones failed too.
    fn shorten(&mut self) {
        let script = self.script();
        let (mut passes, mut fails) = (0, script.len());
        while passes < fails {
            let middle = passes.midpoint(fails);
            if self.attempt(script[..middle].to_vec()) {
                fails = middle;
            } else {
                passes = middle + 1;
            }
        }
    }

    /// Tries the default for each piece of `size` decisions, last to first. `true` when one did
    /// without.
    fn replace_pieces(&mut self, size: usize) -> bool {
        let mut changed = false;
        let mut end = self.script().len();
        while end > 0 && self.runs < BUDGET {
            let mut script = self.script();
            end = end.min(script.len());
            let start = end.saturating_sub(size);
            let piece = &mut script[start..end];
            if piece.iter().any(|&taken| taken > 0) {
                piece.fill(0);
                changed |= self.attempt(script);
            }
            end = start;
        }
        changed
    }
}
