//! By what a start of a node shows itself, and which tokens of others are heeded. A start that
//! joins claims its name first, by a token with `claim` in place of `node`: `claim.rs`.
//!
//! | a token's key has behind `motet/4/node/` | is |
//! |---|---|
//! | `NAME` | the name of the node |
//! | `INCARNATION` | the number of its start: that of a later one is larger |
//! | `PROOF` | a signature of the member over the two and its credential; and the credential |
//!
//! Whoever is in the mesh may declare tokens. One that its member has not signed is nobody's, and
//! has no part in what is told of others: neither that it comes nor that it goes.

use crate::grant::is_name;
use crate::identity::{MAX_CREDENTIAL, MemberIdentity, SIGNATURE};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use motet_mesh::PeerName;

/// What all keys begin with; the number is that of the form of messages.
pub(crate) const ROOT: &str = "motet/4";

/// What a signature of a token begins with: no handshake, no grant and nothing that TLS signs does.
const SIGNED: &[u8] = b"motet mesh token 1";

/// What a signature of a claim begins with: who has seen a claim cannot show its node by it.
const SIGNED_CLAIM: &[u8] = b"motet mesh claim 1";

/// The longest proof, in Base64.
const MAX_PROOF: usize = (SIGNATURE + MAX_CREDENTIAL).div_ceil(3) * 4;

/// What a start shows by a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TokenKind {
    /// It is there.
    Node,
    /// It is about to join under its name.
    Claim,
}

impl TokenKind {
    /// The part of the key that says so.
    fn part(self) -> &'static str {
        match self {
            TokenKind::Node => "node",
            TokenKind::Claim => "claim",
        }
    }

    fn signed(self) -> &'static [u8] {
        match self {
            TokenKind::Node => SIGNED,
            TokenKind::Claim => SIGNED_CLAIM,
        }
    }
}

/// The key of the token by which this start of a node shows itself, or claims its name.
pub(crate) fn token(identity: &MemberIdentity, kind: TokenKind, incarnation: u64) -> String {
    let shown = format!("{}/{incarnation:016x}", identity.grant().name);
    let credential = identity.credential();
    let signature = identity.sign(&signed(kind, &shown, credential));
    let proof = URL_SAFE_NO_PAD.encode([&signature[..], credential].concat());
    format!("{ROOT}/{part}/{shown}/{proof}", part = kind.part())
}

/// The name and the incarnation that a token shows, by its key. `None`: it is of another kind, the
/// member of this name has not signed it, or its time is over.
pub(crate) fn shown_by(
    identity: &MemberIdentity,
    kind: TokenKind,
    key: &str,
    now: u64,
) -> Option<(PeerName, u64)> {
    let (rest, proof) = key.rsplit_once('/')?;
    let (name, incarnation) = sender(rest)?;
    let shown = rest.strip_prefix(ROOT)?.strip_prefix('/')?;
    let shown = shown.strip_prefix(kind.part())?.strip_prefix('/')?;
    if !is_name(name.as_str()) || proof.len() > MAX_PROOF {
        return None;
    }
    let proof = URL_SAFE_NO_PAD.decode(proof).ok()?;
    let (signature, credential) = proof.split_first_chunk::<SIGNATURE>()?;
    // The text as it is: a number has one.
    let signed = signed(kind, shown, credential);
    identity.check(&name, credential, (&signed[..], signature), now)?;
    Some((name, incarnation))
}

/// What is signed.
fn signed(kind: TokenKind, shown: &str, credential: &[u8]) -> Vec<u8> {
    let length = (shown.len() as u64).to_le_bytes();
    [kind.signed(), &length, shown.as_bytes(), credential].concat()
}

