//! The clusters by which places are coloured.

use std::collections::HashMap;
use std::path::Path;

use crate::error::CliError;
use crate::read::{InputText, detect_delimiter};

/// A cluster for each row.
#[derive(Debug)]
pub(super) struct Labels {
    file: String,
    /// The cluster of each row, from 1: the largest is 1.
    pub(super) numbers: Vec<u32>,
}

impl Labels {
    /// Reads a table with a header: the column `cluster`, else the last one.
    pub(super) fn read(path: &Path) -> Result<Labels, CliError> {
        let source = InputText::open(path)?;
        let delimiter = detect_delimiter(&source.head);
        let (file, text) = source.whole()?;
        let bad = |what: String| CliError::Data(format!("{file}: {what}"));
        let mut csv = csv::ReaderBuilder::new();
        let mut csv = csv.delimiter(delimiter).from_reader(text.as_bytes());
        let header = csv.headers().map_err(|e| bad(e.to_string()))?;
        let mut named = (0..header.len()).filter(|column| header[*column].trim() == "cluster");
        let column = match (named.next(), named.next()) {
            (Some(first), Some(second)) => {
                return Err(bad(format!(
                    "columns {} and {} are both called cluster: rename one",
                    first + 1,
                    second + 1
                )));
            }
            (Some(column), None) => column,
            (None, _) => header.len().saturating_sub(1),
        };
        let mut texts = Vec::new();
        for record in csv.records() {
            let record = record.map_err(|e| bad(e.to_string()))?;
            texts.push(record.get(column).unwrap_or_default().to_owned());
        }
        Ok(Labels {
            numbers: numbered(&texts),
            file,
        })
    }

    /// Refuses labels of more or fewer rows.
    pub(super) fn check(&self, rows: usize) -> Result<(), CliError> {
        match self.numbers.len() == rows {
            true => Ok(()),
            false => Err(CliError::Data(format!(
                "{} has {} rows of labels and there are {rows} rows to place: give one for each",
                self.file,
                self.numbers.len()
            ))),
        }
    }
}

/// Numbers from 1 by size, of equal sizes the first comes first.
fn numbered(texts: &[String]) -> Vec<u32> {
    let mut sizes: HashMap<&str, (usize, usize)> = HashMap::new();
    for (row, text) in texts.iter().enumerate() {
        sizes.entry(text).or_insert((0, row)).0 += 1;
    }
    let mut order: Vec<(&str, (usize, usize))> = sizes.into_iter().collect();
    order.sort_by_key(|(_, (size, first))| (usize::MAX - size, *first));
    let pairs = (1..).zip(order).map(|(number, (text, _))| (text, number));
    let numbers: HashMap<&str, u32> = pairs.collect();
    texts.iter().map(|text| numbers[text.as_str()]).collect()
}

#[cfg(test)]
mod tests {
    use super::numbered;

    #[test]
    fn the_largest_is_one() {
        let texts = ["b", "a", "a", "c"].map(str::to_owned);
        assert_eq!(numbered(&texts), [2, 1, 1, 3]);
    }
}
