//! What can be wrong with a text of sequences.

use std::fmt;

/// A text is not a set of sequences.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum SequenceError {
    /// There is no sequence.
    Empty,
    /// Letters come before the first line that begins with `>`.
    NoHeader {
        /// The line, from 1.
        line: usize,
    },
    /// A record has no letters.
    NoLetters {
        /// The record, from 1.
        record: usize,
        /// Its name.
        name: String,
    },
    /// A letter is not in the alphabet.
    Letter {
        /// The record, from 1.
        record: usize,
        /// Its name.
        name: String,
        /// The place in the sequence, from 1.
        position: usize,
        /// The letter found there.
        letter: char,
        /// What the alphabet is called.
        alphabet: &'static str,
    },
}

impl fmt::Display for SequenceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SequenceError::Empty => write!(f, "there are no sequences: give at least one record"),
            SequenceError::NoHeader { line } => write!(
                f,
                "line {line} is not below a line that begins with >: give each sequence a name"
            ),
            SequenceError::NoLetters { record, name } => write!(
                f,
                "record {record} ({name}) has no letters: leave the record out"
            ),
            SequenceError::Letter {
                record,
                name,
                position,
                letter,
                alphabet,
            } => write!(
                f,
                "record {record} ({name}), letter {position} is {letter:?}, which is no letter of \
                 {alphabet}: correct it or choose the other alphabet"
            ),
        }
    }
}

impl std::error::Error for SequenceError {}
