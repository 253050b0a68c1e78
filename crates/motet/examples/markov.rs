//! A hidden Markov model of readings: which machine state lies behind each of them.

use motet::World;
use motet::mining::{Control, Emissions, Hmm, HmmFitted, Observations};

/// Eight days of readings of a machine that is idle, at work or hot, for an hour or more each.
fn days() -> Vec<Vec<f64>> {
    let level = |hour: u32| [20.0, 55.0, 90.0][[0, 1, 2, 1][(hour / 12 % 4) as usize]];
    let noise = |i: u32| f64::from(i.wrapping_mul(7_919) % 1_009) / 1_009.0 - 0.5;
    let day =
        |day: u32| (0..240).map(move |i| level(i / 2 + 7 * day) + 12.0 * noise(i + 240 * day));
    (0..8).map(|number| day(number).collect()).collect()
}

fn main() {
    let days = days();
    let seen = Observations::numbers(&days, 1).expect("finite numbers");
    let method = Hmm::default();
    let fit = |world: &World| -> HmmFitted {
        let control = Control::default();
        world
            .run(async |comm| {
                let start = method.start(&comm, &seen, 3, (0, 1), &control).await?;
                method.fit(&comm, &start, &seen, &control).await
            })
            .expect("the days can be fitted")
            .remove(0)
    };
    let fitted = fit(&World::threads(4));
    let rising = fitted
        .trace
        .windows(2)
        .all(|pair| pair[1] >= pair[0] - 1e-9);
    assert!(rising, "ln p never falls");
    let Emissions::Gaussian { means, .. } = fitted.model.emissions() else {
        unreachable!("numbers have normal emissions");
    };
    for (state, mean) in means.iter().enumerate() {
        println!("state {state}: around {mean:.1}");
    }
    let paths = World::threads(2)
        .run(async |comm| fitted.model.decode(&comm, &seen, &Control::default()).await)
        .expect("every day is possible");
    let paths: Vec<Vec<u32>> = paths.into_iter().flat_map(|part| part.paths).collect();
    for (day, path) in days.iter().zip(&paths) {
        for (reading, state) in day.iter().zip(path) {
            assert!((reading - means[*state as usize]).abs() < 12.0);
        }
    }
    assert_eq!(fit(&World::solo()), fitted, "the same bits on one rank");
    println!("{} days decoded", paths.len());
}
