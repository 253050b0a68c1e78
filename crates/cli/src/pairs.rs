//! Dissimilarities of pairs: read as a matrix, or worked out from sequences.

use std::io::Read;
use std::ops::RangeInclusive;
use std::path::Path;
use std::time::Instant;

use clap::{Args, ValueEnum};
use motet::World;
use motet_mining::{
    Alignment, AlignmentKind, Alphabet, CancelToken, Checkpoints, Control, DataError,
    Dissimilarities, PairDistances, Progress, Scores, Sequences,
};
use serde::Serialize;

use crate::error::{CliError, InputError, OptionError};
use crate::npy::{self, Values};
use crate::progress::TerminalBar;
use crate::ranked::parts;
use crate::read::{self, InputText, LeftOut, TableRequest, is_fasta};

/// Options that say how sequences are aligned.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Sequences")]
pub struct AlignArgs {
    /// What the letters are [default: found]
    #[arg(long, value_enum, value_name = "WHAT")]
    pub alphabet: Option<Letters>,

    /// Align the best pair of parts, not the whole sequences
    #[arg(long)]
    pub local: bool,

    /// Score of two equal letters of DNA [default: 5]
    #[arg(long = "match", value_name = "S", allow_negative_numbers = true)]
    pub same: Option<i16>,

    /// Score of two different letters of DNA [default: -4]
    #[arg(long, value_name = "S", allow_negative_numbers = true)]
    pub mismatch: Option<i16>,

    /// Cost of the first letter of a gap [default: 16, proteins 12]
    #[arg(long, value_name = "C", allow_negative_numbers = true)]
    pub gap_open: Option<i16>,

    /// Cost of each further letter of a gap [default: 4, proteins 1]
    #[arg(long, value_name = "C", allow_negative_numbers = true)]
    pub gap_extend: Option<i16>,
}

/// What the letters of sequences are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Letters {
    /// DNA or RNA
    Dna,
    /// Amino acids, scored by BLOSUM62
    Protein,
}

impl AlignArgs {
    /// How sequences of this alphabet are aligned.
    fn method(&self, alphabet: Alphabet) -> Result<Alignment, OptionError> {
        let mut method = match alphabet {
            Alphabet::Dna => Alignment::dna(),
            Alphabet::Protein => Alignment::protein(),
        };
        if let Scores::Letters { same, other } = &mut method.scores {
            *same = self.same.unwrap_or(*same);
            *other = self.mismatch.unwrap_or(*other);
            check_range("--match", *same, 1..=100, "give 1 to 100")?;
            check_range("--mismatch", *other, -100..=0, "give -100 to 0")?;
        } else if self.same.is_some() || self.mismatch.is_some() {
            return Err(OptionError::Conflict {
                option: "--match or --mismatch",
                other: "proteins",
                advice: "leave it out: BLOSUM62 scores proteins; or give --alphabet dna",
            });
        }
        method.open = self.gap_open.unwrap_or(method.open);
        method.extend = self.gap_extend.unwrap_or(method.extend);
        if self.local {
            method.kind = AlignmentKind::Local;
        }
        check_range("--gap-extend", method.extend, 1..=1000, "give 1 to 1000")?;
        check_range("--gap-open", method.open, 1..=1000, "give 1 to 1000")?;
        let (extend, open) = (method.extend, method.open);
        match (self.gap_extend, self.gap_open) {
            (Some(_), None) => check_range(
                "--gap-extend",
                extend,
                1..=open,
                "a further letter costs no more than the first: give a larger --gap-open too",
            )?,
            _ => check_range(
                "--gap-open",
                open,
                extend..=1000,
                "the first letter costs no less than a further one: give --gap-extend at least",
            )?,
        }
        Ok(method)
    }

    /// The first option that is given.
    pub(crate) fn given(&self) -> Option<&'static str> {
        let given = [
            ("--alphabet", self.alphabet.is_some()),
            ("--local", self.local),
            ("--match", self.same.is_some()),
            ("--mismatch", self.mismatch.is_some()),
            ("--gap-open", self.gap_open.is_some()),
            ("--gap-extend", self.gap_extend.is_some()),
        ];
        let first = given.into_iter().find(|(_, given)| *given);
        first.map(|(option, _)| option)
    }
}

fn check_range(
    option: &'static str,
    value: i16,
    range: RangeInclusive<i16>,
    advice: &'static str,
) -> Result<(), OptionError> {
    match range.contains(&value) {
        true => Ok(()),
        false => Err(OptionError::Value {
            option,
            value: value.to_string(),
            advice,
        }),
    }
}

/// A file of pairs, read and checked.
#[derive(Debug)]
pub(crate) enum Pairs {
    /// A matrix of dissimilarities.
    Matrix(Dissimilarities),
    /// Sequences, and how they are aligned.
    Sequences(Sequences, Alignment),
}

