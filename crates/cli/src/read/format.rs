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
        .find(|(magic, ..)| {
            let rest = first.strip_prefix(*magic);
            rest.is_some_and(|rest| !may_be_text(magic, rest))
        })
        .map(|&(_, what, advice)| Foreign { what, advice })
}

/// Whether bytes that begin with letters, and go on like this, may be a table all the same: its
/// first column may be called PAR1.
fn may_be_text(magic: &[u8], rest: &[u8]) -> bool {
    match magic {
        b"BZh" => !matches!(
            rest,
            // A block, or the end of what holds none.
            [b'1'..=b'9', b'1', b'A', b'Y', b'&', ..] | [b'1'..=b'9', 0x17, b'r', b'E', b'8', ..]
        ),
        b"PAR1" | b"ARROW1" => match rest {
            [] | [b'\n' | b'\t', ..] | [b'\r', b'\n', ..] => true,
            [next, ..] => !next.is_ascii_control(),
        },
        _ => false,
    }
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

    #[test]
    fn sem_g336_a_table_whose_first_name_begins_as_a_pack_is_a_table() {
        for text in [
            &b"PAR1,x\n1"[..],
            b"PAR1\n1\n",
            b"PAR1\r\n1",
            b"PAR1",
            b"ARROW1;y",
            b"ARROW1\t2",
            b"BZh,a\n1,",
            b"BZh91,2\n",
        ] {
            assert_eq!(foreign(text), None, "{}", text.escape_ascii());
        }
        for pack in [
            &b"PAR1\x15\x04\x15\x10"[..],
            b"ARROW1\0\0",
            b"BZh91AY&",
            b"BZh9\x17rE8",
        ] {
            assert!(foreign(pack).is_some(), "{}", pack.escape_ascii());
        }
    }
}
