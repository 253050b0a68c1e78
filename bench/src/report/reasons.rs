//! The losses of a suite, gathered by the reason for them.

use super::losses::Loss;

/// Why a peer is better in some experiments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Reason<'a> {
    pub(super) peer: &'a str,
    /// In the order of the losses.
    pub(super) experiments: Vec<&'a str>,
    cause: Option<&'static str>,
    /// The values of both overlap in all of them.
    chance: bool,
}

/// A reason for each peer and cause, the most severe loss first.
pub(super) fn reasons<'a>(losses: &[Loss<'a>]) -> Vec<Reason<'a>> {
    let mut reasons: Vec<Reason<'a>> = Vec::new();
    for loss in losses {
        let same =
            |reason: &&mut Reason<'_>| (reason.peer, reason.cause) == (loss.peer, loss.cause);
        match reasons.iter_mut().find(same) {
            Some(reason) => {
                reason.chance &= loss.overlaps;
                if !reason.experiments.contains(&loss.experiment) {
                    reason.experiments.push(loss.experiment);
                }
            }
            None => reasons.push(Reason {
                peer: loss.peer,
                experiments: vec![loss.experiment],
                cause: loss.cause,
                chance: loss.overlaps,
            }),
        }
    }
    reasons
}

impl Reason<'_> {
    pub(super) fn text(&self) -> &'static str {
        let unknown = match self.chance {
            true => "it may be chance: the values of both overlap.",
            false => "the cause is not known.",
        };
        self.cause.unwrap_or(unknown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measuring::Point;
    use crate::measuring::RowValues;

    #[test]
    fn a_reason_names_the_experiments_and_what_may_be_chance() {
        let point = Point::new();
        let values = |median| RowValues {
            median,
            least: median,
            most: median,
            runs: 2,
        };
        let loss = |experiment, overlaps, cause| Loss {
            experiment,
            point: &point,
            quantity: "time",
            unit: "s",
            series: "motet",
            motet: values(2.0),
            peer: "peer",
            theirs: values(1.0),
            factor: Some(2.0),
            overlaps,
            disturbed: false,
            cause,
        };
        let losses = [
            loss("E05", true, None),
            loss("E36", false, Some("it is known")),
            loss("E14", true, None),
            loss("E05", true, None),
        ];
        let of = |losses: &[Loss<'_>]| -> Vec<(String, &str)> {
            let all = reasons(losses).into_iter();
            all.map(|reason| (reason.experiments.join(" "), reason.text()))
                .collect()
        };
        let chance = (
            "E05 E14".to_owned(),
            "it may be chance: the values of both overlap.",
        );
        assert_eq!(of(&losses), [chance, ("E36".to_owned(), "it is known")]);
        let beyond = of(&[loss("E05", true, None), loss("E05", false, None)]);
        assert_eq!(beyond, [("E05".to_owned(), "the cause is not known.")]);
    }
}
