//! `motet mesh`: publish and subscribe from a shell.

mod args;
mod listens;
mod member;
mod peers;
mod publish;
mod start_from;
mod subscribe;
mod top;

pub use args::{
    ClassOfTopic, MeshArgs, MeshCommand, MeshJoinArgs, MeshKeysArgs, MeshKeysCommand,
    MeshKeysNewArgs, MeshLinkArgs, MeshPeersArgs, MeshPubArgs, MeshSubArgs, MeshTopArgs,
};

pub(crate) use listens::Listens;

use motet_mesh_zenoh::RunKey;
use serde_json::json;

use crate::error::CliError;
use crate::stdout::print;

/// Does what was asked.
///
/// # Errors
/// A mesh that cannot be joined, a key that is none, samples that were not accepted.
pub(crate) fn run(args: &MeshArgs) -> Result<(), CliError> {
    match &args.command {
        MeshCommand::Join(join) => peers::join(join),
        MeshCommand::Pub(publish) => publish::run(publish),
        MeshCommand::Sub(subscribe) => subscribe::run(subscribe),
        MeshCommand::Peers(list) => peers::list(list),
        MeshCommand::Top(top) => top::run(top),
        MeshCommand::Keys(keys) => match &keys.command {
            MeshKeysCommand::New(new) => new_key(new),
        },
    }
}

fn new_key(args: &MeshKeysNewArgs) -> Result<(), CliError> {
    RunKey::make(&args.file).map_err(|error| CliError::Service(error.to_string()))?;
    print(|to| {
        if args.json {
            return writeln!(to, "{}", json!({"file": args.file}));
        }
        let file = args.file.display();
        writeln!(
            to,
            "{file} is the key of a mesh. Give it to each node: --key {file}"
        )?;
        writeln!(
            to,
            "Who has it is a member: copy it over links that are safe, with mode 0600."
        )
    })
}
