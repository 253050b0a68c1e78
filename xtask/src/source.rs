//! The project's files as text: the tree, Rust sources by their tokens, the module tree that `mod`
//! spells, and the manifests.
//!
//! No compiler's parser: a check must also say something useful about a file that does not compile.

mod file;
mod manifest;
mod modules;
mod rust;
mod tree;

pub(crate) use file::{SourceFile, resolve};
pub(crate) use manifest::{Dependency, PackageManifest, Workspace, get, list, table};
pub(crate) use modules::{Module, Modules};
pub(crate) use rust::{NamedPath, Rust, RustFunction};
pub(crate) use tree::ProjectTree;
