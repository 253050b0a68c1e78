//! Models through the marks of a line.

use super::panel::Fitted;
use crate::fit::{self, FitError};
use crate::suite::Fit;
use crate::text::{number, unit};

/// The model, its curve over `over`, and its coefficients.
pub(super) fn fitted(
    fit: Fit,
    points: &[(f64, f64)],
    over: &[f64],
    given: &str,
    per: &str,
) -> Result<Fitted, FitError> {
    let slope = |slope: f64| {
        let (slope, unit) = match given {
            "s" if slope.abs() < 1e-3 => (slope * 1e6, "µs"),
            "ms" if slope.abs() < 1e-3 => (slope * 1e3, "µs"),
            other => (slope, unit(other)),
        };
        let per = per.trim_end_matches('s').replace("number of ", "");
        format!("{} {unit} per {per}", number(slope)).replace("  ", " ")
    };
    match fit {
        Fit::Line => {
            let line = fit::line(points)?;
            Ok(Fitted {
                curve: over.iter().map(|&x| (x, line.at(x))).collect(),
                text: format!("{}, R² {}", slope(line.slope()), number(line.r_squared())),
            })
        }
        Fit::ThroughOrigin => {
            let line = fit::through_origin(points)?;
            Ok(Fitted {
                curve: over.iter().map(|&x| (x, line.at([x]))).collect(),
                text: format!(
                    "{}, R² {}",
                    slope(line.coefficients[0]),
                    number(line.r_squared)
                ),
            })
        }
    }
}
