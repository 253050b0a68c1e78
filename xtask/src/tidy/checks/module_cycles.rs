//! Modules inside a crate form no cycle, at any depth.
//!
//! The children of a module, each with all that is below it, are the nodes. What one names of
//! another with `crate::` or `super::`, also through a name that a module re-exports, is an edge.
//! Test code does not count: tests may look everywhere. Nor does what a module itself defines for
//! its children.

use crate::source::{Module, NamedPath, ProjectTree, Rust};
use crate::tidy::allow_list::excuse;
use crate::tidy::{Finding, HouseRule};
use std::collections::{BTreeMap, BTreeSet};

const LIST: &str = "xtask/allow-cycles.txt";

const APART: HouseRule = HouseRule(
    "a reader of one must read them all",
    "move what both need into a module below them, or turn one of the uses round",
);

/// For each module the modules beside it that it names, with the first place where it does.
type Graph = BTreeMap<String, BTreeMap<String, (String, usize)>>;

pub(super) fn check(tree: &ProjectTree) -> Vec<Finding> {
    let crates = tree
        .modules()
        .roots()
        .map(|module| Crate::of(tree, &module.root));
    let graphs = crates.flat_map(|one| one.graphs().into_values());
    excuse(tree, LIST, graphs.flat_map(cycles).collect(), |cycle| {
        &cycle.path
    })
}

/// The modules of one crate.
struct Crate<'a> {
    modules: Vec<(&'a Module, &'a Rust, Vec<NamedPath>)>,
    paths: BTreeSet<&'a [String]>,
    /// For each module the names that it brings into scope from below it, and from which module.
    exports: BTreeMap<&'a [String], BTreeSet<(String, Vec<String>)>>,
}

