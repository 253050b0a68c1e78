//! A program of ranks that is started on several processes, to be measured beside the same in C.

use serde::Serialize;
use std::fmt;
use std::str::FromStr;

/// What the ranks do, round after round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum RankProgram {
    /// One number to each neighbour on a ring, and one from each.
    Exchange,
    /// The sum of so many f64.
    Allreduce(usize),
    /// Wait for all.
    Barrier,
}

/// What was measured, as the programs in C print it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RankMeasured {
    /// A round, in µs.
    pub us: f64,
    /// Rounds.
    pub rounds: u64,
    /// Processes.
    pub processes: usize,
    /// What carries the messages.
    pub mpi: &'static str,
}

impl fmt::Display for RankProgram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RankProgram::Exchange => f.write_str("exchange"),
            RankProgram::Allreduce(length) => write!(f, "allreduce:{length}"),
            RankProgram::Barrier => f.write_str("barrier"),
        }
    }
}

impl FromStr for RankProgram {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, length) = text.split_once(':').unwrap_or((text, "1"));
        let length = length.parse().ok().filter(|length| *length > 0);
        match (name, length) {
            ("exchange", Some(1)) => Ok(RankProgram::Exchange),
            ("allreduce", Some(length)) => Ok(RankProgram::Allreduce(length)),
            ("barrier", Some(1)) => Ok(RankProgram::Barrier),
            _ => Err(format!(
                "{text} is no program: name exchange, barrier or allreduce:LENGTH"
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_have_names() {
        for program in [
            RankProgram::Exchange,
            RankProgram::Allreduce(4096),
            RankProgram::Barrier,
        ] {
            assert_eq!(program.to_string().parse(), Ok(program));
        }
        for wrong in ["", "exchange:2", "allreduce:0", "allreduce:x", "gather"] {
            assert!(wrong.parse::<RankProgram>().is_err(), "{wrong}");
        }
    }
}
