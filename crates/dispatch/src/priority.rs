//! The priority of a dispatcher's threads.

use std::io;

/// How the operating system is to prefer a dispatcher's threads to others (the names are CCR's).
/// There is no priority between the queues of one dispatcher: use two dispatchers.
///
/// On Linux these are steps of the nice value, from what the thread that makes the dispatcher has.
/// Going below [`Normal`](ThreadPriority::Normal) is always allowed; going above needs a permission
/// (`CAP_SYS_NICE` or `RLIMIT_NICE`). On other systems only `Normal` is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ThreadPriority {
    /// A nice value higher by 15.
    Lowest,
    /// A nice value higher by 5.
    BelowNormal,
    /// What the process has.
    #[default]
    Normal,
    /// A nice value lower by 5.
    AboveNormal,
    /// A nice value lower by 15.
    Highest,
}

impl ThreadPriority {
    /// By how much the nice value is higher.
    #[must_use]
    pub fn nice_step(self) -> i32 {
        match self {
            ThreadPriority::Lowest => 15,
            ThreadPriority::BelowNormal => 5,
            ThreadPriority::Normal => 0,
            ThreadPriority::AboveNormal => -5,
            ThreadPriority::Highest => -15,
        }
    }

    /// Gives the calling thread this priority.
    pub(crate) fn apply(self) -> io::Result<()> {
        if self == ThreadPriority::Normal {
            return Ok(());
        }
        raise_nice(self.nice_step()).map_err(|error| {
            let text = format!(
                "the system refuses the dispatcher's threads the priority {self:?}: {error}; use a \
                 lower one, or give the process the permission (CAP_SYS_NICE)"
            );
            io::Error::new(error.kind(), text)
        })
    }
}

/// Linux does this for the calling thread alone.
#[cfg(target_os = "linux")]
fn raise_nice(step: i32) -> io::Result<()> {
    use rustix::process::{getpriority_process, setpriority_process};
    let nice = getpriority_process(None)? + step;
    Ok(setpriority_process(None, nice.clamp(-20, 19))?)
}

#[cfg(not(target_os = "linux"))]
fn raise_nice(_: i32) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}
