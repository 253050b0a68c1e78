//! Arrays of two dimensions in the `.npy` format of numpy.

use std::io::{self, Write};

/// What a `.npy` file begins with.
pub(crate) const MAGIC: &[u8] = b"\x93NUMPY";

/// A matrix of a file.
#[derive(Debug, PartialEq)]
pub(crate) struct Matrix {
    pub(crate) rows: usize,
    pub(crate) columns: usize,
    pub(crate) values: Values,
}

/// The numbers of a matrix, row after row.
#[derive(Debug, PartialEq)]
pub(crate) enum Values {
    Single(Vec<f32>),
    Double(Vec<f64>),
}

/// Where the numbers of a matrix are.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MatrixLayout {
    pub(crate) rows: usize,
    pub(crate) columns: usize,
    /// Bytes of a number.
    pub(crate) size: usize,
    /// Where they begin.
    pub(crate) start: usize,
}

/// What the header of a file says.
struct Header {
    rows: usize,
    columns: usize,
    /// The type of its numbers, as numpy writes it.
    descr: String,
    /// Whether column lies after column.
    by_columns: bool,
}

/// Makes a number of its bytes.
type Number = fn(&[u8]) -> f64;

/// The types of a table: name, bytes of a number, and what makes one.
const TYPES: [(&str, usize, Number); 12] = [
    ("<f8", 8, |b| f64::from_le_bytes(first(b))),
    ("<f4", 4, |b| f64::from(f32::from_le_bytes(first(b)))),
    ("<i8", 8, |b| i64::from_le_bytes(first(b)) as f64),
    ("<i4", 4, |b| f64::from(i32::from_le_bytes(first(b)))),
    ("<i2", 2, |b| f64::from(i16::from_le_bytes(first(b)))),
    ("|i1", 1, |b| f64::from(i8::from_le_bytes(first(b)))),
    ("<u8", 8, |b| u64::from_le_bytes(first(b)) as f64),
    ("<u4", 4, |b| f64::from(u32::from_le_bytes(first(b)))),
    ("<u2", 2, |b| f64::from(u16::from_le_bytes(first(b)))),
    ("|u1", 1, |b| f64::from(b[0])),
    ("|b1", 1, |b| f64::from(u8::from(b[0] != 0))),
    (">f8", 8, |b| f64::from_be_bytes(first(b))),
];

fn first<const N: usize>(bytes: &[u8]) -> [u8; N] {
    let mut number = [0; N];
    number.copy_from_slice(&bytes[..N]);
    number
}

/// Reads a table of numbers of any type, in either order: rows, columns, and the numbers row after
/// row. Integers above 2^53 are rounded.
///
/// # Errors
/// What is wrong with the file, in words.
pub(crate) fn table(bytes: &[u8]) -> Result<(usize, usize, Vec<f64>), String> {
    let (text, data) = parts(bytes)?;
    let header = header(&String::from_utf8_lossy(text))?;
    let (rows, columns) = (header.rows, header.columns);
    let known = TYPES.iter().find(|(name, ..)| *name == header.descr);
    let (_, size, number) = known.ok_or_else(|| {
        format!(
            "its type is {}: save it as float64, as a.astype('f8') does",
            header.descr
        )
    })?;
    header.check(data, *size)?;
    let at = |place: usize| number(&data[place * size..]);
    let values = match header.by_columns {
        false => (0..rows * columns).map(at).collect(),
        true => (0..rows * columns)
            .map(|place| at(place % columns * rows + place / columns))
            .collect(),
    };
    Ok((rows, columns, values))
}

/// Reads a matrix of 4-byte or 8-byte floating-point numbers.
///
/// # Errors
/// What is wrong with the file, in words.
pub(crate) fn read(bytes: &[u8]) -> Result<Matrix, String> {
    let MatrixLayout {
        rows,
        columns,
        size,
        start,
    } = layout(bytes)?;
    let data = &bytes[start..];
    let values = if size == 4 {
        let numbers = data.as_chunks().0.iter();
        Values::Single(numbers.map(|bytes| f32::from_le_bytes(*bytes)).collect())
    } else {
        let numbers = data.as_chunks().0.iter();
        Values::Double(numbers.map(|bytes| f64::from_le_bytes(*bytes)).collect())
    };
    Ok(Matrix {
        rows,
        columns,
        values,
    })
}

