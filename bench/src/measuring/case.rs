//! What is measured at one point.

use super::row::{ParameterValue, Point};
use super::setting::Setting;
use std::fmt;

/// Runs once and returns one value for each quantity of its case, in their order; of a case that is
/// [`over`](Case::over) a parameter so many for each of its values.
///
/// An error says why it cannot run here; the method does not ask it again and writes the reason. A
/// value that is not finite counts as an error too.
pub type CaseProgram = Box<dyn FnMut() -> Result<Vec<f64>, String>>;

/// The cases of an experiment, or why nothing of it can be measured here.
pub type Cases = Result<Vec<Case>, String>;

/// One point of an experiment: the programs that are compared there.
pub struct Case {
    /// Where it lies.
    pub point: Point,
    /// What each program tells.
    pub quantities: Vec<Quantity>,
    /// A parameter that one run goes through, with its values: each program tells all quantities at
    /// the first value, then at the next.
    pub over: Option<(&'static str, Vec<ParameterValue>)>,
    /// Motet, its forms and the peers; the first is the one the others are paired with.
    pub series: Vec<Series>,
}

/// What a program tells: a value for each quantity of its case.
pub trait CaseValues {
    /// All of them.
    fn values(self) -> Vec<f64>;
}

impl CaseValues for f64 {
    fn values(self) -> Vec<f64> {
        vec![self]
    }
}

impl<const N: usize> CaseValues for [f64; N] {
    fn values(self) -> Vec<f64> {
        self.into()
    }
}

impl CaseValues for Vec<f64> {
    fn values(self) -> Vec<f64> {
        self
    }
}

/// What is measured, and in what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quantity {
    /// Such as `overhead per stage`.
    pub name: &'static str,
    /// Such as `us`; empty for a plain number.
    pub unit: &'static str,
}

/// One program, under the name that its rows carry.
pub struct Series {
    /// `motet`, a form of it such as `motet spawned`, or the peer's name.
    pub name: String,
    /// The program.
    pub program: CaseProgram,
}

impl Case {
    /// No programs yet.
    #[must_use]
    pub fn new(point: Point, quantities: &[Quantity]) -> Case {
        Case {
            point,
            quantities: quantities.to_vec(),
            over: None,
            series: Vec::new(),
        }
    }

    /// A run goes through these values of a parameter.
    #[must_use]
    pub fn over<V: Into<ParameterValue>>(
        mut self,
        parameter: &'static str,
        values: impl IntoIterator<Item = V>,
    ) -> Case {
        let values = values.into_iter().map(Into::into);
        self.over = Some((parameter, values.collect()));
        self
    }

    /// What each value of a run is, and where it lies.
    pub(crate) fn told(&self) -> Vec<(Point, Quantity)> {
        let points: Vec<Point> = match &self.over {
            None => vec![self.point.clone()],
            Some((parameter, values)) => {
                let at = |value: &ParameterValue| self.point.clone().with(parameter, value.clone());
                values.iter().map(at).collect()
            }
        };
        let here = |point: Point| {
            let all = self.quantities.iter();
            all.map(move |quantity| (point.clone(), *quantity))
        };
        points.into_iter().flat_map(here).collect()
    }

    /// One more series.
    #[must_use]
    pub fn with<V: CaseValues>(
        mut self,
        name: impl Into<String>,
        mut program: impl FnMut() -> Result<V, String> + 'static,
    ) -> Case {
        self.series.push(Series {
            name: name.into(),
            program: Box::new(move || program().map(V::values)),
        });
        self
    }

    /// A peer's series, if it is wanted.
    #[must_use]
    pub fn beside<V: CaseValues>(
        self,
        setting: &Setting,
        name: &str,
        program: impl FnMut() -> Result<V, String> + 'static,
    ) -> Case {
        match setting.wants(name) {
            true => self.with(name, program),
            false => self,
        }
    }

    /// A series of which it is known already that it cannot run here.
    #[must_use]
    pub fn absent(self, name: impl Into<String>, reason: impl Into<String>) -> Case {
        let reason = reason.into();
        self.with(name, move || Err::<f64, _>(reason.clone()))
    }
}

impl Quantity {
    /// So named, in that unit.
    #[must_use]
    pub const fn new(name: &'static str, unit: &'static str) -> Quantity {
        Quantity { name, unit }
    }
}

impl fmt::Debug for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Case")
            .field("point", &self.point)
            .field("quantities", &self.quantities)
            .field("over", &self.over)
            .field("series", &self.series)
            .finish()
    }
}

impl fmt::Debug for Series {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Series").field(&self.name).finish()
    }
}
