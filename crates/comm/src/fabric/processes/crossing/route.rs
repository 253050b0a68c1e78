//! Which messages a process sends and gets in a crossing.

use motet_sync::atomic::{AtomicBool, Ordering};

/// How the collectives of a site cross.
pub(crate) struct Route {
    steps: Vec<Step>,
    /// The ranks of the world that take part here.
    here: Vec<usize>,
    /// What all processes have brought to a collective is here. Whoever takes it away says no
    /// again.
    all_here: AtomicBool,
}

/// One message to another process or from it, or both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Step {
    pub(super) process: usize,
    pub(super) sends: bool,
    pub(super) receives: bool,
    pub(super) tag: u32,
}

/// The tag of the message that brings everything to those that stood aside.
const RESULT: u32 = u32::MAX;

impl Route {
    /// The route of process `own` of these, in ascending order, whose ranks `here` take part;
    /// `None` if it is not among them.
    pub(crate) fn new(own: usize, hosts: &[usize], here: Vec<usize>) -> Option<Self> {
        let place = hosts.iter().position(|&host| host == own)?;
        let mut steps = steps(place, hosts.len());
        for step in &mut steps {
            step.process = hosts[step.process];
        }
        Some(Route {
            steps,
            here,
            all_here: AtomicBool::new(false),
        })
    }

    /// Whether what this process brings goes with parts of others too: there are more than two
    /// processes. If not, it goes once, when it is brought.
    pub(crate) fn passes_on(&self) -> bool {
        self.steps.len() > 1
    }

    /// Whether this process exchanges once all that it has, for all that there is: one of two does,
    /// and may of three.
    #[inline]
    pub(crate) fn exchanges_once(&self) -> bool {
        self.exchange().is_some()
    }

    /// That one step.
    #[inline]
    pub(super) fn exchange(&self) -> Option<&Step> {
        match &self.steps[..] {
            [step] if step.sends && step.receives => Some(step),
            _ => None,
        }
    }

    /// Whether the parts of all processes are here.
    #[inline]
    pub(crate) fn all_here(&self) -> bool {
        // Acquire: as `end` says.
        self.all_here.load(Ordering::Acquire)
    }

    /// They are.
    pub(super) fn end(&self) {
        // Release: whoever sees it sees them.
        self.all_here.store(true, Ordering::Release);
    }

    /// They are taken away.
    pub(super) fn begin_anew(&self) {
        // Relaxed: the next collective begins when this one has been published.
        self.all_here.store(false, Ordering::Relaxed);
    }

    pub(super) fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// The ranks of the world that take part here.
    pub(super) fn here(&self) -> &[usize] {
        &self.here
    }
}

/// What process `own` of `processes` does in a collective; processes are numbered as they take
/// part.
fn steps(own: usize, processes: usize) -> Vec<Step> {
    let step = |process, sends, receives, tag| Step {
        process,
        sends,
        receives,
        tag,
    };
    let levels = processes.ilog2();
    // So many pairs send one of them ahead.
    let pairs = processes - (1 << levels);
    if own < 2 * pairs && own % 2 == 1 {
        return vec![
            step(own - 1, true, false, 0),
            step(own - 1, false, true, RESULT),
        ];
    }
    let mut steps = Vec::new();
    if own < 2 * pairs {
        steps.push(step(own + 1, false, true, 0));
    }
    let place = if own < 2 * pairs {
        own / 2
    } else {
        own - pairs
    };
    for level in 0..levels {
        let other = place ^ (1 << level);
        let process = if other < pairs {
            2 * other
        } else {
            other + pairs
        };
        steps.push(step(process, true, true, level + 1));
    }
    if own < 2 * pairs {
        steps.push(step(own + 1, true, false, RESULT));
    }
    steps
}
