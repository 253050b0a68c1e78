//! The recipes as a user calls them.

use std::process::{Command, Stdio};

/// `cargo xtask … | head`: whoever read it has gone.
#[test]
fn a_recipe_whose_reader_has_gone_ends_quietly() {
    let mut recipe = Command::new(env!("CARGO_BIN_EXE_xtask"))
        .arg("tidy")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(recipe.stdout.take());
    let ended = recipe.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&ended.stderr);
    assert!(!said.contains("panicked"), "{said}");
    // Also where a rule is broken.
    assert!(matches!(ended.status.code(), Some(0 | 1)), "{ended:?}");
}
