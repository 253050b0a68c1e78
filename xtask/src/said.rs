//! Programs that are asked something.

use anyhow::{Context, Result, ensure};
use std::ffi::OsStr;
use std::process::{Command, Stdio};

/// What a program writes, without the space round it.
///
/// # Errors
/// Why it did not start, or what it wrote when it failed.
pub(crate) fn said(command: &mut Command) -> Result<String> {
    let done = command.stdin(Stdio::null()).output();
    let name = command.get_program().display();
    let done = done.with_context(|| format!("`{name}`"))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    ensure!(done.status.success(), "`{name}`: {}", text(&done.stderr));
    Ok(text(&done.stdout))
}

/// Whether a program runs with these words and ends well.
pub(crate) fn runs(program: impl AsRef<OsStr>, words: &[&str]) -> bool {
    said(Command::new(program).args(words)).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_comes_back_and_a_failure_with_its_reason() {
        let sh = |script| said(Command::new("sh").args(["-c", script]));
        assert_eq!(sh("echo ' a'").unwrap(), "a");
        assert_eq!(
            sh("echo a; echo b >&2; exit 1").unwrap_err().to_string(),
            "`sh`: b"
        );
        assert!(runs("true", &[]) && !runs("false", &[]) && !runs("no-such-program", &[]));
    }
}
