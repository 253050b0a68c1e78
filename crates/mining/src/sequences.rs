//! Sequences of letters, and the FASTA format.

use crate::SequenceError;
use std::ops::Range;

/// What the letters of sequences mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Alphabet {
    /// A, C, G, T (or U), and the letters that stand for several of them, such as N.
    Dna,
    /// The twenty amino acids, B, Z, X and *; J, O and U count as X.
    Protein,
}

/// Amino acids in the order of the substitution matrix.
const AMINO: &[u8; 24] = b"ARNDCQEGHILKMFPSTWYVBZX*";

impl Alphabet {
    /// The alphabet of a FASTA text: DNA where nine letters of ten are A, C, G, T, U or N.
    pub fn guess(text: &[u8]) -> Alphabet {
        let lines = text.split(|byte| *byte == b'\n');
        let letters = lines.filter(|line| !line.starts_with(b">") && !line.starts_with(b";"));
        let letters = letters.flatten().filter(|byte| byte.is_ascii_alphabetic());
        let (mut all, mut bases) = (0_usize, 0_usize);
        for letter in letters {
            all += 1;
            bases += usize::from(b"ACGTUN".contains(&letter.to_ascii_uppercase()));
        }
        match bases * 10 >= all * 9 {
            true => Alphabet::Dna,
            false => Alphabet::Protein,
        }
    }

    /// The number of codes.
    pub(crate) fn codes(self) -> usize {
        match self {
            Alphabet::Dna => 5,
            Alphabet::Protein => AMINO.len(),
        }
    }

    /// Codes from here on stand for several letters, and are never identical to another.
    pub(crate) fn certain(self) -> u8 {
        match self {
            Alphabet::Dna => 4,
            Alphabet::Protein => 20,
        }
    }

    fn code(self, letter: u8) -> Option<u8> {
        let letter = letter.to_ascii_uppercase();
        match self {
            Alphabet::Dna => match letter {
                b'A' => Some(0),
                b'C' => Some(1),
                b'G' => Some(2),
                b'T' | b'U' => Some(3),
                _ if b"RYSWKMBDHVN".contains(&letter) => Some(4),
                _ => None,
            },
            Alphabet::Protein => {
                let letter = if b"JOU".contains(&letter) {
                    b'X'
                } else {
                    letter
                };
                let at = AMINO.iter().position(|amino| *amino == letter);
                at.map(|at| at as u8)
            }
        }
    }

    fn name(self) -> &'static str {
        match self {
            Alphabet::Dna => "DNA",
            Alphabet::Protein => "protein",
        }
    }
}

/// Sequences with their names, checked once: each has letters, and all are of the alphabet.
///
/// # Examples
///
/// ```
/// use motet_mining::{Alphabet, SequenceError, Sequences};
///
/// let text = b">first one\nACGT\nACG\n>second\nacgu\n";
/// let sequences = Sequences::from_fasta(text, Alphabet::Dna)?;
/// assert_eq!(sequences.len(), 2);
/// assert_eq!((sequences.name(0), sequences.letters(0)), ("first", 7));
///
/// let broken = Sequences::from_fasta(b">a\nAC-GT\n", Alphabet::Dna);
/// assert!(matches!(broken, Err(SequenceError::Letter { position: 3, letter: '-', .. })));
/// # Ok::<(), SequenceError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sequences {
    alphabet: Alphabet,
    names: Vec<String>,
    codes: Vec<u8>,
    /// Where each sequence ends in `codes`.
    ends: Vec<usize>,
}

impl Sequences {
    /// Some of them, in the order of `rows`.
    ///
    /// # Panics
    ///
    /// If there is no such sequence.
    #[must_use]
    pub fn some(&self, rows: &[usize]) -> Sequences {
        let mut some = Sequences {
            alphabet: self.alphabet,
            names: rows.iter().map(|row| self.names[*row].clone()).collect(),
            codes: Vec::new(),
            ends: Vec::new(),
        };
        for row in rows {
            some.codes.extend_from_slice(self.codes(*row));
            some.ends.push(some.codes.len());
        }
        some
    }

    /// Reads a FASTA text. A record is a line `>name remarks` and the lines of letters below it.
    /// Case does not matter; blanks, empty lines and lines that begin with `;` are left out.
    ///
    /// # Errors
    ///
    /// A [`SequenceError`] that names the first bad line, record or letter.
    pub fn from_fasta(text: &[u8], alphabet: Alphabet) -> Result<Sequences, SequenceError> {
        let mut all = Sequences {
            alphabet,
            names: Vec::new(),
            codes: Vec::new(),
            ends: Vec::new(),
        };
        for (number, line) in text.split(|byte| *byte == b'\n').enumerate() {
            match line.first() {
                Some(b'>') => {
                    all.end()?;
                    let header = String::from_utf8_lossy(&line[1..]);
                    let name = header.split_whitespace().next().unwrap_or_default();
                    all.names.push(name.to_owned());
                }
                Some(b';') | None => {}
                Some(_) if all.names.is_empty() && !line.trim_ascii().is_empty() => {
                    return Err(SequenceError::NoHeader { line: number + 1 });
                }
                Some(_) => all.push(line)?,
            }
        }
        all.end()?;
        match all.names.is_empty() {
            true => Err(SequenceError::Empty),
            false => Ok(all),
        }
    }

    /// The number of sequences.
    #[allow(
        clippy::len_without_is_empty,
        reason = "there is at least one sequence"
    )]
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// What the letters mean.
    pub fn alphabet(&self) -> Alphabet {
        self.alphabet
    }

    /// The name of a sequence: the first word of its header.
    ///
    /// # Panics
    ///
    /// If there is no such sequence.
    pub fn name(&self, sequence: usize) -> &str {
        &self.names[sequence]
    }

    /// The number of letters of a sequence.
    ///
    /// # Panics
    ///
    /// If there is no such sequence.
    pub fn letters(&self, sequence: usize) -> usize {
        self.range(sequence).len()
    }

    /// The letters of a sequence as codes.
    pub(crate) fn codes(&self, sequence: usize) -> &[u8] {
        &self.codes[self.range(sequence)]
    }

    fn range(&self, sequence: usize) -> Range<usize> {
        let start = match sequence {
            0 => 0,
            _ => self.ends[sequence - 1],
        };
        start..self.ends[sequence]
    }

    /// Takes a line of letters into the last record.
    fn push(&mut self, line: &[u8]) -> Result<(), SequenceError> {
        for &letter in line.iter().filter(|byte| !byte.is_ascii_whitespace()) {
            let Some(code) = self.alphabet.code(letter) else {
                let start = self.ends.last().copied().unwrap_or(0);
                return Err(SequenceError::Letter {
                    record: self.names.len(),
                    name: self.names.last().cloned().unwrap_or_default(),
                    position: self.codes.len() - start + 1,
                    letter: char::from(letter),
                    alphabet: self.alphabet.name(),
                });
            };
            self.codes.push(code);
        }
        Ok(())
    }

    /// Closes the last record, if there is one.
    fn end(&mut self) -> Result<(), SequenceError> {
        let start = self.ends.last().copied().unwrap_or(0);
        let Some(name) = self.names.last() else {
            return Ok(());
        };
        if self.codes.len() == start {
            return Err(SequenceError::NoLetters {
                record: self.names.len(),
                name: name.clone(),
            });
        }
        self.ends.push(self.codes.len());
        Ok(())
    }
}
