//! Sequences of numbers or symbols, from a table or from FASTA.

use std::collections::{BTreeSet, HashMap};

use motet_mining::{Emissions, HmmModel, Observations};

use super::Found;
use super::args::Task;
use crate::error::{CliError, OptionError};
use crate::model::{beyond_numbers, distinct, label, request};
use crate::read::{self, ColumnChoice, InputText, OnMissing, is_fasta, is_file, is_missing};
use crate::remark::left_out;
use crate::space::{Placed, Space};

/// What has been read.
pub(super) struct Seen {
    pub(super) observed: Observations,
    /// The columns, or the symbols in order.
    pub(super) names: Vec<String>,
    /// The name of each sequence.
    pub(super) sequences: Vec<String>,
    /// The rows, if they are numbers.
    pub(super) placed: Option<Placed>,
    /// What is to be said of columns that are left out.
    pub(super) left_out: String,
}

/// Names and symbols of sequences.
type Texts = (Vec<String>, Vec<Vec<String>>);

/// FASTA has no columns.
fn check_fasta(task: &Task<'_>) -> Result<(), OptionError> {
    let seen = task.seen;
    let symbol = seen.symbol.as_ref().map(|_| "--symbol");
    let sequence = seen.sequence.as_ref().map(|_| "--sequence");
    match symbol.or(sequence).or(task.table.given()) {
        None => Ok(()),
        Some(option) => Err(OptionError::Conflict {
            option,
            other: "FASTA",
            advice: "leave it out: each record is a sequence, and each letter a symbol",
        }),
    }
}

/// Symbols have no variances, and the first start of numbers draws no random number.
fn check_fit(task: &Task<'_>, symbols: bool) -> Result<(), OptionError> {
    match task.fit {
        Some(fit) if symbols && fit.floor.is_some() => Err(OptionError::Conflict {
            option: "--floor",
            other: "symbols",
            advice: "they have no variances; leave it out",
        }),
        Some(fit) if !symbols && fit.seed.is_some() && fit.starts == 1 => {
            Err(OptionError::Conflict {
                option: "--seed",
                other: "one start from numbers",
                advice: "it uses no random numbers; leave it out, or give more --starts",
            })
        }
        _ => Ok(()),
    }
}

impl Seen {
    /// Reads and checks the file. With a model, its columns or symbols are wanted.
    pub(super) fn read(
        task: &Task<'_>,
        stored: Option<&(HmmModel, Vec<String>)>,
        several: bool,
        on_rows: impl Fn(usize),
    ) -> Result<Seen, CliError> {
        let discrete =
            stored.map(|(model, _)| matches!(model.emissions(), Emissions::Discrete { .. }));
        let fasta = is_file(task.file) && is_fasta(&InputText::open(task.file)?.head);
        if fasta {
            check_fasta(task)?;
        }
        let symbols = fasta || task.seen.symbol.is_some();
        if let Some(discrete) = discrete.filter(|discrete| *discrete != symbols) {
            let what = match discrete {
                true => "symbols: name their column with --symbol",
                false => "numbers: leave --symbol out, and give a table",
            };
            let name = task.model.unwrap_or(task.file).display();
            return Err(CliError::Data(format!("{name}: the model shows {what}")));
        }
        check_fit(task, symbols)?;
        let known = stored.map(|(_, names)| &names[..]);
        if fasta {
            return Seen::of_symbols(task, fasta_texts(task)?, known);
        }
        let columns = known.filter(|_| !symbols);
        let mut request = request(task.file, task.table.clone(), columns, several)?;
        request.choice.keep = task
            .seen
            .symbol
            .iter()
            .chain(&task.seen.sequence)
            .cloned()
            .collect();
        if symbols {
            request.choice.columns = ColumnChoice::Nothing;
        } else {
            request.choice.exclude.extend(task.seen.sequence.clone());
        }
        let table = read::read_table(&request, on_rows)?;
        match symbols {
            true => {
                let texts = texts(task, table.kept)?;
                Seen::of_symbols(task, texts, known)
            }
            false => Seen::of_numbers(task, table),
        }
    }

