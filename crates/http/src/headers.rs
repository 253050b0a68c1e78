//! Headers as text.

use crate::problem::Refusal;
use hyper::header::HeaderMap;

/// The header of this name, if there is one.
pub(crate) fn text<'a>(headers: &'a HeaderMap, name: &str) -> Result<Option<&'a str>, Refusal> {
    let mut given = headers.get_all(name).iter();
    let (first, second) = (given.next(), given.next());
    if second.is_some() {
        return Err(Refusal::bad(format!("{name} is given twice; give it once")));
    }
    let text = first.map(|first| first.to_str());
    let text = text.transpose();
    text.map_err(|_| Refusal::bad(format!("{name} is no text; use ASCII")))
}
