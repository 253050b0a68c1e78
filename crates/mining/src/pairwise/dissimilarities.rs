//! The dissimilarities of all pairs of rows.

use super::mapped::{Floats, Mapped, check_one};
use crate::DataError;
use crate::checkpoint::Digest;
use std::fmt;
use std::sync::Arc;

/// A row that is made when it is needed: the number of the row, and where its values go.
type MakeRow = Arc<dyn Fn(usize, &mut [f64]) + Send + Sync>;

#[derive(Clone)]
enum Storage {
    Double(Vec<f64>),
    Single(Vec<f32>),
    Codes { codes: Vec<u16>, scale: f64 },
    Computed(MakeRow),
    Mapped(Mapped),
}

/// Dissimilarities of all pairs of some rows, checked once. No value is negative or infinite, the
/// diagonal is zero, and every row has a pair that is known.
///
/// NaN means not known. Where D(i, j) and D(j, i) differ, the mean of both counts; a pair that is
/// known one way takes that value. A dissimilarity plays the part of a squared distance. All
/// ranks read the same `Dissimilarities` by shared reference.
///
/// # Examples
///
/// ```
/// use motet_mining::{DataError, Dissimilarities};
///
/// let pairs = Dissimilarities::new(vec![0.0, 1.0, 3.0, 0.0], 2)?;
/// assert_eq!((pairs.get(0, 1), pairs.asymmetry()), (2.0, 2.0));
///
/// let broken = Dissimilarities::new(vec![0.0, 1.0, -3.0, 0.0], 2);
/// assert!(matches!(broken, Err(DataError::NegativePair { row: 1, column: 0, .. })));
/// # Ok::<(), DataError>(())
/// ```
#[derive(Clone)]
pub struct Dissimilarities {
    storage: Storage,
    rows: usize,
    gaps: bool,
    asymmetry: f64,
}

impl Dissimilarities {
    /// Takes `values` as `rows` rows of `rows` columns, row after row.
    ///
    /// # Errors
    ///
    /// A [`DataError`] that names the first bad row and column.
    pub fn new(mut values: Vec<f64>, rows: usize) -> Result<Dissimilarities, DataError> {
        let (gaps, asymmetry) = check(&mut values, rows)?;
        Ok(Dissimilarities {
            storage: Storage::Double(values),
            rows,
            gaps,
            asymmetry,
        })
    }

    /// Takes `values` of half the size; sums are still `f64`.
    ///
    /// # Errors
    ///
    /// As for [`new`](Dissimilarities::new).
    pub fn from_single(mut values: Vec<f32>, rows: usize) -> Result<Dissimilarities, DataError> {
        let (gaps, asymmetry) = check(&mut values, rows)?;
        Ok(Dissimilarities {
            storage: Storage::Single(values),
            rows,
            gaps,
            asymmetry,
        })
    }

    /// The same in half the memory: values are rounded to `f32`, sums are still `f64`. Where one is
    /// larger than any `f32`, all stay as they are.
    #[must_use]
    pub fn single(mut self) -> Dissimilarities {
        if let Storage::Double(values) = &self.storage {
            let single: Vec<f32> = values.iter().map(|value| *value as f32).collect();
            if !single.iter().any(|value| value.is_infinite()) {
                self.storage = Storage::Single(single);
            }
        }
        self
    }

    /// Takes codes of a quarter of the size: a dissimilarity is its code times `scale`, and
    /// [`UNKNOWN`](Dissimilarities::UNKNOWN) is the code of what is not known. Sums are `f64`.
    ///
    /// # Errors
    ///
    /// As for [`new`](Dissimilarities::new), [`DataError::Asymmetric`] where D(i, j) and D(j, i)
    /// differ, and [`DataError::Scale`] for a scale that is not positive, or above 1e135.
    ///
    /// # Examples
    ///
    /// ```
    /// use motet_mining::{DataError, Dissimilarities};
    ///
    /// let pairs = Dissimilarities::from_codes(vec![0, 3, 3, 0], 0.25, 2)?;
    /// assert_eq!(pairs.get(0, 1), 0.75);
    /// # Ok::<(), DataError>(())
    /// ```
    pub fn from_codes(
        codes: Vec<u16>,
        scale: f64,
        rows: usize,
    ) -> Result<Dissimilarities, DataError> {
        if !(scale > 0.0 && scale <= LARGEST_SCALE) {
            return Err(DataError::Scale { scale });
        }
        let gaps = check_codes(&codes, scale, rows)?;
        Ok(Dissimilarities {
            storage: Storage::Codes { codes, scale },
            rows,
            gaps,
            asymmetry: 0.0,
        })
    }

