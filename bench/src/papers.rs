//! The papers' own numbers, as the files of `bench/data/papers` hold them.

/// A table of the papers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PaperTable {
    columns: Vec<String>,
    rows: Vec<Vec<String>>,
}

/// A row of a [`PaperTable`].
#[derive(Debug, Clone, Copy)]
pub struct Fact<'a> {
    columns: &'a [String],
    fields: &'a [String],
}

macro_rules! files {
    ($($name:literal)*) => {
        [$(($name, include_str!(concat!("../data/papers/", $name, ".csv")))),*]
    };
}

/// The files, without ending.
const FILES: [(&str, &str); 10] = files! {
    "figures"
    "machines"
    "p0_table1_runtime"
    "p0_table2_overhead"
    "p0_table3_bandwidth"
    "p0_table4_models"
    "p1_table2_overhead"
    "p3_table2_cacheline"
    "p3_table3_exchange"
    "text_values"
};

/// The table of this name, such as `p0_table2_overhead`; `None` when there is none.
///
/// ```
/// let overhead = motet_bench::papers::table("p0_table2_overhead").unwrap();
/// let row = overhead.rows().find(|row| row.get("key") == "P0T2-AMD-Pipeline-match-4").unwrap();
/// assert_eq!((row.get("value"), row.get("unit")), ("5.0", "us"));
/// assert_eq!(row.source(), "P0 Table 2-AMD");
/// ```
///
/// # Panics
/// When the file is not a table, which the tests of this module exclude.
#[must_use]
pub fn table(name: &str) -> Option<PaperTable> {
    let (_, text) = FILES.iter().find(|(file, _)| *file == name)?;
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let fields = |record: &csv::StringRecord| record.iter().map(str::to_owned).collect();
    let columns = fields(reader.headers().expect("the file has a heading"));
    let rows = reader.records();
    let rows = rows.map(|record| fields(&record.expect("every row has every column")));
    Some(PaperTable {
        columns,
        rows: rows.collect(),
    })
}

impl PaperTable {
    /// Its rows, in the order of the file.
    pub fn rows(&self) -> impl Iterator<Item = Fact<'_>> {
        self.rows.iter().map(|fields| Fact {
            columns: &self.columns,
            fields,
        })
    }

    /// Whether there is such a column.
    #[must_use]
    pub fn has(&self, column: &str) -> bool {
        self.columns.iter().any(|name| name == column)
    }
}

impl<'a> Fact<'a> {
    /// The field of a column; empty when there is no such column.
    #[must_use]
    pub fn get(&self, column: &str) -> &'a str {
        let at = self.columns.iter().position(|name| name == column);
        at.and_then(|at| self.fields.get(at)).map_or("", |s| s)
    }

    /// The number in a column, unless the row says that it is not one.
    #[must_use]
    pub fn number(&self, column: &str) -> Option<f64> {
        let usable = matches!(self.get("status"), "" | "ok");
        usable.then(|| self.get(column).parse().ok()).flatten()
    }

    /// Paper and place, such as `P0 Table 2-AMD`.
    #[must_use]
    pub fn source(&self) -> String {
        let place = ["table", "where", "item"].map(|column| self.get(column));
        let place = place.into_iter().find(|place| !place.is_empty());
        format!("{} {}", self.get("paper"), place.unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_is_a_table_whose_rows_name_their_paper() {
        for (name, _) in FILES {
            let table = table(name).unwrap();
            assert!(table.has("paper") && table.has("key") || name == "text_values");
            assert!(table.rows().count() >= 6, "{name}");
            for row in table.rows() {
                assert!(
                    ["P0", "P1", "P2", "P3", "P4"].contains(&row.get("paper")),
                    "{name}"
                );
            }
        }
        assert!(table("nothing").is_none());
    }

    #[test]
    fn cells_without_a_value_have_no_number() {
        let overhead = table("p0_table2_overhead").unwrap();
        let absent = overhead.rows().filter(|row| row.get("status") != "ok");
        let numbers: Vec<_> = absent.map(|row| row.number("value")).collect();
        assert!(!numbers.is_empty() && numbers.iter().all(Option::is_none));
    }
}
