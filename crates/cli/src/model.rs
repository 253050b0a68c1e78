//! What commands that fit models have in common: options, model files, names of files.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::amount::count;
use crate::error::{CliError, OptionError};
use crate::keep::KeepArgs;
use crate::read::TableRequest;
use crate::spread::SpreadArgs;
use crate::table::{self, RowArgs, TableArgs};

/// The files of `--out` that all of them write.
pub(crate) const LABELS: &str = "labels.csv";
pub(crate) const MODEL: &str = "model.json";
pub(crate) const TRACE: &str = "trace.json";
pub(crate) const CURVE: &str = "trace.svg";
pub(crate) const MAP: &str = "map.svg";

/// Options that say where to run and what to do with the result.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Results")]
pub struct ModelRunArgs {
    /// Threads of each process [default: the cores, shared by the processes of a machine]
    #[arg(short = 't', long, value_name = "N", value_parser = count())]
    pub threads: Option<usize>,

    /// Run with one thread too, and print the overhead f = (P·T_P − T_1)/T_1 and the efficiency
    #[arg(long)]
    pub scaling: bool,

    /// Print where the time went: the overhead in parts, and every rank and stage
    #[arg(long)]
    pub profile: bool,

    /// Folder for the files
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,

    /// Print one JSON object instead of the table
    #[arg(long)]
    pub json: bool,

    /// No progress and no remarks on standard error
    #[arg(short, long)]
    pub quiet: bool,

    /// Where to run. The last one: what comes after it would be under its heading.
    #[command(flatten)]
    pub spread: SpreadArgs,
}

/// The same of a fit, which may have checkpoints.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Results")]
#[command(mut_arg("scaling", |scaling| scaling.conflicts_with("checkpoint")))]
pub struct ModelArgs {
    /// What all have.
    #[command(flatten)]
    pub run: ModelRunArgs,

    /// Whether a run can go on after an end that nobody wanted.
    #[command(flatten)]
    pub keep: KeepArgs,
}

/// The table to read; columns are those of a model, if there is one.
pub(crate) fn request(
    file: &Path,
    mut table: RowArgs,
    columns: Option<&[String]>,
    several: bool,
) -> Result<TableRequest, OptionError> {
    if several && file.as_os_str() == "-" {
        return Err(OptionError::Value {
            option: "FILE",
            value: "-".to_owned(),
            advice: "several processes cannot share standard input: name a file",
        });
    }
    if let Some(columns) = columns {
        let given = [
            ("--columns", !table.numbers.columns.is_empty()),
            ("--exclude", !table.numbers.exclude.is_empty()),
            ("--standardise", table.numbers.standardise),
        ];
        if let Some((option, _)) = given.into_iter().find(|(_, given)| *given) {
            return Err(OptionError::Conflict {
                option,
                other: "--model",
                advice: "leave it out: the model names its columns",
            });
        }
        table.numbers.columns = columns.to_vec();
    }
    let rows = TableArgs {
        rows: table,
        geo: Vec::new(),
    };
    table::request(file.to_owned(), rows)
}

/// A model as `model.json` holds it.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct StoredModel<M> {
    /// The version of the program.
    pub(crate) motet: String,
    /// Which command has written it.
    pub(crate) kind: String,
    /// The columns, or the symbols.
    pub(crate) names: Vec<String>,
    pub(crate) model: M,
}

impl<M: Serialize + DeserializeOwned> StoredModel<M> {
    pub(crate) fn new(kind: &str, names: &[String], model: M) -> StoredModel<M> {
        StoredModel {
            motet: env!("CARGO_PKG_VERSION").to_owned(),
            kind: kind.to_owned(),
            names: names.to_vec(),
            model,
        }
    }

    /// Reads a model that a command of this kind has written.
    pub(crate) fn read(path: &Path, kind: &str) -> Result<StoredModel<M>, CliError> {
        let name = path.display();
        let bad = |what: String| CliError::Data(format!("{name}: {what}"));
        let text = fs::read(path).map_err(|error| bad(format!("{error}: give a model.json")))?;
        let object: serde_json::Value = serde_json::from_slice(&text)
            .map_err(|error| bad(format!("no model: {error}: give a model.json")))?;
        match object.get("kind").and_then(|kind| kind.as_str()) {
            Some(found) if found == kind => {}
            found => {
                let found = found.unwrap_or("nothing");
                return Err(bad(format!(
                    "its kind is {found}: give a model.json of motet {kind}"
                )));
            }
        }
        serde_json::from_value(object)
            .map_err(|error| bad(format!("its model is incomplete: {error}: fit it again")))
    }
}

/// A model knows its columns by name: two of one name would make it useless.
///
/// # Errors
/// The first name that comes twice.
pub(crate) fn distinct(file: &str, names: &[String]) -> Result<(), CliError> {
    let mut seen = HashSet::new();
    match names.iter().find(|name| !seen.insert(name.as_str())) {
        None => Ok(()),
        Some(name) => Err(CliError::Data(format!(
            "{file}: two columns are called {name} and a model knows them by name: rename one"
        ))),
    }
}

/// The error for a model that no numbers hold in the units of the columns.
pub(crate) fn beyond_numbers(file: &str) -> CliError {
    CliError::Data(format!(
        "{file}: means or variances in the units of the columns are beyond all numbers: bring the \
         columns to numbers around 1"
    ))
}

/// The path of a file as results say it.
pub(crate) fn label(file: &Path) -> String {
    match file.as_os_str() == "-" {
        true => "<stdin>".to_owned(),
        false => file.display().to_string(),
    }
}

/// The files that will have been written.
pub(crate) fn files(out: Option<&Path>, names: &[&str]) -> Vec<String> {
    let paths = out.into_iter().flat_map(|folder| {
        let paths = names.iter().map(|name| folder.join(name));
        paths.map(|path| path.display().to_string())
    });
    paths.collect()
}
