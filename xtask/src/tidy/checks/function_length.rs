//! A function fits one screen: 70 lines from `fn` to its closing brace.

use crate::source::ProjectTree;
use crate::tidy::Finding;

const LIMIT: usize = 70;

pub(super) fn check(tree: &ProjectTree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (file, rust) in tree.rust() {
        for function in rust.functions.iter().filter(|one| one.lines > LIMIT) {
            findings.push(Finding::new(
                &file.path,
                function.line,
                format!(
                    "`{}` has {} lines, more than {LIMIT}",
                    function.name, function.lines
                ),
                "a function should fit one screen",
                "give its steps names of their own",
            ));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(lines: usize) -> Vec<usize> {
        let text = format!("\nfn f() {{\n{}}}\n", "\n".repeat(lines - 2));
        check(&ProjectTree::of(&[("a.rs", &text)]))
            .iter()
            .map(|finding| finding.line)
            .collect()
    }

    #[test]
    fn the_limit_itself_is_well_and_one_more_is_not() {
        assert!(found(70).is_empty());
        assert_eq!(found(71), [2]);
    }
}
