//! How numbers and names are written for readers.

/// A number with three digits that count: `0.00213`, `12.7`, `1.25M`.
///
/// ```
/// use motet_bench::text::number;
///
/// assert_eq!(number(0.123_456), "0.123");
/// assert_eq!(number(1_250_000.0), "1.25M");
/// assert_eq!(number(1.6e-9), "1.6e-9");
/// ```
#[must_use]
pub fn number(value: f64) -> String {
    let size = value.abs();
    if !value.is_finite() {
        return "-".to_owned();
    }
    let (value, suffix) = match size {
        s if s >= 999.5e9 => return digits_of_power(value),
        s if s >= 999.5e6 => (value / 1e9, "G"),
        s if s >= 999.5e3 => (value / 1e6, "M"),
        s if s >= 9_999.5 => (value / 1e3, "k"),
        s if s > 0.0 && s < 1e-4 => return digits_of_power(value),
        _ => (value, ""),
    };
    let size = value.abs();
    let decimals = if size == 0.0 || size >= 100.0 {
        0
    } else {
        (2.0 - size.log10().floor()).max(0.0) as usize
    };
    // Adding zero turns -0 into 0.
    let text = format!("{:.decimals$}", value + 0.0);
    format!("{}{suffix}", trimmed(&text))
}

/// A number of an axis: as [`number`], with all its digits where they are few.
#[must_use]
pub fn short(value: f64) -> String {
    let rounded = (value * 1e9).round() / 1e9;
    match trimmed(&format!("{rounded:.4}")) {
        exact if exact.len() <= 6 && (rounded == 0.0 || rounded.abs() >= 1e-3) => exact.to_owned(),
        _ => number(value),
    }
}

/// A unit as it is printed: `us` is µs.
#[must_use]
pub fn unit(unit: &str) -> &str {
    match unit {
        "us" => "µs",
        other => other,
    }
}

/// Text as XML and HTML hold it: marks escaped, control characters replaced.
///
/// ```
/// assert_eq!(motet_bench::text::escape("a<b & \"c\""), "a&lt;b &amp; &quot;c&quot;");
/// ```
#[must_use]
pub fn escape(text: &str) -> String {
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

/// A name of a file or an anchor: lower case, words joined by hyphens.
#[must_use]
pub fn slug(name: &str) -> String {
    let words = name.split(|c: char| !c.is_alphanumeric());
    let words = words.filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join("-").to_lowercase()
}

/// Without zeros at the end of a fraction.
fn trimmed(text: &str) -> &str {
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.')
    } else {
        text
    }
}

fn digits_of_power(value: f64) -> String {
    let text = format!("{value:.2e}");
    let (digits, power) = text.split_once('e').unwrap_or((&text, "0"));
    format!("{}e{power}", trimmed(digits))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_digits_that_count() {
        let cases = [
            (0.0, "0"),
            (-0.0, "0"),
            (1.0, "1"),
            (0.8, "0.8"),
            (0.080_36, "0.0804"),
            (12.66, "12.7"),
            (500_000.0, "500k"),
            (1234.4, "1234"),
            (999_700.0, "1M"),
            (2e10, "20G"),
            (-3.456, "-3.46"),
            (0.000_012, "1.2e-5"),
            (f64::NAN, "-"),
        ];
        for (value, text) in cases {
            assert_eq!(number(value), text);
        }
    }

    #[test]
    fn ticks_keep_their_digits() {
        assert_eq!(short(0.025), "0.025");
        assert_eq!(short(0.1 + 0.2), "0.3");
        assert_eq!(short(1.045), "1.045");
        assert_eq!(short(2_000_000.0), "2M");
        assert_eq!(short(1.6e-9), "1.6e-9");
    }

    #[test]
    fn marks_and_control_characters_cannot_break_a_page() {
        assert_eq!(
            escape("a<b & \"c\">\u{1}"),
            "a&lt;b &amp; &quot;c&quot;&gt;\u{fffd}"
        );
    }

    #[test]
    fn slugs_are_one_word() {
        assert_eq!(slug("P0 Fig. 2-AMD (µs)"), "p0-fig-2-amd-µs");
    }
}