/// How a matrix of 4-byte or 8-byte floating-point numbers lies in a file.
///
/// # Errors
/// What is wrong with the file, in words.
pub(crate) fn layout(bytes: &[u8]) -> Result<MatrixLayout, String> {
    let (text, data) = parts(bytes)?;
    let header = header(&String::from_utf8_lossy(text))?;
    header.by_rows()?;
    let size = match header.descr.as_str() {
        "<f4" => 4,
        "<f8" => 8,
        other => {
            return Err(format!(
                "its type is {other}: save it as float32 or float64, as d.astype('f4') does"
            ));
        }
    };
    header.check(data, size)?;
    Ok(MatrixLayout {
        rows: header.rows,
        columns: header.columns,
        size,
        start: bytes.len() - data.len(),
    })
}

/// Of a matrix of bytes: how many a row has, and where they begin.
///
/// # Errors
/// What is wrong with the file, in words.
pub(crate) fn bytes(file: &[u8]) -> Result<(usize, usize), String> {
    let (text, data) = parts(file)?;
    let header = header(&String::from_utf8_lossy(text))?;
    header.by_rows()?;
    match header.descr.as_str() {
        "|u1" => {}
        "|b1" => {
            return Err("its type is bool: pack it by numpy.packbits(a, 1, \"little\")".to_owned());
        }
        other => {
            return Err(format!(
                "its type is {other}: save it as uint8, as numpy.packbits gives it"
            ));
        }
    }
    header.check(data, 1)?;
    Ok((header.columns, file.len() - data.len()))
}

/// The header and the numbers of a file.
fn parts(bytes: &[u8]) -> Result<(&[u8], &[u8]), String> {
    let rest = bytes.strip_prefix(MAGIC);
    let rest = rest.ok_or("it does not begin as one")?;
    let length_bytes = match rest.first() {
        Some(1) => 2,
        Some(2 | 3) => 4,
        _ => return Err("its version is not 1, 2 or 3".to_owned()),
    };
    let short = "it is cut short";
    let length = rest.get(2..2 + length_bytes).ok_or(short)?;
    let digits = length.iter().rev();
    let length = digits.fold(0, |sum, byte| sum << 8 | usize::from(*byte));
    let start = 2 + length_bytes;
    let header = rest.get(start..start.saturating_add(length)).ok_or(short)?;
    Ok((header, &rest[start + length..]))
}

fn header(text: &str) -> Result<Header, String> {
    let field = |name: &str| {
        let at = text.find(&format!("'{name}'"))?;
        let value = text[at..].split_once(':')?.1.trim_start();
        Some(value)
    };
    let shape = field("shape").and_then(|value| value.split_once('(')?.1.split_once(')'));
    let lengths = shape.map_or("", |(shape, _)| shape).split(',');
    let lengths = lengths.map(str::trim).filter(|length| !length.is_empty());
    let lengths: Result<Vec<usize>, _> = lengths.map(str::parse).collect();
    let Ok([rows, columns]) = lengths.as_deref() else {
        return Err("it does not hold a matrix: save an array with two dimensions".to_owned());
    };
    let descr = field("descr").unwrap_or_default().trim_start_matches('\'');
    Ok(Header {
        rows: *rows,
        columns: *columns,
        descr: descr.split('\'').next().unwrap_or_default().to_owned(),
        by_columns: !field("fortran_order").is_some_and(|value| value.starts_with("False")),
    })
}

impl Header {
    fn by_rows(&self) -> Result<(), String> {
        match self.by_columns {
            false => Ok(()),
            true => {
                Err("its numbers are in Fortran order: save numpy.ascontiguousarray(d)".to_owned())
            }
        }
    }

    fn check(&self, data: &[u8], size: usize) -> Result<(), String> {
        let Header { rows, columns, .. } = self;
        let count = rows.checked_mul(*columns);
        match count.and_then(|count| count.checked_mul(size)) == Some(data.len()) {
            true => Ok(()),
            false => Err(format!(
                "{rows} rows of {columns} columns are announced and {} bytes follow: write it again",
                data.len()
            )),
        }
    }
}

