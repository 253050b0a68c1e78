//! What a check found.

use std::fmt;

/// Why something is against the rules, and what to do about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct HouseRule(pub(crate) &'static str, pub(crate) &'static str);

impl HouseRule {
    /// A place that breaks the rule: the file from the project's root, the line from 1, and what is
    /// there.
    pub(crate) fn at(self, path: &str, line: usize, what: impl Into<String>) -> Finding {
        Finding {
            path: path.to_owned(),
            line,
            what: what.into(),
            rule: self,
        }
    }
}

/// One place that breaks a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Finding {
    /// The file, from the project's root.
    pub(crate) path: String,
    /// The line, from 1.
    pub(crate) line: usize,
    /// What is there.
    pub(crate) what: String,
    rule: HouseRule,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Finding {
            path,
            line,
            what,
            rule: HouseRule(why, remedy),
        } = self;
        write!(f, "{path}:{line}: {what}; {why}; {remedy}")
    }
}

#[cfg(test)]
mod tests {
    use super::HouseRule;

    #[test]
    fn a_finding_says_where_what_why_and_what_to_do() {
        let finding = HouseRule("readers start there", "add one").at("a/b.rs", 3, "no header");
        assert_eq!(
            finding.to_string(),
            "a/b.rs:3: no header; readers start there; add one"
        );
    }
}
