//! `motet bench plot`, `motet bench report` and `motet bench compare`: pictures, tables, a page and
//! what differs, from the rows of runs alone.

use std::path::{Path, PathBuf};

use clap::Args;
use motet_bench::compare::{Apart, compare};
use motet_bench::join::join;
use motet_bench::measuring::RowOutcome;
use motet_bench::plot::{self, PlotFile};
use motet_bench::report;
use motet_bench::results::Results;

use crate::bench::print_args::PrintArgs;
use crate::bench::sheet::Sheet;
use crate::error::{BenchError, CliError};
use crate::files::{Content, ResultsFolder};
use crate::stderr::tell;
use crate::stdout::print;

/// Options of `motet bench plot` and `motet bench report`.
#[derive(Debug, Clone, Args)]
pub struct ResultsArgs {
    /// The folder that `motet bench run` wrote into
    #[arg(value_name = "DIR", default_value = "motet-bench")]
    pub dir: PathBuf,
}

/// Options of `motet bench compare`.
#[derive(Debug, Clone, Args)]
pub struct CompareArgs {
    /// The folder of a run
    #[arg(value_name = "DIR")]
    pub first: PathBuf,

    /// The folder of another one
    #[arg(value_name = "OTHER")]
    pub second: PathBuf,

    /// How results are printed.
    #[command(flatten)]
    pub print: PrintArgs,
}

/// Options of `motet bench join`.
#[derive(Debug, Clone, Args)]
pub struct JoinArgs {
    /// The folder of a run
    #[arg(value_name = "DIR")]
    pub first: PathBuf,

    /// The folder of another one, of another machine
    #[arg(value_name = "OTHER")]
    pub second: PathBuf,

    /// The folder of both, which is made
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
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
    let file = PlotFile {
        path: "report.html".to_owned(),
        bytes: report::page(&read(&args.dir)?).into_bytes(),
    };
    let path = args.dir.join(&file.path);
    write(&args.dir, &[file])?;
    print(|to| writeln!(to, "the report is {}", path.display()))
}

/// Puts two runs into one folder.
pub(super) fn run_join(args: &JoinArgs) -> Result<(), CliError> {
    let both = join(&args.first, &args.second, &args.out).map_err(BenchError::from)?;
    let (out, rows) = (args.out.display(), both.measured());
    print(|to| {
        writeln!(
            to,
            "{out} has {rows} values, those of another machine beside: motet bench report {out}"
        )
    })
}

/// Prints the rows that differ, and how many agree.
pub(super) fn run_compare(args: &CompareArgs) -> Result<(), CliError> {
    let all = compare(&read(&args.first)?, &read(&args.second)?);
    let mut sheet = Sheet::new(
        args.print,
        &[
            "row",
            "      least",
            "     median",
            "       most",
            "      other",
            "times",
        ],
    );
    for apart in &all.apart {
        sheet.row(apart, &apart_cells(apart))?;
    }
    if args.print.json {
        return Ok(());
    }
    let Some(agreement) = all.agreement() else {
        return print(|to| writeln!(to, "the two have no row of several runs in common"));
    };
    let (rows, agree) = (all.rows, all.rows - all.apart.len());
    let percent = 100.0 * agreement;
    print(|to| {
        writeln!(
            to,
            "{agree} of {rows} rows agree ({percent:.1} %); {} more have one run",
            all.single
        )
    })
}

fn apart_cells(apart: &Apart) -> [String; 6] {
    let row = &apart.row;
    let name = format!(
        "{} {}, {}: {} ({})",
        row.experiment, row.series, row.point, row.quantity, row.unit
    );
    let number = |value: f64| format!("{value:.5}");
    let [least, median, most] = match row.outcome {
        RowOutcome::Measured {
            least,
            median,
            most,
            ..
        } => [least, median, most].map(number),
        RowOutcome::Absent { .. } => Default::default(),
    };
    let ratio = apart.ratio.map(|ratio| format!("{ratio:.2}"));
    let ratio = ratio.unwrap_or_else(|| "-".to_owned());
    [name, least, median, most, number(apart.median), ratio]
}

fn read(dir: &Path) -> Result<Results, CliError> {
    let results = Results::read(dir).map_err(BenchError::from)?;
    if results.cut_off {
        tell(format_args!(
            "the last line of {} is cut off and left out: a run was ended in the middle; run its \
             experiment again",
            dir.join("rows.jsonl").display()
        ));
    }
    Ok(results)
}

/// All files or none.
fn write(dir: &Path, files: &[PlotFile]) -> Result<(), CliError> {
    let names: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
    let folder = ResultsFolder::check(dir, &names)?;
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

pub(super) const COMPARE: &str = "\
Compares two runs of the suite, row by row.

A row agrees when its medians differ by no more than its least and most lie apart in DIR. Those that do not are printed, the furthest \
first, with the values in DIR, the median in OTHER, and how many times the first the second is. Of two runs of one program on an \
idle machine nearly all rows agree; of two versions, or with a change of the machine, those that are printed have changed.";

pub(super) const JOIN: &str = "\
Puts two runs of two machines into one folder, for the papers' claims that compare machines.

DIR's rows and record are copied into the new folder, OTHER's below it into beside: rows keep their machine. \
motet bench report and motet bench plot then tell of DIR; claims about two machines (C09, C10, C49) are judged by both, and \
lines whose points name the processor (E35) are drawn beside each other. Measure both with the same effort.";

pub(super) const REPORT: &str = "\
Writes one page about a run: DIR/report.html.

It says first where a peer is better than motet, then what the machine is, then what each experiment found, with its tables and \
pictures, and then which of the papers' claims hold here. The page holds everything it shows and needs no network.";
