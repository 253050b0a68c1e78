//! Keys: the names of topics, and the patterns that subscribers give.

use std::fmt;
use std::sync::Arc;

/// The longest key, in bytes.
pub const MAX_KEY: usize = 1024;
/// The most parts that a key has.
pub const MAX_PARTS: usize = 64;

/// Parts with `/` between them. `*` stands for one part, `**` for any number of parts, also none.
///
/// A topic has a key without wildcards; a subscription may have wildcards. Source: key expressions
/// of zenoh.
///
/// ```
/// use motet_mesh::Key;
///
/// let pattern = Key::new("robot1/*/left")?;
/// assert!(pattern.matches(&Key::new("robot1/camera/left")?));
/// assert!(!pattern.matches(&Key::new("robot1/camera/right")?));
/// assert!(Key::new("robot1/**")?.matches(&Key::new("robot1")?));
/// assert!(Key::new("robot1//left").is_err());
/// # Ok::<(), motet_mesh::KeyError>(())
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key(Arc<str>);

/// Why a text is not a [`Key`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum KeyError {
    /// The text is empty, or one of its parts is: the number of the part, from 1.
    EmptyPart {
        /// The text.
        key: String,
        /// The number of the part, from 1.
        part: usize,
    },
    /// A part has a character that keys do not have: `*` within a part, `?`, `#`, `$`, a space or a
    /// control character.
    Character {
        /// The text.
        key: String,
        /// The character.
        character: char,
    },
    /// The text is longer than [`MAX_KEY`] bytes, or has more than [`MAX_PARTS`] parts.
    TooLong {
        /// The number of bytes.
        bytes: usize,
        /// The number of parts.
        parts: usize,
    },
    /// A key without wildcards is asked for.
    Wildcard {
        /// The text.
        key: String,
    },
}

impl Key {
    /// Checks `text` and makes a key of it.
    ///
    /// # Errors
    /// [`KeyError`] says which part is wrong.
    pub fn new(text: &str) -> Result<Self, KeyError> {
        let parts = text.split('/').count();
        if text.len() > MAX_KEY || parts > MAX_PARTS {
            let bytes = text.len();
            return Err(KeyError::TooLong { bytes, parts });
        }
        for (number, part) in text.split('/').enumerate() {
            if part.is_empty() {
                let (key, part) = (text.to_owned(), number + 1);
                return Err(KeyError::EmptyPart { key, part });
            }
            if part == "*" || part == "**" {
                continue;
            }
            let wrong = |c: &char| matches!(c, '*' | '?' | '#' | '$' | ' ') || c.is_control();
            if let Some(character) = part.chars().find(wrong) {
                let key = text.to_owned();
                return Err(KeyError::Character { key, character });
            }
        }
        Ok(Key(text.into()))
    }

    /// As [`Key::new`], without wildcards.
    ///
    /// # Errors
    /// [`KeyError`], also for a wildcard.
    pub fn plain(text: &str) -> Result<Self, KeyError> {
        let key = Key::new(text)?;
        if key.has_wildcard() {
            return Err(KeyError::Wildcard {
                key: key.0.to_string(),
            });
        }
        Ok(key)
    }

    /// Whether the key has `*` or `**`.
    #[must_use]
    pub fn has_wildcard(&self) -> bool {
        self.0.contains('*')
    }

    /// Whether this pattern matches `key`, which has no wildcard.
    ///
    /// Takes time in proportion to the product of the numbers of parts, at most.
    #[must_use]
    pub fn matches(&self, key: &Key) -> bool {
        // A key without wildcards matches itself alone.
        self.covers(key)
    }

    /// Whether this pattern matches all keys that `other` matches, part by part: a `**` of `other`
    /// needs a `**` here. `true` is always right; `*/**` covers `**/a` and this says that it does
    /// not.
    ///
    /// Takes time in proportion to the product of the numbers of parts, at most.
    ///
    /// ```
    /// use motet_mesh::Key;
    ///
    /// let filter = Key::new("robot1/**")?;
    /// assert!(filter.covers(&Key::new("robot1/*/left")?));
    /// assert!(!filter.covers(&Key::new("**")?));
    /// # Ok::<(), motet_mesh::KeyError>(())
    /// ```
    #[must_use]
    pub fn covers(&self, other: &Key) -> bool {
        if !self.has_wildcard() {
            return self.0 == other.0;
        }
        let parts: Vec<&str> = other.0.split('/').collect();
        // reached[i]: the pattern so far covers the first i parts.
        let mut reached = vec![false; parts.len() + 1];
        reached[0] = true;
        for pattern in self.0.split('/') {
            if pattern == "**" {
                let first = reached.iter().position(|is| *is).unwrap_or(reached.len());
                reached[first..].fill(true);
                continue;
            }
            for i in (0..parts.len()).rev() {
                let is_covered = parts[i] != "**" && (pattern == "*" || pattern == parts[i]);
                reached[i + 1] = reached[i] && is_covered;
            }
            reached[0] = false;
        }
        reached[parts.len()]
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.0)
    }
}

