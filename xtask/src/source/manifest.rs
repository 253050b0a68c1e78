//! A package's `Cargo.toml`: name, folder, dependencies on other packages, fields, targets.

use toml::{Table, Value};

/// A package of the project.
#[derive(Debug)]
pub(crate) struct PackageManifest {
    /// The path of the file, from the project's root.
    pub(crate) path: String,
    /// The package's folder, from the project's root.
    pub(crate) folder: String,
    /// The package's name.
    pub(crate) name: String,
    /// What it depends on.
    pub(crate) dependencies: Vec<Dependency>,
    /// Target roots that stand where Cargo would not look for them, from the project's root.
    pub(crate) target_paths: Vec<String>,
    table: Table,
}

/// One dependency of a package.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Dependency {
    /// The name of the package depended on.
    pub(crate) package: String,
    /// For what.
    pub(crate) kind: DependencyKind,
}

/// What a dependency is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DependencyKind {
    /// For the library and the programs.
    Normal,
    /// For tests, examples and benchmarks.
    Dev,
    /// For the build script.
    Build,
}

const TABLES: [(&str, DependencyKind); 3] = [
    ("dependencies", DependencyKind::Normal),
    ("dev-dependencies", DependencyKind::Dev),
    ("build-dependencies", DependencyKind::Build),
];

impl PackageManifest {
    /// The package that the manifest at `path` describes; `None` when it only describes a
    /// workspace.
    ///
    /// # Errors
    /// The parser's message when the text is not TOML, or what is missing.
    pub(crate) fn parse(path: &str, text: &str) -> Result<Option<PackageManifest>, String> {
        let table: Table = text
            .parse()
            .map_err(|error: toml::de::Error| error.message().to_owned())?;
        let Some(package) = table.get("package").and_then(Value::as_table) else {
            return Ok(None);
        };
        let name = package
            .get("name")
            .and_then(Value::as_str)
            .ok_or("[package] has no name")?;
        let folder = path
            .strip_suffix("Cargo.toml")
            .unwrap_or(path)
            .trim_end_matches('/');
        Ok(Some(PackageManifest {
            path: path.to_owned(),
            folder: folder.to_owned(),
            name: name.to_owned(),
            dependencies: dependencies(&table),
            target_paths: target_paths(&table, folder),
            table,
        }))
    }

    /// Whether `[package]` has the field, here or inherited from the workspace.
    pub(crate) fn has_field(&self, field: &str) -> bool {
        match self
            .table
            .get("package")
            .and_then(|package| package.get(field))
        {
            Some(Value::String(text)) => !text.trim().is_empty(),
            Some(_) => true,
            None => false,
        }
    }

    /// Whether registries may have it.
    pub(crate) fn is_published(&self) -> bool {
        let package = self.table.get("package");
        package.and_then(|package| package.get("publish")?.as_bool()) != Some(false)
    }

    /// Whether the field of `[package]` is the workspace's.
    pub(crate) fn inherits(&self, field: &str) -> bool {
        let stated = self.table.get("package").and_then(|one| one.get(field));
        stated.and_then(|stated| stated.get("workspace")?.as_bool()) == Some(true)
    }

    /// Whether the examples in the documentation of its library are tests.
    pub(crate) fn has_doc_tests(&self) -> bool {
        let library = self.table.get("lib");
        library.and_then(|library| library.get("doctest")?.as_bool()) != Some(false)
    }

    /// The features without which cargo does not build the example; most need none.
    pub(crate) fn example_features(&self, example: &str) -> Vec<&str> {
        let examples = self.table.get("example").and_then(Value::as_array);
        let stated = examples
            .into_iter()
            .flatten()
            .find(|stated| stated.get("name").and_then(Value::as_str) == Some(example));
        let features = stated.and_then(|stated| stated.get("required-features")?.as_array());
        features
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect()
    }

    /// Whether the package takes the workspace's lints.
    pub(crate) fn inherits_lints(&self) -> bool {
        let lints = self
            .table
            .get("lints")
            .and_then(|lints| lints.get("workspace"));
        lints.and_then(Value::as_bool) == Some(true)
    }
}

fn dependencies(table: &Table) -> Vec<Dependency> {
    let mut found = section(table);
    let targets = table.get("target").and_then(Value::as_table);
    for target in targets
        .into_iter()
        .flat_map(Table::values)
        .filter_map(Value::as_table)
    {
        found.extend(section(target));
    }
    found
}

