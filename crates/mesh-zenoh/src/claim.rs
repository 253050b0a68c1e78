//! Whose a name is when several nodes want it: a start that joins claims it, waits until it has
//! seen those that it reaches, and only then shows itself.
//!
//! ```text
//!   the earlier start   claim ──────── sees a later claim: waits until it is gone ─► node
//!   the later start         claim ──── sees an earlier claim: gives way
//! ```
//!
//! A start that has shown itself stays: whoever sees it gives way. Both rules are such that of two
//! starts that see each other at most one joins, and that a start which gives way says so.

use crate::error::MeshJoinError;
use crate::identity::MemberIdentity;
use crate::key::{EARLIER, wall};
use crate::token::{ROOT, TokenKind, shown_by, token};
use motet_sync::Parker;
use std::time::{Duration, Instant};
use zenoh::Wait;
use zenoh::liveliness::LivelinessToken;

/// How long connections to others are waited for.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(1);

/// How long others are waited for once there is a first one.
const MET: Duration = Duration::from_millis(400);

/// How long until it is looked again.
pub(crate) const LOOK: Duration = Duration::from_millis(10);

/// How a start that claims its name stands among the others of the name. Of several the last one in
/// this order counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum ClaimStanding {
    /// There is no other.
    Alone,
    /// Another one has the name, or claims it later: it may go.
    Waits,
    /// Another one has claimed it before.
    GivesWay,
}

/// What another start means for the one with this number.
fn standing(own: u64, (kind, other): (TokenKind, u64)) -> ClaimStanding {
    match kind {
        _ if other == own => ClaimStanding::Alone,
        // A start takes no minute: somebody repeats the claim of one that is long over.
        TokenKind::Claim if other.saturating_add(EARLIER) < own => ClaimStanding::Alone,
        TokenKind::Claim if other < own => ClaimStanding::GivesWay,
        TokenKind::Claim | TokenKind::Node => ClaimStanding::Waits,
    }
}

/// Claims the name of this member for a start of it. Refused if another node has it, or has claimed
/// it before, that is reached in time. One that was killed may still seem to be there for a while.
/// The claim is dropped when the node shows itself.
pub(crate) fn claim_name(
    session: &zenoh::Session,
    me: &MemberIdentity,
    own: u64,
    silence: Duration,
) -> Result<LivelinessToken, MeshJoinError> {
    let engine = |error: zenoh::Error| MeshJoinError::Engine(error.to_string());
    let claim = token(me, TokenKind::Claim, own);
    let claim = session.liveliness().declare_token(claim).wait();
    let claim = claim.map_err(engine)?;
    // A node that is there answers once there is a connection.
    let connected = Instant::now() + CONNECT_TIMEOUT;
    let is_alone = || {
        let info = session.info();
        info.peers_zid().wait().next().is_none() && info.routers_zid().wait().next().is_none()
    };
    while is_alone() && Instant::now() < connected {
        let _ = Parker::new().park_timeout(LOOK);
    }
    // One that is reached by the first is seen a little later.
    let (met, until) = (Instant::now() + MET, Instant::now() + silence);
    loop {
        let now = match look(session, me, own).map_err(engine)? {
            ClaimStanding::Alone if Instant::now() >= met => return Ok(claim),
            ClaimStanding::Waits if Instant::now() >= until => ClaimStanding::GivesWay,
            now => now,
        };
        if now == ClaimStanding::GivesWay {
            return Err(MeshJoinError::Taken(me.grant().name.clone()));
        }
        let _ = Parker::new().park_timeout(LOOK);
    }
}

/// How this start stands among those of its name that are seen now.
fn look(
    session: &zenoh::Session,
    me: &MemberIdentity,
    own: u64,
) -> Result<ClaimStanding, zenoh::Error> {
    let name = &me.grant().name;
    // Of nodes, and of claims.
    let tokens = session
        .liveliness()
        .get(format!("{ROOT}/*/{name}/*/*"))
        .timeout(Duration::from_secs(1))
        .wait()?;
    let mut standings = ClaimStanding::Alone;
    for reply in tokens {
        let Ok(sample) = reply.result() else {
            continue;
        };
        let key = sample.key_expr().as_str();
        for kind in [TokenKind::Node, TokenKind::Claim] {
            let shown = shown_by(me, kind, key, wall());
            if let Some((_, other)) = shown.filter(|(other, _)| other.as_str() == name) {
                standings = standings.max(standing(own, (kind, other)));
            }
        }
    }
    Ok(standings)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sem_g589_of_two_starts_that_see_each_other_one_gives_way_and_one_waits() {
        for (one, other) in [(1, 2), (7, 7 + EARLIER)] {
            let claim = |start| (TokenKind::Claim, start);
            assert_eq!(standing(one, claim(other)), ClaimStanding::Waits);
            assert_eq!(standing(other, claim(one)), ClaimStanding::GivesWay);
            assert_eq!(standing(one, claim(one)), ClaimStanding::Alone);
            // One that has shown itself may be about to leave.
            for (own, shown) in [(one, other), (other, one)] {
                let shown = (TokenKind::Node, shown);
                assert_eq!(standing(own, shown), ClaimStanding::Waits);
            }
        }
        let repeated = (TokenKind::Claim, 7);
        assert_eq!(standing(8 + EARLIER, repeated), ClaimStanding::Alone);
        assert!(ClaimStanding::Alone < ClaimStanding::Waits);
        assert!(ClaimStanding::Waits < ClaimStanding::GivesWay);
    }
}
