//! Compounds as binary properties: numpy's array of packed bits as points with a column for each
//! bit.

use crate::said::Said;
use motet_mining::{Bits, Points};
use std::fs;
use std::path::Path;

/// Properties of a compound; the file fills the last byte up with zeros.
const BITS: usize = 1052;
/// The file, in the folder of the data sets.
const FILE: &str = "chem-hiv/keys1052.npy";

/// The compounds' properties as rows of packed bits, the low bit of a byte first.
#[derive(Debug)]
pub(crate) struct Fingerprints {
    rows: Vec<u8>,
}

impl Fingerprints {
    /// Reads them from the folder of the data sets.
    pub(crate) fn read(data: &Path) -> Result<Fingerprints, String> {
        let path = data.join(FILE);
        let wrong = |what: String| {
            format!(
                "{}: {what}; name the folder of the data sets",
                path.display()
            )
        };
        let file = fs::read(&path).map_err(|error| wrong(error.to_string()))?;
        Fingerprints::of(&file).ok_or_else(|| {
            wrong(format!(
                "this is no array of rows of {} bytes in numpy's first format",
                BITS.div_ceil(8)
            ))
        })
    }

    /// The rows of a .npy file, version 1: magic, two bytes of version, two of the length of the
    /// header, the header, the rows.
    fn of(file: &[u8]) -> Option<Fingerprints> {
        let rest = file.strip_prefix(b"\x93NUMPY\x01\x00")?;
        let (length, rest) = rest.split_first_chunk::<2>()?;
        let (header, rows) = rest.split_at_checked(usize::from(u16::from_le_bytes(*length)))?;
        let header = std::str::from_utf8(header).ok()?;
        let width = BITS.div_ceil(8);
        let right = header.contains("'descr': '|u1'")
            && header.contains("'fortran_order': False")
            && header.contains(&format!(", {width})"));
        (right && rows.len().is_multiple_of(width) && !rows.is_empty()).then(|| Fingerprints {
            rows: rows.to_vec(),
        })
    }

    /// The properties of one of them, if it is there.
    pub(crate) fn row(&self, at: usize) -> Option<&[u8]> {
        self.rows.chunks_exact(BITS.div_ceil(8)).nth(at)
    }

    /// So many of them as points, from all over the file.
    pub(crate) fn points(&self, count: usize) -> Result<Points, String> {
        let rows: Vec<&[u8]> = self.rows.chunks_exact(BITS.div_ceil(8)).collect();
        let mut values = Vec::with_capacity(count * BITS);
        for place in spread(count, rows.len()) {
            let bit = |bit: usize| f64::from(rows[place][bit / 8] >> (bit % 8) & 1);
            values.extend((0..BITS).map(bit));
        }
        Points::new(values, BITS).said()
    }

    /// The same rows as bits.
    pub(crate) fn bits(&self, count: usize) -> Result<Bits, String> {
        let rows: Vec<&[u8]> = self.rows.chunks_exact(BITS.div_ceil(8)).collect();
        let some = spread(count, rows.len()).map(|place| rows[place]);
        let some = some.collect::<Vec<_>>().concat();
        Bits::from_bytes(&some, BITS.div_ceil(8), BITS).said()
    }
}

/// The places of `count` of `all` rows, as far apart from each other as they get.
pub(crate) fn spread(count: usize, all: usize) -> impl Iterator<Item = usize> {
    (0..count.min(all)).map(move |at| at * all / count.min(all))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(width: usize, rows: &[u8]) -> Vec<u8> {
        let header = format!(
            "{{'descr': '|u1', 'fortran_order': False, 'shape': ({}, {width}), }}\n",
            rows.len() / width
        );
        let mut file = b"\x93NUMPY\x01\x00".to_vec();
        file.extend((header.len() as u16).to_le_bytes());
        file.extend(header.as_bytes());
        file.extend(rows);
        file
    }

    #[test]
    fn bits_become_columns() {
        let mut rows = vec![0; 3 * 132];
        rows[0] = 0b101;
        rows[132 + 131] = 0b1000;
        let read = Fingerprints::of(&file(132, &rows)).unwrap();
        assert_eq!(read.points(9).unwrap().len(), 3);
        let points = read.points(3).unwrap();
        let ones: Vec<usize> = (0..3 * BITS)
            .filter(|&at| points.values()[at] == 1.0)
            .collect();
        assert_eq!(ones, [0, 2, BITS + 1051]);
        assert_eq!(read.points(1).unwrap().len(), 1);
    }

    #[test]
    fn other_files_are_refused() {
        assert!(Fingerprints::of(&file(128, &[0; 256])).is_none());
        assert!(Fingerprints::of(&file(132, &[0; 131])).is_none());
        assert!(Fingerprints::of(b"\x93NUMPY\x01\x00\xff").is_none());
        let reason = Fingerprints::read(Path::new("no/such/folder")).unwrap_err();
        assert!(reason.starts_with("no/such/folder"), "{reason}");
    }

    #[test]
    fn rows_are_taken_from_all_over() {
        assert!(spread(3, 9).eq([0, 3, 6]));
        assert!(spread(9, 3).eq([0, 1, 2]));
        assert_eq!(spread(0, 0).count(), 0);
    }

    #[test]
    fn needs_data_compounds_have_their_bits() {
        let all = Fingerprints::read(&motet_testkit::data()).unwrap();
        assert_eq!(all.rows.len(), 41_120 * 132);
        let points = all.points(2_000).unwrap();
        assert_eq!(all.bits(2_000).unwrap().len(), 2_000);
        // The README says 70.6 bits on in the mean.
        let mean = points.values().iter().sum::<f64>() / 2_000.0;
        assert!((mean - 70.6).abs() < 2.0, "{mean}");
    }
}
