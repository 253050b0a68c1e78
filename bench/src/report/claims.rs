//! The papers' claims C01 to C50: how rows decide what each says in `bench/data/claims.toml`.
//!
//! A cost that the papers found is read as a bound: the claim holds when it costs no more here.
//! "All cores" are those of this machine where the papers had four or eight.

use super::evidence::{Cut, Evidence, quantity, ratio};
use super::judges::{
    C_MPI, COPY, F, OVERHEAD, beside_java_mpi, beside_mpi, difference, falls, large, linear, modes,
    on_many_cores, one_factor, one_unit, scaled, separation, slope, static_ahead, stepped,
    threads_inside, threads_or_processes, twice_the_computations,
};
use super::machines::{beyond_computing, more_cores, smaller_matrices};
use super::verdict::{Claim, Judge, Judged, Verdict, at_least, at_most, not_above};
use serde::Deserialize;
use std::sync::LazyLock;

/// `key: judge;`
macro_rules! judges {
    ($($key:ident: $judge:expr;)*) => {
        /// How each is decided, in order.
        const JUDGES: &[(&str, Judge)] = &[$((stringify!($key), $judge)),*];
    };
}

judges! {
    C01: |rows| at_most(slope(rows, "E03", 1e6), 5.0, "µs");
    C02: |rows| at_most(slope(rows, "E03", 1e6), 4.63, "µs");
    C03: |rows| at_most(one_unit(rows, "E03"), 8.04, "µs");
    C04: |rows| at_most(slope(rows, "E04", 1e6), 2.63, "µs");
    C05: |rows| at_most(slope(rows, "E05", 1e6), 20.9, "µs");
    C06: linear;
    C07: twice_the_computations;
    C08: |rows| { let one = rows.motet("E06", OVERHEAD).at("pattern", "pipeline").with("parallel", 1.0);
            at_least(rows.ratio(one.clone().at("choice", "default").low(), one.at("choice", "match").low()), 1.1, "times (default over match)") };
    C09: more_cores;
    C10: beyond_computing;
    C11: |rows| at_least(large(rows).low(), 0.75, "GB/s");
    C12: |rows| at_least(rows.motet("E07", COPY).greatest("stages").low(), 1.29, "GB/s");
    C13: |rows| at_most(ratio(stepped(rows).high(), stepped(rows).low()), 1.15, "times (best over worst)");
    C14: |rows| at_least(ratio(stepped(rows).with("words", 1e5).low(), stepped(rows).with("words", 1e6).low()), 1.5, "times");
    C15: |rows| { let inside = rows.motet("E08", COPY).at("place", "inside").with("words", 1e5);
            if inside.values_of("units") == [40.0] {
                return Err("one length of computation was measured: --full measures both".to_owned());
            }
            at_least(ratio(inside.clone().with("units", 4000.0).low(), inside.with("units", 40.0).low()), 1.5, "times") };
    C16: |rows| { let place = large(rows).best("place")?;
            Ok(Verdict { holds: place == "outside", found: format!("best: {place}"), bound: "best: outside".to_owned() }) };
    C17: |rows| { let us = rows.motet("E09", "time of a two-way message").with("messages", 1e4).low();
            at_least(rows.ratio(Ok(1e6), us.map_err(|_| rows.silence("E09"))), 2e4, "messages/s") };
    C18: |rows| { let one = |series: &str| rows.all("E10", "two-way messages per second").series(&[series]).at("message", "read").with("connections", 64.0).low();
            let found = ratio(one("motet").map_err(|_| rows.silence("E10")), one("Java"));
            at_least(found, 10.0, "times the Java container, reads over 64 connections") };
    C19: |rows| at_most(beside_mpi(rows, Cut::low), 1.5, "times the best MPI");
    C20: |rows| at_most(modes(rows, "spawned")?.dearest(&["pipeline", "shift"]), 5.0, "µs");
    C21: |rows| at_most(modes(rows, "rendezvous")?.dearest(&["shift"]), 9.36, "µs");
    C22: |rows| at_most(modes(rows, "rendezvous")?.dearest(&["exchange"]), 16.3, "µs");
    C23: |rows| { let all = modes(rows, "rendezvous")?;
            at_least(rows.ratio(all.dearest(&["exchange-two-shifts"]), all.dearest(&["exchange"])), 1.0, "times (two shifts over one collective)") };
    C24: |rows| { let all = rows.all("E16", OVERHEAD).at("pattern", "exchange").with("parallel", rows.cores()?);
            beside_java_mpi(rows, &all) };
    C25: |rows| { let all = rows.all("E16", OVERHEAD).at("pattern", "exchange").with("parallel", rows.cores()?);
            at_least(rows.ratio(all.clone().form("Java").low(), all.series(&["motet"]).low()), 5.0, "times") };
    C26: |rows| at_most(one_unit(rows, "E15"), 16.3, "µs");
    C27: |rows| falls(&rows.motet("E12", F), "points per thread", "clusters", 0.1);
    C28: |rows| { let time = |words| rows.motet("E19", "time per clustered point").with("separation", words).low();
            at_least(ratio(time(1.0), time(8.0)), 2.0, "times (a step of K-means)") };
    C29: |rows| { let us = rows.motet("E21", OVERHEAD).with("units", 0.0).low();
            at_least(rows.ratio(rows.cores().map(|cores| 2e6 * cores), us), 1e6, "messages/s") };
    C30: |rows| at_least(rows.motet("E18", F).greatest("clusters").high().map(|f| 1.0 / (1.0 + f)), 0.875, "efficiency");
    C31: |rows| falls(&rows.motet("E18", F), "clusters", "points per thread", 0.1);
    C32: |rows| { let f = rows.motet("E18", F);
            let floor = |data| f.clone().at("data", data).greatest("clusters").low();
            let floats = floor("census").and_then(|one| Ok(floor("chemistry as floats")?.min(one)));
            not_above(difference(floor("chemistry as bits"), floats), 0.0, "(f of bits less f of floats)") };
    C33: |rows| at_least(ratio(separation(rows, 1.0), separation(rows, 8.0)), 2.0, "times");
    C34: |rows| at_most(ratio(separation(rows, 8.0), separation(rows, 1024.0)), 1.1, "times");
    C35: |rows| at_least(scaled(rows, Cut::least, Cut::least), 1.13, "times");
    C36: |rows| at_most(scaled(rows, Cut::greatest, Cut::greatest), 0.9 / 0.8, "times");
    C37: |rows| { let mpis = rows.all("E21", OVERHEAD).greatest("units").series(C_MPI).names();
            if mpis.len() == 1 {
                return Err(format!("one MPI was measured, {}", mpis[0]));
            }
            let (best, worst) = (beside_mpi(rows, Cut::low)?, beside_mpi(rows, Cut::high)?);
            Ok(Verdict { holds: best > 1.0 && worst < 1.0, found: format!("{} of the best, {} of the slowest", quantity(best, "times"), quantity(worst, "times")),
                bound: "between them".to_owned() }) };
    C38: |rows| beside_java_mpi(rows, &rows.all("E21", OVERHEAD).greatest("units"));
    C39: |rows| { let one = |series: &str| rows.all("E22", "deviation over mean").form(series)
                .greatest("clusters").greatest("points per thread").greatest("threads").low();
            let (c, sharp) = (one("C with threads")?, one("C# with threads")?);
            let percent = |part: f64| quantity(100.0 * part, "%");
            Ok(at_least(ratio(Ok(sharp), Ok(c)), 5.0 / 0.4, "times C's deviation")?
                .found(&format!("C# {}, C {}, both on this system: the papers' was Windows", percent(sharp), percent(c)))) };
    C40: |rows| at_least(rows.ratio(rows.motet("E23", "spread over mean").greatest("threads").greatest("points per thread").greatest("clusters").low(), rows.motet("E18", F).low()), 0.5, "of the floor");
    C41: |rows| { let all = rows.motet("E22", "deviation over mean").greatest("threads");
            at_least(ratio(all.clone().least("points per thread").high(), all.greatest("points per thread").high()), 1.0, "times the largest") };
    C42: |rows| { let one = rows.motet("E17", "time of a message").at("where", "one process").at("way", "two-way").with("messages", 1.0);
            at_most(one.high().map_err(|_| rows.silence("E17")), 35.0, "µs") };
    C43: on_many_cores;
    C44: threads_or_processes;
    C45: |rows| { let difference = rows.all("E29", "difference of f");
            not_above(Ok(difference.high()?.abs().max(difference.low()?.abs())), 0.05, "") };
    C46: |rows| at_least(one_factor(rows, "E28"), 0.9, "(R²)");
    C47: |rows| at_least(difference(one_factor(rows, "E28"), one_factor(rows, "E31")), 0.0, "(R² of threads less R² of processes)");
    C48: static_ahead;
    C49: smaller_matrices;
    C50: threads_inside;
}

