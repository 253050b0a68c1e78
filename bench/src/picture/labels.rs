//! Which rows and facts make one line, and what it is called.

use super::panel::Origin;
use crate::measuring::{ParameterValue, Row};
use crate::papers::Fact;
use crate::suite::{PaperBeside, Picture};
use itertools::Itertools;

pub(super) fn origin(row: &Row) -> Origin {
    if row.series.starts_with("motet") {
        Origin::Motet
    } else {
        Origin::Peer
    }
}

/// The parameters that tell lines apart: those asked for, and any other that would give a line two
/// values at one x. A model goes through all values, so there the others stay together.
pub(super) fn lines_by(picture: &Picture, rows: &[&Row]) -> Vec<String> {
    let mut by = picture.series_by.clone();
    let named = |by: &[String], name: &str| {
        let panels_by = &picture.panels_by;
        name == picture.x.of || by.iter().chain(panels_by).any(|b| b == name)
    };
    if picture.fit.is_some() {
        return by;
    }
    loop {
        let clash = rows.iter().enumerate().find_map(|(at, row)| {
            let same = |other: &&&Row| {
                label(row, &by) == label(other, &by)
                    && values(row, &picture.panels_by) == values(other, &picture.panels_by)
                    && row.point.get(&picture.x.of) == other.point.get(&picture.x.of)
            };
            let twin = rows[at + 1..].iter().find(same)?;
            let differs = |(name, value): &(&str, &ParameterValue)| {
                !named(&by, name) && twin.point.get(name) != Some(*value)
            };
            row.point
                .iter()
                .find(differs)
                .map(|(name, _)| name.to_owned())
        });
        match clash {
            Some(name) => by.push(name),
            None => return by,
        }
    }
}

/// The values of parameters, as text; empty for one that the row has not.
pub(super) fn values(row: &Row, names: &[String]) -> Vec<String> {
    let value = |name: &String| {
        row.point
            .get(name)
            .map_or(String::new(), ParameterValue::to_string)
    };
    names.iter().map(value).collect()
}

pub(super) fn label(row: &Row, by: &[String]) -> String {
    let known = by
        .iter()
        .filter_map(|name| Some((name, row.point.get(name)?)));
    known.fold(row.series.clone(), |label, (name, value)| match value {
        ParameterValue::Word(word) => format!("{label}, {word}"),
        ParameterValue::Count(_) | ParameterValue::Number(_) => format!("{label}, {name} {value}"),
    })
}

pub(super) fn fact_label(beside: &PaperBeside, fact: &Fact<'_>) -> String {
    let by = beside.series_by.iter().map(|column| fact.get(column));
    let machine = [fact.get("machine")]
        .into_iter()
        .filter(|_| beside.x != "machine");
    let mut names = machine.chain(by).filter(|name| !name.is_empty()).unique();
    format!("{} ({})", names.join(", "), fact.source())
        .trim()
        .to_owned()
}

/// Rows by what `key` says, in the order in which the keys are met.
pub(super) fn parted<'a>(
    rows: &[&'a Row],
    key: impl Fn(&Row) -> Vec<String>,
) -> Vec<(Vec<String>, Vec<&'a Row>)> {
    let mut parts: Vec<(Vec<String>, Vec<&Row>)> = Vec::new();
    for &row in rows {
        let key = key(row);
        match parts.iter_mut().find(|(known, _)| *known == key) {
            Some((_, part)) => part.push(row),
            None => parts.push((key, vec![row])),
        }
    }
    parts
}
