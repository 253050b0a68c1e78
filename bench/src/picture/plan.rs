//! From rows to panels: which values are shown where.

use super::labels::{fact_label, label, lines_by, origin, parted, values};
use super::model;
use super::panel::{Mark, Origin, Panel, PanelLine};
use super::scale::Scale;
use crate::measuring::Row;
use crate::papers;
use crate::suite::{LineShape, PaperBeside, Picture};
use crate::text::{slug, unit};
use itertools::Itertools;

/// The pictures that `picture` describes, one for each panel that has a measured value among the
/// `rows` of its experiment.
#[must_use]
pub fn panels(picture: &Picture, rows: &[&Row]) -> Vec<Panel> {
    let rows: Vec<&Row> = rows
        .iter()
        .copied()
        .filter(|row| shows(picture, row))
        .collect();
    let by = lines_by(picture, &rows);
    let order = rows.iter().map(|row| (origin(row), label(row, &by)));
    let mut order: Vec<(Origin, String)> = order.unique().collect();
    order.sort_by_key(|(origin, _)| *origin);
    let parts = parted(&rows, |row| values(row, &picture.panels_by));
    let planned = parts.into_iter().map(|(part, rows)| {
        Plan {
            picture,
            by: &by,
            order: &order,
            part,
            rows,
        }
        .panel()
    });
    planned.filter(Panel::has_measured).collect()
}

/// One panel that is being put together.
struct Plan<'a> {
    picture: &'a Picture,
    /// The parameters that tell its lines apart.
    by: &'a [String],
    /// The labels of all measured lines.
    order: &'a [(Origin, String)],
    /// The values of the parameters that tell the panels apart.
    part: Vec<String>,
    rows: Vec<&'a Row>,
}

/// Where a value lies before the axis is known.
type ValuePosition = Result<f64, String>;

/// A line before the axis is known.
struct Draft {
    label: String,
    origin: Origin,
    turn: usize,
    values: Vec<Seen>,
}

/// A value before the axis is known.
struct Seen {
    place: ValuePosition,
    /// Median, least and most.
    values: [f64; 3],
    /// What a model of factors asks for.
    factors: Vec<f64>,
}

