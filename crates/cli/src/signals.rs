//! What becomes of signals.

use std::sync::Arc;

use motet_sync::atomic::AtomicBool;
use rustix::process::Signal;

/// Those of these signals that the process does not ignore. One that it was started to ignore, as
/// by `nohup` or in the background of a shell without jobs, stays ignored. Where the system does
/// not tell, that is all of them.
pub(crate) fn not_ignored(signals: &[i32]) -> Vec<i32> {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = ignored(&status);
    let heard = signals.iter().copied();
    heard
        .filter(|signal| ignored >> (signal - 1) & 1 == 0)
        .collect()
}

/// The ignored signals of a process, by its status: signal 1 is the lowest bit.
fn ignored(status: &str) -> u64 {
    let line = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    line.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .unwrap_or_default()
}

/// A file that would become larger than the system lets it is from now on an error of the write. It
/// is not the end of the process.
pub(crate) fn large_files_are_errors() {
    let heard = not_ignored(&[Signal::XFSZ.as_raw()]);
    for signal in heard {
        // Without it the process ends there as before.
        let _ = signal_hook::flag::register(signal, Arc::new(AtomicBool::new(false)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sem_g506_ignored_signals_are_read_from_the_status() {
        let status = "SigBlk:\t0000000000000000\nSigIgn:\t0000000000001001\nSigCgt:\t0\n";
        assert_eq!(ignored(status), 1 << 12 | 1);
        assert_eq!(ignored("Name:\tmotet\n"), 0);
    }
}
