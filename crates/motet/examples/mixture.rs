//! A mixture of normal distributions with as many components as Schwarz's criterion says.
//!
//! Heaps that overlap and differ in width: K-means would cut them in the middle.

use motet::World;
use motet::mining::{Control, Covariance, Criterion, Mixture, MixtureLabels, MixtureModel, Points};

/// A narrow heap on a wide one, and a long one beside them.
fn rows() -> Vec<f64> {
    let mut values = Vec::new();
    for i in 0_u32..3_000 {
        // Sums of three uneven steps are bell-shaped enough.
        let part = |a: u32, b: u32| f64::from(i.wrapping_mul(a) / 7 % b) / f64::from(b) - 0.5;
        let x = part(7_919, 1_009) + part(104_729, 911) + part(1_299_709, 613);
        let y = part(15_485_863, 1_021) + part(32_452_843, 733) + part(49_979_687, 569);
        let [cx, cy, wx, wy] = match i % 3 {
            0 => [0.0, 0.0, 1.0, 1.0],
            1 => [0.0, 9.0, 4.0, 4.0],
            _ => [14.0, 0.0, 1.0, 8.0],
        };
        values.extend([cx + wx * x, cy + wy * y]);
    }
    values
}

fn main() {
    let points = Points::new(rows(), 2).expect("finite numbers, two columns");
    let method = Mixture {
        covariance: Covariance::Full,
        ..Mixture::default()
    };
    let choose = |world: &World| {
        let control = Control::default();
        world
            .run(async |comm| {
                let found = method
                    .choose(&comm, &points, 6, Criterion::Bic, &control)
                    .await;
                found.map(|(model, tried)| {
                    let values = tried.iter().map(|tried| (tried.components, tried.bic));
                    (model, values.collect::<Vec<_>>())
                })
            })
            .expect("the points are a mixture")
    };
    let parts = choose(&World::threads(3));
    for (components, bic) in &parts[0].1 {
        println!("{components} components: BIC {bic:.1}");
    }
    let join = |parts: Vec<(MixtureModel, _)>| MixtureModel::join(parts.into_iter().map(|p| p.0));
    let model = join(parts).expect("the ranks held neighbouring rows");
    for (weight, mean) in model.weights.iter().zip(model.means.chunks(2)) {
        println!("{weight:.3} around ({:.2}, {:.2})", mean[0], mean[1]);
    }
    assert_eq!(model.components(), 3);
    assert_eq!(
        join(choose(&World::solo())).as_ref(),
        Some(&model),
        "the same bits on one rank"
    );

    let others = Points::new(vec![0.0, 0.0, 14.0, 3.0], 2).expect("two rows");
    let labels = World::threads(2)
        .run(async |comm| model.predict(&comm, &others, &Control::default()).await)
        .expect("the same columns");
    let labels = MixtureLabels::join(labels)
        .expect("neighbouring rows")
        .labels;
    assert_eq!(labels, [model.labels[0], model.labels[2]]);
}
