//! E01: the unit of work, and the limits of this machine.

use crate::limits;
use crate::measuring::{Case, Cases, Point, Quantity, Setting};

/// E01: the time of the unit alone on one core, and the limits that messages meet.
pub(crate) fn e01(setting: &Setting) -> Cases {
    let unit = setting.unit();
    let count = setting.by_effort(100, 2_000, 20_000);
    let of = |what: &str, quantity| Case::new(Point::new().with("what", what), &[quantity]);
    let time = |what: &str| of(what, Quantity::new("time", "us"));
    Ok(vec![
        time("unit").with("motet", move || Ok(unit.time_us(count))),
        time("cache line there and back").with("motet", || {
            Ok(limits::roundtrip_us().ok_or("there is one core only")?)
        }),
        time("wake-up").with("motet", || Ok(limits::wakeup_us())),
        time("allocation, push and pop").with("motet", || Ok(limits::spawn_us())),
        of("copy in memory", Quantity::new("bandwidth", "GB/s"))
            .with("motet", || Ok(limits::copy_gb_per_s())),
    ])
}