    /// The code of a dissimilarity that is not known.
    pub const UNKNOWN: u16 = u16::MAX;

    /// The same as codes: values are rounded to 65,535 equal steps from zero to the largest.
    /// What is computed row by row stays so.
    #[must_use]
    pub fn coded(mut self) -> Dissimilarities {
        if matches!(self.storage, Storage::Codes { .. } | Storage::Computed(_)) {
            return self;
        }
        let mut row = vec![0.0; self.rows];
        let mut most = 0.0_f64;
        for number in 0..self.rows {
            self.read(number, &mut row);
            // NaN is not larger than anything.
            most = row.iter().copied().fold(most, f64::max);
        }
        let steps = f64::from(Dissimilarities::UNKNOWN - 1);
        let scale = if most > 0.0 { most / steps } else { 1.0 };
        let mut codes = Vec::with_capacity(self.rows * self.rows);
        for number in 0..self.rows {
            self.read(number, &mut row);
            codes.extend(row.iter().map(|value| match value.is_nan() {
                true => Dissimilarities::UNKNOWN,
                false => (value / scale).round().min(steps) as u16,
            }));
        }
        self.storage = Storage::Codes { codes, scale };
        self
    }

    /// Rows that are computed whenever they are needed, so that no matrix is stored.
    ///
    /// `make` writes the dissimilarities of one row to all rows. It must be symmetric and give
    /// the same numbers each time; every value is checked here, at the price of one pass.
    ///
    /// # Errors
    ///
    /// As for [`new`](Dissimilarities::new), and [`DataError::NotFinite`] for NaN.
    pub fn computed(
        rows: usize,
        make: impl Fn(usize, &mut [f64]) + Send + Sync + 'static,
    ) -> Result<Dissimilarities, DataError> {
        if rows == 0 {
            return Err(DataError::Empty);
        }
        let mut values = vec![0.0_f64; rows];
        for row in 0..rows {
            make(row, &mut values);
            for (column, &value) in values.iter().enumerate() {
                if value.is_nan() {
                    return Err(DataError::NotFinite { row, column, value });
                }
                check_one(row, column, value)?;
            }
        }
        Ok(Dissimilarities {
            storage: Storage::Computed(Arc::new(make)),
            rows,
            gaps: false,
            asymmetry: 0.0,
        })
    }

    /// Numbers that stay where they lie, as in a mapped file: rows of `rows` numbers, row after
    /// row. They must not change. All of them are checked here, at the price of three passes.
    ///
    /// # Errors
    ///
    /// As for [`new`](Dissimilarities::new), and [`DataError::Asymmetric`] where D(i, j) and
    /// D(j, i) differ.
    ///
    /// # Examples
    ///
    /// ```
    /// use motet_mining::{DataError, Dissimilarities, Floats};
    ///
    /// let bytes: Vec<u8> = [0.0_f32, 0.5, 0.5, 0.0].iter().flat_map(|d| d.to_le_bytes()).collect();
    /// let pairs = Dissimilarities::mapped(bytes, Floats::Single, 2)?;
    /// assert_eq!(pairs.get(0, 1), 0.5);
    /// # Ok::<(), DataError>(())
    /// ```
    pub fn mapped(
        bytes: impl AsRef<[u8]> + Send + Sync + 'static,
        floats: Floats,
        rows: usize,
    ) -> Result<Dissimilarities, DataError> {
        let (mapped, gaps) = Mapped::new(Arc::new(bytes), floats, rows)?;
        Ok(Dissimilarities {
            storage: Storage::Mapped(mapped),
            rows,
            gaps,
            asymmetry: 0.0,
        })
    }

    /// The number of rows.
    #[allow(clippy::len_without_is_empty, reason = "there is at least one row")]
    pub fn len(&self) -> usize {
        self.rows
    }

    /// Whether a pair is not known.
    pub fn has_gaps(&self) -> bool {
        self.gaps
    }

    /// The largest difference of D(i, j) and D(j, i) as they were given.
    pub fn asymmetry(&self) -> f64 {
        self.asymmetry
    }

    /// One dissimilarity; NaN if it is not known.
    ///
    /// # Panics
    ///
    /// If there is no such row or column.
    pub fn get(&self, row: usize, column: usize) -> f64 {
        let mut values = vec![0.0; self.rows];
        self.read(row, &mut values);
        values[column]
    }

    /// What stands for them and the weights of their rows.
    pub(crate) fn digest(&self, weights: &[f64], digest: &mut Digest) {
        digest.numbers(weights);
        let mut row = vec![0.0; self.rows];
        for number in 0..self.rows {
            self.read(number, &mut row);
            digest.numbers(&row);
        }
    }

