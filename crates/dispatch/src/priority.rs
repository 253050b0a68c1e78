//! The priority of a dispatcher's threads.

use std::io;

/// How the operating system is to prefer a dispatcher's threads to others (the names are CCR's). There is
/// no priority between the queues of one dispatcher: use two dispatchers.
///
/// On Linux these are nice values. Going below [`Normal`](ThreadPriority::Normal) is always allowed;
/// going above needs a permission (`CAP_SYS_NICE` or `RLIMIT_NICE`). On other systems only `Normal` is
/// there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ThreadPriority {
    /// Nice value 15.
    Lowest,
    /// Nice value 5.
    BelowNormal,
    /// What the process has.
    #[default]
    Normal,
    /// Nice value -5.
    AboveNormal,
    /// Nice value -15.
    Highest,
}

impl ThreadPriority {
    /// The nice value; `None` leaves it as it is.
    #[must_use]
    pub fn nice(self) -> Option<i32> {
        match self {
            ThreadPriority::Lowest => Some(15),
            ThreadPriority::BelowNormal => Some(5),
            ThreadPriority::Normal => None,
            ThreadPriority::AboveNormal => Some(-5),
            ThreadPriority::Highest => Some(-15),
        }
    }

    /// Gives the calling thread this priority.
    pub(crate) fn apply(self) -> io::Result<()> {
        let Some(nice) = self.nice() else {
            return Ok(());
        };
        set_nice(nice).map_err(|error| {
            let text = format!(
                "the system refuses the dispatcher's threads the priority {self:?} (nice value {nice}): \
                 {error}; use a lower one, or give the process the permission (CAP_SYS_NICE)"
            );
            io::Error::new(error.kind(), text)
        })
    }
}

/// Linux sets this for the calling thread alone.
#[cfg(target_os = "linux")]
fn set_nice(nice: i32) -> io::Result<()> {
    rustix::process::setpriority_process(None, nice).map_err(io::Error::from)
}

#[cfg(not(target_os = "linux"))]
fn set_nice(_: i32) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}
