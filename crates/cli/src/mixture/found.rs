//! What `motet mixture` has found, in the units of the columns, and how it is printed.

use std::io::{self, Write};

use motet_mining::{Covariance, MixtureModel, MixtureTried};
use serde::Serialize;

use super::{Chosen, MixtureArgs};
use crate::model::{files, label};
use crate::order::greatest_first;
use crate::ranked::Measured;
use crate::read::OnMissing;
use crate::report::scaling_facts;
use crate::space::{Placed, Space};
use crate::summary::{MissingRows, Profiled, ThreadScaling};
use crate::text::{flat, grouped, significant};

/// The result of `motet mixture`; with `--json` this object is printed.
#[derive(Debug, Clone, Serialize)]
pub struct MixtureSummary {
    /// The version of the program.
    pub motet: &'static str,
    /// The path as given, or `<stdin>`.
    pub file: String,
    /// Number of points.
    pub points: usize,
    /// The columns, in order.
    pub columns: Vec<String>,
    /// Whether the columns were brought to mean 0 and standard deviation 1 for the fit.
    pub standardised: bool,
    /// What was done with rows that lack a value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missing: Option<MissingRows>,
    /// The shape of the covariances: full, tied, diagonal or spherical.
    pub covariance: String,
    /// The number of components.
    pub components: usize,
    /// The criterion, and the numbers of components that it chose from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub criterion: Option<String>,
    /// The numbers of components that were tried.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tried: Vec<MixtureTried>,
    /// The mean over the points of ln p.
    pub log_likelihood: f64,
    /// Schwarz's criterion; that of the fit, also where other points are labelled.
    pub bic: f64,
    /// Akaike's criterion; that of the fit.
    pub aic: f64,
    /// Whether the fit came to its tolerance.
    pub converged: bool,
    /// The start that led to it, from 0.
    pub start: usize,
    /// Seconds on the ranks.
    pub run_seconds: f64,
    /// Ranks.
    pub threads: usize,
    /// The comparison with one thread, when asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scaling: Option<ThreadScaling>,
    /// Where the time went, when asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile: Option<Profiled>,
    /// The components, the one with the largest weight first.
    pub table: Vec<MixtureComponent>,
    /// The mean of ln p before each step of the fit.
    pub trace: Vec<f64>,
    /// The component of each row, from 1.
    #[serde(skip)]
    pub labels: Vec<u32>,
    /// The files that were written.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
}

/// One component.
#[derive(Debug, Clone, Serialize)]
pub struct MixtureComponent {
    /// Its number, from 1.
    pub component: usize,
    /// The number of points of which it has the largest share.
    pub size: usize,
    /// Its weight.
    pub weight: f64,
    /// Its mean.
    pub mean: Vec<f64>,
    /// Its standard deviation along each column.
    pub deviation: Vec<f64>,
    /// Its covariance, row after row.
    pub covariance: Vec<f64>,
}

/// The model and what was tried for it in the units of the columns, its components by weight. A
/// spherical one of standardised columns becomes diagonal.
pub(super) fn in_columns((mut model, mut tried): Chosen, space: &Space) -> Chosen {
    let (k, dim) = (model.components(), model.dim);
    if let Space::Standardised { means, deviations } = space {
        for (at, mean) in model.means.iter_mut().enumerate() {
            *mean = means[at % dim] + *mean * deviations[at % dim];
        }
        if model.covariance == Covariance::Spherical {
            let variances = model.covariances.iter();
            model.covariances = variances
                .flat_map(|variance| std::iter::repeat_n(*variance, dim))
                .collect();
            model.covariance = Covariance::Diagonal;
        }
        let matrix = matches!(model.covariance, Covariance::Full | Covariance::Tied);
        for (at, value) in model.covariances.iter_mut().enumerate() {
            let (row, column) = match matrix {
                true => (at / dim % dim, at % dim),
                false => (at % dim, at % dim),
            };
            *value *= deviations[row] * deviations[column];
        }
        // A density is per unit of volume.
        let volume: f64 = deviations.iter().map(|deviation| deviation.ln()).sum();
        let points = model.labels.len() as f64;
        model.log_likelihood -= volume;
        model.trace.iter_mut().for_each(|value| *value -= volume);
        model.bic += 2.0 * points * volume;
        model.aic += 2.0 * points * volume;
        for tried in &mut tried {
            tried.log_likelihood -= volume;
            tried.bic += 2.0 * points * volume;
            tried.aic += 2.0 * points * volume;
        }
    }
    let order = greatest_first(&model.weights);
    let pick = |values: &[f64]| -> Vec<f64> {
        let size = values.len() / k;
        let parts = order.iter().flat_map(|&at| &values[at * size..][..size]);
        parts.copied().collect()
    };
    model.weights = pick(&model.weights);
    model.means = pick(&model.means);
    if model.covariance != Covariance::Tied {
        model.covariances = pick(&model.covariances);
    }
    let mut numbers = vec![0; k];
    (0_u32..)
        .zip(&order)
        .for_each(|(number, &at)| numbers[at] = number);
    let labels = model.labels.iter_mut();
    labels.for_each(|label| *label = numbers[*label as usize]);
    (model, tried)
}