/// Writes a matrix of 4-byte numbers.
pub(crate) fn write(to: &mut dyn Write, columns: usize, values: &[f32]) -> io::Result<()> {
    let rows = values.len() / columns.max(1);
    let mut header =
        format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({rows}, {columns}), }}");
    // The numbers begin at a multiple of 64 bytes.
    while !(MAGIC.len() + 4 + header.len() + 1).is_multiple_of(64) {
        header.push(' ');
    }
    header.push('\n');
    to.write_all(MAGIC)?;
    to.write_all(&[1, 0])?;
    to.write_all(&(header.len() as u16).to_le_bytes())?;
    to.write_all(header.as_bytes())?;
    values
        .iter()
        .try_for_each(|value| to.write_all(&value.to_le_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_back() {
        let mut bytes = Vec::new();
        write(&mut bytes, 2, &[0.0, 0.5, 0.25, 0.0]).unwrap();
        assert_eq!((bytes.len() - 16) % 64, 0);
        let matrix = read(&bytes).unwrap();
        assert_eq!((matrix.rows, matrix.columns), (2, 2));
        assert_eq!(matrix.values, Values::Single(vec![0.0, 0.5, 0.25, 0.0]));
        bytes.pop();
        assert!(read(&bytes).unwrap_err().contains("15 bytes"));
    }

    #[test]
    fn a_table_has_its_rows_whatever_their_type_and_order() {
        let file = |descr: &str, fortran: &str, data: &[u8]| {
            let header =
                format!("{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': (2, 2), }}");
            let mut bytes = MAGIC.to_vec();
            bytes.extend([1, 0, header.len() as u8, 0]);
            bytes.extend(header.as_bytes());
            bytes.extend(data);
            table(&bytes)
        };
        let expected = Ok((2, 2, vec![1.0, 0.0, 0.0, 1.0]));
        assert_eq!(file("|u1", "False", &[1, 0, 0, 1]), expected);
        assert_eq!(file("|b1", "False", &[7, 0, 0, 1]), expected);
        let shorts: Vec<u8> = [1_i16, -3, 2, 4]
            .iter()
            .flat_map(|x| x.to_le_bytes())
            .collect();
        assert_eq!(
            file("<i2", "False", &shorts),
            Ok((2, 2, vec![1.0, -3.0, 2.0, 4.0]))
        );
        assert_eq!(
            file("<i2", "True", &shorts),
            Ok((2, 2, vec![1.0, 2.0, -3.0, 4.0]))
        );
        let doubles: Vec<u8> = [0.1_f64; 4].iter().flat_map(|x| x.to_be_bytes()).collect();
        assert_eq!(file(">f8", "False", &doubles), Ok((2, 2, vec![0.1; 4])));
        assert!(file("<U3", "False", &doubles).unwrap_err().contains("<U3"));
        assert!(
            file("<f8", "False", &shorts)
                .unwrap_err()
                .contains("8 bytes")
        );
    }

    #[test]
    fn what_is_no_matrix_of_numbers_is_told() {
        let file = |header: &str| {
            let mut bytes = MAGIC.to_vec();
            bytes.extend([1, 0, header.len() as u8, 0]);
            bytes.extend(header.as_bytes());
            read(&bytes).unwrap_err()
        };
        let whole = |descr: &str, order: &str, shape: &str| {
            file(&format!(
                "{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape}, }}"
            ))
        };
        assert!(whole("<i8", "False", "(2, 2)").contains("<i8"));
        assert!(whole("<f8", "True", "(2, 2)").contains("Fortran"));
        assert!(whole("<f8", "False", "(4,)").contains("two dimensions"));
        assert!(whole("<f8", "False", "(2, 2)").contains("0 bytes"));
        assert!(
            read(b"\x93NUMPY\x01\x00\xff")
                .unwrap_err()
                .contains("short")
        );
        assert!(read(b"").is_err() && read(b"\x93NUMPY").is_err());
    }
}
