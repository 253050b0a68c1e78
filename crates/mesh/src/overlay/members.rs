//! Who is a member now. Free of I/O.

use crate::{PeerChange, PeerName};
use std::collections::BTreeMap;

/// A member of an overlay.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// The name of its node.
    pub name: PeerName,
    /// What it says of itself: [`Overlay::say`](crate::Overlay::say).
    pub status: String,
}

/// What happens to members.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum MemberChange {
    /// It has come, or come back.
    Came(PeerName),
    /// It says something else of itself.
    Says(PeerName, String),
    /// It is gone, or cannot be reached, and why.
    Went(PeerName, String),
}

#[derive(Debug, Default)]
struct Known {
    /// What it said last; `None`: it has not said that it is a member.
    status: Option<String>,
    up: bool,
}

/// Nodes that have said that they are members, and those that can be reached. A member is both.
#[derive(Debug)]
pub(super) struct Members {
    me: PeerName,
    known: BTreeMap<PeerName, Known>,
}

impl Members {
    pub(super) fn new(me: PeerName) -> Self {
        Members {
            me,
            known: BTreeMap::new(),
        }
    }

    /// All members, this node too, in order of their names.
    pub(super) fn names(&self) -> Vec<PeerName> {
        let there = self.known.iter().filter(|(_, known)| known.is_member());
        let mut names: Vec<PeerName> = there.map(|(name, _)| name.clone()).collect();
        names.insert(
            names.partition_point(|name| *name < self.me),
            self.me.clone(),
        );
        names
    }

    pub(super) fn others(&self) -> Vec<Member> {
        let member = |(name, known): (&PeerName, &Known)| {
            let status = known.status.clone().filter(|_| known.up)?;
            Some(Member {
                name: name.clone(),
                status,
            })
        };
        self.known.iter().filter_map(member).collect()
    }

    /// A peer can be reached, or not, or has lost all that it had.
    pub(super) fn change(&mut self, change: &PeerChange) -> Option<MemberChange> {
        match change {
            PeerChange::Up(peer) => {
                let known = self.known.entry(peer.clone()).or_default();
                let was = known.is_member();
                known.up = true;
                (!was && known.is_member()).then(|| MemberChange::Came(peer.clone()))
            }
            PeerChange::Down(peer, why) => {
                let known = self.known.get_mut(peer)?;
                let was = known.is_member();
                known.up = false;
                was.then(|| MemberChange::Went(peer.clone(), why.clone()))
            }
            PeerChange::Restarted(peer) => {
                let known = self.known.get_mut(peer)?;
                let was = known.is_member();
                known.status = None;
                was.then(|| {
                    MemberChange::Went(peer.clone(), "it has been started again".to_owned())
                })
            }
            PeerChange::Refused(..) | PeerChange::Mismatch(..) | PeerChange::NotAllowed(_) => None,
        }
    }

    /// A node that can be reached already when this one becomes a member.
    pub(super) fn is_up(&mut self, peer: &PeerName) {
        self.known.entry(peer.clone()).or_default().up = true;
    }

    /// A node says that it is a member, or that it is none any more.
    pub(super) fn says(&mut self, peer: &PeerName, status: Option<&str>) -> Option<MemberChange> {
        if *peer == self.me {
            return None;
        }
        let known = self.known.entry(peer.clone()).or_default();
        let was = known.is_member();
        let old = std::mem::replace(&mut known.status, status.map(str::to_owned));
        match (was, known.is_member()) {
            (false, true) => Some(MemberChange::Came(peer.clone())),
            (true, false) => Some(MemberChange::Went(peer.clone(), "it has left".to_owned())),
            (true, true) if old != known.status => {
                let status = known.status.clone().unwrap_or_default();
                Some(MemberChange::Says(peer.clone(), status))
            }
            _ => None,
        }
    }
}

impl Known {
    fn is_member(&self) -> bool {
        self.up && self.status.is_some()
    }
}