/// How the dissimilarities came to be, as results say it.
#[derive(Debug, Clone, Serialize)]
pub struct Aligned {
    /// DNA or protein.
    pub alphabet: &'static str,
    /// Global or local.
    pub alignment: &'static str,
    /// What letters score.
    pub scores: String,
    /// The cost of the first letter of a gap.
    pub gap_open: i16,
    /// The cost of each further letter.
    pub gap_extend: i16,
    /// The number of pairs.
    pub pairs: usize,
    /// Seconds that all alignments took.
    pub seconds: f64,
}

impl Pairs {
    /// Reads FASTA, `.npy`, or a square table, packed by gzip or not, in one pass.
    pub(crate) fn read(file: &Path, align: &AlignArgs) -> Result<Pairs, CliError> {
        let source = InputText::open(file)?;
        if let (false, Some(option)) = (is_fasta(&source.head), align.given()) {
            return Err(CliError::Options(OptionError::Conflict {
                option,
                other: "a file that is not FASTA",
                advice: "leave it out, or give a file that begins with >",
            }));
        }
        if !is_fasta(&source.head) && !source.head.starts_with(npy::MAGIC) {
            let request = TableRequest {
                file: file.to_owned(),
                ..TableRequest::default()
            };
            let table = read::read_opened(source, &request, |_| ()).map_err(unknown)?;
            let bad = |what: String| CliError::Data(format!("{}: {what}", table.file));
            let (rows, columns) = (table.rows(), table.names.len());
            return square(rows, columns)
                .map_err(|what| what + &no_numbers(&table.left_out))
                .and_then(|()| Dissimilarities::new(table.values, rows).map_err(|e| said(&e)))
                .map(Pairs::Matrix)
                .map_err(bad);
        }
        let (label, bytes) = whole(source)?;
        if !bytes.starts_with(npy::MAGIC) {
            let (sequences, method) = sequences(&label, &bytes, align)?;
            return Ok(Pairs::Sequences(sequences, method));
        }
        let bad = |what: &str| CliError::Data(format!("{label}: {what}"));
        let matrix = npy::read(&bytes).map_err(|what| bad(&format!("no .npy matrix: {what}")))?;
        drop(bytes);
        square(matrix.rows, matrix.columns).map_err(|what| bad(&what))?;
        let pairs = match matrix.values {
            Values::Single(values) => Dissimilarities::from_single(values, matrix.rows),
            Values::Double(values) => Dissimilarities::new(values, matrix.rows),
        };
        pairs.map(Pairs::Matrix).map_err(|e| bad(&said(&e)))
    }

    /// Reads FASTA, packed by gzip or not.
    pub(crate) fn read_sequences(
        file: &Path,
        align: &AlignArgs,
    ) -> Result<(Sequences, Alignment), CliError> {
        let source = InputText::open(file)?;
        if !is_fasta(&source.head) {
            return Err(CliError::Data(format!(
                "{} holds no sequences: give a FASTA file, which begins with >",
                source.label
            )));
        }
        let (label, bytes) = whole(source)?;
        sequences(&label, &bytes, align)
    }

    /// The names of the rows, if they have names.
    pub(crate) fn names(&self) -> Option<Vec<String>> {
        match self {
            Pairs::Matrix(_) => None,
            Pairs::Sequences(sequences, _) => {
                let names = (0..sequences.len()).map(|row| sequences.name(row).to_owned());
                Some(names.collect())
            }
        }
    }

    /// Some of the rows.
    ///
    /// # Errors
    /// A row none of whose dissimilarities to the others is known.
    pub(crate) fn some(&self, rows: &[usize]) -> Result<Pairs, CliError> {
        Ok(match self {
            Pairs::Matrix(pairs) => {
                let some = pairs.among(rows);
                Pairs::Matrix(some.map_err(|error| of_sample(&error))?)
            }
            Pairs::Sequences(sequences, method) => Pairs::Sequences(sequences.some(rows), *method),
        })
    }

    /// Writes the dissimilarities of some rows to some columns; NaN where one is not known.
    pub(crate) fn between(&self, rows: &[usize], columns: &[usize], to: &mut [f64]) {
        match self {
            Pairs::Matrix(pairs) => pairs.between(rows, columns, to),
            Pairs::Sequences(sequences, method) => {
                // What it can refuse was refused when the sample was aligned.
                if method.between(sequences, rows, columns, to).is_err() {
                    to.fill(f64::NAN);
                }
            }
        }
    }

    /// The number of rows.
    pub(crate) fn rows(&self) -> usize {
        match self {
            Pairs::Matrix(pairs) => pairs.len(),
            Pairs::Sequences(sequences, _) => sequences.len(),
        }
    }
}

