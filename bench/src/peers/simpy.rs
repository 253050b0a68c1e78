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
        Python::start(python, ("SimPy", program), &[], install).map(SimPy)
    }

    /// Runs so many seconds of virtual time: cars, and seconds of processor time.
    pub(crate) fn gas_station(&mut self, seconds: u64) -> Result<(u64, f64), String> {
        self.0.ask_two(&seconds.to_string(), &[])
    }
}
