//! The options of `motet mesh`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{ArgGroup, Args, Subcommand, ValueEnum};
use motet::mesh::{Key, KeyError, StartFrom};

use super::start_from::start_from;

/// Options of `motet mesh`.
#[derive(Debug, Clone, Args)]
#[command(
    about = "Publish and subscribe between processes and machines",
    long_about = "Publish and subscribe between processes and machines.\n\nNodes of one user on one machine find each \
                  other without options. Other machines need a key, which all nodes have, and an address.",
    after_long_help = "Examples:\n  motet mesh sub 'tank/*/level'\n  echo 2.5 | motet mesh pub tank/3/level\n  printf \
                       '3/level\\t2.5\\n4/level\\t7\\n' | motet mesh pub tank --keyed\n  motet \
                       mesh pub orders --class durable --log orders/ < orders.txt\n  motet mesh sub orders \
                       --from all\n  motet \
                       mesh keys new robot.key\n  motet mesh keys pass camera.pass --key robot.key --name camera --publish \
                       'camera/**'\n  motet mesh sub '**' --key robot.key --listen 10.0.0.5:7450\n  motet \
                       mesh pub camera/left --key robot.key --peer 10.0.0.5:7450 --listen 10.0.0.6:0"
)]
pub struct MeshArgs {
    /// What to do.
    #[command(subcommand)]
    pub command: MeshCommand,
}

/// What `motet mesh` does.
#[derive(Debug, Clone, Subcommand)]
#[non_exhaustive]
pub enum MeshCommand {
    /// Stay in the mesh, and say who comes and goes
    Join(MeshJoinArgs),
    /// Publish lines under a key
    Pub(MeshPubArgs),
    /// Print samples as they come
    Sub(MeshSubArgs),
    /// Say who is in the mesh
    Peers(MeshPeersArgs),
    /// Say each second how much is published
    Top(MeshTopArgs),
    /// Make the key of a mesh, and passes to it
    Keys(MeshKeysArgs),
}

/// How a node gets into the mesh.
#[derive(Debug, Clone, Args)]
pub struct MeshLinkArgs {
    /// The name of this node [default: motet-PID-DIGITS with digits that each start draws, with
    /// --pass that of the pass]
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,

    /// The file with the key of the mesh
    #[arg(long, value_name = "FILE", group = "membership")]
    pub key: Option<PathBuf>,

    /// The file of a pass, in place of the key: this node has the name in it, and may do what it
    /// says (motet mesh keys pass)
    #[arg(long, value_name = "FILE", group = "membership")]
    pub pass: Option<PathBuf>,

    /// Where to listen; may be given again [default: a free port of 127.0.0.1]
    #[arg(long, value_name = "HOST:PORT")]
    pub listen: Vec<String>,

    /// A node to connect to; may be given again. One that has not answered soon is named, and tried
    /// again
    #[arg(long, value_name = "HOST:PORT", requires = "membership")]
    pub peer: Vec<String>,

    /// The folder where nodes find each other [default: one of this user, without --peer and
    /// --multicast]
    #[arg(long, value_name = "DIR")]
    pub rendezvous: Option<PathBuf>,

    /// Show this node in a console by HTTP, at this address of the machine; port 0 is any that is
    /// free
    #[arg(long, value_name = "HOST:PORT")]
    pub console: Option<SocketAddr>,

    /// Look for nodes of the local network
    #[arg(long, requires = "membership")]
    pub multicast: bool,
}

/// Options of `motet mesh join`.
#[derive(Debug, Clone, Args)]
pub struct MeshJoinArgs {
    /// How to get into the mesh.
    #[command(flatten)]
    pub link: MeshLinkArgs,

    /// Print one JSON object for each change
    #[arg(long)]
    pub json: bool,
}

/// The delivery class of what is published.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
#[non_exhaustive]
pub enum ClassOfTopic {
    /// A slow subscriber misses the oldest
    Latest,
    /// A slow subscriber holds the publisher back
    Reliable,
    /// The same, and what was not accepted is sent again over a new link
    Acknowledged,
    /// Each line is on the disk before the next is read, in the directory of --log; subscribers
    /// begin where they want
    Durable,
}

/// Options of `motet mesh pub`.
#[derive(Debug, Clone, Args)]
pub struct MeshPubArgs {
    /// The key, parts with / between them
    #[arg(value_name = "KEY")]
    pub topic: String,

    /// Each line names a key below KEY, and has a tab before its value: at most 1024 keys, none of
    /// them durable
    #[arg(long)]
    pub keyed: bool,

    /// What to publish, each a sample [default: the lines of standard input]
    #[arg(value_name = "VALUE", allow_negative_numbers = true)]
    pub values: Vec<String>,

    /// The delivery class
    #[arg(long, value_enum, default_value = "reliable")]
    pub class: ClassOfTopic,

    /// The directory with the log of a durable topic, which goes on where it ended
    #[arg(long, value_name = "DIR", required_if_eq("class", "durable"))]
    pub log: Option<PathBuf>,

    /// How many bytes the log may have [default: 1 GiB, with --keep-bytes any number]
    #[arg(long, value_name = "BYTES", requires = "log")]
    pub log_limit: Option<u64>,

