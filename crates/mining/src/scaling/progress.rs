//! How far a scaling is.

use super::field::Field;
use super::{Scaling, ScalingMethod};
use crate::Progress;

/// Half of a part is taken for done after so many steps: nobody knows how many it takes.
const HALF: f64 = 30.0;

impl Scaling {
    /// Tells the caller where the run stands: after so many of its parts, and so many steps of the
    /// one after them. Temperature and stress are in units of the field.
    ///
    /// The parts are the classical places and each temperature. An annealing has the classical
    /// places once more, and what is majorised from there.
    pub(super) fn report(
        &self,
        field: &Field<'_>,
        (ended, steps): (usize, usize),
        (temperature, stress): (f64, f64),
    ) {
        field.team.report(|| Progress {
            temperature: temperature * field.unit,
            clusters: 0,
            target: 0,
            free_energy: field.square(stress),
            done: self.done(ended, steps),
        });
    }

    fn done(&self, ended: usize, steps: usize) -> f64 {
        let besides = match self.method {
            ScalingMethod::Annealed => 2,
            ScalingMethod::Classical | ScalingMethod::Majorised => 0,
        };
        // There are as many temperatures whatever the distances.
        let all = 1 + self.temperatures(1.0).len() + besides;
        let part = steps as f64 / (steps as f64 + HALF);
        ((ended as f64 + part) / all as f64).min(1.0)
    }
}
