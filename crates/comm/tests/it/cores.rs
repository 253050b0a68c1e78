//! Worlds on stated cores.

use crate::worlds::Outcome;
use motet_comm::{RunError, World};
use motet_sync::thread;
use motet_testkit::{patience, within};
use std::collections::HashSet;
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

#[test]
fn a_world_runs_on_no_more_threads_than_it_may() {
    within(patience(), || {
        let threads = |world: World| {
            let said = world.thread_count();
            let run = world.run(async |comm| -> Outcome<_> {
                comm.barrier().await?;
                Ok(std::thread::current().id())
            });
            let seen: HashSet<_> = run.unwrap().into_iter().collect();
            assert_eq!(seen.len(), said);
            said
        };
        for world in [World::threads(3), World::ports(3)] {
            assert_eq!(threads(world.clone()), thread::cores().min(3));
            assert_eq!(threads(world.clone().workers_at_most(1)), 1);
            assert_eq!(threads(world.clone().workers_at_most(0)), 1);
            let twice = world.clone().workers_at_most(2).workers_at_most(1);
            assert_eq!(threads(twice.workers_at_most(3)), 1);
            // More than there are cores are not made by it.
            let many = threads(world.clone().workers_at_most(3));
            assert_eq!(many, thread::cores().min(3));
            // Whoever says how many has them.
            assert_eq!(threads(world.clone().workers_at_most(1).workers(3)), 3);
            assert_eq!(threads(world.workers(2).workers_at_most(1)), 2);
        }
        assert_eq!(threads(World::solo().workers_at_most(2)), 1);
    });
}