    fn of_numbers(task: &Task<'_>, mut table: read::InputTable) -> Result<Seen, CliError> {
        let marks = table.kept.pop();
        if task.fit.is_some() && task.results.out.is_some() {
            distinct(&table.file, &table.names)?;
        }
        let left_out = left_out(&table.left_out, "");
        let placed = Placed::new(table, false, task.table.numbers.standardise)?;
        if let Some(marks) = &marks {
            let there = |row: &usize| placed.dropped.binary_search(row).is_err();
            check_marks(task, marks, (1..).filter(there))?;
        }
        let (values, dim) = (placed.points.values(), placed.names.len());
        let rows = values.len() / dim;
        let mut runs: Vec<(String, Vec<f64>)> = Vec::new();
        for row in 0..rows {
            let name = marks.as_ref().map_or("1", |(_, marks)| marks[row].as_str());
            if runs.last().is_none_or(|(last, _)| last != name) {
                runs.push((name.to_owned(), Vec::new()));
            }
            if let Some((_, run)) = runs.last_mut() {
                run.extend_from_slice(&values[row * dim..][..dim]);
            }
        }
        let (sequences, runs): (Vec<String>, Vec<Vec<f64>>) = runs.into_iter().unzip();
        let observed = Observations::numbers(&runs, dim);
        Ok(Seen {
            observed: observed.map_err(|error| said(task, &error.to_string()))?,
            names: placed.names.clone(),
            sequences,
            placed: Some(placed),
            left_out,
        })
    }

    fn of_symbols(
        task: &Task<'_>,
        (sequences, texts): Texts,
        known: Option<&[String]>,
    ) -> Result<Seen, CliError> {
        let all = || texts.iter().flatten().collect::<BTreeSet<&String>>();
        let names: Vec<String> = match known {
            Some(names) => names.to_vec(),
            None => all().into_iter().cloned().collect(),
        };
        // Of equal names the first counts.
        let mut numbers = HashMap::new();
        for (number, name) in (0_u32..).zip(&names) {
            numbers.entry(name.as_str()).or_insert(number);
        }
        let mut runs = Vec::new();
        for (name, texts) in sequences.iter().zip(&texts) {
            let mut run = Vec::new();
            for (place, text) in texts.iter().enumerate() {
                let found = numbers.get(text.as_str()).copied().ok_or_else(|| {
                    let what = format!(
                        "sequence {name}, place {}: the model has no symbol '{}': leave it out, \
                         or fit a model with it",
                        place + 1,
                        read::shown(text)
                    );
                    said(task, &what)
                })?;
                run.push(found);
            }
            runs.push(run);
        }
        let observed = Observations::symbols(&runs, names.len());
        Ok(Seen {
            observed: observed.map_err(|error| said(task, &error.to_string()))?,
            names,
            sequences,
            placed: None,
            left_out: String::new(),
        })
    }

    /// Brings a model of standardised columns, and its scores, into the units of the columns.
    ///
    /// # Errors
    /// Means or variances in these units that no number holds.
    pub(super) fn in_columns(&self, mut found: Found) -> Result<Found, CliError> {
        let Some(placed) = &self.placed else {
            return Ok(found);
        };
        let Space::Standardised { means, deviations } = &placed.space else {
            return Ok(found);
        };
        let Emissions::Gaussian {
            dim,
            means: centres,
            variances,
        } = found.model.emissions()
        else {
            return Ok(found);
        };
        let dim = *dim;
        let centre = |(at, centre): (usize, &f64)| means[at % dim] + centre * deviations[at % dim];
        let square = |(at, v): (usize, &f64)| v * deviations[at % dim] * deviations[at % dim];
        let shown = Emissions::Gaussian {
            dim,
            means: centres.iter().enumerate().map(centre).collect(),
            variances: variances.iter().enumerate().map(square).collect(),
        };
        let (start, steps) = (found.model.start(), found.model.transitions());
        found.model = HmmModel::new(start.to_vec(), steps.to_vec(), shown)
            .map_err(|_| beyond_numbers(&placed.file))?;
        // A density is per unit of volume.
        let volume: f64 = deviations.iter().map(|deviation| deviation.ln()).sum();
        let mut places = 0;
        for (sequence, value) in found.log_p.iter_mut().enumerate() {
            places += self.observed.places(sequence);
            *value -= volume * self.observed.places(sequence) as f64;
        }
        if let Some((trace, ..)) = &mut found.fitted {
            trace
                .iter_mut()
                .for_each(|value| *value -= volume * places as f64);
        }
        Ok(found)
    }
}