    /// Keep so many bytes of the newest samples in the log, up to twice as many, and drop older
    /// ones [default: keep all]
    #[arg(
        long,
        value_name = "BYTES",
        requires = "log",
        value_parser = clap::value_parser!(u64).range(1..)
    )]
    pub keep_bytes: Option<u64>,

    /// Keep samples in the log for so long, up to twice as long, and drop older ones, also while
    /// nothing is published [default: keep all]
    #[arg(
        long,
        value_name = "SECONDS",
        requires = "log",
        value_parser = clap::value_parser!(u64).range(1..)
    )]
    pub keep_seconds: Option<u64>,

    /// How many samples wait for each subscriber
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..))]
    pub depth: u32,

    /// How many of the last samples a new subscriber gets first
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub retain: u32,

    /// Wait for so many subscribers before the first sample, with --keyed before that of each key
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub subscribers: usize,

    /// Wait so long for subscribers to accept the last samples
    #[arg(long, value_name = "SECONDS", default_value_t = 10)]
    pub linger: u64,

    /// How to get into the mesh.
    #[command(flatten)]
    pub link: MeshLinkArgs,

    /// Print one JSON object at the end
    #[arg(long)]
    pub json: bool,
}

/// Options of `motet mesh sub`.
#[derive(Debug, Clone, Args)]
pub struct MeshSubArgs {
    /// The key; * stands for one part, ** for any
    #[arg(value_name = "PATTERN")]
    pub pattern: String,

    /// So many samples, then it ends
    #[arg(long, value_name = "N")]
    pub count: Option<u64>,

    /// Where to begin with durable topics: new, all, the number of a sample, or a time as
    /// 2026-12-24T18:30:00Z. A number that is not there yet is told, and waited for
    #[arg(long, value_name = "FROM", default_value = "new", value_parser = start_from)]
    pub from: StartFrom,

    /// How many samples of one publisher may be under way
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..))]
    pub window: u32,

    /// How to get into the mesh.
    #[command(flatten)]
    pub link: MeshLinkArgs,

    /// Print one JSON object for each sample
    #[arg(long)]
    pub json: bool,
}

/// Options of `motet mesh peers`.
#[derive(Debug, Clone, Args)]
pub struct MeshPeersArgs {
    /// Look for so long
    #[arg(long, value_name = "SECONDS", default_value_t = 1.0)]
    pub within: f64,

    /// How to get into the mesh.
    #[command(flatten)]
    pub link: MeshLinkArgs,

    /// Print one JSON object for each peer
    #[arg(long)]
    pub json: bool,
}

/// Options of `motet mesh top`.
#[derive(Debug, Clone, Args)]
#[command(
    after_long_help = "It observes: it does not count for --subscribers of motet mesh pub, and holds no publisher back. \
                       What it is too slow for it counts as missed. Of a publisher that ends at once it may see \
                       nothing."
)]
pub struct MeshTopArgs {
    /// Which keys
    #[arg(value_name = "PATTERN", default_value = "**")]
    pub pattern: String,

    /// So many times, then it ends
    #[arg(long, value_name = "N")]
    pub count: Option<u64>,

    /// How to get into the mesh.
    #[command(flatten)]
    pub link: MeshLinkArgs,

    /// Print one JSON object for each publisher and second
    #[arg(long)]
    pub json: bool,
}

/// Options of `motet mesh keys`.
#[derive(Debug, Clone, Args)]
pub struct MeshKeysArgs {
    /// What to make.
    #[command(subcommand)]
    pub command: MeshKeysCommand,
}

/// What `motet mesh keys` makes.
#[derive(Debug, Clone, Subcommand)]
#[non_exhaustive]
pub enum MeshKeysCommand {
    /// Make a new key, in a file that nobody else may read
    New(MeshKeysNewArgs),
    /// Make a pass: who has it joins under one name, and may do some things only
    Pass(MeshKeysPassArgs),
}

/// Options of `motet mesh keys new`.
#[derive(Debug, Clone, Args)]
pub struct MeshKeysNewArgs {
    /// The file, which is not there yet
    #[arg(value_name = "FILE")]
    pub file: PathBuf,

    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

/// Options of `motet mesh keys pass`.
#[derive(Debug, Clone, Args)]
#[command(
    group(ArgGroup::new("filters").required(true).multiple(true).args(["publish", "subscribe"])),
    after_long_help = "A filter is a key; * stands for one part, ** for any. Without a filter for a side nothing is \
                       allowed on it. Calls, and answers to calls, need both.\n\nExamples:\n  motet mesh keys pass \
                       camera.pass --key robot.key --name camera --publish 'camera/**' --subscribe 'steer/*'\n  motet \
                       mesh pub camera/left --pass camera.pass --peer 10.0.0.5:7450 --listen 10.0.0.6:0"
)]
pub struct MeshKeysPassArgs {
    /// The file, which is not there yet
    #[arg(value_name = "FILE")]
    pub file: PathBuf,

    /// The file with the key of the mesh
    #[arg(long, value_name = "FILE")]
    pub key: PathBuf,

    /// The name of the node
    #[arg(long, value_name = "NAME")]
    pub name: String,

    /// What it may publish under; may be given again
    #[arg(long, value_name = "FILTER", value_parser = filter)]
    pub publish: Vec<Key>,

    /// What it may subscribe to; may be given again
    #[arg(long, value_name = "FILTER", value_parser = filter)]
    pub subscribe: Vec<Key>,

    /// How long it lasts
    #[arg(long, value_name = "DAYS", default_value_t = 365, value_parser = clap::value_parser!(u64).range(1..=36_525))]
    pub days: u64,

    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

fn filter(text: &str) -> Result<Key, KeyError> {
    Key::new(text)
}
