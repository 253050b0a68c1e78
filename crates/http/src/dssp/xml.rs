//! A document as a tree of elements. What could make more of it than it is, is refused: a DTD,
//! entities, instructions.

use crate::weight;
use quick_xml::events::{BytesStart, Event};
use quick_xml::name::ResolveResult;
use quick_xml::{NsReader, XmlVersion};
use std::collections::HashMap;
use std::sync::Arc;

/// An element has no more attributes: each is compared with the others.
const ATTRIBUTES: usize = 64;

/// Bytes of memory for each of the text: attributes that are short take the most.
const TEXT: usize = 24;

/// A name is no longer.
const NAME: usize = 256;

/// An element.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct XmlElement {
    /// Without its prefix.
    pub(super) name: String,
    /// Elements of one namespace share its name.
    pub(super) namespace: Arc<str>,
    /// By their names without prefixes.
    pub(super) attributes: Vec<(String, String)>,
    pub(super) children: Vec<XmlElement>,
    /// The text between its tags, all of it.
    pub(super) text: String,
}

impl XmlElement {
    pub(super) fn child(&self, name: &str) -> Option<&XmlElement> {
        self.children.iter().find(|child| child.name == name)
    }

    pub(super) fn attribute(&self, name: &str) -> Option<&str> {
        let mut found = self.attributes.iter();
        found.find_map(|(own, value)| (own == name).then_some(value.as_str()))
    }
}

/// Reads a document, in which no more than `depth` elements lie in each other, and which takes no
/// more than `most` bytes.
pub(super) fn read(text: &str, depth: usize, most: usize) -> Result<XmlElement, String> {
    // Texts and attributes are kept, and copied.
    let mut weight = TEXT.saturating_mul(text.len());
    let mut reader = NsReader::from_str(text);
    let mut open: Vec<XmlElement> = Vec::new();
    let mut whole = None;
    let mut namespaces = HashMap::new();
    loop {
        let (namespace, event) = reader
            .read_resolved_event()
            .map_err(|why| why.to_string())?;
        let namespace = match namespace {
            ResolveResult::Bound(namespace) => namespace.0,
            ResolveResult::Unbound | ResolveResult::Unknown(_) => "",
        };
        let is_empty = matches!(event, Event::Empty(_));
        match event {
            Event::Start(start) | Event::Empty(start) => {
                if whole.is_some() {
                    return Err("there is more than one element at the top".to_owned());
                }
                if open.len() >= depth {
                    return Err(format!("more than {depth} elements lie in each other"));
                }
                weight = weight.saturating_add(weight_of(&start, open.last()));
                if weight > most {
                    return Err(weight::reason(most));
                }
                let namespace = shared(namespace, &mut namespaces);
                open.push(begun(&start, namespace)?);
                if is_empty {
                    whole = closed(&mut open);
                }
            }
            Event::End(_) => whole = closed(&mut open),
            Event::Text(text) => add(&mut open, &text.xml10_content())?,
            Event::CData(text) => add(&mut open, &text.xml10_content())?,
            Event::GeneralRef(name) => add(&mut open, &referred(&name.into_inner())?)?,
            Event::Decl(_) | Event::Comment(_) => {}
            Event::DocType(_) => return Err("a DTD is not taken".to_owned()),
            Event::PI(_) => return Err("processing instructions are not taken".to_owned()),
            Event::Eof => break,
        }
    }
    match (whole, open.is_empty()) {
        (Some(whole), true) => Ok(whole),
        _ => Err("the document is broken off".to_owned()),
    }
}

/// No less than what an element takes, without its texts.
fn weight_of(start: &BytesStart<'_>, outer: Option<&XmlElement>) -> usize {
    let is_first = outer.is_some_and(|outer| outer.children.is_empty());
    let has_attributes = start.attributes().next().is_some();
    weight::ELEMENT + weight::INNER * (usize::from(is_first) + usize::from(has_attributes))
}

/// The name of a namespace, which is kept once.
fn shared(name: &str, known: &mut HashMap<String, Arc<str>>) -> Arc<str> {
    if let Some(known) = known.get(name) {
        return Arc::clone(known);
    }
    let new: Arc<str> = name.into();
    known.insert(name.to_owned(), Arc::clone(&new));
    new
}

