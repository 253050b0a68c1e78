//! `motet keys`: certificates and tokens of a node.

use std::path::{Path, PathBuf};

use clap::builder::RangedU64ValueParser;
use clap::{Args, Subcommand};
use motet_http::Keys;
use serde_json::json;

use crate::error::CliError;
use crate::stdout::print;
use crate::text::shell_word;

/// Options of `motet keys`.
#[derive(Debug, Clone, Args)]
#[command(
    about = "Make the certificate of a node, and tokens for those who may call it",
    long_about = "Make the certificate of a node, and tokens for those who may call it.\n\nA node that other machines \
                  can reach speaks TLS and asks for a token. The folder of keys is for the node; its ca.pem and one \
                  of its tokens are for a client.",
    after_long_help = "Examples:\n  motet keys new keys --host robot.example\n  motet serve house.toml --listen \
                       0.0.0.0:50000 --keys keys\n  motet keys token keys arm --role operator --days 30\n  motet \
                       call /drive --url https://robot.example:50000 --ca ca.pem --token admin.token\n  motet keys leaf \
                       keys hub --role operator --host hub.example\n  motet serve house.toml --keys keys --mutual\n  \
                       motet call /drive --url https://robot.example:50000 --ca ca.pem --cert hub.pem"
)]
pub struct KeysArgs {
    /// What to make.
    #[command(subcommand)]
    pub what: KeysCommand,
}

/// What is made.
#[derive(Debug, Clone, Subcommand)]
#[non_exhaustive]
pub enum KeysCommand {
    /// Make a folder of keys: an authority, a certificate, the tokens admin and viewer
    New(NewArgs),
    /// Add a token
    Token(TokenArgs),
    /// Make a certificate for another server, or for a client that has no token
    Leaf(LeafArgs),
}

/// Options of `motet keys new`.
#[derive(Debug, Clone, Args)]
pub struct NewArgs {
    /// The folder, which is not there yet
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,

    /// A name or an address of the node, beside localhost; may be given again
    #[arg(long, value_name = "NAME")]
    pub host: Vec<String>,

    /// How long the certificate and the tokens last
    #[arg(long, value_name = "DAYS", default_value_t = 365, value_parser = days())]
    pub days: u64,

    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

/// Options of `motet keys token`.
#[derive(Debug, Clone, Args)]
pub struct TokenArgs {
    /// The folder of keys
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,

    /// Whose token it is
    #[arg(value_name = "NAME")]
    pub name: String,

    /// The role, to which the rules of services apply; a viewer changes nothing
    #[arg(long, value_name = "ROLE", default_value = "viewer")]
    pub role: String,

    /// How long it lasts
    #[arg(long, value_name = "DAYS", default_value_t = 365, value_parser = days())]
    pub days: u64,
}

/// Options of `motet keys leaf`.
#[derive(Debug, Clone, Args)]
pub struct LeafArgs {
    /// The folder of keys, with the key of the authority
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,

    /// Whose certificate it is
    #[arg(value_name = "NAME")]
    pub name: String,

    /// The role in which it calls; a viewer changes nothing
    #[arg(long, value_name = "ROLE", default_value = "viewer")]
    pub role: String,

    /// A name or an address of the server that has it, beside localhost; may be given again
    #[arg(long, value_name = "NAME")]
    pub host: Vec<String>,

    /// How long it lasts
    #[arg(long, value_name = "DAYS", default_value_t = 90, value_parser = days())]
    pub days: u64,
}

/// Days that something lasts: a whole one at least, a hundred years at most.
fn days() -> RangedU64ValueParser<u64> {
    RangedU64ValueParser::new().range(1..=36_525)
}

/// Makes keys, and says where they are.
///
/// # Errors
/// A folder that is there already or cannot be written; a name that is none.
pub(crate) fn run(args: &KeysArgs) -> Result<(), CliError> {
    let refused = |error: motet_http::KeysError| CliError::Service(error.to_string());
    match &args.what {
        KeysCommand::New(new) => {
            Keys::make(&new.folder, &new.host, new.days).map_err(refused)?;
            let folder = new.folder.display();
            print(|to| {
                if new.json {
                    let files = json!({"folder": new.folder, "ca": new.folder.join("ca.pem"),
                        "tokens": {"admin": new.folder.join("admin.token"), "viewer": new.folder.join("viewer.token")}});
                    return writeln!(to, "{files}");
                }
                writeln!(
                    to,
                    "{folder} holds the keys of a node, for {} days:",
                    new.days
                )?;
                let word = shell_word(new.folder.as_os_str());
                writeln!(to, "  for the node     motet serve --keys {word}")?;
                writeln!(
                    to,
                    "  for its clients  {folder}/ca.pem, {folder}/admin.token, {folder}/viewer.token"
                )?;
                writeln!(
                    to,
                    "Keep {folder}/ca.key elsewhere: it makes certificates, and the node needs it not."
                )
            })
        }
        KeysCommand::Leaf(leaf) => {
            let LeafArgs {
                folder, name, role, ..
            } = leaf;
            let file = Keys::add_leaf(folder, name, role, &leaf.host, leaf.days);
            let file = file.map_err(refused)?;
            print(|to| {
                let word = |path: &Path| shell_word(path.as_os_str());
                let (ca, cert) = (word(&folder.join("ca.pem")), word(&file));
                let (file, folder) = (file.display(), word(folder));
                writeln!(
                    to,
                    "{file} and its key are for the role {role}, for {} days. Nodes of the authority know it at once:",
                    leaf.days
                )?;
                writeln!(to, "  as a client  motet call … --ca {ca} --cert {cert}")?;
                writeln!(
                    to,
                    "  as a server  motet serve --keys {folder} --leaf {name}"
                )
            })
        }
        KeysCommand::Token(token) => {
            let file = Keys::add_token(&token.folder, &token.name, &token.role, token.days);
            let file = file.map_err(refused)?;
            print(|to| {
                writeln!(
                    to,
                    "{} is a token for the role {}, for {} days. Nodes that start from now on know it.",
                    file.display(),
                    token.role,
                    token.days
                )
            })
        }
    }
}
