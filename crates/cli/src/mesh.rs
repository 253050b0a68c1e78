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
    MeshKeysNewArgs, MeshKeysPassArgs, MeshLinkArgs, MeshPeersArgs, MeshPubArgs, MeshSubArgs,
    MeshTopArgs,
};

pub(crate) use listens::Listens;

use std::time::Duration;

use motet::mesh::{Key, MeshRights};
use motet_mesh_zenoh::{KeyFileError, MeshPass, MeshPassConfig, RunKey};
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
            MeshKeysCommand::Pass(pass) => new_pass(pass),
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

fn new_pass(args: &MeshKeysPassArgs) -> Result<(), CliError> {
    let refused = |error: KeyFileError| CliError::Service(error.to_string());
    let key = RunKey::read(&args.key).map_err(refused)?;
    let config = MeshPassConfig {
        name: args.name.clone(),
        rights: MeshRights::only(args.publish.clone(), args.subscribe.clone()),
        lasts: Some(Duration::from_secs(args.days * 24 * 60 * 60)),
    };
    let pass = MeshPass::make(&key, &config, &args.file).map_err(refused)?;
    print(|to| {
        if args.json {
            let keys = |filters: &[Key]| filters.iter().map(Key::to_string).collect::<Vec<_>>();
            let (publish, subscribe) = (keys(&args.publish), keys(&args.subscribe));
            let line = json!({"file": args.file, "name": pass.name(), "publish": publish, "subscribe": subscribe,
                "until": pass.until()});
            return writeln!(to, "{line}");
        }
        let (file, name, rights) = (args.file.display(), pass.name(), pass.rights());
        writeln!(
            to,
            "{file} lets a node in as {name}, which {rights}, for {} days: --pass {file}",
            args.days
        )?;
        writeln!(
            to,
            "Who has it joins as {name}: copy it over links that are safe, with mode 0600. It ends by itself, or \
             with the key of the mesh."
        )
    })
}
