//! Rows of fields with the line each begins on.
//!
//! `csv_core` cuts the fields. The lines are counted here. A message that names a line must be
//! right after blank lines, Windows line ends and quoted line breaks too.

use std::io::{self, BufRead};

use csv_core::{ReadRecordResult, Reader, ReaderBuilder};

use super::source::{InputText, fault};
use crate::error::{InputError, InputPosition};

/// A row of several lines that is longer than this is a quotation mark that nobody closed.
const ROW_BYTES: usize = 16 * 1024 * 1024;

/// One row: where it begins and its fields, trimmed of blanks.
#[derive(Debug, Clone, Default)]
pub(crate) struct InputRecord {
    /// The line of the file it begins on, from 1.
    pub(crate) line: u64,
    text: String,
    ends: Vec<usize>,
}

impl InputRecord {
    /// Field `index`, from 0, without the blanks around it.
    ///
    /// # Panics
    /// When the row has no such field.
    pub(crate) fn field(&self, index: usize) -> &str {
        let start = if index == 0 { 0 } else { self.ends[index - 1] };
        self.text[start..self.ends[index]].trim()
    }

    /// The number of fields.
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// The fields from the first to the last.
    pub(crate) fn fields(&self) -> impl Iterator<Item = &str> {
        (0..self.len()).map(|index| self.field(index))
    }
}

/// Reads the rows of a source one after the other; all have as many fields as the first.
pub(crate) struct Records {
    source: InputText,
    delimiter: u8,
    parser: Reader,
    /// The line that is being cut; kept to reuse its memory.
    raw: Vec<u8>,
    /// Lines read so far.
    lines: u64,
    output: Vec<u8>,
    ends: Vec<usize>,
    /// Fields of the first row; 0 before it.
    width: usize,
}

impl Records {
    pub(crate) fn new(source: InputText, delimiter: u8) -> Records {
        Records {
            source,
            delimiter,
            parser: ReaderBuilder::new().delimiter(delimiter).build(),
            raw: Vec::new(),
            lines: 0,
            output: vec![0; 256],
            ends: vec![0; 16],
            width: 0,
        }
    }

    /// What messages call the source.
    pub(crate) fn label(&self) -> &str {
        &self.source.label
    }

    /// Reads the next row into `record`; `false` at the end of the text.
    pub(crate) fn read(&mut self, record: &mut InputRecord) -> Result<bool, InputError> {
        loop {
            if !self.next_line()? {
                return Ok(false);
            }
            if !self.is_blank() {
                break;
            }
        }
        let line = self.lines;
        let (bytes, fields, open) = self.cut(line)?;
        // A field may end inside a character only if the text as a whole is broken there.
        let text = std::str::from_utf8(&self.output[..bytes])
            .ok()
            .filter(|text| {
                self.ends[..fields]
                    .iter()
                    .all(|&end| text.is_char_boundary(end))
            })
            .ok_or_else(|| InputError::NotUtf8 {
                place: self.place(line),
            });
        let text = match text {
            Ok(text) => text,
            Err(error) => return Err(self.blame(error)),
        };
        if open {
            // What the mark has swallowed looks like a field, also where the widths agree.
            let place = self.place(line);
            return Err(self.blame(InputError::OpenQuote { place }));
        }
        record.line = line;
        record.text.clear();
        record.text.push_str(text);
        record.ends.clear();
        record.ends.extend_from_slice(&self.ends[..fields]);
        if self.width == 0 {
            self.width = fields;
        } else if fields != self.width {
            let error = InputError::Ragged {
                place: self.place(line),
                found: fields,
                expected: self.width,
            };
            return Err(self.blame(error));
        }
        Ok(true)
    }

    /// Whether the line in `raw` is no row: it has white space alone, and no delimiter. Where a
    /// blank is the delimiter, it is a row if it has as many cells as the first one.
    fn is_blank(&self) -> bool {
        if !self.raw.trim_ascii().is_empty() {
            return false;
        }
        let delimiters = self.raw.iter().filter(|byte| **byte == self.delimiter);
        let delimiters = delimiters.count();
        delimiters == 0 || (self.delimiter == b' ' && delimiters + 1 != self.width)
    }

