//! A package's `Cargo.toml`: name, folder, dependencies on other packages, fields; what the root's
//! says of the whole workspace.

use toml::{Table, Value};

/// A package of the project.
#[derive(Debug, Clone)]
pub(crate) struct PackageManifest {
    /// The path of the file, from the project's root.
    pub(crate) path: String,
    /// The package's folder, from the project's root.
    pub(crate) folder: String,
    /// The package's name.
    pub(crate) name: String,
    /// What it depends on.
    pub(crate) dependencies: Vec<Dependency>,
    table: Table,
}

/// One dependency of a package.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Dependency {
    /// The name of the package depended on.
    pub(crate) package: String,
    /// Whether only tests, examples and benchmarks need it.
    pub(crate) is_dev: bool,
}

impl PackageManifest {
    /// The package that the manifest at `path` describes; `None` when it only describes a
    /// workspace.
    ///
    /// # Errors
    /// The parser's message when the text is not TOML, or what is missing.
    pub(crate) fn parse(path: &str, text: &str) -> Result<Option<PackageManifest>, String> {
        let table = table(text)?;
        if !table.contains_key("package") {
            return Ok(None);
        }
        let name = get(&table, "package.name").and_then(Value::as_str);
        let folder = path.trim_end_matches("Cargo.toml").trim_end_matches('/');
        Ok(Some(PackageManifest {
            path: path.to_owned(),
            folder: folder.to_owned(),
            name: name.ok_or("[package] has no name")?.to_owned(),
            dependencies: dependencies(&table),
            table,
        }))
    }

    /// The path of a file from the package's folder, if it lies there.
    pub(crate) fn inside<'a>(&self, file: &'a str) -> Option<&'a str> {
        let inside = file.strip_prefix(self.folder.as_str())?;
        match self.folder.is_empty() {
            true => Some(inside),
            false => inside.strip_prefix('/'),
        }
    }

    /// Whether `[package]` has the field, here or inherited from the workspace.
    pub(crate) fn has_field(&self, field: &str) -> bool {
        let value = get(&self.table, &format!("package.{field}"));
        value.is_some_and(|value| value.as_str().is_none_or(|text| !text.trim().is_empty()))
    }

    /// Whether registries may have it.
    pub(crate) fn is_published(&self) -> bool {
        self.says("package.publish") != Some(false)
    }

    /// Whether the field of `[package]` is the workspace's.
    pub(crate) fn inherits(&self, field: &str) -> bool {
        self.says(&format!("package.{field}.workspace")) == Some(true)
    }

    /// Yes or no, when it is stated: `lib.doctest`.
    pub(crate) fn says(&self, path: &str) -> Option<bool> {
        get(&self.table, path)?.as_bool()
    }
}

/// `[workspace.package]` and the packages of the project in `[workspace.dependencies]`.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Workspace {
    /// The version that packages inherit.
    pub(crate) version: String,
    /// The oldest compiler that is promised.
    pub(crate) rust: String,
    /// Name and version of each dependency that lies in the project.
    pub(crate) own: Vec<(String, Option<String>)>,
}

impl Workspace {
    /// Reads the text of the root's manifest.
    ///
    /// # Errors
    /// The parser's message, or what is missing.
    pub(crate) fn parse(text: &str) -> Result<Workspace, String> {
        let table = table(text)?;
        table.get("workspace").ok_or("there is no [workspace]")?;
        let package = |field: &str| {
            let value = get(&table, &format!("workspace.package.{field}"));
            let text = value.and_then(Value::as_str).map(str::to_owned);
            text.ok_or_else(|| format!("[workspace.package] has no {field}"))
        };
        let stated = get(&table, "workspace.dependencies").and_then(Value::as_table);
        let own = stated.into_iter().flatten().filter_map(|(name, value)| {
            value.get("path")?;
            let version = value.get("version").and_then(Value::as_str);
            Some((name.clone(), version.map(str::to_owned)))
        });
        Ok(Workspace {
            version: package("version")?,
            rust: package("rust-version")?,
            own: own.collect(),
        })
    }
}

/// The text of a manifest as a table.
///
/// # Errors
/// The parser's message.
pub(crate) fn table(text: &str) -> Result<Table, String> {
    let read = text.parse();
    read.map_err(|error: toml::de::Error| error.message().to_owned())
}

/// What stands at the end of a path of keys, `a.b.c`.
pub(crate) fn get<'a>(table: &'a Table, path: &str) -> Option<&'a Value> {
    let mut keys = path.split('.');
    let first = table.get(keys.next()?);
    keys.fold(first, |value, key| value?.get(key))
}

/// The values of an array; none where there is none.
pub(crate) fn list(value: Option<&Value>) -> impl Iterator<Item = &Value> {
    value.and_then(Value::as_array).into_iter().flatten()
}

fn dependencies(table: &Table) -> Vec<Dependency> {
    let targets = table.get("target").and_then(Value::as_table);
    let targets = targets
        .into_iter()
        .flat_map(Table::values)
        .filter_map(Value::as_table);
    let mut found = Vec::new();
    for section in std::iter::once(table).chain(targets) {
        for name in ["dependencies", "dev-dependencies", "build-dependencies"] {
            let stated = section.get(name).and_then(Value::as_table);
            found.extend(stated.into_iter().flatten().map(|(key, value)| {
                let package = value.get("package").and_then(Value::as_str).unwrap_or(key);
                Dependency {
                    package: package.to_owned(),
                    is_dev: name == "dev-dependencies",
                }
            }));
        }
    }
    found
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
            .map(|d| (d.package.as_str(), d.is_dev))
            .collect();
        let wanted = [
            ("motet-a", false),
            ("motet-b", false),
            ("motet-c", true),
            ("d", false),
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
    fn what_a_manifest_says_is_found_by_its_path() {
        let manifest =
            parse("[package]\nname = 'x'\n[lib]\ndoctest = false\n[lints]\nworkspace = true");
        assert_eq!(manifest.says("lib.doctest"), Some(false));
        assert_eq!(manifest.says("lints.workspace"), Some(true));
        for unsaid in ["lib.test", "lib.doctest.x", "bin", "package.name"] {
            assert_eq!(manifest.says(unsaid), None, "{unsaid}");
        }
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

    #[test]
    fn the_version_and_own_dependencies_are_read() {
        let text = "[workspace.package]\nversion = '1.2.3'\nrust-version = '1.95'\n\
                    [workspace.dependencies]\na = { path = 'a', version = '1.2.3' }\n\
                    b = { path = 'b' }\nserde = '1'\n";
        let read = Workspace::parse(text).unwrap();
        assert_eq!((&*read.version, &*read.rust), ("1.2.3", "1.95"));
        let wanted = [("a".into(), Some("1.2.3".into())), ("b".into(), None)];
        assert_eq!(read.own, wanted);
    }

    #[test]
    fn what_is_missing_is_named() {
        let of = |text: &str| Workspace::parse(text).unwrap_err();
        assert_eq!(of("[package]\n"), "there is no [workspace]");
        assert_eq!(of("[workspace]\n"), "[workspace.package] has no version");
        assert!(!of("[workspace").is_empty());
    }
}
