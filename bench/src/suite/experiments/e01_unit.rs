//! E01: the unit of work, and the limits of this machine.

use crate::limits;
use crate::selection::Missing;
use crate::suite::{About, Axis, Case, Experiment, PaperBeside, Picture, Point, Quantity, Setting};

/// The time of the unit alone on one core, and the limits that messages meet.
#[derive(Debug)]
pub(crate) struct UnitTime;

const WHAT: &str = "what";
const TIME: Quantity = Quantity::new("time", "us");
const BANDWIDTH: Quantity = Quantity::new("bandwidth", "GB/s");

impl Experiment for UnitTime {
    fn about(&self) -> About {
        About {
            key: "E01",
            name: "unit",
            title: "The unit of work and the machine",
            question: "How long is the unit of work of all other experiments on this machine, and what do \
                       a cache line, a wake-up, a copy and an allocation take?",
            definition: "The unit is a continued fraction, x <- 1 / (1 + x), of so many terms that it takes about 1.4 us, a preferred number (R10). Its time is \
                         that of many units in a row on one thread, divided by their number. The limits: a cache line to another \
                         core and back between two pinned threads; the wake-up of a sleeping thread; a copy of 64 MiB in \
                         memory, by its bandwidth; an allocation with one push and pop on a deque.",
            parameters: &[(WHAT, "the unit, or a limit of the machine")],
            threats: "The processor's clock changes with load and temperature; a virtual machine may move its cores.",
            sources: &["P0 section 2", "P1 Table 1", "P3 Table I"],
        }
    }

    fn cases(&self, setting: &Setting) -> Result<Vec<Case>, Missing> {
        let unit = setting.unit();
        let count = setting.by_effort(100, 2_000, 20_000);
        let time = |what: &str| Case::new(Point::new().with(WHAT, what), &[TIME]);
        Ok(vec![
            time("unit").with("motet", move || Ok(vec![unit.time_us(count)])),
            time("cache line there and back").with("motet", || {
                let us = limits::roundtrip_us().ok_or("there is one core only")?;
                Ok(vec![us])
            }),
            time("wake-up").with("motet", || Ok(vec![limits::wakeup_us()])),
            time("allocation, push and pop").with("motet", || Ok(vec![limits::spawn_us()])),
            Case::new(Point::new().with(WHAT, "copy in memory"), &[BANDWIDTH])
                .with("motet", || Ok(vec![limits::copy_gb_per_s()])),
        ])
    }

    fn pictures(&self) -> Vec<Picture> {
        let unit = Picture::new(
            "e01-unit",
            "The unit of work",
            Axis::linear(WHAT, ""),
            Axis::log("time", "us"),
        );
        vec![unit.bars().beside(PaperBeside {
            table: "machines",
            only: &[],
            x: "machine",
            y: "unit_time_us",
            series_by: &[],
        })]
    }
}
