//! Simulation: what an event costs that ranks or processes in virtual time handle, beside plain
//! loops and SimPy (R058, R065).
//!
//! Question: does a simulation whose order, random numbers and trace are the same on any ranks cost
//! what its events cost? Definition: time of a whole run over its events, on one rank, on all, and
//! by processes. Method: that of [`core`](crate::experiments::core). Threats: those of `core`; the
//! plain loops are in the crate `motet-problems`.

use crate::measuring::Setting;
use crate::rows::events;
use crate::selection::RepeatedRows;

/// All rows.
pub(crate) fn groups(setting: &Setting) -> Vec<RepeatedRows> {
    let rounds = setting.by_effort(1, 3, 9);
    vec![(
        events::contests(setting.config().effort, &setting.config().python),
        rounds,
    )]
}
