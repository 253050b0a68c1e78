//! SimPy's gas station, timed by SimPy's own process.

use super::python::Python;
use std::path::Path;

/// The other end of `peers/simpy/gas_station.py`.
#[derive(Debug)]
pub(crate) struct SimPy(Python);

impl SimPy {
    /// Starts `python`; an error says why there is no peer.
    pub(crate) fn start(python: &Path) -> Result<SimPy, String> {
        let program = include_str!("../../peers/simpy/gas_station.py");
        let install = "pip install -r bench/peers/simpy/requirements.txt";
        Python::start(python, program, &[], install).map(SimPy)
    }

    /// Runs so many seconds of virtual time: cars, and seconds of processor time.
    pub(crate) fn gas_station(&mut self, seconds: u64) -> Result<(u64, f64), String> {
        let ended = |error: std::io::Error| format!("SimPy has ended: {error}");
        self.0.send(&seconds.to_string(), &[]).map_err(ended)?;
        let line = self.0.line().map_err(ended)?;
        let numbers = line.split_once(' ');
        let numbers =
            numbers.and_then(|(cars, taken)| Some((cars.parse().ok()?, taken.parse().ok()?)));
        numbers.ok_or_else(|| format!("SimPy says {line:?}"))
    }
}