fn begun(start: &BytesStart<'_>, namespace: Arc<str>) -> Result<XmlElement, String> {
    let mut element = XmlElement {
        name: String::from(start.local_name().into_inner()),
        namespace,
        ..XmlElement::default()
    };
    if element.name.len() > NAME {
        return Err(format!("a name has more than {NAME} bytes"));
    }
    for attribute in start.attributes() {
        if element.attributes.len() == ATTRIBUTES {
            return Err(format!("an element has more than {ATTRIBUTES} attributes"));
        }
        let attribute = attribute.map_err(|why| why.to_string())?;
        let value = attribute.normalized_value(XmlVersion::Implicit1_0);
        let value = value.map_err(|why| why.to_string())?;
        let name = String::from(attribute.key.local_name().into_inner());
        element.attributes.push((name, value.into_owned()));
    }
    Ok(element)
}

/// Puts the innermost element that is open into the one around it; gives it, if there is none.
fn closed(open: &mut Vec<XmlElement>) -> Option<XmlElement> {
    let done = open.pop()?;
    match open.last_mut() {
        Some(outer) => {
            outer.children.push(done);
            None
        }
        None => Some(done),
    }
}

fn add(open: &mut [XmlElement], text: &str) -> Result<(), String> {
    match open.last_mut() {
        Some(element) => element.text.push_str(text),
        None if text.trim().is_empty() => {}
        None => return Err("there is text outside of all elements".to_owned()),
    }
    Ok(())
}

/// The text that a reference stands for, if it needs no definition.
fn referred(name: &str) -> Result<String, String> {
    let number = |digits: &str, radix| u32::from_str_radix(digits, radix).ok();
    let code = match name.strip_prefix('#') {
        Some(digits) => match digits.strip_prefix('x') {
            Some(digits) => number(digits, 16),
            None => number(digits, 10),
        },
        None => match name {
            "amp" => Some(38),
            "lt" => Some(60),
            "gt" => Some(62),
            "quot" => Some(34),
            "apos" => Some(39),
            _ => None,
        },
    };
    let code = code
        .and_then(char::from_u32)
        .filter(|&code| is_of_xml(code));
    let code = code.ok_or_else(|| format!("the entity &{name}; is not taken"))?;
    Ok(code.to_string())
}

/// Whether XML has this character.
fn is_of_xml(code: char) -> bool {
    matches!(code, '\t' | '\n' | '\r' | ' '..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..)
}

/// A text as it stands between tags and in attributes. What XML does not have becomes U+FFFD.
pub(super) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for code in text.chars() {
        match code {
            '&' => escaped += "&amp;",
            '<' => escaped += "&lt;",
            '>' => escaped += "&gt;",
            '"' => escaped += "&quot;",
            '\r' => escaped += "&#13;",
            code if is_of_xml(code) => escaped.push(code),
            _ => escaped.push('\u{fffd}'),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_document_is_a_tree() {
        let text = "<?xml version='1.0'?><!-- it --><a:b xmlns:a='urn:x' c='&lt;1'>t&amp;<d/><![CDATA[<u>]]>&#x41;</a:b>\n";
        let root = read(text, 4, 1 << 20).unwrap();
        assert_eq!((&*root.name, &*root.namespace), ("b", "urn:x"));
        assert_eq!((root.attribute("c"), &*root.text), (Some("<1"), "t&<u>A"));
        assert!(root.child("d").is_some());
    }

    #[test]
    fn what_is_dangerous_or_broken_is_refused() {
        let deep = "<a>".repeat(65);
        let wide: String = (0..65).map(|at| format!(" b{at}=''")).collect();
        let (wide, long) = (format!("<a{wide}/>"), format!("<{}/>", "a".repeat(257)));
        let cases = [
            ("<!DOCTYPE a [<!ENTITY b 'c'>]><a>&b;</a>", "DTD"),
            ("<a>&b;</a>", "entity"),
            ("<a b='&c;'/>", "c"),
            ("<a>&#0;</a>", "entity"),
            ("<a><?b c?></a>", "instructions"),
            ("<a/><b/>", "more than one"),
            ("<a><b></a>", ""),
            ("<a>", "broken off"),
            ("x<a/>", "outside"),
            ("", "broken off"),
            (&deep, "in each other"),
            (&wide, "attributes"),
            (&long, "a name has"),
        ];
        for (text, word) in cases {
            let why = read(text, 64, 1 << 20).unwrap_err();
            assert!(why.contains(word), "{text}: {why}");
        }
    }

    proptest! {
        #[test]
        fn prop_any_text_is_read_or_refused(text in "[<>/a&;#'= !?\\[\\]x-]{0,60}") {
            let _read = read(&text, 8, 1 << 20);
        }

        #[test]
        fn prop_what_is_escaped_is_read_as_it_was(text in "[ -~äß\\n\\t]{0,40}") {
            let document = format!("<a b=\"{0}\">{0}</a>", escape(&text));
            prop_assert_eq!(read(&document, 8, 1 << 20).unwrap().text, text);
        }
    }
}
