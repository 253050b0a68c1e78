//! How much memory the value of a body takes, told before it is made. A body of small objects
//! becomes a hundred times as large in memory.

use crate::Limits;

/// Bytes of memory for each byte that a body may have.
const EACH: usize = 64;

/// An object that is not empty: its first node has room for eleven fields.
pub(crate) const OBJECT: usize = 640;

/// A further field: nodes that grow are split, and are half full.
pub(crate) const FIELD: usize = 160;

/// A list that is not empty has room for four.
pub(crate) const LIST: usize = 128;

/// A further item: a list that grows doubles.
pub(crate) const ITEM: usize = 64;

/// A parameter of a form, before and after it has become a field.
pub(crate) const PARAMETER: usize = 2 * FIELD;

/// An element of XML, before and after it has become a field.
#[cfg(feature = "dssp")]
pub(crate) const ELEMENT: usize = 400;

/// An element that has others in it, or attributes, has room for four.
#[cfg(feature = "dssp")]
pub(crate) const INNER: usize = 520;

/// No byte of JSON takes more: that is an object in an object, of five bytes each.
pub(crate) const LARGEST: usize = 140;

/// The most that the value of a body may take.
pub(crate) fn most(limits: &Limits) -> usize {
    limits.body.saturating_mul(EACH)
}

/// What to say of a body that would take more.
pub(crate) fn reason(most: usize) -> String {
    format!(
        "the values of the body would take more than {most} bytes of memory; send fewer at a time, or lists instead of \
         small objects"
    )
}

/// No less than what the value of this text takes, whether it is JSON or not.
pub(crate) fn json(text: &[u8]) -> usize {
    let (mut weight, mut is_string, mut is_escaped) = (text.len(), false, false);
    for byte in text {
        let more = match byte {
            _ if is_escaped => {
                is_escaped = false;
                0
            }
            b'\\' if is_string => {
                is_escaped = true;
                0
            }
            b'"' => {
                is_string = !is_string;
                0
            }
            _ if is_string => 0,
            b'{' => OBJECT,
            b'[' => LIST,
            b',' => FIELD,
            _ => 0,
        };
        weight = usize::saturating_add(weight, more);
    }
    weight
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_in_texts_weighs_nothing_more() {
        assert_eq!(json(br#""{[,\"{""#), 8);
        assert_eq!(json(br#"{"a":[1,2]}"#), 11 + OBJECT + LIST + FIELD);
    }
}
