//! Worlds on stated cores.

use crate::worlds::Outcome;
use motet_comm::{RunError, World};
use motet_testkit::{patience, within};
use std::fs;

/// The cores that the calling thread may use, as the system lists them; `None` where it does not.
fn usable() -> Option<String> {
    let status = fs::read_to_string("/proc/thread-self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    line.map(|list| list.trim().to_owned())
}

#[test]
fn sem_g36_ranks_stay_on_the_cores_that_are_stated() {
    within(patience(), || {
        let Some(all) = usable() else {
            return;
        };
        let number = |list: &str| list.parse::<usize>().unwrap();
        let first = number(all.split(['-', ',']).next().unwrap());
        let last = number(all.rsplit(['-', ',']).next().unwrap());
        let where_ranks_are = |world: World| {
            let run = world.run(async |comm| -> Outcome<String> {
                comm.barrier().await?;
                Ok(usable().unwrap())
            });
            run.unwrap()
        };
        let [first_name, last_name] = [first, last].map(|core| core.to_string());
        for world in [World::threads(3), World::ports(3)] {
            let here = where_ranks_are(world.clone().cores(&[last]));
            assert_eq!(here, vec![last_name.clone(); 3], "one thread on one core");
            let here = where_ranks_are(world.cores(&[last, first]).workers(3));
            assert_eq!(here, [&*last_name, &first_name, &last_name]);
        }
    });
}

#[test]
fn sem_g36_a_run_on_a_core_that_is_not_there_does_not_start() {
    within(patience(), || {
        let world = World::threads(2).cores(&[usize::MAX]);
        let run = world.run(async |comm| comm.barrier().await);
        assert!(matches!(run, Err(RunError::Start(_))), "{run:?}");
    });
}
