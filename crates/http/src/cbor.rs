//! Bodies in CBOR (RFC 8949): what JSON can say, in fewer bytes.

use crate::body::{Body, HttpReply};
use crate::weight;
use hyper::body::Bytes;
use hyper::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderValue};
use minicbor::Decoder;
use minicbor::data::Token;
use motet_service::Value;
use serde::Serialize;

/// The type of such a body.
pub(crate) const KIND: &str = "application/cbor";

/// Reads one value, in which no more than `depth` lie in each other, and which takes no more than
/// `most` bytes.
pub(crate) fn read(bytes: &[u8], depth: usize, most: usize) -> Result<Value, String> {
    check(bytes, depth, most)?;
    minicbor_serde::from_slice(bytes).map_err(|why| why.to_string())
}

/// Writes a value.
pub(crate) fn write(value: &Value) -> Result<Vec<u8>, String> {
    let mut serializer = minicbor_serde::Serializer::new(Vec::new());
    serializer.serialize_unit_as_null(true);
    let written = value.serialize(&mut serializer);
    written.map_err(|why| why.to_string())?;
    Ok(serializer.into_encoder().into_writer())
}

/// Whether who asks reads CBOR.
pub(crate) fn is_wanted(headers: &HeaderMap) -> bool {
    let all = headers.get_all(ACCEPT).iter();
    let mut kinds = all
        .filter_map(|accept| accept.to_str().ok())
        .flat_map(|accept| accept.split(','));
    kinds.any(|kind| {
        let mut parts = kind.split(';').map(str::trim);
        parts.next() == Some(KIND) && !parts.any(is_zero)
    })
}

/// Whether this is the weight of a type that is not acceptable (RFC 9110, 12.4.2).
fn is_zero(parameter: &str) -> bool {
    let Some((name, weight)) = parameter.split_once('=') else {
        return false;
    };
    name.trim().eq_ignore_ascii_case("q") && weight.trim().parse::<f32>().is_ok_and(|it| it <= 0.0)
}

/// The same answer in CBOR, if it is one of JSON.
pub(crate) fn instead_of_json(mut reply: HttpReply) -> HttpReply {
    let is_json = reply
        .headers()
        .get(CONTENT_TYPE)
        .is_some_and(|kind| kind == "application/json");
    if let (true, Body::Whole(Some(text))) = (is_json, reply.body())
        && let Ok(value) = serde_json::from_slice(text)
        && let Ok(written) = write(&value)
    {
        *reply.body_mut() = Body::of(Bytes::from(written));
        let kind = HeaderValue::from_static(KIND);
        reply.headers_mut().insert(CONTENT_TYPE, kind);
    }
    reply
}

/// Whether this is one value that JSON can say. It is looked at item by item, before anything is
/// made of it.
fn check(bytes: &[u8], depth: usize, most: usize) -> Result<(), String> {
    let mut weight = 0usize;
    // How many items each that is open still wants; `None`: up to its break.
    let mut open: Vec<Option<u64>> = Vec::new();
    let mut is_done = false;
    for token in Decoder::new(bytes).tokens() {
        let token = token.map_err(|why| why.to_string())?;
        if is_done {
            return Err("more than one value".to_owned());
        }
        if token == Token::Break {
            if open.pop() != Some(None) {
                return Err("a break where nothing is open".to_owned());
            }
        } else {
            if let Some(Some(left)) = open.last_mut() {
                *left -= 1;
            }
            weight = weight.saturating_add(weight_of(&token));
            if weight > most {
                return Err(weight::reason(most));
            }
            match token {
                Token::Array(count) => open.push(Some(count)),
                Token::Map(count) => open.push(Some(count.saturating_mul(2))),
                Token::BeginArray | Token::BeginMap | Token::BeginString => open.push(None),
                Token::Tag(_) => return Err("a tag, which JSON does not have".to_owned()),
                token if is_strange(&token) => {
                    return Err(format!("{token}, which JSON does not have"));
                }
                _ => {}
            }
            if open.len() >= depth {
                return Err(format!("more than {depth} values in each other"));
            }
        }
        while open.last() == Some(&Some(0)) {
            open.pop();
        }
        is_done = open.is_empty();
    }
    match is_done {
        true => Ok(()),
        false => Err("the value is broken off".to_owned()),
    }
}

/// No less than what an item takes. In an object it is a key or a value: half a field.
fn weight_of(token: &Token<'_>) -> usize {
    let own = match token {
        Token::Array(0) | Token::Map(0) => 0,
        Token::Array(_) | Token::BeginArray => weight::LIST,
        Token::Map(_) | Token::BeginMap => weight::OBJECT,
        Token::String(text) => text.len(),
        _ => 0,
    };
    own + weight::ITEM.max(weight::FIELD / 2)
}

/// Whether JSON has no such value.
fn is_strange(token: &Token<'_>) -> bool {
    match token {
        Token::F16(number) | Token::F32(number) => !number.is_finite(),
        Token::F64(number) => !number.is_finite(),
        Token::Bytes(_) | Token::BeginBytes | Token::Undefined | Token::Simple(_) => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn what_is_written_is_read() {
        for value in [
            json!(null),
            json!({"a": [1, -2, 2.5, true, "ä"], "b": {}, "c": [[], null]}),
            json!([u64::MAX, i64::MIN]),
        ] {
            let written = write(&value).unwrap();
            assert_eq!(read(&written, 8, 1 << 20).unwrap(), value);
            assert!(
                read(&written[..written.len() - 1], 8, 1 << 20).is_err(),
                "{value}"
            );
        }
        let indefinite = [0xbf, 0x61, b'a', 0x9f, 1, 2, 0xff, 0xff];
        assert_eq!(read(&indefinite, 8, 1 << 20).unwrap(), json!({"a": [1, 2]}));
    }

    #[test]
    fn a_type_of_no_weight_is_not_wanted() {
        for (accept, wanted) in [
            ("application/cbor", true),
            ("text/html, application/cbor;q=0.5", true),
            ("application/cbor;q=0", false),
            ("application/cbor; Q=0.000, */*", false),
            ("text/html", false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(ACCEPT, HeaderValue::from_static(accept));
            assert_eq!(is_wanted(&headers), wanted, "{accept}");
        }
    }

    #[test]
    fn what_json_does_not_have_is_refused() {
        let cases: [(&[u8], &str); 8] = [
            (&[], "broken off"),
            (&[0xf9, 0x7e, 0], "JSON"),
            (&[0x41, 7], "JSON"),
            (&[0xc0, 1], "tag"),
            (&[1, 1], "more than one"),
            (&[0xff], "break"),
            (
                &[0xbb, 255, 255, 255, 255, 255, 255, 255, 255],
                "broken off",
            ),
            (&[0x81; 1 << 20], "in each other"),
        ];
        for (bytes, word) in cases {
            let why = read(bytes, 64, 1 << 20).unwrap_err();
            assert!(why.contains(word), "{why}");
        }
    }

    proptest! {
        #[test]
        fn prop_any_bytes_are_read_or_refused(
            bytes in proptest::collection::vec(any::<u8>(), 0..200),
        ) {
            if let Ok(value) = read(&bytes, 16, 1 << 20) {
                let again = read(&write(&value).unwrap(), 16, 1 << 20);
                prop_assert_eq!(again, Ok(value));
            }
        }
    }
}
