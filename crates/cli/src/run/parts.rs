//! The programs behind a colon: `motet run -m 1 ./ocean : -m 2 ./air`.

use std::ffi::OsString;

use clap::Parser;
use motet_mpi::ProgramPart;

use crate::amount::count;
use crate::error::{CliError, OptionError};
use crate::usage::one_line;

/// What stands between two programs.
const COLON: &str = ":";

/// A program behind a colon, with the options that it may have.
#[derive(Debug, Parser)]
#[command(no_binary_name = true, disable_help_flag = true)]
struct PartArgs {
    /// Ranks in each process, one thread each
    #[arg(short = 't', long, default_value_t = 1, value_parser = count())]
    threads: usize,

    /// Processes on each node
    #[arg(short = 'm', long, default_value_t = 1, value_parser = count())]
    processes: usize,

    /// The program and its arguments
    #[arg(trailing_var_arg = true, required = true, value_name = "PROGRAM")]
    program: Vec<OsString>,
}

/// The first program with its arguments, and the others.
///
/// # Errors
/// [`OptionError::Usage`] when there is no program between two colons, or something else before it
/// than its options.
pub(super) fn parts(words: &[OsString]) -> Result<(Vec<OsString>, Vec<ProgramPart>), CliError> {
    let mut parts = words.split(|word| word == COLON);
    let first = parts.next().unwrap_or_default().to_vec();
    if first.is_empty() {
        return Err(wrong("there is no program before the first colon"));
    }
    let others = parts.enumerate().map(|(at, words)| other(at + 1, words));
    Ok((first, others.collect::<Result<_, _>>()?))
}

fn other(colon: usize, words: &[OsString]) -> Result<ProgramPart, CliError> {
    if words.is_empty() {
        return Err(wrong(&format!("there is no program behind colon {colon}")));
    }
    let args = PartArgs::try_parse_from(words).map_err(|error| {
        // Its tip is not to be followed here.
        let text = one_line(&error);
        let what = text.split("; tip:").next().unwrap_or_default();
        wrong(&format!("behind colon {colon}: {what}"))
    })?;
    let PartArgs {
        threads,
        processes,
        program,
    } = args;
    Ok(ProgramPart {
        threads,
        processes,
        program,
    })
}

fn wrong(what: &str) -> CliError {
    CliError::Options(OptionError::Usage {
        what: format!(
            "{what}: each program stands as in motet run -m 1 ./ocean : -t 2 -m 2 ./air, and all options but \
             -m and -t come before the first one"
        ),
        command: "motet run".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<(Vec<OsString>, Vec<ProgramPart>), CliError> {
        parts(
            &line
                .split_whitespace()
                .map(OsString::from)
                .collect::<Vec<_>>(),
        )
    }

    #[test]
    fn sem_g308_programs_stand_between_colons() {
        let (first, others) = read("./ocean -m 3 : -t 2 -m 4 ./air --cold -t : ice").unwrap();
        assert_eq!(first, ["./ocean", "-m", "3"]);
        let told = others.iter().map(|part| {
            let ProgramPart {
                threads,
                processes,
                program,
            } = part;
            (*threads, *processes, program.len())
        });
        assert_eq!(told.collect::<Vec<_>>(), [(2, 4, 3), (1, 1, 1)]);
        assert_eq!(others[0].name(), "air");
        let (_, dashed) = read("a : -m 2 -- b c").unwrap();
        assert_eq!(dashed[0].program, ["b", "c"]);
        assert_eq!(
            read("a b:c ::").unwrap().1,
            [],
            "a colon is a word by itself"
        );
    }

    #[test]
    fn sem_g308_what_is_no_program_is_refused() {
        for (line, words) in [
            (": ./air", "before the first colon"),
            ("./ocean :", "behind colon 1"),
            ("./ocean : : ./air", "behind colon 1"),
            ("./ocean : ./ice : -m 2", "behind colon 2"),
            ("./ocean : -m 0 ./air", "--processes"),
            ("./ocean : --why 3 ./air", "'--why'"),
            ("./ocean : -n 2 ./air", "'-n'"),
        ] {
            let error = read(line).unwrap_err().to_string();
            for words in [words, "-m 1 ./ocean : -t 2 -m 2 ./air"] {
                assert!(error.contains(words), "{line}: {error}");
            }
            assert!(!error.contains('\n'), "{error}");
        }
    }
}