fn said(task: &Task<'_>, what: &str) -> CliError {
    CliError::Data(format!("{}: {what}", label(task.file)))
}

/// A row that names no sequence would cut the one around it, and rows of several sequences in turn
/// would cut each other's. `rows` are their numbers.
fn check_marks(
    task: &Task<'_>,
    (column, marks): &(String, Vec<String>),
    rows: impl Iterator<Item = usize>,
) -> Result<(), CliError> {
    let (mut ended, mut last) = (BTreeSet::new(), "");
    for (row, mark) in rows.zip(marks) {
        let place = || format!("row {row}, column {column}");
        if mark.is_empty() {
            let what = format!("{} names no sequence: fill it in", place());
            return Err(said(task, &what));
        }
        if mark == last {
            continue;
        }
        if ended.contains(mark.as_str()) {
            let (mark, last) = (read::shown(mark), read::shown(last));
            let what = format!(
                "{} names sequence '{mark}' again after '{last}': sort the rows by {column}, so \
                 that those of a sequence follow each other",
                place()
            );
            return Err(said(task, &what));
        }
        ended.insert(last);
        last = mark;
    }
    Ok(())
}

/// The symbols of the rows of a table; neighbours of one name are a sequence.
fn texts(task: &Task<'_>, mut kept: Vec<(String, Vec<String>)>) -> Result<Texts, CliError> {
    let marks = task.seen.sequence.as_ref().and_then(|_| kept.pop());
    if let Some(marks) = &marks {
        check_marks(task, marks, 1..)?;
    }
    let (column, symbols) = kept.pop().unwrap_or_default();
    let (mut names, mut runs) = (Vec::<String>::new(), Vec::<Vec<String>>::new());
    for (row, symbol) in symbols.into_iter().enumerate() {
        let gone = is_missing(&symbol);
        if gone && task.table.written.missing == OnMissing::DropRow {
            continue;
        }
        if gone {
            let what = format!(
                "row {}, column {column} has no symbol: fill it in, or give --missing drop-row",
                row + 1
            );
            return Err(said(task, &what));
        }
        let name = marks.as_ref().map_or("1", |(_, marks)| marks[row].as_str());
        if names.last().is_none_or(|last| last != name) {
            names.push(name.to_owned());
            runs.push(Vec::new());
        }
        if let Some(run) = runs.last_mut() {
            run.push(symbol);
        }
    }
    Ok((names, runs))
}

/// Each letter of each record, as it is. Lines that begin with `;` are remarks.
fn fasta_texts(task: &Task<'_>) -> Result<Texts, CliError> {
    if task.seen.symbol.is_some() || task.seen.sequence.is_some() {
        return Err(CliError::Options(OptionError::Conflict {
            option: "--symbol or --sequence",
            other: "FASTA",
            advice: "leave it out: letters are symbols and records are sequences",
        }));
    }
    let (_, text) = InputText::open(task.file)?.whole()?;
    let (mut names, mut runs) = (Vec::<String>::new(), Vec::<Vec<String>>::new());
    for (number, line) in (1_usize..).zip(text.lines()) {
        if line.starts_with(char::is_whitespace) && line.trim_start().starts_with('>') {
            let what = format!("line {number} has blanks before >, which begins a record");
            return Err(said(task, &format!("{what}: take them out")));
        }
        if let Some(head) = line.strip_prefix('>') {
            names.push(
                head.split_whitespace()
                    .next()
                    .unwrap_or_default()
                    .to_owned(),
            );
            runs.push(Vec::new());
        } else if let Some(run) = runs.last_mut()
            && !line.starts_with(';')
        {
            let letters = line.chars().filter(|letter| !letter.is_whitespace());
            run.extend(letters.map(|letter| letter.to_string()));
        }
    }
    if let Some(record) = runs.iter().position(Vec::is_empty) {
        let what = format!("record {} ({}) has no letters", record + 1, names[record]);
        return Err(said(task, &format!("{what}: leave the record out")));
    }
    Ok((names, runs))
}