    /// What is wrong with the text, unless its pack is broken: then the text is not what was
    /// packed.
    pub(crate) fn blame(&mut self, error: InputError) -> InputError {
        if self.source.packed.is_none() {
            return error;
        }
        let rest = io::copy(&mut self.source.text, &mut io::sink());
        match rest {
            Ok(_) => error,
            Err(e) => fault(&self.source.label, self.source.packed, e),
        }
    }

    /// Cuts the line in `raw`, and the lines after it while a quotation mark is open, into `output`
    /// and `ends`. Returns how much of each is filled, and whether a quotation mark is open to the
    /// end of the text.
    fn cut(&mut self, line: u64) -> Result<(usize, usize, bool), InputError> {
        let (mut read, mut bytes, mut fields) = (0, 0, 0);
        let mut open = false;
        loop {
            let (result, used, wrote, ended) = self.parser.read_record(
                &self.raw[read..],
                &mut self.output[bytes..],
                &mut self.ends[fields..],
            );
            read += used;
            bytes += wrote;
            fields += ended;
            match result {
                ReadRecordResult::OutputFull => self.output.resize(self.output.len() * 2, 0),
                ReadRecordResult::OutputEndsFull => self.ends.resize(self.ends.len() * 2, 0),
                // The last line of a text without a line end is long, and no more.
                ReadRecordResult::InputEmpty if bytes > ROW_BYTES && self.raw.ends_with(b"\n") => {
                    return Err(InputError::OpenQuote {
                        place: self.place(line),
                    });
                }
                ReadRecordResult::InputEmpty => {
                    // Either a quoted line break, or the last line of a text without a line end:
                    // then it gets one, which does not end the row if a quotation mark is open.
                    // An empty `raw` tells the parser that the text ends.
                    read = 0;
                    let broken = self.raw.ends_with(b"\n");
                    if !self.next_line()? {
                        match broken {
                            true => open = true,
                            false => self.raw.push(b'\n'),
                        }
                    }
                }
                ReadRecordResult::Record => break,
                ReadRecordResult::End => return Ok((bytes, fields, false)),
            }
        }
        if self.raw[read..].iter().any(|&b| b != b'\n') {
            return Err(InputError::LineEnds {
                place: self.place(line),
            });
        }
        Ok((bytes, fields, open))
    }

    /// Reads one line with its end into `raw`; `false`, and an empty `raw`, at the end of the text.
    fn next_line(&mut self) -> Result<bool, InputError> {
        self.raw.clear();
        let read = self.source.text.read_until(b'\n', &mut self.raw);
        let read = read.map_err(|e| fault(&self.source.label, self.source.packed, e))?;
        self.lines += u64::from(read > 0);
        Ok(read > 0)
    }

