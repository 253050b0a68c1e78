//! Files that are no CSV, recognised by their first bytes.

/// Bytes that decide.
pub(super) const LOOK: usize = 8;

/// What a file is that is no CSV, and what to do with it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Foreign {
    pub(super) what: &'static str,
    pub(super) advice: &'static str,
}

/// First bytes, what begins so, and what to do.
const KNOWN: [(&[u8], &str, &str); 8] = [
    (
        b"\xfd7zXZ\0",
        "packed by xz",
        "unpack it, as in xz -dc FILE | motet cluster -",
    ),
    (
        b"BZh",
        "packed by bzip2",
        "unpack it, as in bzip2 -dc FILE | motet cluster -",
    ),
    (
        b"PK\x03\x04",
        "a zip archive, as of a spreadsheet",
        "unpack it, or save the table as CSV",
    ),
    (
        b"PAR1",
        "a Parquet file",
        "write it as CSV, as DataFrame.to_csv of pandas does",
    ),
    (
        b"ARROW1",
        "an Arrow file",
        "write it as CSV, as DataFrame.to_csv of pandas does",
    ),
    (b"\x89HDF", "an HDF5 file", "write the table in it as CSV"),
    (
        b"\xff\xfe",
        "text in UTF-16",
        "convert it, as in iconv -f UTF-16 -t UTF-8 FILE | motet cluster -",
    ),
    (
        b"\xfe\xff",
        "text in UTF-16",
        "convert it, as in iconv -f UTF-16 -t UTF-8 FILE | motet cluster -",
    ),
];

/// What begins with these bytes, if it is known and no CSV.
pub(super) fn foreign(first: &[u8]) -> Option<Foreign> {
    KNOWN
        .iter()
        .find(|(magic, ..)| first.starts_with(magic))
        .map(|&(_, what, advice)| Foreign { what, advice })
}

/// Whether a file of this beginning holds sequences.
pub(crate) fn is_fasta(head: &[u8]) -> bool {
    let first = head.iter().find(|byte| !byte.is_ascii_whitespace());
    first == Some(&b'>')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_magic_is_within_the_look() {
        for (magic, ..) in KNOWN {
            assert!(magic.len() <= LOOK);
        }
        assert_eq!(foreign(b"x,y\n1,2\n"), None);
        assert_eq!(foreign(b""), None);
    }
}
