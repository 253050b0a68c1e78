//! Iterative MapReduce on ranks: words are counted, pages ranked, points clustered. The data stay
//! at their ranks, and the results have the same bits for any number of ranks.
//!
//! The centres also have those of the crate `mining`, for the first points: their sums need no
//! rounding. Of other points they have not. Here a sum is exact and rounded once, while `mining`
//! adds blocks of rows by a fixed tree, with a rounding at each addition, around the middle of the
//! data. Then they agree to some units of the last place.

use motet::comm::ExactSum;
use motet::mining::{Control, KMeans, Points};
use motet::{CommError, Communicator, World};
use motet_patterns::map_reduce::{iterate, share};
use std::collections::BTreeMap;
use std::ops::ControlFlow;

const TEXT: &str =
    "kyrie eleison christe eleison kyrie eleison gloria in excelsis deo et in terra pax";

/// How often each word is there: one step.
async fn words(comm: &Communicator) -> Result<BTreeMap<String, u64>, CommError> {
    let words: Vec<&str> = TEXT.split_whitespace().collect();
    let own = &words[share(comm, words.len())];
    let map = |_: &BTreeMap<String, u64>| {
        let mut counts = BTreeMap::new();
        for word in own {
            *counts.entry((*word).to_owned()).or_insert(0) += 1;
        }
        counts
    };
    let merge = |mut a: BTreeMap<String, u64>, b: BTreeMap<String, u64>| {
        for (word, count) in b {
            *a.entry(word).or_insert(0) += count;
        }
        a
    };
    iterate(comm, BTreeMap::new(), map, merge, |_, total| {
        ControlFlow::Break(total)
    })
    .await
}

const PAGES: usize = 60;

/// The links of a page: to the first page, and to two that its number decides.
fn links(page: usize) -> [usize; 3] {
    [0, page * page % PAGES, (7 * page + 1) % PAGES]
}

/// Page ranks by power iteration, to the fixed point of their bits or a hundred steps.
async fn page_ranks(comm: &Communicator) -> Result<Vec<f64>, CommError> {
    let own = share(comm, PAGES);
    let map = |ranks: &Vec<f64>| {
        let mut given = vec![ExactSum::new(); PAGES];
        for page in own.clone() {
            for to in links(page) {
                given[to].add(ranks[page] / 3.0);
            }
        }
        given
    };
    let mut steps = 0;
    let update = |ranks: Vec<f64>, given: Vec<ExactSum>| {
        let next = given
            .iter()
            .map(|sum| 0.15 / PAGES as f64 + 0.85 * sum.value());
        let next: Vec<f64> = next.collect();
        steps += 1;
        match next == ranks || steps == 100 {
            true => ControlFlow::Break(next),
            false => ControlFlow::Continue(next),
        }
    };
    iterate(comm, vec![1.0 / PAGES as f64; PAGES], map, join, update).await
}

fn join(mut a: Vec<ExactSum>, b: Vec<ExactSum>) -> Vec<ExactSum> {
    a.iter_mut().zip(b).for_each(|(a, b)| a.join(&b));
    a
}

/// 64 points around four places, in thousand-and-twenty-fourths: all that is computed of them but
/// quotients is exact.
fn points() -> Vec<[f64; 2]> {
    let places = [[-960, -960], [-950, 960], [960, -940], [930, 960]];
    let around = (0..62).map(|at: i32| {
        let [x, y] = places[at as usize % 4];
        let (dx, dy) = (at * 37 % 64 - 32, at * 53 % 64 - 32);
        [f64::from(x + dx) / 1024.0, f64::from(y + dy) / 1024.0]
    });
    // Two that span the data, so that they lie around zero.
    around.chain([[-1.0, -1.0], [1.0, 1.0]]).collect()
}

/// Points around the same places whose coordinates are any numbers.
fn any_points() -> Vec<[f64; 2]> {
    let moved = |at: f64, by: usize| at + 0.03 * (by as f64 * 0.7).sin() / 3.0;
    let points = points().into_iter().enumerate();
    points
        .map(|(at, [x, y])| [moved(x, at), moved(y, 2 * at + 1)])
        .collect()
}

/// The centres that `mining` finds, in order.
fn mined(points: &[[f64; 2]]) -> Vec<f64> {
    let data = Points::new(points.concat(), 2).expect("the data are numbers");
    let method = KMeans {
        clusters: 4,
        restarts: 8,
        ..KMeans::default()
    };
    let found = World::threads(2)
        .run(async |comm| method.fit(&comm, &data, &Control::default()).await)
        .expect("it fits");
    found[0].centres.clone()
}

/// K-means from the first four points to the fixed point; the centres in order.
async fn centres(comm: &Communicator, points: &[[f64; 2]]) -> Result<Vec<[f64; 2]>, CommError> {
    let own = &points[share(comm, points.len())];
    let map = |centres: &Vec<[f64; 2]>| {
        let mut sums = vec![ExactSum::new(); 3 * centres.len()];
        for point in own {
            let square =
                |centre: &[f64; 2]| (point[0] - centre[0]).powi(2) + (point[1] - centre[1]).powi(2);
            let distances = centres.iter().map(square).enumerate();
            let nearest = distances.min_by(|a, b| a.1.total_cmp(&b.1));
            let at = 3 * nearest.map_or(0, |(at, _)| at);
            sums[at].add(point[0]);
            sums[at + 1].add(point[1]);
            sums[at + 2].add(1.0);
        }
        sums
    };
    let update = |centres: Vec<[f64; 2]>, sums: Vec<ExactSum>| {
        let mean = |sum: &[ExactSum]| {
            let count = sum[2].value();
            [sum[0].value() / count, sum[1].value() / count]
        };
        let next: Vec<[f64; 2]> = sums.chunks_exact(3).map(mean).collect();
        match next == centres {
            true => ControlFlow::Break(next),
            false => ControlFlow::Continue(next),
        }
    };
    let mut found = iterate(comm, points[..4].to_vec(), map, join, update).await?;
    found.sort_by(|a, b| a.partial_cmp(b).expect("centres are numbers"));
    Ok(found)
}

fn main() {
    let points = points();
    let on = |ranks: usize| {
        let world = World::threads(ranks);
        let all = world.run(async |comm| -> Result<_, CommError> {
            let ranks = page_ranks(&comm).await?;
            let bits: Vec<u64> = ranks.iter().map(|rank| rank.to_bits()).collect();
            Ok((words(&comm).await?, bits, centres(&comm, &points).await?))
        });
        all.expect("no rank fails").remove(0)
    };
    let (words, ranks, centres) = on(1);
    for more in [2, 3, 5] {
        assert_eq!(on(more), (words.clone(), ranks.clone(), centres.clone()));
    }
    assert_eq!((words["eleison"], words["kyrie"], words.len()), (3, 2, 10));

    let ranks: Vec<f64> = ranks.into_iter().map(f64::from_bits).collect();
    let first = ranks.iter().all(|rank| *rank <= ranks[0]);
    let sum: f64 = ranks.iter().sum();
    assert!(first && (sum - 1.0).abs() < 1e-12, "{ranks:?}");

    assert_eq!(centres.concat(), mined(&points), "the bits of mining");
    let any = any_points();
    let of_any = World::threads(3).run(async |comm| self::centres(&comm, &any).await);
    let of_any = of_any.expect("no rank fails").remove(0).concat();
    for (own, mined) in of_any.iter().zip(mined(&any)) {
        assert!((own - mined).abs() < 1e-14, "{own} {mined}");
    }
    println!(
        "{words:?}\nfirst page: {:.6}\ncentres: {centres:?}",
        ranks[0]
    );
}
