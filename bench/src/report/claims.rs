//! The papers' claims C01 to C50: what each says, and how rows decide it.
//!
//! A cost that the papers found is read as a bound: the claim holds when it costs no more here.
//! "All cores" are those of this machine where the papers had four or eight.

use super::evidence::{Cut, quantity, ratio};
use super::judges::{
    C_MPI, COPY, F, OVERHEAD, beside_java_mpi, beside_mpi, difference, falls, large, linear, modes,
    on_many_cores, one_factor, one_unit, scaled, separation, slope, static_ahead, stepped,
    threads_inside, threads_or_processes, twice_the_computations,
};
use super::machines::{beyond_computing, more_cores, smaller_matrices};
use super::verdict::{Claim, Verdict, at_least, at_most, not_above};

/// `key, source, tests, value then: what it says; judge;`
macro_rules! claims {
    ($($key:ident, $source:literal, $tests:expr, $then:literal: $says:literal; $judge:expr;)*) => {
        /// All of them, in order.
        pub(super) const CLAIMS: &[Claim] = &[$(Claim {
            key: stringify!($key),
            says: $says,
            then: $then,
            source: $source,
            tests: &$tests,
            judge: $judge,
        }),*];
    };
}

claims! {
    C01, "P0 summary", ["E03"], "about 5 µs":
        "A basic message costs about 5 µs: a stage of four spawned pipelines costs no more.";
        |rows| at_most(slope(rows, "E03", 1e6), 5.0, "µs");
    C02, "P0 2", ["E03"], "4.63 AMD, 9.25 INTEL µs":
        "Four pipelines, up to a million stages: the slope of run time.";
        |rows| at_most(slope(rows, "E03", 1e6), 4.63, "µs");
    C03, "P0 2", ["E03"], "8.04 AMD, 12.66 INTEL µs":
        "The same up to ten million stages, one unit of work each.";
        |rows| at_most(one_unit(rows, "E03"), 8.04, "µs");
    C04, "P0 2", ["E04"], "2.63, 3.39 µs; to 1e7 3.17, 4.20 µs":
        "Two pipelines, up to a million stages: the slope of run time.";
        |rows| at_most(slope(rows, "E04", 1e6), 2.63, "µs");
    C05, "P0 2", ["E05"], "20.9 AMD, 40.4 INTEL µs":
        "Spawned exchange of four computations: the slope of run time.";
        |rows| at_most(slope(rows, "E05", 1e6), 20.9, "µs");
    C06, "P0 2", ["E03"], "14 µs of work, 4.63 µs of overhead":
        "Run time grows linearly with the stages while their work is well above the overhead: R² of the line is 0.9 or more.";
        linear;
    C07, "P0 Table 2", ["E06"], "8.9 against 5.0 µs":
        "Twice as many computations as cores cost about double: no more than 2.5 times.";
        twice_the_computations;
    C08, "P0 Table 2", ["E06"], "1.33 against 6.3 µs":
        "With fewer computations than cores, as many threads as computations cost less than the default number.";
        |rows| { let one = rows.motet("E06", OVERHEAD).at("pattern", "pipeline").with("parallel", 1.0);
            at_least(rows.ratio(one.clone().at("choice", "default").low(), one.at("choice", "match").low()), 1.1, "times (default over match)") };
    C09, "P0 Table 2", ["E06"], "6.5 against 9.1 µs":
        "Eight computations on eight cores are cheaper than four on four.";
        more_cores;
    C10, "P0 2", ["E03"], "7 %, 40 %":
        "A machine that computes 7 % slower takes 40 % longer at ten million stages.";
        beyond_computing;
    C11, "P0 3", ["E08"], "0.75 to 2.0 GB/s":
        "Copies of messages reach 0.75 GB/s over all cores in every place, from 100,000 words.";
        |rows| at_least(large(rows).low(), 0.75, "GB/s");
    C12, "P0 Fig. 8", ["E07"], "1.29 AMD, 1.56 INTEL GB/s":
        "A thousand words copied in each stage: the bandwidth by the clock, with the most stages.";
        |rows| at_least(rows.motet("E07", COPY).greatest("stages").low(), 1.29, "GB/s");
    C13, "P0 3", ["E08"], "1.17 GB/s":
        "Bandwidth into a stepped array does not depend on the size of the message: within 15 %, from 100,000 words.";
        |rows| at_most(ratio(stepped(rows).high(), stepped(rows).low()), 1.15, "times (best over worst)");
    C14, "P0 3", ["E08"], "1.75 to 1.0 GB/s":
        "Bandwidth into a stepped array falls out of cache: 100,000 words copy 1.5 times as fast as a million.";
        |rows| at_least(ratio(stepped(rows).with("words", 1e5).low(), stepped(rows).with("words", 1e6).low()), 1.5, "times");
    C15, "P0 3", ["E08"], "0.83 to 1.74 GB/s":
        "Longer computation between copies doubles the bandwidth into new arrays: at least 1.5 times.";
        |rows| { let inside = rows.motet("E08", COPY).at("place", "inside").with("words", 1e5);
            if inside.values_of("units") == [40.0] {
                return Err("one length of computation was measured: --full measures both".to_owned());
            }
            at_least(ratio(inside.clone().with("units", 4000.0).low(), inside.with("units", 40.0).low()), 1.5, "times") };
    C16, "P0 Table 3", ["E08"], "1.89 to 2.0 GB/s":
        "Bandwidth is best into a fixed array outside of the thread, in cache.";
        |rows| { let place = large(rows).best("place")?;
            Ok(Verdict { holds: place == "outside", found: format!("best: {place}"), bound: "best: outside".to_owned() }) };
    C17, "P0 4", ["E09"], "20,000 to 25,000 a second, 40 to 50 µs":
        "Services of one machine exchange 20,000 two-way messages a second.";
        |rows| { let us = rows.motet("E09", "time of a two-way message").with("messages", 1e4).low();
            at_least(rows.ratio(Ok(1e6), us.map_err(|_| rows.silence("E09"))), 2e4, "messages/s") };
    C18, "P0 summary, 4", ["E10"], "10 (about 3,000 a second)":
        "That is ten times what a typical container of Web services does.";
        |rows| { let one = |series: &str| rows.all("E10", "two-way messages per second").series(&[series]).at("message", "read").with("connections", 64.0).low();
            let found = ratio(one("motet").map_err(|_| rows.silence("E10")), one("Java"));
            at_least(found, 10.0, "times the Java container, reads over 64 connections") };
    C19, "P0 summary", ["E21"], "see C01, C24":
        "Programming in the style of MPI costs about what the best MPI does: no more than 1.5 times.";
        |rows| at_most(beside_mpi(rows, Cut::low), 1.5, "times the best MPI");
    C20, "P1 5.1", ["E14"], "about 5 µs":
        "Spawned Pipeline and Shift on all cores cost about 5 µs a stage: no more.";
        |rows| at_most(modes(rows, "spawned")?.dearest(&["pipeline", "shift"]), 5.0, "µs");
    C21, "P1 5.1", ["E14"], "9.36 AMD4, 11.74 Intel8b µs":
        "Rendezvous Shift on all cores.";
        |rows| at_most(modes(rows, "rendezvous")?.dearest(&["shift"]), 9.36, "µs");
    C22, "P1 5.1", ["E14"], "16.3 AMD4, 20.16 Intel8b µs":
        "Rendezvous Exchange on all cores, as one collective.";
        |rows| at_most(modes(rows, "rendezvous")?.dearest(&["exchange"]), 16.3, "µs");
    C23, "P1 Table 2", ["E14"], "20.16 against 35.62 µs; 17 % AMD4, 19 % Intel4":
        "The exchange as one collective beats the exchange as two shifts.";
        |rows| { let all = modes(rows, "rendezvous")?;
            at_least(rows.ratio(all.dearest(&["exchange-two-shifts"]), all.dearest(&["exchange"])), 1.0, "times (two shifts over one collective)") };
    C24, "P1 5.1", ["E16"], "185, 104, 99.4 and 39.3 µs":
        "Java pays more than twice what MPI in C does for an exchange.";
        |rows| { let all = rows.all("E16", OVERHEAD).at("pattern", "exchange").with("parallel", rows.cores()?);
            beside_java_mpi(rows, &all) };
    C25, "P1 abstract", ["E16"], "about 5":
        "The runtime is about five times better than Java: at least that, for an exchange.";
        |rows| { let all = rows.all("E16", OVERHEAD).at("pattern", "exchange").with("parallel", rows.cores()?);
            at_least(rows.ratio(all.clone().form("Java").low(), all.series(&["motet"]).low()), 5.0, "times") };
    C26, "P1 5.1", ["E15"], "1.388 and 1.188 µs of work":
        "Overhead stays reasonable down to one unit of work per stage: an exchange costs no more than with twenty units there (16.3 µs).";
        |rows| at_most(one_unit(rows, "E15"), 16.3, "µs");
    C27, "P1 2", ["E12"], "floor 0.05 to 0.1":
        "The overhead of clustering falls as the grain grows, down to at most 0.1, in each data set.";
        |rows| falls(&rows.motet("E12", F), "points per thread", "clusters", 0.1);
    C28, "P1 2", ["E19"], "factor 2 in run time":
        "Keeping threads off each other's cache lines halves the run time of clustering.";
        |rows| { let time = |words| rows.motet("E19", "time per clustered point").with("separation", words).low();
            at_least(ratio(time(1.0), time(8.0)), 2.0, "times (a step of K-means)") };
    C29, "P3 abstract", ["E21"], "up to 1,000,000 a second":
        "One machine passes a million messages a second.";
        |rows| { let us = rows.motet("E21", OVERHEAD).with("units", 0.0).low();
            at_least(rows.ratio(rows.cores().map(|cores| 2e6 * cores), us), 1e6, "messages/s") };
    C30, "P3 III", ["E18"], "speed-up above 7 on 8 cores":
        "Large real problems run well: an efficiency of at least 7/8 on all cores.";
        |rows| at_least(rows.motet("E18", F).greatest("clusters").high().map(|f| 1.0 / (1.0 + f)), 0.875, "efficiency");
    C31, "P3 III", ["E18"], "0.02 to 0.1":
        "Overhead falls with the number of clusters, down to at most 0.1, in each data set.";
        |rows| falls(&rows.motet("E18", F), "clusters", "points per thread", 0.1);
    C32, "P3 III", ["E18"], "no number":
        "Binary data have a lower floor of overhead than floating-point data.";
        |rows| { let f = rows.motet("E18", F);
            let floor = |data| f.clone().at("data", data).greatest("clusters").low();
            let floats = floor("census").and_then(|one| Ok(floor("chemistry as floats")?.min(one)));
            not_above(difference(floor("chemistry as bits"), floats), 0.0, "(f of bits less f of floats)") };
    C33, "P3 Table II", ["E19"], "5 to 20 times on Windows, 4.9 Fedora, 1.04 Redhat":
        "Results in one cache line cost several times what results apart do: at least 2 times, 8 against 64 bytes.";
        |rows| at_least(ratio(separation(rows, 1.0), separation(rows, 8.0)), 2.0, "times");
    C34, "P3 Table II", ["E19"], "S = 8 equals S = 1024":
        "64 bytes of separation suffice: within 10 % of 8192 bytes.";
        |rows| at_most(ratio(separation(rows, 8.0), separation(rows, 1024.0)), 1.1, "times");
    C35, "P3 V", ["E20"], "+50 %, +22 %, +13 %":
        "One cluster is limited by the bandwidth of memory: all cores at once take at least 1.13 times as long, with the fewest points (there 10,000).";
        |rows| at_least(scaled(rows, Cut::least, Cut::least), 1.13, "times");
    C36, "P3 V", ["E20"], "axes 0.8 to 0.9, 1.025 to 1.045":
        "Many clusters show modest overhead: all cores at once take no more than the papers' axes leave room for, 0.9/0.8 times as long.";
        |rows| at_most(scaled(rows, Cut::greatest, Cut::greatest), 0.9 / 0.8, "times");
    C37, "P3 Table III", ["E21"], "20.2 against 40.0 and 4.21 µs":
        "The exchange beats a plain MPI and loses to the best.";
        |rows| { let mpis = rows.all("E21", OVERHEAD).greatest("units").series(C_MPI).names();
            if mpis.len() == 1 {
                return Err(format!("one MPI was measured, {}", mpis[0]));
            }
            let (best, worst) = (beside_mpi(rows, Cut::low)?, beside_mpi(rows, Cut::high)?);
            Ok(Verdict { holds: best > 1.0 && worst < 1.0, found: format!("{} of the best, {} of the slowest", quantity(best, "times"), quantity(worst, "times")),
                bound: "between them".to_owned() }) };
    C38, "P3 Table III", ["E21"], "99.4 to 185 µs":
        "MPI in Java is poor everywhere: at least twice the MPI in C.";
        |rows| beside_java_mpi(rows, &rows.all("E21", OVERHEAD).greatest("units"));
    C39, "P3 VII", ["E22"], "5 % and more against 0.4 %":
        "Run times fluctuate much more on Windows with C# than on Linux with C.";
        |rows| { let one = |series: &str| rows.all("E22", "deviation over mean").form(series)
                .greatest("clusters").greatest("points per thread").greatest("threads").low();
            let (c, sharp) = (one("C with threads")?, one("C# with threads")?);
            let percent = |part: f64| quantity(100.0 * part, "%");
            Ok(at_least(ratio(Ok(sharp), Ok(c)), 5.0 / 0.4, "times C's deviation")?
                .found(&format!("C# {}, C {}, both on this system: the papers' was Windows", percent(sharp), percent(c)))) };
    C40, "P3 VII", ["E18", "E23"], "2 to 10 %":
        "Fluctuation explains the floor of the overhead: the spread of threads is at least half of the floor.";
        |rows| at_least(rows.ratio(rows.motet("E23", "spread over mean").greatest("threads").greatest("points per thread").greatest("clusters").low(), rows.motet("E18", F).low()), 0.5, "of the floor");
    C41, "P3 VII", ["E22"], "no number":
        "The smallest data set fluctuates most.";
        |rows| { let all = rows.motet("E22", "deviation over mean").greatest("threads");
            at_least(ratio(all.clone().least("points per thread").high(), all.greatest("points per thread").high()), 1.0, "times the largest") };
    C42, "P3 I", ["E17"], "35 µs":
        "A message between services of one machine takes 35 µs.";
        |rows| { let one = rows.motet("E17", "time of a message").at("where", "one process").at("way", "two-way").with("messages", 1.0);
            at_most(one.high().map_err(|_| rows.silence("E17")), 35.0, "µs") };
    C43, "P4 IV.B", ["E25"], "f = 0.72, ε = 58 %":
        "Overhead of 0.72 on 768 cores, by a model whose constants are measured here.";
        on_many_cores;
    C44, "P4 abstract, IV", ["E25"], "no number":
        "Threads beat processes of MPI when the grain is small.";
        threads_or_processes;
    C45, "P4 IV", ["E29"], "no number":
        "A static and a dynamic split between threads differ little in clustering: by at most 0.05 in f.";
        |rows| { let difference = rows.all("E29", "difference of f");
            not_above(Ok(difference.high()?.abs().max(difference.low()?.abs())), 0.05, "") };
    C46, "P4 IV.B", ["E28"], "12.5K, 25K, 50K":
        "One factor, the inverse grain size, describes the overhead over three sizes: R² at least 0.9.";
        |rows| at_least(one_factor(rows, "E28"), 0.9, "(R²)");
    C47, "P4 IV.C", ["E28", "E31"], "no number":
        "The model fits worse when there are processes in a node.";
        |rows| at_least(difference(one_factor(rows, "E28"), one_factor(rows, "E31")), 0.0, "(R² of threads less R² of processes)");
    C48, "P4 V.A", ["E34"], "no number":
        "A static split of a matrix product is mostly ahead of a dynamic one.";
        static_ahead;
    C49, "P4 V.B", ["E35"], "about 4 times":
        "One processor reaches high efficiency at smaller matrices than the other.";
        smaller_matrices;
    C50, "P4 VI", ["E25"], "no number":
        "Clusters are used best with MPI between nodes and threads inside.";
        threads_inside;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_claim_is_in_the_paper_map() {
        let map = include_str!("../../../docs/PAPER-MAP.md");
        for claim in CLAIMS {
            let row = format!("| {} | {} |", claim.key, claim.says);
            assert!(map.contains(&row), "{row}: a row belongs there");
        }
    }

    #[test]
    fn every_claim_is_there_once_and_in_order() {
        let keys: Vec<&str> = CLAIMS.iter().map(|claim| claim.key).collect();
        let all: Vec<String> = (1..=50).map(|number| format!("C{number:02}")).collect();
        assert_eq!(keys, all);
        for claim in CLAIMS {
            assert!(
                !claim.tests.is_empty() && claim.says.ends_with('.'),
                "{}",
                claim.key
            );
        }
    }
}
