//! Who waits for the answer to a request, as its server knows it: causalities that end with the
//! wait.

use motet_dispatch::{Causalities, Causality};

/// How many causalities of a caller, or of a sample, are known by name, the innermost.
pub(crate) const MOST_CAUSALITIES: usize = 16;

/// The names of the causalities that are active now, innermost first.
pub(crate) fn names() -> Vec<String> {
    let active = Causality::active();
    let names = active.iter().map(|causality| causality.name().to_owned());
    names.take(MOST_CAUSALITIES).collect()
}

/// The caller of one request. Its causalities have the names of those that the call was made under,
/// inside one for the call.
pub(crate) struct Caller {
    outermost: Causality,
    innermost: Causality,
}

impl Caller {
    /// `call` names the call; `names` are those of its causalities, innermost first.
    pub(crate) fn new(call: &str, names: &[String]) -> Self {
        // What is active here is the node's business, and not the caller's.
        let outermost = Causalities::none().run(|| Causality::new(call));
        let mut innermost = outermost.clone();
        for name in names.iter().take(MOST_CAUSALITIES).rev() {
            innermost = innermost.run(|| Causality::new(name));
        }
        Caller {
            outermost,
            innermost,
        }
    }

    /// Does something on behalf of the caller.
    pub(crate) fn run<R>(&self, work: impl FnOnce() -> R) -> R {
        self.innermost.run(work)
    }

    /// Nobody waits any more.
    pub(crate) fn is_gone(&self, why: &str) {
        self.outermost.cancel(why);
    }

    /// The caller has its answer.
    pub(crate) fn has_answer(&self) {
        self.innermost.end();
        self.outermost.end();
    }

    pub(crate) fn waits(&self) -> bool {
        !self.outermost.is_cancelled()
    }
}
