//! Data sets in CSV files, compressed or not.

use flate2::read::MultiGzDecoder;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use thiserror::Error;

/// The cells of a file with a header line.
#[derive(Debug)]
pub(crate) struct CsvTable {
    path: PathBuf,
    columns: Vec<String>,
    rows: Vec<csv::StringRecord>,
}

/// A file cannot be used.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TableError {
    /// It cannot be read.
    #[error("{path}: {error}; name the folder of the data sets")]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        error: io::Error,
    },
    /// It is not the table it should be.
    #[error("{path}: {error}")]
    Shape {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        #[source]
        error: csv::Error,
    },
    /// A column is missing.
    #[error("{path}: there is no column {column}")]
    Column {
        /// The file.
        path: PathBuf,
        /// Its name.
        column: String,
    },
    /// A cell holds no number.
    #[error("{path}:{line}: column {column} holds {cell:?} where a number belongs")]
    Number {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The column.
        column: String,
        /// What the cell holds.
        cell: String,
    },
}

impl CsvTable {
    /// Reads `path`; a name that ends in `gz` is decompressed, one in `tsv` has tabs.
    pub(crate) fn read(path: &Path) -> Result<CsvTable, TableError> {
        let read = |error| TableError::Read {
            path: path.to_owned(),
            error,
        };
        let shape = |error| TableError::Shape {
            path: path.to_owned(),
            error,
        };
        let input = open(path).map_err(read)?;
        let name = path.to_string_lossy();
        let tabs = name.trim_end_matches(".gz").ends_with(".tsv");
        let mut reader = csv::ReaderBuilder::new()
            .delimiter(if tabs { b'\t' } else { b',' })
            .from_reader(input);
        let header = reader.headers().map_err(shape)?;
        Ok(CsvTable {
            path: path.to_owned(),
            columns: header.iter().map(str::to_owned).collect(),
            rows: reader.records().collect::<Result<_, _>>().map_err(shape)?,
        })
    }

    /// The names of the columns.
    pub(crate) fn columns(&self) -> impl Iterator<Item = &str> {
        self.columns.iter().map(String::as_str)
    }

    /// Some columns as numbers, row after row.
    pub(crate) fn numbers(&self, columns: &[&str]) -> Result<Vec<f64>, TableError> {
        let places = columns
            .iter()
            .map(|column| self.place(column))
            .collect::<Result<Vec<usize>, _>>()?;
        let mut values = Vec::with_capacity(self.rows.len() * columns.len());
        for (row, cells) in self.rows.iter().enumerate() {
            for &place in &places {
                let cell = &cells[place];
                values.push(cell.parse().map_err(|_| TableError::Number {
                    path: self.path.clone(),
                    line: row + 2,
                    column: self.columns[place].clone(),
                    cell: cell.to_owned(),
                })?);
            }
        }
        Ok(values)
    }

    /// One column as text.
    pub(crate) fn words(&self, column: &str) -> Result<Vec<&str>, TableError> {
        let place = self.place(column)?;
        Ok(self.rows.iter().map(|cells| &cells[place]).collect())
    }

    fn place(&self, column: &str) -> Result<usize, TableError> {
        let place = self.columns.iter().position(|name| name == column);
        place.ok_or_else(|| TableError::Column {
            path: self.path.clone(),
            column: column.to_owned(),
        })
    }
}

/// What is in a file; one whose name ends in `gz` is decompressed.
pub(crate) fn open(path: &Path) -> io::Result<Box<dyn Read>> {
    let file = File::open(path)?;
    Ok(match path.extension() {
        Some(extension) if extension == "gz" => Box::new(MultiGzDecoder::new(file)),
        _ => Box::new(file),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn written(name: &str, text: &str) -> (PathBuf, Result<CsvTable, TableError>) {
        let path = std::env::temp_dir().join(format!("motet-{}-{name}.csv", std::process::id()));
        fs::write(&path, text).unwrap();
        let table = CsvTable::read(&path);
        fs::remove_file(&path).unwrap();
        (path, table)
    }

    #[test]
    fn columns_are_found_by_name() {
        let table = written("good", "a,b,kind\n1,2,x\n3,4.5,y\n").1.unwrap();
        assert!(table.columns().eq(["a", "b", "kind"]));
        assert_eq!(table.numbers(&["b", "a"]).unwrap(), [2.0, 1.0, 4.5, 3.0]);
        assert_eq!(table.words("kind").unwrap(), ["x", "y"]);
    }

    #[test]
    fn wrong_files_say_what_and_where() {
        let (path, table) = written("bad", "a,b\n1,2\n3,four\n");
        let (table, path) = (table.unwrap(), path.display());
        let number = table.numbers(&["a", "b"]).unwrap_err().to_string();
        assert_eq!(
            number,
            format!("{path}:3: column b holds \"four\" where a number belongs")
        );
        let column = table.words("c").unwrap_err().to_string();
        assert_eq!(column, format!("{path}: there is no column c"));
        assert!(matches!(
            written("ragged", "a,b\n1\n").1,
            Err(TableError::Shape { .. })
        ));
        let gone = CsvTable::read(Path::new("no/such.csv")).unwrap_err();
        assert!(gone.to_string().starts_with("no/such.csv: "), "{gone}");
    }
}
