//! `motet completions` and `motet man`: what is made of the command line's own description.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::{Args, Command};
use clap_complete::Shell;

use crate::error::{CliError, OutputError};
use crate::files::public_temporary;
use crate::stdout::print;

/// Options of `motet completions`.
#[derive(Debug, Clone, Args)]
#[command(
    after_help = "Example:\n  motet completions bash > ~/.local/share/bash-completion/completions/motet"
)]
pub struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    pub shell: Shell,
}

/// Options of `motet man`.
#[derive(Debug, Clone, Args)]
#[command(
    after_help = "Examples:\n  motet man | man -l -\n  motet man --out ~/.local/share/man/man1"
)]
pub struct ManArgs {
    /// Folder for motet.1, motet-cluster.1 and so on
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
}

/// Prints the script for a shell, of the whole command line.
///
/// # Errors
/// When it cannot be printed.
pub(crate) fn completions(args: &CompletionsArgs, mut all: Command) -> Result<(), CliError> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut all, "motet", &mut script);
    print(|to| to.write_all(&script))
}

/// Prints the page of the program, or writes the pages of all commands.
///
/// # Errors
/// When it cannot be printed, or a file cannot be written.
pub(crate) fn man(args: &ManArgs, all: Command) -> Result<(), CliError> {
    let Some(folder) = &args.out else {
        let mut page = Vec::new();
        let rendered = clap_mangen::Man::new(all).render(&mut page);
        return print(|to| rendered.and_then(|()| to.write_all(&page)));
    };
    let written = write_pages(folder, all);
    Ok(written.map_err(|source| OutputError::Write {
        path: folder.clone(),
        source,
    })?)
}

fn write_pages(folder: &Path, mut command: Command) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    command.build();
    let mut commands = vec![("motet".to_owned(), command)];
    while let Some((name, command)) = commands.pop() {
        let below = command.get_subcommands().filter(|it| !it.is_hide_set());
        let below = below.filter(|it| it.get_name() != "help");
        commands.extend(below.map(|it| (format!("{name}-{}", it.get_name()), it.clone())));
        let mut page = Vec::new();
        let man = clap_mangen::Man::new(command).title(name.clone());
        man.render(&mut page)?;
        let mut file = public_temporary(folder)?;
        file.write_all(&page)?;
        file.as_file().sync_all()?;
        file.persist(folder.join(format!("{name}.1")))?;
    }
    Ok(())
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn pages_may_be_read_by_whom_other_files_may() {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join("plain"), "").unwrap();
        write_pages(root.path(), Command::new("motet")).unwrap();
        let mode = |name: &str| {
            let data = fs::metadata(root.path().join(name)).unwrap();
            data.permissions().mode()
        };
        assert_eq!(mode("motet.1"), mode("plain"));
    }
}