impl<'a> Crate<'a> {
    fn of(tree: &'a ProjectTree, root: &str) -> Crate<'a> {
        let all = tree.modules().all().iter();
        let own = all.filter(|module| module.root == root && !module.test_only);
        let modules: Vec<_> = own
            .filter_map(|module| {
                let rust = tree.file(&module.file)?.rust.as_ref()?;
                let mut paths = rust.paths.clone();
                paths.retain(|path| !rust.in_test(path.offset));
                Some((module, rust, paths))
            })
            .collect();
        let paths = modules.iter().map(|(module, ..)| &module.path[..]);
        let mut own = Crate {
            paths: paths.collect(),
            modules,
            exports: BTreeMap::new(),
        };
        let mut exports = BTreeMap::<_, BTreeSet<_>>::new();
        for (module, rust, paths) in &own.modules {
            for path in paths {
                let Some(name) = &path.brings else { continue };
                let from = own.place(&absolute(module, rust, path).0);
                if from.len() > module.path.len() && from.starts_with(&module.path) {
                    let names = exports.entry(&module.path[..]).or_default();
                    names.insert((name.clone(), from));
                }
            }
        }
        own.exports = exports;
        own
    }

    /// The deepest module that the path leads through.
    fn place(&self, path: &[String]) -> Vec<String> {
        let mut length = path.len();
        while !self.paths.contains(&path[..length]) && length > 0 {
            length -= 1;
        }
        path[..length].to_vec()
    }

    /// The modules where what the path names may be defined.
    fn places(&self, path: &[String]) -> Vec<Vec<String>> {
        let place = self.place(path);
        let named = path.get(place.len()).map_or("", String::as_str);
        let exports = self.exports.get(&place[..]).into_iter().flatten();
        let named = exports.filter(|(name, _)| name == named || named == "*");
        let found: Vec<_> = named.map(|(_, from)| from.clone()).collect();
        if found.is_empty() { vec![place] } else { found }
    }

    /// The graph of the children of each module.
    fn graphs(&self) -> BTreeMap<Vec<String>, Graph> {
        let mut graphs = BTreeMap::<Vec<String>, Graph>::new();
        for (module, rust, paths) in &self.modules {
            for path in paths {
                let (parts, is_absolute) = absolute(module, rust, path);
                for place in self.places(&parts).iter().filter(|_| is_absolute) {
                    let same = module.path.iter().zip(place);
                    let same = same.take_while(|(one, other)| one == other).count();
                    let (Some(own), Some(_)) = (module.path.get(same), place.get(same)) else {
                        continue;
                    };
                    let graph = graphs.entry(place[..same].to_vec()).or_default();
                    let from = [&place[..same], std::slice::from_ref(own)].concat();
                    let others = graph.entry(from.join("::")).or_default();
                    others
                        .entry(place[..=same].join("::"))
                        .or_insert_with(|| (module.file.clone(), rust.line(path.offset)));
                }
            }
        }
        graphs
    }
}

/// The path from the crate's root, and whether it says so itself; else it begins where it stands.
fn absolute(module: &Module, rust: &Rust, path: &NamedPath) -> (Vec<String>, bool) {
    let parts = path.parts.iter().skip_while(|part| *part == "self");
    let mut parts = parts.peekable();
    if parts.next_if(|part| *part == "crate").is_some() {
        return (parts.cloned().collect(), true);
    }
    let mut base = module.path.clone();
    base.extend(rust.inline_modules(path.offset));
    let mut goes_up = false;
    while parts.next_if(|part| *part == "super").is_some() {
        goes_up = true;
        base.pop();
    }
    base.extend(parts.cloned());
    (base, goes_up)
}

/// A finding for each cycle; cycles that share a module are told as one.
fn cycles(mut graph: Graph) -> Vec<Finding> {
    let mut findings = Vec::new();
    loop {
        // What names none of the others that are left is on no cycle.
        let left: BTreeSet<String> = graph.keys().cloned().collect();
        graph.retain(|_, others| {
            others.retain(|name, _| left.contains(name));
            !others.is_empty()
        });
        let Some(first) = graph.keys().next() else {
            return findings;
        };
        if graph.len() < left.len() {
            continue;
        }
        let mut way = vec![first];
        let cycle = loop {
            let (next, _) = graph[way[way.len() - 1]]
                .first_key_value()
                .expect("it names one");
            match way.iter().position(|module| *module == next) {
                Some(begin) => break way.split_off(begin),
                None => way.push(next),
            }
        };
        let mut told = Vec::new();
        for (from, to) in cycle.iter().zip(cycle.iter().cycle().skip(1)) {
            let (file, line) = &graph[*from][*to];
            told.push(format!("{from} -> {to} ({file}:{line})"));
        }
        let (file, line) = &graph[cycle[0]][cycle[1 % cycle.len()]];
        let what = format!("modules form a cycle: {}", told.join(", "));
        findings.push(APART.at(file, *line, what));
        let cycle: BTreeSet<String> = cycle.into_iter().cloned().collect();
        graph.retain(|module, _| !cycle.contains(module));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let mut all = vec![("a/Cargo.toml", "[package]\nname = 'a'\n")];
        all.extend(files);
        check(&ProjectTree::of(&all))
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
    fn modules_below_a_module_form_no_cycle_either() {
        let files = [
            ("a/src/lib.rs", "mod x;"),
            (
                "a/src/x.rs",
                "mod one; mod two; pub(crate) use two::Two; struct Own;",
            ),
            ("a/src/x/one.rs", "use super::Two;"),
            (
                "a/src/x/two.rs",
                "use super::Own; use crate::x::one::deep::f;",
            ),
        ];
        let cycle = "modules form a cycle: x::one -> x::two (a/src/x/one.rs:1), x::two -> x::one (a/src/x/two.rs:1)";
        assert_eq!(found(&files), [cycle]);
        let named = (LIST, "a/src/x/  they are two halves of one step\n");
        assert!(found(&[files[0], files[1], files[2], files[3], named]).is_empty());
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
