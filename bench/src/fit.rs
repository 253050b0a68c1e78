//! Least squares: lines, and models of one or two factors without a constant term.
//!
//! A straight line through run times gives the overhead per stage (papers E03 to E05), through copy
//! times the bandwidth (E07, E08). The parallel overhead of clustering is modelled as a sum of
//! factors, f = a1·x1 + a2·x2. Nothing is left when the factors are 0 (P4 IV.B: p and n; p/N; p and
//! p²).
//!
//! The columns are made orthogonal one after the other (modified Gram-Schmidt, each scaled to
//! length 1 first). This keeps the digits that normal equations lose when one factor is in millions
//! and the other near 1.
//!
//! ```
//! use motet_bench::fit;
//!
//! let line = fit::line(&[(0.0, 1.0), (1.0, 3.0), (2.0, 5.0)]).unwrap();
//! assert!((line.slope() - 2.0).abs() < 1e-12 && (line.intercept() - 1.0).abs() < 1e-12);
//!
//! // f = 0.01·p + 0.002·n
//! let runs = [([2.0, 1.0], 0.022), ([4.0, 1.0], 0.042), ([4.0, 2.0], 0.044)];
//! let model = fit::factors(&runs).unwrap();
//! assert!((model.coefficients[1] - 0.002).abs() < 1e-12);
//! ```

use thiserror::Error;

/// A model y = Σ aᵢ·xᵢ with the least sum of squared residuals.
#[derive(Debug, Clone, PartialEq)]
pub struct Fit<const N: usize> {
    /// The coefficient of each factor.
    pub coefficients: [f64; N],
    /// Measured less modelled, point by point, in the unit of y.
    pub residuals: Vec<f64>,
    /// The share of y's squares that the model explains. The squares are about their mean if the
    /// model has a constant, else about 0. That is what such a model predicts without its factors.
    /// At most 1.
    pub r_squared: f64,
}

/// A straight line y = intercept + slope·x.
#[derive(Debug, Clone, PartialEq)]
pub struct StraightLine(Fit<2>);

/// Why no model can be fitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum FitError {
    /// There are fewer points than coefficients.
    #[error("{points} points do not determine {needed} coefficients: measure at least {needed}")]
    TooFew {
        /// How many there are.
        points: usize,
        /// How many are needed.
        needed: usize,
    },
    /// A point is infinite or no number.
    #[error("point {} is not a finite number: leave it out", .point + 1)]
    NotFinite {
        /// Which, from 0.
        point: usize,
    },
    /// A factor is 0 everywhere, or follows from those before it.
    #[error(
        "factor {factor} is 0 or follows from the others at every point: vary it by itself, or fit without it"
    )]
    Dependent {
        /// Which, from 1.
        factor: usize,
    },
}

/// The line through `points` (x, y).
///
/// # Errors
/// [`FitError`] for fewer than two points, or when all have the same x.
pub fn line(points: &[(f64, f64)]) -> Result<StraightLine, FitError> {
    let rows: Vec<_> = points.iter().map(|&(x, y)| ([1.0, x], y)).collect();
    let mut fit = factors(&rows)?;
    let mean = points.iter().map(|(_, y)| y).sum::<f64>() / points.len() as f64;
    let about_mean = points.iter().map(|(_, y)| (y - mean).powi(2)).sum();
    fit.r_squared = explained(&fit.residuals, about_mean);
    Ok(StraightLine(fit))
}

/// The line through `points` (x, y) and through 0: y = a·x.
///
/// # Errors
/// [`FitError`] without points, or when all have x = 0.
pub fn through_origin(points: &[(f64, f64)]) -> Result<Fit<1>, FitError> {
    let rows: Vec<_> = points.iter().map(|&(x, y)| ([x], y)).collect();
    factors(&rows)
}