/// The node at the end of a key: its name and incarnation.
pub(crate) fn sender(key: &str) -> Option<(PeerName, u64)> {
    let (rest, incarnation) = key.rsplit_once('/')?;
    let (_, name) = rest.rsplit_once('/')?;
    let incarnation = u64::from_str_radix(incarnation, 16).ok()?;
    Some((PeerName::new(name), incarnation))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grant::Grant;
    use crate::identity::member_of;
    use crate::key::RunKey;
    use motet_mesh::MeshRights;
    use proptest::prelude::*;

    /// A member of the mesh of this key, until a time.
    fn member(key: u8, name: &str, until: Option<u64>) -> MemberIdentity {
        let seed = [name.len() as u8; 32];
        let grant = Grant {
            name: name.to_owned(),
            until,
            rights: MeshRights::only(Vec::new(), Vec::new()),
            member: member_of(&seed),
        };
        let (text, signature, authority) =
            MemberIdentity::sign_grant(&RunKey::of_byte(key), &grant);
        MemberIdentity::new(&seed, (&text, &signature), authority).expect("its own grant")
    }

    #[test]
    fn sem_g586_a_token_shows_the_name_and_the_start_that_its_member_has_signed() {
        let (me, camera) = (member(7, "me", None), member(7, "camera", Some(2_000)));
        let shown = token(&camera, TokenKind::Node, 0xab);
        assert!(shown.starts_with("motet/4/node/camera/00000000000000ab/"));
        let expected = Some((PeerName::new("camera"), 0xab));
        assert_eq!(shown_by(&me, TokenKind::Node, &shown, 1_999), expected);
        assert_eq!(
            shown_by(&me, TokenKind::Node, &shown, 2_000),
            None,
            "its time is over"
        );
        assert_eq!(shown_by(&me, TokenKind::Node, &shown, 0), expected);
        // Another name, another start, the same start in another spelling, another tree.
        for (from, to) in [
            ("node/camera", "node/me"),
            ("node/camera", "node/camerb"),
            ("node/camera", "node/x/camera"),
            ("00ab/", "00ac/"),
            ("00ab/", "00AB/"),
            ("0000ab/", "ab/"),
            ("000000ab/", "+00000ab/"),
            ("motet/4", "motet/3"),
            ("/node/", "/to/"),
        ] {
            let changed = shown.replacen(from, to, 1);
            assert!(changed != shown, "{from}");
            assert_eq!(
                shown_by(&me, TokenKind::Node, &changed, 0),
                None,
                "{changed}"
            );
        }
        let strangers = token(&member(8, "camera", None), TokenKind::Node, 0xab);
        assert_eq!(
            shown_by(&me, TokenKind::Node, &strangers, 0),
            None,
            "of another mesh"
        );
    }

    #[test]
    fn sem_g586_a_member_shows_no_name_but_its_own_by_what_others_have_signed() {
        let (me, camera) = (member(7, "me", None), member(7, "camera", None));
        let of = |shown: &str| shown.rsplit_once('/').map(|(_, proof)| proof.to_owned());
        let (own, other) = (
            token(&me, TokenKind::Node, 1),
            token(&camera, TokenKind::Node, 1),
        );
        let (own_proof, other_proof) = (of(&own).expect("a proof"), of(&other).expect("a proof"));
        for proof in [
            &own_proof[..],
            &other_proof,
            "",
            "AAAA",
            &"A".repeat(1 << 16),
        ] {
            for shown in ["camera/0000000000000002", "x/0000000000000001", "*/0"] {
                let forged = format!("{ROOT}/node/{shown}/{proof}");
                assert_eq!(shown_by(&me, TokenKind::Node, &forged, 0), None, "{forged}");
            }
        }
        // The signature of one, and the credential of the other.
        let bytes = |proof: &str| URL_SAFE_NO_PAD.decode(proof).expect("its own proof");
        let (own, other) = (bytes(&own_proof), bytes(&other_proof));
        let mixed = [&own[..SIGNATURE], &other[SIGNATURE..]].concat();
        let mixed = URL_SAFE_NO_PAD.encode(mixed);
        let forged = format!("{ROOT}/node/camera/0000000000000001/{mixed}");
        assert_eq!(shown_by(&me, TokenKind::Node, &forged, 0), None);
    }

    #[test]
    fn sem_g589_a_claim_shows_no_node_and_a_node_claims_nothing() {
        let (me, camera) = (member(7, "me", None), member(7, "camera", None));
        for (kind, other) in [
            (TokenKind::Node, TokenKind::Claim),
            (TokenKind::Claim, TokenKind::Node),
        ] {
            let shown = token(&camera, kind, 0xab);
            let expected = Some((PeerName::new("camera"), 0xab));
            assert_eq!(shown_by(&me, kind, &shown, 0), expected);
            assert_eq!(shown_by(&me, other, &shown, 0), None);
            // In the place of the other one, by what was signed for this one.
            let parts = [kind, other].map(|kind| format!("/{}/", kind.part()));
            let forged = shown.replacen(&parts[0], &parts[1], 1);
            assert!(forged != shown);
            assert_eq!(shown_by(&me, other, &forged, 0), None, "{forged}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn prop_sem_g586_a_key_of_which_a_byte_was_changed_shows_nobody(
            at in any::<prop::sample::Index>(),
            byte in 0x20..0x7f_u8,
        ) {
            let (me, camera) = (member(7, "me", None), member(7, "camera", None));
            let shown = token(&camera, TokenKind::Node, 1);
            let mut changed = shown.clone().into_bytes();
            let at = at.index(changed.len());
            changed[at] = byte;
            let changed = String::from_utf8(changed).expect("ASCII");
            let is_shown = shown_by(&me, TokenKind::Node, &changed, 0).is_some();
            prop_assert_eq!(is_shown, changed == shown);
        }
    }
}
