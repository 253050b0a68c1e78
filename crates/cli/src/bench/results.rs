//! `motet bench plot` and `motet bench report`: pictures, tables and a page, from the rows of a run alone.

use std::path::{Path, PathBuf};

use clap::Args;
use motet_bench::plot::{self, File};
use motet_bench::report;
use motet_bench::results::Results;

use crate::error::{BenchError, CliError};
use crate::files::{Content, Folder};
use crate::stdout::print;

/// Options of `motet bench plot` and `motet bench report`.
#[derive(Debug, Clone, Args)]
pub struct ResultsArgs {
    /// The folder that `motet bench run` wrote into
    #[arg(value_name = "DIR", default_value = "motet-bench")]
    pub dir: PathBuf,
}

/// Draws every picture and writes every table.
pub(super) fn run_plot(args: &ResultsArgs) -> Result<(), CliError> {
    let files = plot::files(&read(&args.dir)?);
    write(&args.dir, &files)?;
    let count = |ending: &str| {
        files
            .iter()
            .filter(|file| file.path.ends_with(ending))
            .count()
    };
    let (pictures, tables, dir) = (count(".svg"), count(".csv"), args.dir.display());
    print(|to| {
        writeln!(
            to,
            "{pictures} pictures are in {dir}/pictures, {tables} tables in {dir}/tables"
        )
    })
}

/// Writes the page.
pub(super) fn run_report(args: &ResultsArgs) -> Result<(), CliError> {
    let file = File {
        path: "report.html".to_owned(),
        bytes: report::page(&read(&args.dir)?).into_bytes(),
    };
    let path = args.dir.join(&file.path);
    write(&args.dir, &[file])?;
    print(|to| writeln!(to, "the report is {}", path.display()))
}

fn read(dir: &Path) -> Result<Results, CliError> {
    let results = Results::read(dir).map_err(BenchError::from)?;
    if results.cut_off {
        eprintln!(
            "motet: the last line of {} is cut off and left out: a run was ended in the middle; run its experiment again",
            dir.join("rows.jsonl").display()
        );
    }
    Ok(results)
}

/// All files or none.
fn write(dir: &Path, files: &[File]) -> Result<(), CliError> {
    let names: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
    let folder = Folder::check(dir, &names)?;
    let contents = files.iter().map(|file| Content {
        name: file.path.as_str(),
        write: Box::new(|to| to.write_all(&file.bytes)),
    });
    folder.write(&contents.collect::<Vec<_>>(), || false)?;
    Ok(())
}

pub(super) const PLOT: &str = "\
Draws the pictures of a run and writes its tables.

Every picture comes as SVG and as PNG into DIR/pictures, every experiment's table as Markdown and as CSV into DIR/tables. \
They are made from DIR/rows.jsonl alone: the same rows give the same files. The papers' own values stand \
beside, with their machines.";

pub(super) const REPORT: &str = "\
Writes one page about a run: DIR/report.html.

It says first where a peer is better than motet, then what the machine is, then what each experiment found, with its tables and \
pictures, and then which of the papers' claims hold here. The page holds everything it shows and needs no network.";