impl Plan<'_> {
    fn panel(self) -> Panel {
        let mut drafts = self.measured();
        drafts.extend(self.facts());
        let words = self.words(&drafts);
        let mut notes = self.absences();
        let lines: Vec<PanelLine> = drafts
            .into_iter()
            .map(|draft| placed(draft, words.as_deref()))
            .collect();
        let log = self.is_log(&lines);
        let x = match words {
            Some(words) => Scale::Words(words),
            None => {
                let all = lines
                    .iter()
                    .flat_map(|line| line.marks.iter().map(|mark| mark.x));
                Scale::around(all, self.picture.x.log, false)
            }
        };
        let counted = self.picture.shape != LineShape::Lines;
        let y = Scale::around(heights(&lines), log, counted);
        let hidden = lines.iter().flat_map(|line| &line.marks);
        let hidden = hidden.filter(|mark| x.part(mark.x).is_none() || y.part(mark.y).is_none());
        let hidden = hidden.count();
        if hidden > 0 {
            notes.push(format!(
                "{hidden} values of 0 or less cannot be shown on a logarithmic axis; the table has them."
            ));
        }
        let disturbed = self.rows.iter().filter(|row| row.disturbed).count();
        if disturbed > 0 {
            let all = self.rows.len();
            notes.push(format!(
                "{disturbed} of {all} values were measured beside other load."
            ));
        }
        let mut panel = Panel {
            file: self.file(),
            title: self.title(),
            shape: self.picture.shape,
            x,
            y,
            x_title: titled(&self.picture.x.of, &self.picture.x.unit),
            y_title: titled(&self.picture.y.of, self.y_unit()),
            lines,
            notes,
        };
        if let Some(fit) = &self.picture.fit {
            model::fit(fit, &self.picture.x.of, self.y_unit(), &mut panel);
        }
        panel
    }

    fn file(&self) -> String {
        let parts = self.part.iter().map(|part| slug(part));
        let name = [self.picture.key.clone()].into_iter().chain(parts);
        name.collect::<Vec<_>>().join("-")
    }

    fn title(&self) -> String {
        let title = self.picture.title.clone();
        let names = self.picture.panels_by.iter().zip(&self.part);
        names.fold(title, |title, (name, value)| match value.parse::<f64>() {
            Ok(_) => format!("{title}, {name} {value}"),
            Err(_) => format!("{title}, {value}"),
        })
    }

    fn y_unit(&self) -> &str {
        match self.picture.y.unit.as_str() {
            "" => self.rows.first().map_or("", |row| &row.unit),
            given => given,
        }
    }

    /// Motet's lines and the peers'.
    fn measured(&self) -> Vec<Draft> {
        let mut drafts = Vec::new();
        for (at, (origin, name)) in self.order.iter().enumerate() {
            let earlier = self.order[..at].iter();
            let turn = earlier.filter(|(other, _)| other == origin).count();
            let own = self.rows.iter().filter(|row| label(row, self.by) == *name);
            let values: Vec<_> = own
                .filter_map(|row| {
                    let values = row.values()?;
                    Some(Seen {
                        place: place(row, self.picture)?,
                        values: [values.median, values.least, values.most],
                        factors: model::factors_of(self.picture.fit.as_ref(), &row.point),
                    })
                })
                .collect();
            if !values.is_empty() {
                drafts.push(Draft {
                    label: name.clone(),
                    origin: *origin,
                    turn,
                    values,
                });
            }
        }
        drafts
    }

    /// The papers' lines.
    fn facts(&self) -> Vec<Draft> {
        let mut drafts: Vec<Draft> = Vec::new();
        let Some(beside) = &self.picture.beside else {
            return drafts;
        };
        let table = papers::table(&beside.table);
        let facts = table.iter().flat_map(|table| table.rows());
        for fact in facts.filter(|fact| self.belongs(beside, fact)) {
            let Some(value) = fact.number(&beside.y) else {
                continue;
            };
            let name = fact_label(beside, &fact);
            let text = fact.get(&beside.x);
            let value = Seen {
                place: text.parse().map_err(|_| text.to_owned()),
                values: [value; 3],
                factors: Vec::new(),
            };
            match drafts.iter_mut().find(|draft| draft.label == name) {
                Some(draft) => draft.values.push(value),
                None => drafts.push(Draft {
                    label: name,
                    origin: Origin::Paper,
                    turn: drafts.len(),
                    values: vec![value],
                }),
            }
        }
        drafts
    }

    /// Whether a fact is one of those asked for, and of this panel as far as it can be told.
    fn belongs(&self, beside: &PaperBeside, fact: &papers::Fact<'_>) -> bool {
        // The papers say "Exchange as two shifts".
        let alike = |a: &str, b: &str| slug(a).replace("-as-", "-") == slug(b);
        let only = beside.only.iter();
        let wanted = only
            .clone()
            .all(|(column, value)| alike(fact.get(column), value));
        let mut parts = self.picture.panels_by.iter().zip(&self.part);
        wanted
            && self.has_unit_of(fact)
            && parts.all(|(name, value)| {
                let there = fact.get(column(name));
                // The papers say "inside thread".
                let begins = || slug(there).starts_with(&format!("{}-", slug(value)));
                there.is_empty() || alike(there, value) || (name == "place" && begins())
            })
    }

    /// Whether a fact can stand on this axis. Nothing is converted: another unit may be that of
    /// another quantity.
    fn has_unit_of(&self, fact: &papers::Fact<'_>) -> bool {
        let plain = |unit: &str| matches!(unit, "" | "ratio");
        match fact.get("unit") {
            "" => true,
            unit => unit == self.y_unit() || (plain(unit) && plain(self.y_unit())),
        }
    }

    /// The words of x, when they are no numbers, or stand below bars.
    fn words<'a>(&self, drafts: &'a [Draft]) -> Option<Vec<String>> {
        let seen = |draft: &&Draft| draft.origin != Origin::Paper;
        let all = |draft: &'a Draft| draft.values.iter().map(|seen| &seen.place);
        let places = || drafts.iter().flat_map(all);
        let mut measured = drafts.iter().filter(seen).flat_map(all);
        if self.picture.shape != LineShape::Bars && measured.all(Result::is_ok) {
            return None;
        }
        let mut numbers: Vec<f64> = places().filter_map(|x| x.clone().ok()).collect();
        numbers.sort_by(f64::total_cmp);
        numbers.dedup();
        let mut words: Vec<String> = numbers.into_iter().map(|x| x.to_string()).collect();
        for word in places().filter_map(|x| x.as_ref().err()) {
            if !words.iter().any(|known| slug(known) == slug(word)) {
                words.push(word.clone());
            }
        }
        Some(words)
    }

    /// Also when it is not asked for, where the papers' values would press those of today onto the
    /// axis.
    fn is_log(&self, lines: &[PanelLine]) -> bool {
        let highest = |origin: fn(Origin) -> bool| {
            let lines = lines.iter().filter(|line| origin(line.origin));
            let marks = lines.flat_map(|line| &line.marks);
            marks.map(|mark| mark.y).fold(0.0, f64::max)
        };
        let today = highest(|origin| origin != Origin::Paper);
        let then = highest(|origin| origin == Origin::Paper);
        let mut marks = lines.iter().flat_map(|line| &line.marks);
        self.picture.y.log || (then > 15.0 * today && marks.all(|mark| mark.y > 0.0))
    }

    /// Who was not measured; the table has the reasons.
    fn absences(&self) -> Vec<String> {
        let absent = self.rows.iter();
        let absent = absent.filter(|row| row.absent().is_some());
        let names = absent
            .map(|row| row.series.as_str())
            .sorted()
            .dedup()
            .join(", ");
        match names.is_empty() {
            true => Vec::new(),
            false => vec![format!(
                "Not measured everywhere: {names}. The table says why."
            )],
        }
    }
}

