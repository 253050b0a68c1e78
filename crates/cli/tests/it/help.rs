//! The help and the version.

use crate::program::ProgramFolder;

#[test]
fn the_help_names_the_commands_and_has_an_example() {
    let help = ProgramFolder::new().run("--help").quiet_success();
    for words in [
        "cluster",
        "Example",
        "motet cluster examples/data/places.csv.gz",
    ] {
        assert!(help.contains(words), "{words}");
    }
}

#[test]
fn the_help_of_cluster_names_every_option_and_has_examples() {
    let help = ProgramFolder::new().run("cluster --help").quiet_success();
    let options = "--columns --geo --weight --standardise --missing --delimiter --header --no-header \
                   --clusters --t-min --at-most --method --seed --restarts --threads --scaling --profile \
                   --out --json --quiet";
    for words in options
        .split(' ')
        .chain(["Examples", "labels.csv", "map.svg", "Exit codes"])
    {
        assert!(help.contains(words), "{words}");
    }
    assert!(
        help.lines().all(|line| line.chars().count() <= 100),
        "a line is too long"
    );
}

#[test]
fn sem_g580_the_help_lists_what_a_command_takes() {
    let place = ProgramFolder::new();
    let with_model = "--geo --weight --keep --columns --exclude --standardise --checkpoint";
    for (command, takes, not) in [
        ("mixture", "--columns --keep --weight --checkpoint", "--geo"),
        (
            "hmm fit",
            "--symbol --columns --standardise --missing --checkpoint",
            "--geo --weight --keep",
        ),
        (
            "hmm decode",
            "--symbol --sequence --missing --scaling",
            with_model,
        ),
        (
            "hmm score",
            "--symbol --sequence --missing --scaling",
            with_model,
        ),
    ] {
        let help = place.run(&format!("{command} --help")).quiet_success();
        let lists = |option: &str| {
            let mut lines = help.lines().map(str::trim_start);
            lines.any(|line| line.starts_with(option))
        };
        assert!(takes.split(' ').all(lists), "{command}: {help}");
        assert!(!not.split(' ').any(lists), "{command}: {help}");
        for option in not.split(' ') {
            let run = place.run(&format!("{command} x.csv {option}"));
            run.refusal(&[option, &format!("see motet {command} --help")]);
        }
    }
}

#[cfg(not(feature = "mesh"))]
#[test]
fn sem_g255_without_the_mesh_the_program_says_how_to_get_it() {
    let place = ProgramFolder::new();
    place.run("mesh sub a/b").refusal(&["--features mesh"]);
    let help = place.run("mesh --help").quiet_success();
    let words: Vec<&str> = help.split_whitespace().collect();
    assert!(words.join(" ").contains("--features mesh"), "{help}");
}

#[test]
fn the_version_is_the_package_version() {
    let version = ProgramFolder::new().run("--version").quiet_success();
    assert_eq!(version, format!("motet {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn without_arguments_the_help_goes_to_standard_error() {
    let run = ProgramFolder::new().run("");
    assert_eq!((run.code, run.out.as_str()), (2, ""));
    assert!(run.err.contains("Usage"), "{}", run.err);
}

#[test]
fn help_is_a_command_too() {
    let help = ProgramFolder::new().run("help cluster").quiet_success();
    assert_eq!(
        help,
        ProgramFolder::new().run("cluster --help").quiet_success()
    );
}
