//! Options that would do nothing are refused.

use crate::program::ProgramFolder;

#[test]
fn sem_g543_options_without_an_effect_are_refused() {
    let place = ProgramFolder::with("d.csv", "0,1,9\n1,0,9\n9,9,0\n");
    place.write("labels.csv", "cluster\n1\n1\n2\n");
    place.write("points.csv", "x,y\n0,1\n9,9\n");
    for (arguments, words) in [
        ("scale d.csv --labels labels.csv", ["--out", "required"]),
        (
            "cluster points.csv -k 2 --columns=",
            ["no column ''", "points.csv"],
        ),
    ] {
        place.run(arguments).refusal(&words);
    }
}