/// What is wrong with the pairs of a sample.
fn of_sample(error: &DataError) -> CliError {
    CliError::Data(match error {
        // It says itself what to do.
        DataError::Memory { .. } => error.to_string(),
        _ => format!("{error} (in a sample: draw a larger one)"),
    })
}

/// Aligns all pairs on the ranks of `world`. The matrix, in the first process or, if `everywhere`,
/// in each; `None` in others.
pub(crate) fn align(
    world: &World,
    everywhere: bool,
    (sequences, method): (&Sequences, &Alignment),
    kept: Option<&Checkpoints>,
    (cancel, quiet): (&CancelToken, bool),
) -> Result<Option<(Vec<f32>, Aligned)>, CliError> {
    let start = Instant::now();
    let bar = TerminalBar::new(quiet);
    let show = |now: &Progress| bar.at(now.done, "aligning".to_owned());
    let control = Control {
        progress: Some(&show),
        cancel: Some(cancel),
    };
    let control = &control;
    let done = parts(world, everywhere, async |comm| match kept {
        Some(kept) => method.distances_kept(comm, sequences, control, kept).await,
        None => method.distances(comm, sequences, control).await,
    });
    bar.clear();
    let Some(done) = done? else {
        return Ok(None);
    };
    let matrix = PairDistances::join(sequences, &done);
    let matrix = matrix.map_err(|error| CliError::Data(error.to_string()))?;
    let matrix =
        matrix.ok_or_else(|| CliError::Run("distances of the ranks are missing".to_owned()))?;
    let rows = sequences.len();
    let aligned = Aligned {
        alphabet: match sequences.alphabet() {
            Alphabet::Dna => "DNA",
            Alphabet::Protein => "protein",
        },
        alignment: match method.kind {
            AlignmentKind::Global => "global",
            AlignmentKind::Local => "local",
        },
        scores: match method.scores {
            Scores::Letters { same, other } => format!("{same} and {other}"),
            _ => "BLOSUM62".to_owned(),
        },
        gap_open: method.open,
        gap_extend: method.extend,
        pairs: rows * (rows - 1) / 2,
        seconds: start.elapsed().as_secs_f64(),
    };
    Ok(Some((matrix, aligned)))
}

/// The name and the bytes of a file.
fn whole(mut source: InputText) -> Result<(String, Vec<u8>), CliError> {
    let mut bytes = Vec::new();
    let got = source.text.read_to_end(&mut bytes);
    got.map_err(|e| read::fault(&source.label, source.packed, e))?;
    Ok((source.label, bytes))
}

/// The sequences of a text, and how they are aligned.
fn sequences(
    label: &str,
    text: &[u8],
    align: &AlignArgs,
) -> Result<(Sequences, Alignment), CliError> {
    let alphabet = match align.alphabet {
        Some(Letters::Dna) => Alphabet::Dna,
        Some(Letters::Protein) => Alphabet::Protein,
        None => Alphabet::guess(text),
    };
    let method = align.method(alphabet)?;
    let sequences = Sequences::from_fasta(text, alphabet);
    let sequences = sequences.map_err(|error| CliError::Data(format!("{label}: {error}")))?;
    Ok((sequences, method))
}

/// The options that say what becomes of a missing value are for tables of points.
fn unknown(error: InputError) -> InputError {
    match error {
        InputError::MissingValue { place, text, .. } => InputError::MissingValue {
            place,
            text,
            advice: "fill it in, or give .npy, where NaN is a pair that is not known",
        },
        other => other,
    }
}

fn square(rows: usize, columns: usize) -> Result<(), String> {
    match rows == columns {
        true => Ok(()),
        false => Err(format!(
            "{rows} rows of {columns} columns are no dissimilarities of pairs: give a square matrix"
        )),
    }
}

/// What a matrix may lack to be square: columns of names do not count, and neither does one in
/// which a number is misspelt.
fn no_numbers(left_out: &[LeftOut]) -> String {
    let said = |column: &LeftOut| {
        let (name, text) = (&column.name, read::shown(&column.text));
        let line = column.line;
        format!(", or mend column {name}, which has '{text}' in line {line}")
    };
    left_out.first().map(said).unwrap_or_default()
}

/// Rows and columns from 0, as numpy counts them.
fn said(error: &DataError) -> String {
    format!("{error} (rows and columns from 0)")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_memory_holds_is_told_to_take_a_smaller_sample_alone() {
        let pairs = Dissimilarities::new(vec![0.0, 1.0, 1.0, 0.0], 2).unwrap();
        let error = pairs.among(&vec![0; 1 << 23]).unwrap_err();
        let told = of_sample(&error).to_string();
        assert!(told.ends_with("take a smaller sample"), "{told}");
        let error = pairs.among(&[]).unwrap_err();
        let told = of_sample(&error).to_string();
        assert!(told.ends_with("(in a sample: draw a larger one)"), "{told}");
    }
}
