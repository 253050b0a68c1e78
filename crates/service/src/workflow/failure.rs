//! Why a run does not go on.

use crate::Fault;

/// Why a run does not go on.
pub(super) enum Failure {
    /// A call was answered with a fault, as often as its retry wants.
    Call(Fault),
    /// What has become of a step could not be looked at or noted.
    Record(Fault),
}

impl Failure {
    pub(super) fn fault(self) -> Fault {
        match self {
            Failure::Call(fault) | Failure::Record(fault) => fault,
        }
    }

    /// What has failed before, unless this is worse.
    pub(super) fn after(self, before: Option<Failure>) -> Failure {
        match (before, self) {
            (Some(Failure::Call(_)) | None, later @ Failure::Record(_)) => later,
            (None, first) => first,
            (Some(before), _) => before,
        }
    }
}

/// What the calls to the workflow service itself are answered with.
impl From<Fault> for Failure {
    fn from(fault: Fault) -> Self {
        Failure::Record(fault)
    }
}
