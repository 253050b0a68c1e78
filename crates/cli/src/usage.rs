//! What is wrong with a command line, in one line.

use std::ffi::OsString;

/// What clap says in one line, without its usage.
pub(crate) fn one_line(error: &clap::Error) -> String {
    let text = error.to_string();
    let paragraphs = text.trim_start_matches("error: ").split("\n\n");
    let kept = paragraphs
        .filter(|paragraph| {
            !["Usage:", "For more"]
                .iter()
                .any(|w| paragraph.starts_with(w))
        })
        .map(|paragraph| paragraph.split_whitespace().collect::<Vec<_>>().join(" "));
    kept.filter(|paragraph| !paragraph.is_empty())
        .collect::<Vec<_>>()
        .join("; ")
}

/// The command that these arguments name, as it is called for its help.
pub(crate) fn command_of(root: &clap::Command, arguments: &[OsString]) -> String {
    let (mut command, mut called) = (root, root.get_name().to_owned());
    for argument in arguments.iter().skip(1) {
        let word = argument.to_str();
        let Some(next) = word.and_then(|word| command.find_subcommand(word)) else {
            break;
        };
        called.push(' ');
        called.push_str(next.get_name());
        command = next;
    }
    called
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::Cli;

    #[test]
    fn the_help_that_is_named_is_that_of_the_command() {
        let named = |line: &str| {
            let arguments: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            command_of(&Cli::command(), &arguments)
        };
        assert_eq!(named("motet"), "motet");
        assert_eq!(named("motet --wrong cluster"), "motet");
        assert_eq!(named("motet cluster hmm --wrong"), "motet cluster");
        assert_eq!(named("motet hmm fit x.csv"), "motet hmm fit");
    }
}