    fn place(&self, line: u64) -> InputPosition {
        InputPosition::line(&self.source.label, line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    fn rows(text: &'static str) -> Result<Vec<(u64, Vec<String>)>, InputError> {
        rows_of(text, b',')
    }

    fn rows_of(text: &'static str, cut: u8) -> Result<Vec<(u64, Vec<String>)>, InputError> {
        let source = InputText::from_reader("in.csv".to_owned(), Cursor::new(text)).unwrap();
        let mut records = Records::new(source, cut);
        let (mut record, mut rows) = (InputRecord::default(), Vec::new());
        while records.read(&mut record)? {
            rows.push((record.line, record.fields().map(str::to_owned).collect()));
        }
        Ok(rows)
    }

    fn row(line: u64, fields: &[&str]) -> (u64, Vec<String>) {
        (line, fields.iter().map(|&f| f.to_owned()).collect())
    }

    #[test]
    fn lines_are_right_after_blank_lines_and_windows_line_ends() {
        let expected = vec![
            row(1, &["a", "b"]),
            row(4, &["1", "2"]),
            row(5, &["3", "4"]),
        ];
        assert_eq!(rows("a,b\n\n\n1,2\n3,4").unwrap(), expected);
        assert_eq!(rows("a,b\r\n\r\n \r\n1,2\r\n3,4\r\n").unwrap(), expected);
    }

    #[test]
    fn quoted_fields_hold_separators_and_line_breaks() {
        let expected = vec![
            row(1, &["a", "b"]),
            row(2, &["x\ny, z", "say \"hi\""]),
            row(4, &["1", ""]),
        ];
        assert_eq!(
            rows("a,b\n\"x\ny, z\",\"say \"\"hi\"\"\"\n1,\n").unwrap(),
            expected
        );
    }

    #[test]
    fn blanks_around_fields_go() {
        assert_eq!(
            rows(" a ,\tb\n1 , 2 \n").unwrap(),
            [row(1, &["a", "b"]), row(2, &["1", "2"])]
        );
    }

    #[test]
    fn a_row_with_more_fields_is_named_by_its_line() {
        let Err(InputError::Ragged {
            place,
            found: 3,
            expected: 2,
        }) = rows("a,b\n\n1,2,3\n")
        else {
            panic!("no error");
        };
        assert_eq!(place.to_string(), "in.csv:3");
    }

    #[test]
    fn a_character_broken_by_a_separator_is_not_utf8() {
        for text in [&b"a,b\n\xc3,\xa9\n"[..], b"a,b\n\xff,1\n"] {
            let source = InputText::from_reader("in.csv".to_owned(), Cursor::new(text)).unwrap();
            let mut records = Records::new(source, b',');
            let mut record = InputRecord::default();
            assert!(records.read(&mut record).unwrap());
            let Err(InputError::NotUtf8 { place }) = records.read(&mut record) else {
                panic!("no error");
            };
            assert_eq!(place.to_string(), "in.csv:2");
        }
    }

    #[test]
    fn bare_carriage_returns_are_not_swallowed() {
        assert!(matches!(
            rows("a,b\r1,2\r3,4\r"),
            Err(InputError::LineEnds { .. })
        ));
    }

    #[test]
    fn a_row_with_many_long_fields_grows_the_buffers() {
        let text: &'static str = vec!["x".repeat(100); 100].join(",").leak();
        assert_eq!(rows(text).unwrap()[0].1.len(), 100);
    }

    #[test]
    fn a_quotation_mark_open_to_the_end_is_refused() {
        for (text, line) in [
            ("a\n\"1\n2", 2),
            ("a\n\"1\n2\n", 2),
            ("a\n\"1", 2),
            ("x,name\n1,a\n2,\"b\n3,c\n4,d\n", 3),
            ("x,name\n1,a\n2,\"b\n3,c\n4,d", 3),
            ("x,\"name\n1,a\n2,b\n", 1),
            ("x,name\n\"1,a\n2,b\n", 2),
        ] {
            let Err(InputError::OpenQuote { place }) = rows(text) else {
                panic!("no error: {text}");
            };
            assert_eq!(place.to_string(), format!("in.csv:{line}"));
        }
    }

    #[test]
    fn a_long_last_line_without_a_line_end_is_a_row() {
        let long: &'static str = format!("a\n{}", "x".repeat(ROW_BYTES + 2)).leak();
        let read = rows(long).unwrap();
        assert_eq!(read[1].1[0].len(), ROW_BYTES + 2);
        let open: &'static str = format!("a\n\"{}", "x".repeat(ROW_BYTES + 2)).leak();
        assert!(matches!(rows(open), Err(InputError::OpenQuote { .. })));
    }

    #[test]
    fn a_quotation_mark_closed_at_the_end_is_one_field() {
        let expected = [row(1, &["a"]), row(2, &["1\n2"])];
        for text in ["a\n\"1\n2\"", "a\n\"1\n2\"\n", "a\n\"1\n2\"\r\n"] {
            assert_eq!(rows(text).unwrap(), expected, "{text}");
        }
    }

    #[test]
    fn a_row_of_empty_cells_is_no_blank_line() {
        let expected = [
            row(1, &["a", "b"]),
            row(3, &["", ""]),
            row(4, &["1", "2"]),
            row(5, &["", ""]),
        ];
        for (text, cut) in [
            ("a,b\n\n,\n1,2\n,", b','),
            ("a\tb\n \n\t\n1\t2\n\t", b'\t'),
            ("a\tb\r\n\r\n\t \r\n1\t2\r\n \t\r\n", b'\t'),
            // As many blanks as between two cells, or others.
            ("a b\n   \n \n1 2\n \n\n", b' '),
        ] {
            assert_eq!(rows_of(text, cut).unwrap(), expected, "{text}");
        }
        assert_eq!(
            rows_of(" \na\n\n \nb\n", b' ').unwrap(),
            [row(2, &["a"]), row(5, &["b"])]
        );
    }
}
