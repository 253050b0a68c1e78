//! Points clustered by deterministic annealing on all cores: the same bits on one rank and on many.
//!
//! Each rank works on its share of the points. A reduction over a fixed tree ends every pass, so
//! the result does not depend on how the points were shared out.

use motet::World;
use motet::mining::{Annealing, Clustering, Clusters, Control, Points, Progress};

/// Twelve heaps on a circle, each a small spiral.
fn heaps() -> Vec<f64> {
    let mut values = Vec::new();
    for heap in 0..12 {
        let (y, x) = (f64::from(heap) * std::f64::consts::TAU / 12.0).sin_cos();
        for step in 0..5_000 {
            let (angle, radius) = (f64::from(step) * 2.4, (f64::from(step) / 5_000.0).sqrt());
            values.push(100.0 * x + 8.0 * radius * angle.cos());
            values.push(100.0 * y + 8.0 * radius * angle.sin());
        }
    }
    values
}

fn fit(world: &World, points: &Points, control: &Control<'_>) -> Clustering {
    let method = Annealing {
        clusters: Clusters::Exactly(12),
        ..Annealing::default()
    };
    let parts = world
        .run(async |comm| method.fit(&comm, points, control).await)
        .expect("the points can be clustered");
    Clustering::join(parts).expect("the ranks held neighbouring rows")
}

fn main() {
    let points = Points::new(heaps(), 2).expect("finite numbers, two columns");
    let show = |now: &Progress| {
        println!("T = {:>9.3}: {:>2} clusters", now.temperature, now.clusters);
    };
    let watched = Control {
        progress: Some(&show),
        ..Control::default()
    };
    let alone = fit(&World::solo(), &points, &watched);
    for (cluster, centre) in alone.centres.chunks(2).enumerate() {
        let size = alone.sizes[cluster];
        println!(
            "{size} points around ({:>6.1}, {:>6.1})",
            centre[0], centre[1]
        );
    }
    assert_eq!(alone.sizes, [5_000; 12]);

    let together = fit(&World::threads(4), &points, &Control::default());
    assert_eq!(together, alone, "four ranks give the same bits as one");
    println!("four ranks: the same bits");
}
