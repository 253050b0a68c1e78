//! Modules inside a crate form no cycle.
//!
//! A module is a file or folder directly below a crate's root; what it names with `crate::` or
//! `super::`, also through a name that the root re-exports, is an edge. Test code does not count:
//! tests may look everywhere. Nor does what the root itself defines.

use crate::source::{Module, NamedPath, Rust, Tree, named_paths};
use crate::tidy::Finding;
use std::collections::{BTreeMap, BTreeSet};

/// For each module the modules it names, with the first place where it does.
type Graph = BTreeMap<String, BTreeMap<String, (String, usize)>>;

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let roots: BTreeSet<&str> = tree
        .modules()
        .all()
        .iter()
        .map(|module| module.root.as_str())
        .collect();
    roots
        .into_iter()
        .flat_map(|root| cycles(&graph(tree, root)))
        .collect()
}

fn graph(tree: &Tree, root: &str) -> Graph {
    let modules: Vec<&Module> = tree
        .modules()
        .all()
        .iter()
        .filter(|module| module.root == root)
        .collect();
    let top: BTreeSet<&str> = modules
        .iter()
        .filter_map(|m| m.path.first())
        .map(String::as_str)
        .collect();
    let rust_of = |file: &str| tree.file(file).and_then(|file| file.rust.as_ref());
    let exports = rust_of(root)
        .map(|rust| exports(rust, &top))
        .unwrap_or_default();
    let mut graph = Graph::new();
    for module in modules.iter().filter(|module| !module.test_only) {
        let (Some(own), Some(rust)) = (module.path.first(), rust_of(&module.file)) else {
            continue;
        };
        for path in named_paths(rust)
            .iter()
            .filter(|path| !rust.in_test(path.offset))
        {
            let Some(name) = below_root(module, rust, path) else {
                continue;
            };
            let named: Vec<&str> = match top.get(name) {
                Some(module) => vec![module],
                None if name == "*" => exports.values().flatten().copied().collect(),
                None => exports.get(name).into_iter().flatten().copied().collect(),
            };
            for other in named.into_iter().filter(|other| other != own) {
                let place = || (module.file.clone(), rust.line(path.offset));
                graph
                    .entry(own.clone())
                    .or_default()
                    .entry(other.to_owned())
                    .or_insert_with(place);
            }
        }
    }
    graph
}

/// Which modules the names that the root brings into scope come from.
fn exports<'a>(root: &Rust, top: &BTreeSet<&'a str>) -> BTreeMap<String, BTreeSet<&'a str>> {
    let mut exports = BTreeMap::<String, BTreeSet<&str>>::new();
    for path in named_paths(root) {
        let Some(name) = &path.brings else { continue };
        let parts = path
            .parts
            .iter()
            .map(String::as_str)
            .skip_while(|part| matches!(*part, "self" | "crate"));
        if let Some(module) = parts.into_iter().next().and_then(|first| top.get(first)) {
            exports.entry(name.clone()).or_default().insert(module);
        }
    }
    exports
}

/// The first name below the crate's root of a path that starts at the root.
fn below_root<'a>(module: &Module, rust: &Rust, path: &'a NamedPath) -> Option<&'a str> {
    let first = path.parts.first()?;
    if first == "crate" {
        return path.parts.get(1).map(String::as_str);
    }
    let ups = path
        .parts
        .iter()
        .skip_while(|part| *part == "self")
        .take_while(|part| *part == "super")
        .count();
    let depth = module.path.len() + rust.inline_modules(path.offset).len();
    if ups == 0 || ups != depth {
        return None;
    }
    path.parts
        .iter()
        .find(|part| *part != "self" && *part != "super")
        .map(String::as_str)
}