impl fmt::Display for KeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            KeyError::EmptyPart { key, part } => {
                write!(
                    f,
                    "key {key:?}: part {part} is empty; write parts with one / between them"
                )
            }
            KeyError::Character { key, character } => write!(
                f,
                "key {key:?} has {character:?}; parts have no *, ?, #, $, spaces or control characters, \
                 and a wildcard (* or **) is a part of its own"
            ),
            KeyError::TooLong { bytes, parts } => write!(
                f,
                "a key of {bytes} bytes and {parts} parts is too long: at most {MAX_KEY} bytes and {MAX_PARTS} parts"
            ),
            KeyError::Wildcard { key } => {
                write!(
                    f,
                    "key {key:?} has a wildcard; only subscriptions may have one"
                )
            }
        }
    }
}

impl std::error::Error for KeyError {}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The obvious matcher: by recursion on both.
    fn naive(pattern: &[&str], parts: &[&str]) -> bool {
        match (pattern.split_first(), parts.split_first()) {
            (None, None) => true,
            (Some((&"**", rest)), _) => {
                naive(rest, parts) || (!parts.is_empty() && naive(pattern, &parts[1..]))
            }
            (Some((first, rest)), Some((part, others))) => {
                (*first == "*" || first == part) && naive(rest, others)
            }
            _ => false,
        }
    }

    proptest! {
        #[test]
        fn prop_sem_g209_a_pattern_matches_as_the_naive_matcher_says(
            pattern in prop::collection::vec(prop::sample::select(vec!["a", "b", "*", "**"]), 1..7),
            parts in prop::collection::vec(prop::sample::select(vec!["a", "b"]), 1..7),
        ) {
            let (this, key) = (Key::new(&pattern.join("/")).unwrap(), Key::plain(&parts.join("/")).unwrap());
            prop_assert_eq!(this.matches(&key), naive(&pattern, &parts));
        }

        #[test]
        fn prop_sem_g566_what_is_covered_is_matched_and_a_key_without_wildcards_is_both(
            filter in prop::collection::vec(prop::sample::select(vec!["a", "b", "*", "**"]), 1..5),
            pattern in prop::collection::vec(prop::sample::select(vec!["a", "b", "*", "**"]), 1..5),
            keys in prop::collection::vec(
                prop::collection::vec(prop::sample::select(vec!["a", "b", "c"]), 1..6), 1..60),
        ) {
            let filter = Key::new(&filter.join("/")).unwrap();
            let pattern = Key::new(&pattern.join("/")).unwrap();
            let covers = filter.covers(&pattern);
            prop_assert!(pattern.covers(&pattern) && Key::new("**").unwrap().covers(&pattern));
            for key in keys.iter().map(|parts| Key::plain(&parts.join("/")).unwrap()) {
                prop_assert!(!covers || !pattern.matches(&key) || filter.matches(&key));
                prop_assert_eq!(filter.covers(&key), filter.matches(&key));
            }
        }

        #[test]
        fn prop_any_text_is_a_key_or_an_error(text in ".{0,40}") {
            if let Ok(key) = Key::new(&text) {
                prop_assert_eq!(key.as_str(), &text);
            }
        }
    }

    #[test]
    fn sem_g566_a_filter_covers_a_pattern_only_as_a_whole() {
        let covers = |filter: &str, pattern: &str| {
            Key::new(filter)
                .unwrap()
                .covers(&Key::new(pattern).unwrap())
        };
        for (filter, pattern) in [
            ("a/*", "a/b"),
            ("a/*", "a/*"),
            ("a/**", "a/*/c/**"),
            ("**", "**"),
            ("**/b", "**/a/b"),
            ("a/**/c", "a/**/b/c"),
        ] {
            assert!(covers(filter, pattern), "{filter} covers {pattern}");
            assert_eq!(covers(pattern, filter), filter == pattern);
        }
        for (filter, pattern) in [("a/*", "a/**"), ("*/b", "a/*"), ("a", "*"), ("a/**", "**")] {
            assert!(
                !covers(filter, pattern),
                "{filter} does not cover {pattern}"
            );
        }
    }

    #[test]
    fn errors_name_the_place() {
        let error = Key::new("a//b").unwrap_err().to_string();
        assert!(error.contains("part 2"), "{error}");
        assert!(Key::plain("a/*").is_err());
        assert!(Key::new("a/b*").is_err());
        assert!(Key::new(&"a/".repeat(2000)).is_err());
    }
}
