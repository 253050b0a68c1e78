//! The contents of labels.csv, centres.csv and trace.json.

use std::io::{self, Write};

use crate::space::Placed;
use crate::summary::Summary;

/// labels.csv: the number of each row from 1, the columns that are kept, the chosen columns, its
/// cluster. Rows that were left out have no line, and those behind them keep their numbers.
pub(crate) fn write_labels(to: &mut dyn Write, placed: &Placed, labels: &[u32]) -> io::Result<()> {
    let there = |row: &usize| placed.dropped.binary_search(row).is_err();
    let numbers = (1..).filter(there);
    let columns = (&placed.kept[..], &placed.names[..]);
    write_rows(to, columns, placed.values(), numbers, labels)
}

fn write_rows(
    to: &mut dyn Write,
    (kept, names): (&[(String, Vec<String>)], &[String]),
    values: &[f64],
    numbers: impl Iterator<Item = usize>,
    labels: &[u32],
) -> io::Result<()> {
    let mut csv = csv::Writer::from_writer(to);
    let texts = kept.iter().map(|(name, _)| name.as_str());
    let columns = texts.chain(names.iter().map(String::as_str));
    csv.write_record(["row"].into_iter().chain(columns).chain(["cluster"]))?;
    let rows = values.chunks_exact(names.len()).zip(labels);
    for (at, (row, (values, label))) in numbers.zip(rows).enumerate() {
        csv.write_field(row.to_string())?;
        for (_, texts) in kept {
            csv.write_field(&texts[at])?;
        }
        for &value in values {
            csv.write_field(number(value))?;
        }
        csv.write_field(label.to_string())?;
        csv.write_record(None::<&[u8]>)?;
    }
    csv.flush()
}

/// centres.csv: one row per cluster, the largest first.
pub(crate) fn write_centres(to: &mut dyn Write, summary: &Summary) -> io::Result<()> {
    let mut csv = csv::Writer::from_writer(to);
    let weighted = summary.weight.is_some();
    let spread = match summary.spread_unit {
        Some(unit) => format!("spread_{unit}"),
        None => "spread".to_owned(),
    };
    let mut header = vec!["cluster", "size"];
    header.extend(weighted.then_some("weight"));
    header.extend(summary.columns.iter().map(String::as_str));
    header.push(&spread);
    csv.write_record(header)?;
    for row in &summary.table {
        let mut fields = vec![row.cluster.to_string(), row.size.to_string()];
        fields.extend(row.weight.map(number));
        fields.extend(row.centre.iter().copied().map(number));
        fields.push(number(row.spread));
        csv.write_record(fields)?;
    }
    csv.flush()
}

/// trace.json: a list with one object per step.
pub(crate) fn write_trace(to: &mut dyn Write, summary: &Summary) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *to, &summary.trace)?;
    writeln!(to)
}

/// The shortest text that reads back as the same number.
fn number(value: f64) -> String {
    let size = value.abs();
    if value == 0.0 || (1e-5..1e16).contains(&size) {
        value.to_string()
    } else {
        format!("{value:e}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_back_as_the_same_bits() {
        let values = [
            0.0,
            -0.0,
            0.1,
            -12.5,
            42.57952,
            1e16,
            1.5e-7,
            f64::MAX,
            f64::MIN_POSITIVE,
        ];
        for value in values {
            let text = number(value);
            assert!(text.len() < 25, "{text}");
            assert_eq!(text.parse::<f64>().unwrap().to_bits(), value.to_bits());
        }
        assert_eq!(number(42.57952), "42.57952");
    }

    #[test]
    fn names_with_separators_are_quoted() {
        let mut bytes = Vec::new();
        let names = ["a,b".to_owned()];
        write_rows(&mut bytes, (&[], &names), &[1.5, 2.0], 1.., &[2, 1]).unwrap();
        assert_eq!(
            String::from_utf8(bytes).unwrap(),
            "row,\"a,b\",cluster\n1,1.5,2\n2,2,1\n"
        );
    }
}
