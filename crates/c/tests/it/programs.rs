//! One program for each promise.

use crate::cc::{Linked, cc, compiled, done, folder};
use motet_testkit::{patience, within};
use std::process::Command;

/// Compiles `tests/c/<name>.c` and runs it; what it prints.
fn run(name: &str) -> Option<String> {
    let cc = cc()?;
    let source = folder("tests/c").join(name).with_extension("c");
    let program = compiled(&cc, &source, Linked::Shared);
    Some(within(patience(), move || done(&mut Command::new(program))))
}

#[test]
fn sem_g475_errors_are_codes_with_a_text_needs_cc() {
    run("errors");
}

#[test]
fn sem_g476_ports_keep_bytes_in_order_needs_cc() {
    run("ports");
}

#[test]
fn sem_g477_owned_memory_is_released_once_needs_cc() {
    run("owned");
}

#[test]
fn sem_g478_handlers_run_on_threads_of_the_dispatcher_needs_cc() {
    run("handlers");
}

#[test]
fn sem_g479_a_context_is_released_once_needs_cc() {
    run("contexts");
}

#[test]
fn sem_g480_a_join_takes_all_or_none_needs_cc() {
    run("joins");
}

#[test]
fn sem_g481_a_choice_takes_the_first_needs_cc() {
    run("choices");
}

#[test]
fn sem_g482_exclusive_handlers_run_beside_no_other_needs_cc() {
    run("interleaves");
}

#[test]
fn sem_g483_ranks_send_and_receive_needs_cc() {
    run("messages");
}

#[test]
fn sem_g501_a_rank_sends_no_more_than_its_limit_needs_cc() {
    run("limits");
}

#[test]
fn sem_g485_receives_that_are_posted_take_messages_in_their_order_needs_cc() {
    run("requests");
}

#[test]
fn sem_g484_collectives_give_each_rank_its_part_needs_cc() {
    run("collectives");
}

#[test]
fn sem_g487_a_stuck_run_says_who_waits_for_whom_and_where_needs_cc() {
    run("stuck");
}

#[test]
fn sem_g488_a_rank_that_fails_ends_the_others_where_they_wait_needs_cc() {
    run("failed");
}

#[test]
fn sem_g489_a_communicator_belongs_to_the_thread_of_its_rank_needs_cc() {
    run("threads");
}
