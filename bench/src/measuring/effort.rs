//! How thoroughly everything is measured.

/// How much work each row does, and how often.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effort {
    /// To see that everything runs: the numbers say nothing.
    Trial,
    /// Little work and few rounds.
    Quick,
    /// What is to be quoted.
    Full,
}

impl Effort {
    /// What belongs to the effort.
    pub(crate) fn pick<T>(self, trial: T, quick: T, full: T) -> T {
        match self {
            Effort::Trial => trial,
            Effort::Quick => quick,
            Effort::Full => full,
        }
    }
}