/// All of them, in order.
pub(super) static CLAIMS: LazyLock<Vec<Claim>> = LazyLock::new(|| {
    #[derive(Deserialize)]
    struct Claims {
        claim: Vec<Claim>,
    }
    let text = include_str!("../../data/claims.toml");
    let Claims { claim } = toml::from_str(text).expect("the file is what it is to be");
    claim
});

impl Claim {
    /// What rows say of it.
    pub(super) fn judged(&self, rows: &Evidence<'_>) -> Judged {
        match JUDGES.iter().find(|(key, _)| *key == self.key) {
            Some((_, judge)) => judge(rows),
            None => Err("nobody knows how it is decided".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_claim_is_in_the_paper_map() {
        let map = include_str!("../../../docs/PAPER-MAP.md");
        for claim in CLAIMS.iter() {
            let row = format!("| {} | {} |", claim.key, claim.says);
            assert!(map.contains(&row), "{row}: a row belongs there");
        }
    }

    #[test]
    fn every_claim_is_there_once_and_in_order() {
        let keys: Vec<&str> = CLAIMS.iter().map(|claim| claim.key.as_str()).collect();
        let decided: Vec<&str> = JUDGES.iter().map(|(key, _)| *key).collect();
        assert_eq!(keys, decided);
        let all: Vec<String> = (1..=50).map(|number| format!("C{number:02}")).collect();
        assert_eq!(keys, all);
        for claim in CLAIMS.iter() {
            assert!(
                !claim.tests.is_empty() && claim.says.ends_with('.'),
                "{}",
                claim.key
            );
        }
    }
}
