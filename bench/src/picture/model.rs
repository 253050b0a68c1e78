//! Models through the marks of a line.

use super::panel::{Fitted, Origin, Panel, PanelLine};
use crate::fit::{self, FitError};
use crate::measuring::{ParameterValue, Point};
use crate::suite::LineFit;
use crate::text::{number, unit};

/// Fits what is asked for through every measured line; `per` is what x counts, `given` the unit of
/// y.
pub(super) fn fit(fit: &LineFit, per: &str, given: &str, panel: &mut Panel) {
    let over = panel.x.spread(65);
    let told = |slope| slope_text(slope, given, per);
    let measured = panel.lines.iter_mut();
    for line in measured.filter(|line| line.origin != Origin::Paper) {
        let fitted = match fit {
            LineFit::Line => straight(line, &over, told),
            LineFit::ThroughOrigin => proportional(line, &over, told),
            LineFit::Factors(names) => match names.as_slice() {
                [one] => factors(line, [one]),
                [one, other] => factors(line, [one, other]),
                names => {
                    let many = names.len();
                    let note = format!(
                        "No fit for {}: models have one or two factors, not {many}.",
                        line.label
                    );
                    panel.notes.push(note);
                    continue;
                }
            },
        };
        match fitted {
            Ok(fitted) => {
                line.label = format!("{}: {}", line.label, fitted.text);
                line.fit = Some(fitted);
            }
            Err(error) => panel
                .notes
                .push(format!("No fit for {}: {error}.", line.label)),
        }
    }
}

/// The factors of a point that a model asks for; not a number where the point has not got one.
pub(super) fn factors_of(fit: Option<&LineFit>, point: &Point) -> Vec<f64> {
    let Some(LineFit::Factors(names)) = fit else {
        return Vec::new();
    };
    let value = |name: &str| {
        point
            .get(name)
            .and_then(ParameterValue::number)
            .unwrap_or(f64::NAN)
    };
    let factor = |name: &String| match name.strip_suffix("^2") {
        Some(name) => value(name).powi(2),
        None => value(name),
    };
    names.iter().map(factor).collect()
}

fn points(line: &PanelLine) -> Vec<(f64, f64)> {
    line.marks.iter().map(|mark| (mark.x, mark.y)).collect()
}

fn straight(
    line: &PanelLine,
    over: &[f64],
    told: impl Fn(f64) -> String,
) -> Result<Fitted, FitError> {
    let model = fit::line(&points(line))?;
    Ok(Fitted {
        curve: over.iter().map(|&x| (x, model.at(x))).collect(),
        text: told(model.slope()) + &quality(line, 2, model.r_squared()),
    })
}

fn proportional(
    line: &PanelLine,
    over: &[f64],
    told: impl Fn(f64) -> String,
) -> Result<Fitted, FitError> {
    let model = fit::through_origin(&points(line))?;
    Ok(Fitted {
        curve: over.iter().map(|&x| (x, model.at([x]))).collect(),
        text: told(model.coefficients[0]) + &quality(line, 1, model.r_squared),
    })
}

fn factors<const N: usize>(line: &PanelLine, names: [&str; N]) -> Result<Fitted, FitError> {
    let given = line.factors.iter().zip(&line.marks);
    let rows: Vec<([f64; N], f64)> = given
        .map(|(factors, mark)| (std::array::from_fn(|at| factors[at]), mark.y))
        .collect();
    let model = fit::factors(&rows)?;
    let terms = model.coefficients.iter().zip(names).enumerate();
    let terms = terms.map(|(at, (coefficient, name))| {
        let sign = match (at, *coefficient < 0.0) {
            (0, false) => "",
            (0, true) => "-",
            (_, false) => " + ",
            (_, true) => " - ",
        };
        let name = name.replace("^2", "²");
        format!("{sign}{} {name}", number(coefficient.abs()))
    });
    let modelled = rows.iter().zip(&line.marks);
    Ok(Fitted {
        curve: modelled
            .map(|((x, _), mark)| (mark.x, model.at(*x)))
            .collect(),
        text: terms.collect::<String>() + &quality(line, N, model.r_squared),
    })
}

/// How well a model fits; through as many points as it has coefficients any model goes.
fn quality(line: &PanelLine, coefficients: usize, r_squared: f64) -> String {
    if line.marks.len() <= coefficients {
        return ", as many points as coefficients".to_owned();
    }
    format!(", R² {}", number(r_squared))
}

/// What y grows by with x, in a unit that can be read.
fn slope_text(slope: f64, given: &str, per: &str) -> String {
    let (slope, unit) = match given {
        "s" if slope.abs() < 1e-3 => (slope * 1e6, "µs"),
        "ms" if slope.abs() < 1e-3 => (slope * 1e3, "µs"),
        other => (slope, unit(other)),
    };
    format!("{} {unit} per {}", number(slope), per.trim_end_matches('s')).replace("  ", " ")
}
