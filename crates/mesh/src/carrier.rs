//! What brings frames to other nodes: the edge below which nothing of this crate knows.

use crate::MeshRights;
use motet_ports::Port;
use std::fmt;
use std::sync::Arc;

/// The name of a node: the same after the node has come back.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PeerName(Arc<str>);

impl PeerName {
    /// The name as given.
    #[must_use]
    pub fn new(name: impl AsRef<str>) -> Self {
        PeerName(name.as_ref().into())
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for PeerName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for PeerName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.0)
    }
}

/// Frames that came together, in one buffer: each behind its length, 4 bytes with the least first.
///
/// ```
/// use motet_mesh::Frames;
/// let frames = Frames::from_bytes(vec![2, 0, 0, 0, 7, 8, 0, 0, 0, 0]).unwrap();
/// assert_eq!(frames.iter().collect::<Vec<_>>(), [&[7, 8][..], &[]]);
/// assert!(Frames::from_bytes(vec![2, 0, 0, 0, 7]).is_none());
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Frames(Vec<u8>);

/// The bytes of a length.
const LENGTH: usize = 4;

impl Frames {
    /// `None`: the bytes end within a frame.
    #[must_use]
    pub fn from_bytes(bytes: Vec<u8>) -> Option<Self> {
        let mut rest = &bytes[..];
        while !rest.is_empty() {
            (_, rest) = first_of(rest)?;
        }
        Some(Frames(bytes))
    }

    /// The frames, in order.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let mut rest = &self.0[..];
        std::iter::from_fn(move || {
            let (first, others) = first_of(rest)?;
            rest = others;
            Some(first)
        })
    }

    /// The bytes of all frames and of their lengths.
    pub(crate) fn byte_len(&self) -> usize {
        self.0.len()
    }

    /// Takes all frames out. Room for others is kept, if it is no more than `room` bytes.
    pub(crate) fn clear(&mut self, room: usize) {
        self.0.clear();
        if self.0.capacity() > room {
            self.0 = Vec::new();
        }
    }

    /// Puts a frame behind the others, which `write` puts behind what it gets. After an error
    /// nothing is left.
    pub(crate) fn push<E>(
        &mut self,
        write: impl FnOnce(Vec<u8>) -> Result<Vec<u8>, E>,
    ) -> Result<(), E> {
        let mut bytes = std::mem::take(&mut self.0);
        let begin = bytes.len() + LENGTH;
        bytes.extend_from_slice(&[0; LENGTH]);
        bytes = write(bytes)?;
        let length = (bytes.len() - begin) as u32;
        bytes[begin - LENGTH..begin].copy_from_slice(&length.to_le_bytes());
        self.0 = bytes;
        Ok(())
    }
}

/// The first frame, and what is behind it.
fn first_of(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = bytes.split_first_chunk::<LENGTH>()?;
    rest.split_at_checked(u32::from_le_bytes(*length) as usize)
}

/// What a carrier tells its node.
#[derive(Debug, Clone)]
pub enum CarrierEvent {
    /// A link to this peer works from now on: its number, which no earlier link to the peer had,
    /// and what the peer may, which the carrier has made sure of.
    Up(PeerName, u64, MeshRights),
    /// The link to this peer is broken, and why. What was sent and has not come is lost. With the
    /// name of the node itself: no link of it begins any more.
    Down(PeerName, String),
    /// A frame of this peer.
    Frame(PeerName, Vec<u8>),
    /// Frames of this peer that came together, in order.
    Frames(PeerName, Frames),
}

impl CarrierEvent {
    /// Whom it is about.
    pub(crate) fn peer(&self) -> &PeerName {
        match self {
            CarrierEvent::Up(peer, ..)
            | CarrierEvent::Down(peer, _)
            | CarrierEvent::Frame(peer, _)
            | CarrierEvent::Frames(peer, _) => peer,
        }
    }
}

/// Which frames a frame may overtake.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FramePriority {
    /// Credit and acknowledgements. They are few and small, and a flood of samples must not delay
    /// them: they may overtake frames of the other priority.
    Urgent,
    /// Everything else.
    Ordered,
}

/// A frame that could not be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum CarrierError {
    /// There is no link to this peer, or the link that was meant is broken.
    NoLink(PeerName),
    /// The engine refused the frame, and why.
    Refused(String),
}

impl fmt::Display for CarrierError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CarrierError::NoLink(peer) => write!(f, "there is no link to {peer}"),
            CarrierError::Refused(why) => write!(f, "the frame was refused: {why}"),
        }
    }
}

impl std::error::Error for CarrierError {}

/// Links to other nodes. While a link lives, frames come whole, and those of one [`FramePriority`]
/// in order.
///
/// Each side is told `Up` before it gets a frame of the link, and `Down` before the next `Up` of
/// the same peer. Nodes keep the frames that are under way bounded by credit, and say what they
/// have taken of what they were told ([`Carrier::taken`]): a carrier whose peers may send more has
/// a limit by that.
pub trait Carrier: Send + Sync + 'static {
    /// The name of this node.
    fn name(&self) -> PeerName;

    /// What this node may: what its peers will be told of it.
    fn rights(&self) -> MeshRights {
        MeshRights::all()
    }

    /// Sends a frame by the link that works now. Does not wait for the peer. A node means one link,
    /// and sends by [`Carrier::send_all`].
    ///
    /// # Errors
    /// [`CarrierError`]. The frame is lost then, and `Down` follows if the link is broken.
    fn send(
        &self,
        to: &PeerName,
        frame: Vec<u8>,
        priority: FramePriority,
    ) -> Result<(), CarrierError>;

    /// Sends frames by the link with this number and by no later one, in order. All are lost or
    /// none, but for a link that breaks meanwhile. Whoever sends them may have been suspended since
    /// he decided to: a later link must not get what an earlier one has lost.
    ///
    /// # Errors
    /// As [`Carrier::send`].
    fn send_all(
        &self,
        to: &PeerName,
        link: u64,
        frames: &Frames,
        priority: FramePriority,
    ) -> Result<(), CarrierError>;

    /// Where links and frames are told. One node takes them. It may do so within the post, and send
    /// then: whoever posts holds no lock that sending needs.
    fn events(&self) -> Port<CarrierEvent>;

    /// The node has taken the oldest event of this peer that it was told and had not taken: each is
    /// told so once, in order.
    fn taken(&self, from: &PeerName) {
        let _ = from;
    }

    /// The last handle of the node is dropped, and it has said its last: told behind that, by the
    /// thread that has sent it. Other threads may still be within what they were told, and hold the
    /// node's part of the carrier until they are out.
    fn node_is_gone(&self) {}
}
