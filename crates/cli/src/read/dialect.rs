//! Which character separates the fields.

/// Lines of the head that are compared.
const LINES: usize = 32;

/// The separators that are tried, the usual one first: the first of equals wins.
const CANDIDATES: [u8; 3] = [b',', b';', b'\t'];

/// Finds the separator of a text from its first lines. It cuts all of them into the same number of
/// fields, more than one, most of them numbers. Text of one column has none, and gets the comma.
pub(crate) fn detect_delimiter(head: &[u8]) -> u8 {
    let lines: Vec<&[u8]> = whole_lines(head).take(LINES).collect();
    let mut best = (b',', (false, 0, 0));
    for delimiter in CANDIDATES {
        let counts = lines.iter().map(|line| fields(line, delimiter).len());
        let (Some(fewest), Some(most)) = (counts.clone().min(), counts.max()) else {
            break;
        };
        if most < 2 {
            continue;
        }
        // The header does not count: names say nothing about numbers.
        let numbers = lines
            .iter()
            .skip(1)
            .flat_map(|line| fields(line, delimiter));
        let numbers = numbers.filter(|field| is_number(field)).count();
        let score = (fewest == most, numbers, most);
        if score > best.1 {
            best = (delimiter, score);
        }
    }
    best.0
}

/// The lines of `head` that are not empty, without the last one where `head` may have cut it.
fn whole_lines(head: &[u8]) -> impl Iterator<Item = &[u8]> {
    let end = head
        .iter()
        .rposition(|&b| b == b'\n')
        .map_or(head.len(), |at| at + 1);
    head[..end]
        .split(|&b| b == b'\n')
        .filter(|line| !line.trim_ascii().is_empty())
}

/// Cuts at every `delimiter` outside quotation marks.
fn fields(line: &[u8], delimiter: u8) -> Vec<&[u8]> {
    let mut quoted = false;
    line.split(|&b| {
        quoted ^= b == b'"';
        b == delimiter && !quoted
    })
    .collect()
}

fn is_number(field: &[u8]) -> bool {
    let text = std::str::from_utf8(field).unwrap_or_default();
    text.trim().trim_matches('"').trim().parse::<f64>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::detect_delimiter;

    #[test]
    fn the_usual_separators_are_found() {
        assert_eq!(detect_delimiter(b"a,b\n1,2\n3,4\n"), b',');
        assert_eq!(detect_delimiter(b"a;b\r\n1;2\r\n"), b';');
        assert_eq!(detect_delimiter(b"a\tb\n1\t2"), b'\t');
        assert_eq!(detect_delimiter(b"1\n2\n"), b',');
        assert_eq!(detect_delimiter(b""), b',');
    }

    #[test]
    fn other_separators_inside_fields_do_not_confuse() {
        assert_eq!(
            detect_delimiter(b"name;x\n\"Ulm; old, town\";1\nBonn, am Rhein;2\n"),
            b';'
        );
        assert_eq!(
            detect_delimiter(b"name,x\nred; green; blue,1\ncyan; pink; grey,2\n"),
            b','
        );
        assert_eq!(
            detect_delimiter(b"place\tx\nUlm, DE\t1\nBonn, DE\t2\n"),
            b'\t'
        );
    }

    #[test]
    fn a_line_cut_by_the_end_of_the_head_does_not_count() {
        assert_eq!(detect_delimiter(b"a;b;c\n1;2;3\n4;5"), b';');
    }
}
