//! Square matrices in the `.npy` format of numpy.

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
pub(crate) struct Layout {
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
    /// Bytes of a number.
    size: usize,
}

/// Reads a matrix of 4-byte or 8-byte floating-point numbers.
///
/// # Errors
/// What is wrong with the file, in words.
pub(crate) fn read(bytes: &[u8]) -> Result<Matrix, String> {
    let Layout {
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
pub(crate) fn layout(bytes: &[u8]) -> Result<Layout, String> {
    let (text, data) = parts(bytes)?;
    let Header {
        rows,
        columns,
        size,
    } = header(&String::from_utf8_lossy(text), &[("<f4", 4), ("<f8", 8)])?;
    let count = rows.checked_mul(columns);
    if count.and_then(|count| count.checked_mul(size)) != Some(data.len()) {
        return Err(format!(
            "{rows} rows of {columns} columns are announced and {} bytes follow: write it again",
            data.len()
        ));
    }
    Ok(Layout {
        rows,
        columns,
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
    let text = String::from_utf8_lossy(text);
    let Header {
        rows,
        columns,
        size,
    } = header(&text, &[("|u1", 1), ("|b1", 0)])?;
    if size == 0 {
        return Err("its type is bool: pack it by numpy.packbits(a, 1, \"little\")".to_owned());
    }
    match rows.checked_mul(columns) == Some(data.len()) {
        true => Ok((columns, file.len() - data.len())),
        false => Err(format!(
            "{rows} rows of {columns} bytes are announced and {} bytes follow: write it again",
            data.len()
        )),
    }
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

fn header(text: &str, types: &[(&str, usize)]) -> Result<Header, String> {
    let field = |name: &str| {
        let at = text.find(&format!("'{name}'"))?;
        let value = text[at..].split_once(':')?.1.trim_start();
        Some(value)
    };
    if !field("fortran_order").is_some_and(|value| value.starts_with("False")) {
        return Err("its numbers are in Fortran order: save numpy.ascontiguousarray(d)".to_owned());
    }
    let shape = field("shape").and_then(|value| value.split_once('(')?.1.split_once(')'));
    let lengths = shape.map_or("", |(shape, _)| shape).split(',');
    let lengths = lengths.map(str::trim).filter(|length| !length.is_empty());
    let lengths: Result<Vec<usize>, _> = lengths.map(str::parse).collect();
    let Ok([rows, columns]) = lengths.as_deref() else {
        return Err("it does not hold a matrix: save an array with two dimensions".to_owned());
    };
    let descr = field("descr").unwrap_or_default().trim_start_matches('\'');
    let descr = descr.split('\'').next().unwrap_or_default();
    let Some((_, size)) = types.iter().find(|(name, _)| *name == descr) else {
        return Err(match types[0].1 {
            1 => format!("its type is {descr}: save it as uint8, as numpy.packbits gives it"),
            _ => format!(
                "its type is {descr}: save it as float32 or float64, as d.astype('f4') does"
            ),
        });
    };
    let size = *size;
    Ok(Header {
        rows: *rows,
        columns: *columns,
        size,
    })
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