/// One finding for each set of modules that name each other: the shortest cycle through its first.
fn cycles(graph: &Graph) -> Vec<Finding> {
    let (mut findings, mut told) = (Vec::new(), BTreeSet::new());
    for start in graph.keys() {
        if told.contains(start) {
            continue;
        }
        let Some(cycle) = shortest_cycle(graph, start) else {
            continue;
        };
        told.extend(cycle.iter().cloned());
        let steps = cycle.iter().zip(cycle.iter().cycle().skip(1));
        let places: Vec<String> = steps
            .map(|(from, to)| {
                let (file, line) = &graph[from][to];
                format!("{from} -> {to} ({file}:{line})")
            })
            .collect();
        let (file, line) = &graph[&cycle[0]][cycle.get(1).unwrap_or(&cycle[0])];
        findings.push(Finding::new(
            file,
            *line,
            format!("modules form a cycle: {}", places.join(", ")),
            "a reader of one must read them all",
            "move what both need into a module below them, or turn one of the uses round",
        ));
    }
    findings
}

fn shortest_cycle(graph: &Graph, start: &str) -> Option<Vec<String>> {
    let mut ways = vec![vec![start.to_owned()]];
    let mut seen = BTreeSet::new();
    while !ways.is_empty() {
        let mut longer = Vec::new();
        for way in ways {
            let last = way.last().expect("a way has a start");
            for next in graph.get(last).into_iter().flat_map(BTreeMap::keys) {
                if next == start {
                    return Some(way);
                }
                if seen.insert(next.clone()) {
                    longer.push(way.iter().cloned().chain([next.clone()]).collect());
                }
            }
        }
        ways = longer;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let mut all = vec![("a/Cargo.toml", "[package]\nname = 'a'\n")];
        all.extend(files);
        check(&Tree::of(&all))
            .iter()
            .map(|finding| finding.what.clone())
            .collect()
    }

    #[test]
    fn a_line_of_modules_is_well() {
        let files = [
            ("a/src/lib.rs", "mod x; mod y; mod z; pub use x::X;"),
            ("a/src/x.rs", "use crate::y::Y;"),
            ("a/src/y.rs", "fn f() { super::z::g() }"),
            (
                "a/src/z.rs",
                "// crate::x\n#[cfg(test)]\nmod tests { use crate::x::X; }",
            ),
        ];
        assert!(found(&files).is_empty());
    }

    #[test]
    fn a_cycle_is_told_with_its_path_and_places() {
        let files = [
            ("a/src/lib.rs", "mod x; mod y; mod z;"),
            ("a/src/x.rs", "use crate::{y::Y};"),
            ("a/src/y.rs", "\nfn f() { super::z::g() }"),
            ("a/src/z.rs", "use crate::x;"),
        ];
        let cycle = "modules form a cycle: x -> y (a/src/x.rs:1), y -> z (a/src/y.rs:2), z -> x (a/src/z.rs:1)";
        assert_eq!(found(&files), [cycle]);
    }

    #[test]
    fn a_name_that_the_root_exports_leads_to_its_module() {
        let files = [
            (
                "a/src/lib.rs",
                "mod x; mod y; pub use x::X as Z; pub use self::y::Y;",
            ),
            ("a/src/x.rs", "use crate::Y;"),
            ("a/src/y.rs", "fn f() -> crate::Z {}"),
        ];
        assert_eq!(found(&files).len(), 1);
        let glob = [files[0], files[1], ("a/src/y.rs", "use super::*;")];
        assert_eq!(found(&glob).len(), 1);
    }

    #[test]
    fn nested_files_and_inline_modules_count_their_own_depth() {
        let files = [
            ("a/src/lib.rs", "mod x; mod y;"),
            ("a/src/x.rs", "mod deep; use crate::y;"),
            (
                "a/src/x/deep.rs",
                "use super::y_of_x; mod inner { use super::super::y; }",
            ),
            ("a/src/y.rs", ""),
        ];
        assert!(found(&files).is_empty());
        let up = [
            files[0],
            files[1],
            files[2],
            ("a/src/y.rs", "mod inner { use super::super::x; }"),
        ];
        assert_eq!(found(&up).len(), 1);
    }

    #[test]
    fn crates_of_one_package_are_judged_apart() {
        let files = [
            ("a/src/lib.rs", "mod x; mod y;"),
            ("a/src/x.rs", "use crate::y;"),
            ("a/src/y.rs", ""),
            ("a/tests/t/main.rs", "mod x; mod y;"),
            ("a/tests/t/x.rs", ""),
            ("a/tests/t/y.rs", "use crate::x;"),
        ];
        assert!(found(&files).is_empty());
    }
}
