//! What a request is for: its path and its query, decoded.

use crate::problem::Refusal;
use hyper::Uri;
use serde_json::{Map, Value};

/// A path and the parameters behind it.
#[derive(Debug)]
pub(crate) struct RequestTarget {
    pub(crate) path: String,
    /// Whether slashes stood behind the path, which are taken off.
    pub(crate) has_slash: bool,
    pub(crate) parameters: Vec<(String, String)>,
}

impl RequestTarget {
    pub(crate) fn read(uri: &Uri) -> Result<Self, Refusal> {
        let mut path = decode(uri.path(), false)?;
        let dots = |segment| matches!(segment, "." | "..");
        // Few paths have a segment that begins so.
        let may_have_dots =
            path.starts_with('.') || path.as_bytes().windows(2).any(|two| two == b"/.");
        if may_have_dots && path.split('/').any(dots) {
            return Err(Refusal::bad(
                "the path has the segment . or ..; write it out",
            ));
        }
        let whole = path.len();
        match whole {
            0 => path.push('/'),
            1 => {}
            _ if path.starts_with("/console/") => {}
            _ => path.truncate(path.trim_end_matches('/').len()),
        }
        let parameters = parameters(uri.query().unwrap_or_default())?;
        Ok(RequestTarget {
            has_slash: path.len() < whole,
            path,
            parameters,
        })
    }

    /// The last parameter of this name.
    pub(crate) fn parameter(&self, name: &str) -> Option<&str> {
        let mut found = self.parameters.iter().rev();
        found.find_map(|(own, value)| (own == name).then_some(value.as_str()))
    }
}

/// The parameters of a query, or of a form.
pub(crate) fn parameters(text: &str) -> Result<Vec<(String, String)>, Refusal> {
    let parts = text.split('&').filter(|part| !part.is_empty());
    let read = parts.map(|part| {
        let (name, value) = part.split_once('=').unwrap_or((part, ""));
        Ok((decode(name, true)?, decode(value, true)?))
    });
    read.collect()
}

/// Parameters as a body: `body=…` is the whole of it; else they are the fields of an object. A
/// value that is no JSON is a text.
pub(crate) fn body_of(parameters: &[(String, String)]) -> Value {
    let value = |text: &str| serde_json::from_str(text).unwrap_or_else(|_| Value::from(text));
    match parameters {
        [] => Value::Null,
        [(name, text)] if name == "body" => value(text),
        all => {
            let fields = all.iter().map(|(name, text)| (name.clone(), value(text)));
            Value::Object(fields.collect::<Map<_, _>>())
        }
    }
}

/// Decodes `%41`, and in queries `+`.
fn decode(text: &str, is_query: bool) -> Result<String, Refusal> {
    let means_more = |byte| byte == b'%' || byte == 0 || (is_query && byte == b'+');
    if !text.bytes().any(means_more) {
        return Ok(text.to_owned());
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        match byte {
            b'%' => {
                let mut digit = || rest.next().and_then(|digit| (digit as char).to_digit(16));
                match (digit(), digit()) {
                    (Some(high), Some(low)) => bytes.push((high * 16 + low) as u8),
                    _ => {
                        let reason = format!("{text:?} has a % without two hexadecimal digits");
                        return Err(Refusal::bad(reason));
                    }
                }
            }
            b'+' if is_query => bytes.push(b' '),
            byte => bytes.push(byte),
        }
    }
    match String::from_utf8(bytes) {
        Ok(decoded) if !decoded.contains('\0') => Ok(decoded),
        _ => Err(Refusal::bad(format!("{text:?} is no text in UTF-8"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_target_is_decoded() {
        let target = RequestTarget::read(&"/a%20b/?at=/left+x&body".parse().unwrap()).unwrap();
        assert_eq!((&*target.path, target.has_slash), ("/a b", true));
        assert_eq!(target.parameter("at"), Some("/left x"));
        for (path, has_slash) in [("/", false), ("/a", false), ("/a//", true), ("/a%2f", true)] {
            let target = RequestTarget::read(&path.parse().unwrap()).unwrap();
            assert_eq!(target.has_slash, has_slash, "{path}");
        }
    }

    #[test]
    fn a_target_that_is_no_text_is_refused() {
        for bad in ["/%", "/%f", "/%zz", "/%ff", "/a/%2e%2e/b", "/%00"] {
            assert!(RequestTarget::read(&bad.parse().unwrap()).is_err(), "{bad}");
        }
    }

    #[test]
    fn parameters_are_a_body() {
        let body = |query| body_of(&parameters(query).unwrap());
        assert_eq!(body(""), Value::Null);
        assert_eq!(body("body=3"), json!(3));
        assert_eq!(
            body("left=0.5&name=tom"),
            json!({"left": 0.5, "name": "tom"})
        );
    }
}
