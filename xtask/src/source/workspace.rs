//! What the root's `Cargo.toml` says of the whole workspace.

use super::manifest::{get, table};
use toml::Value;

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

#[cfg(test)]
mod tests {
    use super::*;

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
