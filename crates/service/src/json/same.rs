//! Whether two values of JSON say the same, however their numbers are written.

use serde_json::{Number, Value};

/// Below it, numbers with a fraction hold each whole number: 2⁵³.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// Whether two values are the same. 1 is 1.0.
pub(crate) fn is_same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => {
            one == other || exact(one).is_some_and(|one| Some(one) == exact(other))
        }
        (Value::Array(ones), Value::Array(others)) => {
            let mut pairs = ones.iter().zip(others);
            ones.len() == others.len() && pairs.all(|(one, other)| is_same(one, other))
        }
        (Value::Object(ones), Value::Object(others)) => {
            let is_there = |(name, one): (&String, &Value)| {
                let other = others.get(name);
                other.is_some_and(|other| is_same(one, other))
            };
            ones.len() == others.len() && ones.iter().all(is_there)
        }
        _ => one == other,
    }
}

/// A number that is the same as one with a fraction and as a whole one.
fn exact(number: &Number) -> Option<f64> {
    number.as_f64().filter(|number| number.abs() < EXACT)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn values_are_the_same_whose_numbers_are() {
        let same = |one: Value, other: Value| {
            assert_eq!(is_same(&one, &other), is_same(&other, &one));
            is_same(&one, &other)
        };
        assert!(same(
            json!({"a": [1, null], "b": "x"}),
            json!({"b": "x", "a": [1.0, null]})
        ));
        assert!(same(json!(u64::MAX), json!(u64::MAX)));
        for (one, other) in [
            (json!({"a": 1}), json!({"a": 1, "b": null})),
            (json!({"a": 1}), json!({"b": 1})),
            (json!([1]), json!([1, 2])),
            (json!([2, 1]), json!([1, 2])),
            (json!(1), json!(1.5)),
            (json!(1), json!("1")),
            (json!(0), json!(null)),
            // No number with a fraction is the first.
            (
                json!(9_007_199_254_740_993_u64),
                json!(9_007_199_254_740_992.0),
            ),
            (json!(u64::MAX), json!(u64::MAX - 1)),
        ] {
            assert!(!same(one, other));
        }
    }
}