fn section(table: &Table) -> Vec<Dependency> {
    let mut found = Vec::new();
    for (name, kind) in TABLES {
        for (key, value) in table
            .get(name)
            .and_then(Value::as_table)
            .into_iter()
            .flatten()
        {
            let package = value.get("package").and_then(Value::as_str).unwrap_or(key);
            found.push(Dependency {
                package: package.to_owned(),
                kind,
            });
        }
    }
    found
}

fn target_paths(table: &Table, folder: &str) -> Vec<String> {
    let mut targets: Vec<&Value> = table.get("lib").into_iter().collect();
    for kind in ["bin", "example", "test", "bench"] {
        targets.extend(
            table
                .get(kind)
                .and_then(Value::as_array)
                .into_iter()
                .flatten(),
        );
    }
    let paths = targets
        .into_iter()
        .filter_map(|target| target.get("path").and_then(Value::as_str));
    paths
        .map(|path| {
            if folder.is_empty() {
                path.to_owned()
            } else {
                format!("{folder}/{path}")
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> PackageManifest {
        PackageManifest::parse("crates/x/Cargo.toml", text)
            .unwrap()
            .unwrap()
    }

    #[test]
    fn dependencies_of_every_spelling_are_found() {
        let manifest = parse(
            "[package]\nname = 'motet-x'\n[dependencies]\nmotet-a.workspace = true\n\
             other = { package = 'motet-b', version = '1' }\n[dev-dependencies.motet-c]\npath = '../c'\n\
             [target.'cfg(unix)'.build-dependencies]\nd = '1'\n",
        );
        let found: Vec<_> = manifest
            .dependencies
            .iter()
            .map(|d| (d.package.as_str(), d.kind))
            .collect();
        let wanted = [
            ("motet-a", DependencyKind::Normal),
            ("motet-b", DependencyKind::Normal),
            ("motet-c", DependencyKind::Dev),
            ("d", DependencyKind::Build),
        ];
        assert_eq!(found, wanted);
        assert_eq!(manifest.folder, "crates/x");
    }

    #[test]
    fn fields_count_when_here_or_inherited_and_not_when_empty() {
        let manifest =
            parse("[package]\nname = 'x'\nlicense.workspace = true\ndescription = ' '\n");
        assert!(manifest.has_field("license"));
        assert!(!manifest.has_field("description"));
        assert!(!manifest.has_field("keywords"));
    }

    #[test]
    fn a_package_is_published_unless_it_says_no() {
        let open = parse("[package]\nname = 'x'\nversion.workspace = true\nedition = '2024'\n");
        assert!(open.is_published() && open.inherits("version"));
        assert!(!open.inherits("edition") && !open.inherits("license"));
        assert!(!parse("[package]\nname = 'x'\npublish = false\n").is_published());
    }

    #[test]
    fn a_library_has_doc_tests_unless_it_says_no() {
        assert!(parse("[package]\nname = 'x'\n").has_doc_tests());
        assert!(parse("[package]\nname = 'x'\n[lib]\ntest = false\n").has_doc_tests());
        assert!(!parse("[package]\nname = 'x'\n[lib]\ndoctest = false\n").has_doc_tests());
    }

    #[test]
    fn an_example_needs_the_features_that_are_stated_for_it() {
        let manifest = parse(
            "[package]\nname = 'x'\n[[example]]\nname = 'a'\nrequired-features = ['f', 'g']\n\
             [[example]]\nname = 'b'\n",
        );
        assert_eq!(manifest.example_features("a"), ["f", "g"]);
        assert!(manifest.example_features("b").is_empty());
        assert!(manifest.example_features("c").is_empty());
    }

    #[test]
    fn lints_are_inherited_only_when_it_says_so() {
        assert!(parse("[package]\nname = 'x'\n[lints]\nworkspace = true\n").inherits_lints());
        assert!(
            !parse("[package]\nname = 'x'\n[lints.rust]\nmissing_docs = 'warn'\n").inherits_lints()
        );
    }

    #[test]
    fn odd_target_paths_are_kept() {
        let manifest = parse(
            "[package]\nname = 'x'\n[lib]\npath = 'a.rs'\n[[bin]]\nname = 'b'\npath = 'odd/b.rs'\n",
        );
        assert_eq!(
            manifest.target_paths,
            ["crates/x/a.rs", "crates/x/odd/b.rs"]
        );
    }

    #[test]
    fn a_workspace_alone_is_no_package_and_nonsense_is_an_error() {
        assert!(
            PackageManifest::parse("Cargo.toml", "[workspace]\n")
                .unwrap()
                .is_none()
        );
        assert!(PackageManifest::parse("Cargo.toml", "[workspace\n").is_err());
        assert!(PackageManifest::parse("Cargo.toml", "[package]\n").is_err());
    }
}
