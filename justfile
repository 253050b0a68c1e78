# Short names for the project's recipes, for those who have `just`. Each line is what you can type
# without it; `cargo xtask help` says what the recipes do.

default:
    @just --list

# form, lints and house rules, before a commit
preflight *args:
    cargo xtask preflight {{ args }}

# the gate, for one crate or all
test *args:
    cargo xtask test {{ args }}

# form, lints, house rules and tests, without the slow steps
quick *args:
    cargo xtask test --quick {{ args }}

# the house rules
tidy:
    cargo xtask tidy

# the models of concurrent code, for one crate or all
loom *args:
    cargo xtask loom {{ args }}

# whole programs under many random schedules, for one crate or all
shuttle *args:
    cargo xtask shuttle {{ args }}

# the tests that repeat themselves, ten minutes or as long as one says
stress *args:
    cargo xtask stress {{ args }}

# what takes longer than the gate may, for one crate or all
deep *args:
    cargo xtask deep {{ args }}

# instructions of the core's paths beside the baseline
counts *args:
    cargo xtask counts {{ args }}

# the tests under AddressSanitizer
sanitize *args:
    cargo xtask sanitize {{ args }}

# the API documentation, shown in a browser
docs:
    cargo xtask docs --open

# what is given to others, or with --version X.Y.Z the version everywhere
release *args:
    cargo xtask release {{ args }}

# motet bench, in release
bench *args:
    cargo xtask bench {{ args }}

# what the build machine runs
ci:
    .ci/run
