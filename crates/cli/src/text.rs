//! Numbers as people read them, names and words as a terminal, XML or a shell reads them.

use std::ffi::OsStr;

use motet_mining::ClusterChoice;

/// Why there are so many clusters.
pub(crate) fn chosen(choice: &ClusterChoice) -> String {
    match choice.clusters {
        1 => "1 cluster: no number lasts while the temperature falls by a factor of 3".to_owned(),
        clusters => format!(
            "{clusters} clusters last while the temperature falls by a factor of {}",
            significant(choice.lasts)
        ),
    }
}

/// Text as XML holds it: marks escaped, control characters replaced.
pub(crate) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => escaped.push('\u{fffd}'),
            c => escaped.push(c),
        }
    }
    escaped
}

/// A name of a column, a sequence or a symbol on one line of a terminal: control characters become
/// blanks.
pub(crate) fn flat(name: &str) -> String {
    let blank = |c: char| if c.is_control() { ' ' } else { c };
    name.chars().map(blank).collect()
}

/// A word of a command line as a shell reads it.
pub(crate) fn shell_word(word: &OsStr) -> String {
    let text = word.to_string_lossy();
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,+@%".contains(c);
    match !text.is_empty() && text.chars().all(plain) {
        true => text.into_owned(),
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
}

/// A count with commas between the thousands.
pub(crate) fn grouped(count: usize) -> String {
    let digits = count.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// How many decimals numbers up to `largest` need when they differ by `range`: so many `digits` of
/// the difference. `None`: they are so large or small that the exponent must be written.
pub(crate) fn decimals(range: f64, largest: f64, digits: i64) -> Option<usize> {
    if largest >= 1e12 || (largest > 0.0 && largest < 1e-4) {
        return None;
    }
    // Less is rounding, not a difference.
    let range = if range > 1e-9 * largest {
        range
    } else {
        largest
    };
    if range == 0.0 {
        return Some(0);
    }
    Some((digits - 1 - range.log10().floor() as i64).max(0) as usize)
}

/// `value` with `decimals`, or with an exponent.
pub(crate) fn fixed(value: f64, decimals: Option<usize>) -> String {
    match decimals {
        // Adding zero turns -0 into 0; a value that rounds to zero loses its sign too.
        Some(decimals) => {
            let text = format!("{:.decimals$}", value + 0.0);
            let zero = text.bytes().all(|b| matches!(b, b'-' | b'0' | b'.'));
            if zero { text.replace('-', "") } else { text }
        }
        None => format!("{value:.4e}"),
    }
}

/// A single number in 5 significant digits.
pub(crate) fn significant(value: f64) -> String {
    let size = value.abs();
    fixed(
        value,
        if size < 1e9 {
            decimals(size, size, 5)
        } else {
            None
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_grouped() {
        let texts = [0, 999, 1000, 144_563, 1_000_000].map(grouped);
        assert_eq!(texts, ["0", "999", "1,000", "144,563", "1,000,000"]);
    }

    #[test]
    fn a_name_of_several_lines_is_on_one() {
        assert_eq!(flat("a\nb\u{1b}[1m é"), "a b [1m é");
    }

    #[test]
    fn a_word_that_means_more_to_a_shell_is_quoted() {
        let word = |text: &str| shell_word(OsStr::new(text));
        assert_eq!(word("keys/a_b-c.pem"), "keys/a_b-c.pem");
        assert_eq!(word("my keys"), "'my keys'");
        assert_eq!(word("$HOME"), "'$HOME'");
        assert_eq!(word("it's"), r"'it'\''s'");
        assert_eq!(word(""), "''");
    }

    #[test]
    fn numbers_have_five_digits() {
        assert_eq!(significant(12.345678), "12.346");
        assert_eq!(significant(0.00123456), "0.0012346");
        assert_eq!(significant(123456.7), "123457");
        assert_eq!(significant(8.9176e12), "8.9176e12");
        assert_eq!(significant(1.5e-7), "1.5000e-7");
        assert_eq!(significant(0.0), "0");
    }

    #[test]
    fn a_column_has_as_many_decimals_as_its_range_needs() {
        assert_eq!(decimals(180.0, 90.0, 5), Some(2));
        assert_eq!(decimals(0.02, 1000.0, 5), Some(6));
        assert_eq!(decimals(0.0, 3.0, 5), Some(4));
        assert_eq!(decimals(1e-13, 100.0, 5), Some(2));
        assert_eq!(fixed(-0.0001, Some(2)), "0.00");
        assert_eq!(fixed(-1.5, Some(2)), "-1.50");
    }
}
