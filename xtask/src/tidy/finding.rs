//! What a check found.

use std::fmt;

/// One place that breaks a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Finding {
    /// The file, from the project's root.
    pub(crate) path: String,
    /// The line, from 1.
    pub(crate) line: usize,
    /// What is there.
    pub(crate) what: String,
    /// Why that is against the rules.
    pub(crate) why: &'static str,
    /// What to do about it.
    pub(crate) remedy: String,
}

impl Finding {
    pub(crate) fn new(
        path: &str,
        line: usize,
        what: impl Into<String>,
        why: &'static str,
        remedy: impl Into<String>,
    ) -> Finding {
        Finding {
            path: path.to_owned(),
            line,
            what: what.into(),
            why,
            remedy: remedy.into(),
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Finding {
            path,
            line,
            what,
            why,
            remedy,
        } = self;
        write!(f, "{path}:{line}: {what}; {why}; {remedy}")
    }
}

#[cfg(test)]
mod tests {
    use super::Finding;

    #[test]
    fn a_finding_says_where_what_why_and_what_to_do() {
        let finding = Finding::new("a/b.rs", 3, "no header", "readers start there", "add one");
        assert_eq!(
            finding.to_string(),
            "a/b.rs:3: no header; readers start there; add one"
        );
    }
}
