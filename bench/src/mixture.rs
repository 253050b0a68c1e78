//! Points to cluster, where no data are named.

use motet_mining::Points;
use motet_sim::mix;

/// Points in the plane around 30 centres in the unit square, each coordinate with a deviation of
/// 0.05; the same on every machine.
pub(crate) fn mixture(points: usize) -> Points {
    const HEAPS: usize = 30;
    const WIDTH: f64 = 0.05;
    let mut state = 0_u64;
    // SplitMix64: a Weyl sequence through a mixer.
    let mut uniform = move || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        (mix(state) >> 11) as f64 / (1_u64 << 53) as f64
    };
    let centres: Vec<f64> = (0..2 * HEAPS).map(|_| uniform()).collect();
    let mut values = Vec::with_capacity(2 * points);
    for row in 0..points {
        // Two normal deviates, by Box and Muller.
        let (length, angle) = (1.0 - uniform(), std::f64::consts::TAU * uniform());
        let length = WIDTH * (-2.0 * length.ln()).sqrt();
        let centre = &centres[row % HEAPS * 2..][..2];
        values.extend([
            centre[0] + length * angle.cos(),
            centre[1] + length * angle.sin(),
        ]);
    }
    Points::new(values, 2).expect("finite values in pairs, and at least one")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_are_always_the_same() {
        let (few, more) = (mixture(10), mixture(100));
        assert_eq!(few.values(), &more.values()[..20]);
        assert!(more.values().iter().all(|v| (-0.5..1.5).contains(v)));
    }
}
