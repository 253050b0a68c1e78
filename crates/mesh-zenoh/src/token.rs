//! By what a start of a node shows itself, and which tokens of others are heeded.
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

/// The longest proof, in Base64.
const MAX_PROOF: usize = (SIGNATURE + MAX_CREDENTIAL).div_ceil(3) * 4;

/// The key of the token by which this start of a node shows itself.
pub(crate) fn token(identity: &MemberIdentity, incarnation: u64) -> String {
    let shown = format!("{}/{incarnation:016x}", identity.grant().name);
    let credential = identity.credential();
    let signature = identity.sign(&signed(&shown, credential));
    let proof = URL_SAFE_NO_PAD.encode([&signature[..], credential].concat());
    format!("{ROOT}/node/{shown}/{proof}")
}

/// The name and the incarnation that a token shows, by its key. `None`: the member of this name has
/// not signed it, or its time is over.
pub(crate) fn shown_by(identity: &MemberIdentity, key: &str, now: u64) -> Option<(PeerName, u64)> {
    let (rest, proof) = key.rsplit_once('/')?;
    let (name, incarnation) = sender(rest)?;
    let shown = rest.strip_prefix(ROOT)?.strip_prefix("/node/")?;
    if !is_name(name.as_str()) || proof.len() > MAX_PROOF {
        return None;
    }
    let proof = URL_SAFE_NO_PAD.decode(proof).ok()?;
    let (signature, credential) = proof.split_first_chunk::<SIGNATURE>()?;
    // The text as it is: a number has one.
    let signed = signed(shown, credential);
    identity.check(&name, credential, (&signed[..], signature), now)?;
    Some((name, incarnation))
}

/// What is signed.
fn signed(shown: &str, credential: &[u8]) -> Vec<u8> {
    let length = (shown.len() as u64).to_le_bytes();
    [SIGNED, &length, shown.as_bytes(), credential].concat()
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
        let shown = token(&camera, 0xab);
        assert!(shown.starts_with("motet/4/node/camera/00000000000000ab/"));
        let expected = Some((PeerName::new("camera"), 0xab));
        assert_eq!(shown_by(&me, &shown, 1_999), expected);
        assert_eq!(shown_by(&me, &shown, 2_000), None, "its time is over");
        assert_eq!(shown_by(&me, &shown, 0), expected);
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
            assert_eq!(shown_by(&me, &changed, 0), None, "{changed}");
        }
        let strangers = token(&member(8, "camera", None), 0xab);
        assert_eq!(shown_by(&me, &strangers, 0), None, "of another mesh");
    }

    #[test]
    fn sem_g586_a_member_shows_no_name_but_its_own_by_what_others_have_signed() {
        let (me, camera) = (member(7, "me", None), member(7, "camera", None));
        let of = |shown: &str| shown.rsplit_once('/').map(|(_, proof)| proof.to_owned());
        let (own, other) = (token(&me, 1), token(&camera, 1));
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
                assert_eq!(shown_by(&me, &forged, 0), None, "{forged}");
            }
        }
        // The signature of one, and the credential of the other.
        let bytes = |proof: &str| URL_SAFE_NO_PAD.decode(proof).expect("its own proof");
        let (own, other) = (bytes(&own_proof), bytes(&other_proof));
        let mixed = [&own[..SIGNATURE], &other[SIGNATURE..]].concat();
        let mixed = URL_SAFE_NO_PAD.encode(mixed);
        let forged = format!("{ROOT}/node/camera/0000000000000001/{mixed}");
        assert_eq!(shown_by(&me, &forged, 0), None);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn prop_sem_g586_a_key_of_which_a_byte_was_changed_shows_nobody(
            at in any::<prop::sample::Index>(),
            byte in 0x20..0x7f_u8,
        ) {
            let (me, camera) = (member(7, "me", None), member(7, "camera", None));
            let shown = token(&camera, 1);
            let mut changed = shown.clone().into_bytes();
            let at = at.index(changed.len());
            changed[at] = byte;
            let changed = String::from_utf8(changed).expect("ASCII");
            prop_assert_eq!(shown_by(&me, &changed, 0).is_some(), changed == shown);
        }
    }
}