/// The model y = Σ aᵢ·xᵢ, no constant term, through `rows` ([x₁, x₂, …], y).
///
/// # Errors
/// [`FitError`] for fewer rows than factors, a factor that is 0 everywhere or follows from the
/// others, or values that are not finite.
pub fn factors<const N: usize>(rows: &[([f64; N], f64)]) -> Result<Fit<N>, FitError> {
    let points = rows.len();
    if points < N {
        return Err(FitError::TooFew { points, needed: N });
    }
    let finite = |(x, y): &([f64; N], f64)| y.is_finite() && x.iter().all(|x| x.is_finite());
    if let Some(point) = rows.iter().position(|row| !finite(row)) {
        return Err(FitError::NotFinite { point });
    }
    // Column by column: what is left of it beyond the earlier ones, at length 1, and its shares of
    // them.
    let mut basis: Vec<Vec<f64>> = Vec::with_capacity(N);
    let mut shares = [[0.0; N]; N];
    for factor in 0..N {
        let mut column: Vec<f64> = rows.iter().map(|(x, _)| x[factor]).collect();
        let length = norm(&column);
        for (earlier, direction) in basis.iter().enumerate() {
            let share = dot(direction, &column);
            shares[earlier][factor] = share;
            subtract(&mut column, share, direction);
        }
        let left = norm(&column);
        if left <= length * 1e-9 {
            return Err(FitError::Dependent { factor: factor + 1 });
        }
        shares[factor][factor] = left;
        column.iter_mut().for_each(|x| *x /= left);
        basis.push(column);
    }
    let mut residuals: Vec<f64> = rows.iter().map(|(_, y)| *y).collect();
    let about_zero = dot(&residuals, &residuals);
    let mut coefficients = [0.0; N];
    for (factor, direction) in basis.iter().enumerate() {
        let share = dot(direction, &residuals);
        subtract(&mut residuals, share, direction);
        coefficients[factor] = share;
    }
    for factor in (0..N).rev() {
        let later: f64 = (factor + 1..N)
            .map(|later| shares[factor][later] * coefficients[later])
            .sum();
        coefficients[factor] = (coefficients[factor] - later) / shares[factor][factor];
    }
    let r_squared = explained(&residuals, about_zero);
    Ok(Fit {
        coefficients,
        residuals,
        r_squared,
    })
}

impl<const N: usize> Fit<N> {
    /// What the model says for these factors.
    #[must_use]
    pub fn at(&self, factors: [f64; N]) -> f64 {
        dot(&self.coefficients, &factors)
    }
}

impl StraightLine {
    /// What y grows by when x grows by 1.
    #[must_use]
    pub fn slope(&self) -> f64 {
        self.0.coefficients[1]
    }

    /// y at x = 0.
    #[must_use]
    pub fn intercept(&self) -> f64 {
        self.0.coefficients[0]
    }

    /// y at `x`.
    #[must_use]
    pub fn at(&self, x: f64) -> f64 {
        self.0.at([1.0, x])
    }

    /// Measured less modelled, point by point, in the unit of y.
    #[must_use]
    pub fn residuals(&self) -> &[f64] {
        &self.0.residuals
    }

    /// The share of y's variation about its mean that the line explains.
    #[must_use]
    pub fn r_squared(&self) -> f64 {
        self.0.r_squared
    }
}

