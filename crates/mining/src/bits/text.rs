//! Fingerprints as text: the `.fps` format, and lines of the digits 0 and 1.

use super::Bits;
use super::WORD;
use crate::DataError;
use std::borrow::Cow;
use std::fmt;

/// What is wrong with a text of fingerprints.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum FingerprintError {
    /// A line cannot be read.
    Line {
        /// The line, from 1.
        line: usize,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// The rows cannot be used.
    Data(DataError),
}

impl fmt::Display for FingerprintError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FingerprintError::Line { line, problem } => write!(f, "line {line}: {problem}"),
            FingerprintError::Data(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for FingerprintError {}

impl From<DataError> for FingerprintError {
    fn from(error: DataError) -> FingerprintError {
        FingerprintError::Data(error)
    }
}

impl Bits {
    /// Reads fingerprints from a text, one per line, with the name of the row behind it.
    ///
    /// A text whose first line is `#FPS1` is in chemfp's `.fps` format. It is hexadecimal digits,
    /// two per byte, the lowest bit of the first byte first. The header's `num_bits` is the width.
    /// Other texts have lines of the digits 0 and 1, the first column first, or of such digits with
    /// blanks between them. Empty lines and lines that begin with `#` are left out.
    ///
    /// # Errors
    ///
    /// [`FingerprintError::Line`] with the first bad line, or what [`Bits::new`] refuses.
    ///
    /// # Examples
    ///
    /// ```
    /// use motet_mining::Bits;
    ///
    /// let bits = Bits::from_text("#FPS1\n#num_bits=12\n0308\tethanol\n0100\twater\n")?;
    /// assert_eq!(bits.columns(0).collect::<Vec<usize>>(), [0, 1, 11]);
    /// assert_eq!(bits.names().unwrap()[1], "water");
    /// assert_eq!(Bits::from_text("0110 a\n1000 b\n")?.columns(0).count(), 2);
    /// assert_eq!(Bits::from_text("0 1 1 0\n1 0 0 0\n")?.width(), 4);
    /// # Ok::<(), motet_mining::FingerprintError>(())
    /// ```
    pub fn from_text(text: &str) -> Result<Bits, FingerprintError> {
        let hexadecimal = text.starts_with("#FPS1");
        let (mut width, mut length) = (None, None);
        let (mut words, mut names, mut named) = (Vec::new(), Vec::new(), false);
        for (number, line) in (1..).zip(text.lines()) {
            let bad = |problem| FingerprintError::Line {
                line: number,
                problem,
            };
            if let Some(header) = line.strip_prefix('#') {
                if let Some(bits) = header.trim().strip_prefix("num_bits=") {
                    let bits: usize = bits.parse().map_err(|_| bad("num_bits is no number"))?;
                    if width.is_some_and(|width: usize| width != bits) {
                        return Err(bad("num_bits differs from the width of what is before it"));
                    }
                    width = Some(bits);
                }
                continue;
            }
            if line.trim().is_empty() {
                continue;
            }
            let (together, name) = if hexadecimal {
                let (digits, name) = first_word(line);
                (Cow::Borrowed(digits), name)
            } else {
                let (first, rest) = first_word(line.trim_start());
                put_together(first, rest)
            };
            let digits = &*together;
            if *length.get_or_insert(digits.len()) != digits.len() {
                return Err(bad("it has more or fewer digits than the lines before it"));
            }
            let per_digit = if hexadecimal { 4 } else { 1 };
            let columns = *width.get_or_insert(digits.len() * per_digit);
            let right = if hexadecimal {
                digits.len() == 2 * columns.div_ceil(8)
            } else {
                digits.len() == columns
            };
            if !right {
                return Err(bad(
                    "its number of digits is not that of the header's num_bits",
                ));
            }
            let row = if hexadecimal {
                from_hexadecimal(digits)
            } else {
                from_digits(digits)
            };
            words.extend(row.map_err(bad)?);
            named |= !name.is_empty();
            names.push(name.to_owned());
        }
        let bits = Bits::new(words, width.unwrap_or(1))?;
        Ok(if named { bits.named(names)? } else { bits })
    }
}

/// What is before the first blank, and what is behind it.
fn first_word(line: &str) -> (&str, &str) {
    match line.split_once(char::is_whitespace) {
        Some((word, rest)) => (word, rest.trim()),
        None => (line.trim_end(), ""),
    }
}

/// The digits of a line without the blanks between them, as `numpy.savetxt` writes them, and the
/// name behind them.
fn put_together<'a>(first: &'a str, mut rest: &'a str) -> (Cow<'a, str>, &'a str) {
    let is_digit = |word: &str| matches!(word, "0" | "1");
    let mut digits = Cow::Borrowed(first);
    if is_digit(first) {
        loop {
            let (word, behind) = first_word(rest);
            if !is_digit(word) {
                break;
            }
            digits.to_mut().push_str(word);
            rest = behind;
        }
    }
    (digits, rest)
}

fn from_hexadecimal(digits: &str) -> Result<Vec<u64>, &'static str> {
    let mut words = vec![0; (digits.len() * 4).div_ceil(WORD)];
    for (at, digit) in digits.chars().enumerate() {
        let value = digit
            .to_digit(16)
            .ok_or("it holds what is no hexadecimal digit")?;
        // The high half of a byte comes first.
        let shift = at / 2 * 8 + if at % 2 == 0 { 4 } else { 0 };
        words[shift / WORD] |= u64::from(value) << (shift % WORD);
    }
    Ok(words)
}

fn from_digits(digits: &str) -> Result<Vec<u64>, &'static str> {
    let mut words = vec![0; digits.len().div_ceil(WORD)];
    for (at, digit) in digits.bytes().enumerate() {
        match digit {
            b'0' => {}
            b'1' => words[at / WORD] |= 1 << (at % WORD),
            _ => return Err("it holds what is neither 0 nor 1"),
        }
    }
    Ok(words)
}
