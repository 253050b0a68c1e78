//! The project's files as text: the tree, Rust sources with comments and literals blanked, the
//! module tree that `mod` spells, the paths that sources name, and the manifests.
//!
//! No compiler's parser: a check must also say something useful about a file that does not compile.

mod file;
mod manifest;
mod mask;
mod modules;
mod paths;
mod rust;
mod tree;
mod workspace;

pub(crate) use file::SourceFile;
pub(crate) use manifest::{Dependency, DependencyKind, PackageManifest};
pub(crate) use modules::{Module, Modules};
pub(crate) use paths::{NamedPath, named_paths};
pub(crate) use rust::Rust;
pub(crate) use tree::ProjectTree;
pub(crate) use workspace::Workspace;
