//! Who multiplies the matrices of E33 to E35, and how long it takes.

use super::case::{Case, Quantity};
use super::row::Point;
use super::setting::Setting;
use crate::kernels::loops::{LoopSplit, Loops};
use crate::kernels::matrices::Matrices;
use crate::kernels::time_us;
use crate::peers::openblas::OpenBlas;
use crate::peers::openmp::OpenMp;
use crate::peers::rayon;
use ::rayon::ThreadPool;
use motet_sync::thread;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

/// A form of motet, or a peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Contender {
    Motet(LoopSplit),
    Rayon,
    OpenMp(LoopSplit),
    OpenBlas,
}

/// What all of them need, made when it is first wanted and kept.
#[derive(Debug)]
pub(crate) struct Products {
    budget_us: f64,
    /// Threads that fill the machine are bound to their cores.
    pinned: bool,
    loops: BTreeMap<usize, Loops>,
    pools: BTreeMap<usize, ThreadPool>,
    /// The last ones: points come one after the other.
    matrices: Option<(usize, usize, Arc<Matrices>)>,
    openmp: Rc<Result<OpenMp, String>>,
    openblas: OpenBlas,
}

impl Contender {
    /// All of them; motet's static form first, with which the others are paired.
    const ALL: [Contender; 6] = [
        Contender::Motet(LoopSplit::Static),
        Contender::Motet(LoopSplit::Dynamic),
        Contender::Rayon,
        Contender::OpenMp(LoopSplit::Static),
        Contender::OpenMp(LoopSplit::Dynamic),
        Contender::OpenBlas,
    ];

    /// The name of its series.
    fn name(self) -> &'static str {
        match self {
            Contender::Motet(split) => split.name(),
            Contender::Rayon => "rayon",
            Contender::OpenMp(LoopSplit::Static) => "OpenMP static",
            Contender::OpenMp(LoopSplit::Dynamic) => "OpenMP dynamic",
            Contender::OpenBlas => "OpenBLAS",
        }
    }
}

impl Products {
    /// Nothing is started or built yet.
    pub(crate) fn new(setting: &Setting) -> Rc<RefCell<Products>> {
        Rc::new(RefCell::new(Products {
            budget_us: setting.by_effort(1.0, 10_000.0, 100_000.0),
            pinned: setting.config().pinned,
            loops: BTreeMap::new(),
            pools: BTreeMap::new(),
            matrices: None,
            openmp: match setting.wants("OpenMP") {
                true => setting.openmp(),
                false => Rc::new(Err("not asked for".to_owned())),
            },
            openblas: OpenBlas::new(&setting.config().python),
        }))
    }

    /// A case of all that are wanted; `values` makes the quantities of a contender's times, which
    /// it asks for by the number of threads.
    pub(crate) fn case(
        products: &Rc<RefCell<Products>>,
        setting: &Setting,
        (point, size): (Point, usize),
        quantities: &[Quantity],
        values: impl Fn(&mut dyn FnMut(usize) -> Result<f64, String>) -> Result<Vec<f64>, String>
        + Clone
        + 'static,
    ) -> Case {
        let wanted = Contender::ALL.into_iter().filter(|contender| {
            matches!(contender, Contender::Motet(_)) || setting.wants(contender.name())
        });
        wanted.fold(Case::new(point, quantities), |case, contender| {
            let (products, values) = (Rc::clone(products), values.clone());
            case.with(contender.name(), move || {
                let mut products = products.borrow_mut();
                values(&mut |threads| products.us(contender, size, threads))
            })
        })
    }

    /// The time of a product, in µs; its checksum has been looked at.
    fn us(&mut self, contender: Contender, size: usize, threads: usize) -> Result<f64, String> {
        let budget = self.budget_us;
        match contender {
            Contender::Motet(split) => {
                let bands = Matrices::bands(split, threads, size);
                let matrices = self.matrices(size, bands);
                let loops = self.loops(threads)?;
                let us = time_us(budget, |rounds| matrices.multiply(loops, split, rounds))?;
                checked(us, matrices.checksum(), size)
            }
            Contender::Rayon => {
                let bands = Matrices::bands(LoopSplit::Dynamic, threads, size);
                let matrices = self.matrices(size, bands);
                let pool = self.pool(threads)?;
                let us = time_us(
                    budget,
                    |rounds| Ok(matrices.multiply_by_rayon(pool, rounds)),
                )?;
                checked(us, matrices.checksum(), size)
            }
            Contender::OpenMp(split) => {
                let openmp = self.openmp.as_ref().as_ref().map_err(Clone::clone)?;
                let told = openmp.product(size, threads, split, budget)?;
                checked(told.us, told.sum, size)
            }
            Contender::OpenBlas => {
                let (us, sum) = self.openblas.product(size, threads, budget)?;
                checked(us, sum, size)
            }
        }
    }

    fn pins(&self, threads: usize) -> bool {
        self.pinned && threads == thread::cores()
    }

    fn matrices(&mut self, size: usize, bands: usize) -> Arc<Matrices> {
        match &self.matrices {
            Some((rows, cut, there)) if (*rows, *cut) == (size, bands) => Arc::clone(there),
            _ => {
                let new = Matrices::new(size, bands);
                self.matrices = Some((size, bands, Arc::clone(&new)));
                new
            }
        }
    }

    fn loops(&mut self, threads: usize) -> Result<&Loops, String> {
        if !self.loops.contains_key(&threads) {
            let pin = self.pins(threads);
            self.loops.insert(threads, Loops::new(threads, pin)?);
        }
        Ok(&self.loops[&threads])
    }

    fn pool(&mut self, threads: usize) -> Result<&ThreadPool, String> {
        if !self.pools.contains_key(&threads) {
            let pin = self.pins(threads);
            self.pools.insert(threads, rayon::pool(threads, pin)?);
        }
        Ok(&self.pools[&threads])
    }
}

/// The time, if the product is right.
fn checked(us: f64, checksum: f64, size: usize) -> Result<f64, String> {
    let known = Matrices::known(size);
    match checksum == known {
        true => Ok(us),
        false => Err(format!("the product's checksum is {checksum}, not {known}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_product_is_told() {
        assert_eq!(checked(2.0, Matrices::known(5), 5), Ok(2.0));
        assert!(checked(2.0, Matrices::known(5) + 1.0, 5).is_err());
    }
}