/// The covariance of a component as a matrix.
fn matrix(model: &MixtureModel, component: usize) -> Vec<f64> {
    let dim = model.dim;
    let values = match model.covariance {
        Covariance::Full => {
            return model.covariances[component * dim * dim..][..dim * dim].to_vec();
        }
        Covariance::Tied => return model.covariances.clone(),
        Covariance::Diagonal => &model.covariances[component * dim..][..dim],
        Covariance::Spherical => &model.covariances[component..=component],
    };
    let mut matrix = vec![0.0; dim * dim];
    (0..dim).for_each(|at| matrix[at * (dim + 1)] = values[at % values.len()]);
    matrix
}

pub(super) fn summarise(
    args: &MixtureArgs,
    placed: &Placed,
    found: &Measured<Chosen>,
) -> MixtureSummary {
    let (model, tried) = &found.found;
    let table = (0..model.components()).map(|at| {
        let covariance = matrix(model, at);
        let diagonal = covariance.iter().step_by(model.dim + 1);
        MixtureComponent {
            component: at + 1,
            size: model.labels.iter().filter(|l| **l as usize == at).count(),
            weight: model.weights[at],
            mean: model.means[at * model.dim..][..model.dim].to_vec(),
            deviation: diagonal.map(|variance| variance.sqrt()).collect(),
            covariance,
        }
    });
    let what = args.table.written.missing;
    let out = args.results.run.out.as_deref();
    MixtureSummary {
        motet: env!("CARGO_PKG_VERSION"),
        file: label(&args.file),
        points: model.labels.len(),
        columns: placed.names.clone(),
        standardised: args.table.numbers.standardise,
        missing: (what != OnMissing::Error).then_some(MissingRows {
            what,
            dropped_rows: placed.dropped.len(),
            filled_cells: placed.filled,
        }),
        covariance: format!("{:?}", model.covariance).to_lowercase(),
        components: model.components(),
        criterion: (!tried.is_empty())
            .then(|| format!("{:?}", args.fit.criterion()).to_lowercase()),
        tried: tried.clone(),
        log_likelihood: model.log_likelihood,
        bic: model.bic,
        aic: model.aic,
        converged: model.converged,
        start: model.start,
        run_seconds: found.seconds,
        threads: found.threads,
        scaling: found.scaling,
        profile: found.profile.clone().map(Profiled::from),
        table: table.collect(),
        trace: model.trace.clone(),
        labels: model.labels.iter().map(|label| label + 1).collect(),
        files: files(out, &args.files()),
    }
}

pub(super) fn write_json(to: &mut dyn Write, summary: &MixtureSummary) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *to, summary)?;
    writeln!(to)
}

/// Columns that the table shows; the others are in `--json`.
const COLUMNS: usize = 6;

pub(super) fn write_text(to: &mut dyn Write, summary: &MixtureSummary) -> io::Result<()> {
    let shown = summary.columns.iter().take(COLUMNS);
    let head: Vec<String> = shown
        .map(|name| flat(name).chars().take(22).collect::<String>())
        .map(|name| format!("  {name:>22}"))
        .collect();
    writeln!(to, "component      size  weight{}", head.concat())?;
    for row in &summary.table {
        let pairs = row.mean.iter().zip(&row.deviation).take(COLUMNS);
        let cells: Vec<String> = pairs
            .map(|(mean, sd)| format!("{} ± {}", significant(*mean), significant(*sd)))
            .map(|cell| format!("  {cell:>22}"))
            .collect();
        writeln!(
            to,
            "{:>9}  {:>8}  {:.4}{}",
            row.component,
            grouped(row.size),
            row.weight,
            cells.concat()
        )?;
    }
    if summary.columns.len() > COLUMNS {
        let rest = summary.columns.len() - COLUMNS;
        writeln!(
            to,
            "({rest} more columns: see --json, or model.json of --out)"
        )?;
    }
    writeln!(to)?;
    for (name, value) in facts(summary) {
        writeln!(to, "{name:<12}{value}")?;
    }
    if let Some(profiled) = &summary.profile {
        writeln!(to, "\n{}", profiled.profile)?;
    }
    Ok(())
}

fn facts(summary: &MixtureSummary) -> Vec<(&'static str, String)> {
    let mut facts = vec![
        ("points", grouped(summary.points)),
        (
            "method",
            format!(
                "mixture of normal distributions, {} covariances",
                summary.covariance
            ),
        ),
        ("components", summary.components.to_string()),
    ];
    if let Some(criterion) = &summary.criterion {
        let value = |tried: &MixtureTried| match criterion.as_str() {
            "aic" => tried.aic,
            _ => tried.bic,
        };
        let tried = summary.tried.iter();
        let all = tried.map(|tried| format!("{}: {:.1}", tried.components, value(tried)));
        let all = all.collect::<Vec<_>>().join(", ");
        facts.push((
            "tried",
            format!("{} by components: {all}", criterion.to_uppercase()),
        ));
    }
    facts.push(("mean ln p", format!("{:.6}", summary.log_likelihood)));
    if !summary.trace.is_empty() {
        facts.push((
            "BIC, AIC",
            format!("{:.2}, {:.2}", summary.bic, summary.aic),
        ));
        let end = match summary.converged {
            true => "converged",
            false => "not converged: give more --iterations",
        };
        facts.push(("steps", format!("{}, {end}", summary.trace.len())));
    }
    facts.push((
        "run time",
        format!("{} s", significant(summary.run_seconds)),
    ));
    facts.push(("threads", summary.threads.to_string()));
    facts.extend(summary.scaling.iter().flat_map(scaling_facts));
    if !summary.files.is_empty() {
        facts.push(("files", summary.files.join(", ")));
    }
    facts
}