    /// Writes one row, NaN where it is not known.
    pub(crate) fn read(&self, row: usize, to: &mut [f64]) {
        let at = row * self.rows..(row + 1) * self.rows;
        match &self.storage {
            Storage::Double(values) => to.copy_from_slice(&values[at]),
            Storage::Single(values) => {
                for (to, value) in to.iter_mut().zip(&values[at]) {
                    *to = f64::from(*value);
                }
            }
            Storage::Codes { codes, scale } => {
                for (to, code) in to.iter_mut().zip(&codes[at]) {
                    *to = match *code {
                        Dissimilarities::UNKNOWN => f64::NAN,
                        code => f64::from(code) * scale,
                    };
                }
            }
            Storage::Computed(make) => make(row, to),
            Storage::Mapped(mapped) => mapped.read(row, to),
        }
    }

    /// Writes one row with zero where it is not known, or one where it is known and zero
    /// elsewhere.
    pub(crate) fn read_part(&self, row: usize, known: bool, to: &mut [f64]) {
        self.read(row, to);
        if self.gaps || known {
            for value in to {
                *value = match (known, value.is_nan()) {
                    (_, true) => 0.0,
                    (true, false) => 1.0,
                    (false, false) => *value,
                };
            }
        }
    }
}

impl fmt::Debug for Dissimilarities {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Dissimilarities")
            .field("rows", &self.rows)
            .field("gaps", &self.gaps)
            .field("asymmetry", &self.asymmetry)
            .finish_non_exhaustive()
    }
}

/// What a stored matrix consists of.
trait Number: Copy + Into<f64> {
    fn from_double(value: f64) -> Self;
}

impl Number for f64 {
    fn from_double(value: f64) -> f64 {
        value
    }
}

impl Number for f32 {
    fn from_double(value: f64) -> f32 {
        value as f32
    }
}

/// Of codes; their squares have a finite sum then.
const LARGEST_SCALE: f64 = 1e135;

/// Checks a matrix and makes it symmetric; gives whether there are gaps, and the asymmetry.
fn check<V: Number>(values: &mut [V], rows: usize) -> Result<(bool, f64), DataError> {
    if rows == 0 {
        return Err(DataError::Empty);
    }
    if rows.checked_mul(rows) != Some(values.len()) {
        return Err(DataError::NotSquare {
            values: values.len(),
            rows,
        });
    }
    for (at, &value) in values.iter().enumerate() {
        check_one(at / rows, at % rows, value.into())?;
    }
    let (mut gaps, mut asymmetry) = (false, 0.0_f64);
    for i in 0..rows {
        values[i * rows + i] = V::from_double(0.0);
        for j in 0..i {
            let (at, across) = (i * rows + j, j * rows + i);
            let (a, b): (f64, f64) = (values[at].into(), values[across].into());
            let value = match (a.is_nan(), b.is_nan()) {
                (true, _) => b,
                (_, true) => a,
                _ => a / 2.0 + b / 2.0,
            };
            gaps |= value.is_nan();
            if !a.is_nan() && !b.is_nan() {
                asymmetry = asymmetry.max((a - b).abs());
            }
            values[at] = V::from_double(value);
            values[across] = values[at];
        }
    }
    if gaps {
        for (row, line) in values.chunks_exact(rows).enumerate() {
            if line.iter().filter(|&&v| !v.into().is_nan()).count() < 2 {
                return Err(DataError::NoKnownPair { row });
            }
        }
    }
    Ok((gaps, asymmetry))
}

/// Checks codes; gives whether there are gaps.
fn check_codes(codes: &[u16], scale: f64, rows: usize) -> Result<bool, DataError> {
    if rows == 0 {
        return Err(DataError::Empty);
    }
    if rows.checked_mul(rows) != Some(codes.len()) {
        let values = codes.len();
        return Err(DataError::NotSquare { values, rows });
    }
    let mut gaps = false;
    for (row, line) in codes.chunks_exact(rows).enumerate() {
        if line[row] != 0 {
            let value = f64::from(line[row]) * scale;
            return Err(DataError::Diagonal { row, value });
        }
        let across = |column: &usize| codes[column * rows + row];
        if let Some(column) = (0..row).find(|column| line[*column] != across(column)) {
            return Err(DataError::Asymmetric { row, column });
        }
        let known = line
            .iter()
            .filter(|code| **code != Dissimilarities::UNKNOWN);
        let known = known.count();
        gaps |= known < rows;
        if known < rows && known < 2 {
            return Err(DataError::NoKnownPair { row });
        }
    }
    Ok(gaps)
}
