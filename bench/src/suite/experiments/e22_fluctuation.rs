//! E22: fluctuation of the clustering kernel: deviation between synchronisations.

use crate::selection::Missing;
use crate::suite::synchronised::Kernel;
use crate::suite::{About, Axis, Case, Experiment, Picture, Quantity, Setting};
use motet_mining::Points;

/// How far the times of a thread lie from their mean.
#[derive(Debug)]
pub(crate) struct Fluctuation;

const DEVIATION: Quantity = Quantity::new("deviation over mean", "");

impl Experiment for Fluctuation {
    fn about(&self) -> About {
        About {
            key: "E22",
            name: "fluctuation",
            title: "Fluctuation of the clustering kernel: deviation",
            question: "How much do the times of threads fluctuate that all compute the same between two synchronisations?",
            definition: "The kernel of E20: n points and K clusters for each of P threads, a barrier, and so on. Standard deviation of the times of all \
                         threads and synchronisations, divided by their mean. C and C# (Mono) run a kernel of the same form on threads and a barrier of their own.",
            parameters: &[
                ("points per thread", "n"),
                ("clusters", "K"),
                ("threads", "P"),
            ],
            threats: "Other load; a virtual machine's own host. One interrupt is a large part of a step of some microseconds: small n and K \
                      fluctuate most. Fewer synchronisations than the papers' 1000 in quick runs.",
            sources: &["P3 Fig. 6", "P3 Fig. 7"],
        }
    }

    fn cases(&self, setting: &Setting) -> Result<Vec<Case>, Missing> {
        let values =
            |kernel: Kernel, points: &Points| Ok(vec![kernel.run(points)?.deviation_over_mean()]);
        let others = |mut case: Case, kernel: Kernel| {
            let told = kernel.words();
            if setting.wants("C with threads") {
                let (c, told) = (setting.floor(), told.clone());
                case = case.with("C with threads", move || {
                    let c = c.as_ref().as_ref().map_err(Clone::clone)?;
                    Ok(vec![c.fluctuation(&told)?])
                });
            }
            if setting.wants("C# with threads") {
                let csharp = setting.csharp();
                case = case.with("C# with threads", move || {
                    let csharp = csharp.as_ref().as_ref().map_err(Clone::clone)?;
                    Ok(vec![csharp.fluctuation(&told)?])
                });
            }
            case
        };
        Ok(Kernel::cases(setting, &[DEVIATION], values, others))
    }

    fn pictures(&self) -> Vec<Picture> {
        let picture = Picture::new(
            "e22-fluctuation",
            "Deviation of the kernel's times over their mean",
            Axis::linear("threads", "threads"),
            Axis::linear("deviation over mean", ""),
        );
        vec![
            picture
                .series_by(&["points per thread"])
                .panels_by(&["clusters"]),
        ]
    }
}
