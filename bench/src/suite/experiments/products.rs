//! E33 to E35: the product of two matrices with a static and a dynamic split: its time, its
//! efficiency, and that on different processors.

use crate::kernels::loops::{LoopSplit, Loops};
use crate::kernels::matrices::Matrices;
use crate::kernels::{Lazy, thread_counts, time_us};
use crate::measuring::{Case, Cases, Point, Quantity, Setting};
use crate::peers::openblas::OpenBlas;
use crate::peers::openmp::OpenMp;
use crate::peers::rayon;
use crate::suite::Identity;
use ::rayon::ThreadPool;
use itertools::iproduct;
use motet_sync::thread;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

/// E34: how much of so many threads a product gets.
pub(crate) fn e34(setting: &Setting) -> Cases {
    efficiencies(setting, &Point::new())
}

/// E35: the same, by processor.
pub(crate) fn e35(setting: &Setting) -> Cases {
    let here = Identity::here();
    let processor = here.model.unwrap_or(here.architecture);
    efficiencies(setting, &Point::new().with("processor", processor))
}

/// E33: time and rate of a product.
pub(crate) fn e33(setting: &Setting) -> Cases {
    let products = Products::new(setting);
    let sizes: &[usize] = setting.by_effort(
        &[24],
        &[64, 256, 1024],
        &[32, 64, 128, 256, 512, 1024, 2048],
    );
    let quantities = [
        Quantity::new("time", "ms"),
        Quantity::new("rate", "GFLOP/s"),
    ];
    let case = |(threads, &size)| {
        let point = Point::new().with("size", size).with("threads", threads);
        let values = move |us: &mut ProductTime<'_>| {
            let us = us(threads)?;
            Ok(vec![us / 1e3, Matrices::operations(size) / us / 1e3])
        };
        let case = Case::new(point, &quantities);
        Products::case(&products, setting, case, size, values)
    };
    Ok(iproduct!(thread_counts(), sizes).map(case).collect())
}

/// The efficiencies of all sizes and threads, at points that begin so.
fn efficiencies(setting: &Setting, place: &Point) -> Cases {
    let products = Products::new(setting);
    let sizes: &[usize] = setting.by_effort(
        &[24],
        &[32, 64, 128, 256, 512],
        &[32, 64, 128, 256, 512, 1024, 2048],
    );
    let case = |(threads, &size)| {
        let point = place.clone().with("size", size).with("threads", threads);
        let values = move |us: &mut ProductTime<'_>| {
            let (one, all) = (us(1)?, us(threads)?);
            Ok(vec![one / (threads as f64 * all)])
        };
        let case = Case::new(point, &[Quantity::new("efficiency", "")]);
        Products::case(&products, setting, case, size, values)
    };
    let all = iproduct!(thread_counts(), sizes).filter(|(threads, _)| *threads > 1);
    let cases: Vec<Case> = all.map(case).collect();
    match cases.is_empty() {
        false => Ok(cases),
        true => Err("there is one core only, whose efficiency is 1 by definition".into()),
    }
}

/// The time of a product on so many threads, in µs.
type ProductTime<'a> = dyn FnMut(usize) -> Result<f64, String> + 'a;

/// A form of motet, or a peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Contender {
    Motet(LoopSplit),
    Rayon,
    OpenMp(LoopSplit),
    OpenBlas,
}

/// What all of them need, made when it is first wanted and kept.
#[derive(Debug)]
struct Products {
    budget_us: f64,
    /// Threads that fill the machine are bound to their cores.
    pinned: bool,
    loops: BTreeMap<usize, Loops>,
    pools: BTreeMap<usize, ThreadPool>,
    /// The last ones: points come one after the other.
    matrices: Option<(usize, usize, Arc<Matrices>)>,
    openmp: Rc<Lazy<OpenMp>>,
    openblas: OpenBlas,
}

/// All of them, by the names of their series; motet's static form first, with which the others are
/// paired.
const CONTENDERS: [(&str, Contender); 6] = [
    ("motet static", Contender::Motet(LoopSplit::Static)),
    ("motet dynamic", Contender::Motet(LoopSplit::Dynamic)),
    ("rayon", Contender::Rayon),
    ("OpenMP static", Contender::OpenMp(LoopSplit::Static)),
    ("OpenMP dynamic", Contender::OpenMp(LoopSplit::Dynamic)),
    ("OpenBLAS", Contender::OpenBlas),
];

impl Products {
    /// Nothing is started or built yet.
    fn new(setting: &Setting) -> Rc<RefCell<Products>> {
        Rc::new(RefCell::new(Products {
            budget_us: setting.by_effort(1.0, 10_000.0, 100_000.0),
            pinned: setting.config().pinned,
            loops: BTreeMap::new(),
            pools: BTreeMap::new(),
            matrices: None,
            openmp: Rc::clone(&setting.openmp),
            openblas: OpenBlas::new(&setting.config().python),
        }))
    }

    /// The case with all that are wanted; `values` makes the quantities of a contender's times,
    /// which it asks for by the number of threads.
    fn case(
        products: &Rc<RefCell<Products>>,
        setting: &Setting,
        case: Case,
        size: usize,
        values: impl Fn(&mut ProductTime<'_>) -> Result<Vec<f64>, String> + Copy + 'static,
    ) -> Case {
        CONTENDERS
            .into_iter()
            .fold(case, |case, (name, contender)| {
                let products = Rc::clone(products);
                let program = move || {
                    let mut products = products.borrow_mut();
                    values(&mut |threads| products.us(contender, size, threads))
                };
                match contender {
                    Contender::Motet(_) => case.with(name, program),
                    _ => case.beside(setting, name, program),
                }
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
                let told = self.openmp.get()?.product(size, threads, split, budget)?;
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
