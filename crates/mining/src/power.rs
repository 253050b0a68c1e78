//! Powers of two: as factors they change no bit of a significand.

/// The least power of two that is not below `reach`, kept where its reciprocal is finite and
/// normal; one for zero.
pub(crate) fn power_of_two_above(reach: f64) -> f64 {
    if reach == 0.0 {
        return 1.0;
    }
    let exponent = (reach.to_bits() >> 52) as i32 - 1023 + 1;
    f64::from_bits(((exponent.clamp(-1021, 1021) + 1023) as u64) << 52)
}