/// The papers' column of a parameter.
fn column(parameter: &str) -> &str {
    match parameter {
        "place" => "location",
        "units" => "units_per_stage",
        other => other,
    }
}

/// Whether a row is shown in any panel.
fn shows(picture: &Picture, row: &Row) -> bool {
    let only = picture.only.iter();
    row.quantity == picture.y.of
        && only
            .clone()
            .all(|(name, value)| row.point.get(name).is_some_and(|v| v.to_string() == *value))
}

fn place(row: &Row, picture: &Picture) -> Option<ValuePosition> {
    if picture.x.of == "series" {
        return Some(Err(row.series.clone()));
    }
    let value = row.point.get(&picture.x.of)?;
    Some(value.number().ok_or_else(|| value.to_string()))
}

/// A line whose places are numbers; without `words` what is none is left out.
fn placed(draft: Draft, words: Option<&[String]>) -> PanelLine {
    let at = |place: &ValuePosition| match (place, words) {
        (Ok(x), None) => Some(*x),
        (Err(_), None) => None,
        (place, Some(words)) => {
            let text = place.as_ref().map_or_else(String::clone, f64::to_string);
            let word = words.iter().position(|word| slug(word) == slug(&text));
            word.map(|word| word as f64)
        }
    };
    let marks = draft.values.into_iter().filter_map(|seen| {
        let [y, least, most] = seen.values;
        let mark = Mark {
            x: at(&seen.place)?,
            y,
            least,
            most,
        };
        Some((mark, seen.factors))
    });
    let mut marks: Vec<(Mark, Vec<f64>)> = marks.collect();
    marks.sort_by(|(a, _), (b, _)| a.x.total_cmp(&b.x));
    let (marks, factors) = marks.into_iter().unzip();
    PanelLine {
        label: draft.label,
        origin: draft.origin,
        turn: draft.turn,
        marks,
        fit: None,
        factors,
    }
}

/// What the vertical axis must show: all medians, and of the bands what is not far beyond them.
fn heights(lines: &[PanelLine]) -> impl Iterator<Item = f64> {
    let medians = lines.iter().flat_map(|line| &line.marks).map(|mark| mark.y);
    let (low, high) = medians.clone().fold((0.0_f64, 0.0_f64), |(low, high), y| {
        (low.min(y), high.max(y))
    });
    let bands = lines.iter().flat_map(|line| &line.marks);
    let bands = bands.flat_map(move |mark| {
        let beyond = 0.5 * (high - low);
        [mark.least.max(low - beyond), mark.most.min(high + beyond)]
    });
    medians.chain(bands)
}

fn titled(of: &str, given: &str) -> String {
    match unit(given) {
        "" => of.to_owned(),
        unit if unit == of => of.to_owned(),
        unit => format!("{of} ({unit})"),
    }
}