/// 1 − Σ residual² / `total`; for a total of 0, 1: there is nothing that is not explained.
fn explained(residuals: &[f64], total: f64) -> f64 {
    if total > 0.0 {
        1.0 - dot(residuals, residuals) / total
    } else {
        1.0
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn norm(a: &[f64]) -> f64 {
    dot(a, a).sqrt()
}

/// Takes `share` of `direction` off `from`.
fn subtract(from: &mut [f64], share: f64, direction: &[f64]) {
    for (x, d) in from.iter_mut().zip(direction) {
        *x -= share * d;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(a: f64, b: f64) -> bool {
        (a - b).abs() <= 1e-9 * b.abs().max(1.0)
    }

    #[test]
    fn a_line_with_known_answer() {
        // Anscombe's first set: y = 3.0001 + 0.5001 x, R² = 0.6665.
        let x = [10.0, 8.0, 13.0, 9.0, 11.0, 14.0, 6.0, 4.0, 12.0, 7.0, 5.0];
        let y = [
            8.04, 6.95, 7.58, 8.81, 8.33, 9.96, 7.24, 4.26, 10.84, 4.82, 5.68,
        ];
        let points: Vec<(f64, f64)> = x.into_iter().zip(y).collect();
        let line = line(&points).unwrap();
        assert!((line.slope() - 0.500_090_909).abs() < 1e-8);
        assert!((line.intercept() - 3.000_090_909).abs() < 1e-8);
        assert!((line.r_squared() - 0.666_542_460).abs() < 1e-8);
        assert!(line.residuals().iter().sum::<f64>().abs() < 1e-9);
    }

    #[test]
    fn the_papers_slopes_come_out_of_the_papers_totals() {
        // P0 Fig. 3-AMD: 14 s of work, 4.63 µs a stage, up to a million stages.
        let points: Vec<(f64, f64)> = (0..=10)
            .map(|i| f64::from(i) * 1e5)
            .map(|stages| (stages, 14.0 + 4.63e-6 * stages))
            .collect();
        let line = line(&points).unwrap();
        assert!(near(line.slope() * 1e6, 4.63) && near(line.intercept(), 14.0));
        assert!(near(line.at(1e7), 14.0 + 46.3));
        assert!(near(line.r_squared(), 1.0));
    }

    #[test]
    fn one_factor_through_zero() {
        let fit = through_origin(&[(1.0, 2.0), (2.0, 2.0), (3.0, 5.0)]).unwrap();
        // a = Σxy / Σx² = 21 / 14; R² about 0 = 1 − (33 − 31.5) / 33.
        assert!(near(fit.coefficients[0], 1.5));
        assert!(near(fit.r_squared, 1.0 - 1.5 / 33.0));
        assert!(near(fit.residuals[2], 0.5) && near(fit.at([4.0]), 6.0));
    }

    #[test]
    fn two_factors_of_very_different_size() {
        // f = 1e-4·p + 3e-9·p², p up to 768; and a pair whose second factor is in millions.
        let quadratic: Vec<_> = [8.0, 24.0, 96.0, 192.0, 768.0_f64]
            .map(|p| ([p, p * p], 1e-4 * p + 3e-9 * p * p))
            .to_vec();
        let fit = factors(&quadratic).unwrap();
        assert!((fit.coefficients[0] / 1e-4 - 1.0).abs() < 1e-9);
        assert!((fit.coefficients[1] / 3e-9 - 1.0).abs() < 1e-7);
        let wide = [
            ([1.0, 1e7], 12.0),
            ([2.0, 1e7], 14.0),
            ([1.0, 3e7], 32.0),
            ([5.0, 2e7], 30.0),
        ];
        let fit = factors(&wide).unwrap();
        assert!(near(fit.coefficients[0], 2.0) && near(fit.coefficients[1] * 1e6, 1.0));
        assert!(near(fit.r_squared, 1.0));
    }

    #[test]
    fn residuals_are_what_the_factors_cannot_say() {
        let rows = [
            ([1.0, 0.0], 1.0),
            ([0.0, 1.0], 2.0),
            ([1.0, 1.0], 6.0),
            ([2.0, 1.0], 4.0),
        ];
        let fit = factors(&rows).unwrap();
        for factor in 0..2 {
            let along: f64 = rows
                .iter()
                .zip(&fit.residuals)
                .map(|((x, _), residual)| x[factor] * residual)
                .sum();
            assert!(along.abs() < 1e-12, "{along}");
        }
        for ((x, y), residual) in rows.iter().zip(&fit.residuals) {
            assert!(near(fit.at(*x) + residual, *y));
        }
        assert!(fit.r_squared < 1.0);
    }

    #[test]
    fn what_cannot_be_fitted_is_said() {
        assert_eq!(
            line(&[(1.0, 1.0)]),
            Err(FitError::TooFew {
                points: 1,
                needed: 2
            })
        );
        let same_x = [(3.0, 1.0), (3.0, 2.0), (3.0, 3.0)];
        assert_eq!(line(&same_x), Err(FitError::Dependent { factor: 2 }));
        let zeros = [(0.0, 1.0), (0.0, 2.0)];
        assert_eq!(
            through_origin(&zeros),
            Err(FitError::Dependent { factor: 1 })
        );
        let multiples = [([1.0, 24.0], 1.0), ([2.0, 48.0], 2.0), ([3.0, 72.0], 2.5)];
        assert_eq!(factors(&multiples), Err(FitError::Dependent { factor: 2 }));
        let gap = [(1.0, 1.0), (2.0, f64::NAN), (3.0, 3.0)];
        assert_eq!(line(&gap), Err(FitError::NotFinite { point: 1 }));
        let error = FitError::Dependent { factor: 2 }.to_string();
        assert!(
            error.contains("factor 2") && !error.contains('\n'),
            "{error}"
        );
    }

    #[test]
    fn level_values_are_explained_by_a_level_line() {
        let line = line(&[(1.0, 2.0), (2.0, 2.0), (4.0, 2.0)]).unwrap();
        assert!(line.slope().abs() < 1e-12 && near(line.intercept(), 2.0));
        assert_eq!(line.r_squared(), 1.0);
    }
}
