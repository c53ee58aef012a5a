//! Simulates a node: state, writer, log and recovery over a clock, a disk and a commit log that
//! follow from one seed, with a model and a second replica beside it.
//!
//! A run begins with a copy of one small directory and takes some dozens of steps: writes that
//! collide, the node's own work, time, checkpoints, refused and delayed places in the order, power
//! cuts, failures of the disk, clean ends. After each step the results are those that the model
//! expects, and the digest is that of every other execution of the same records.
//!
//! `PANDO_SIMULATE_SEED` runs one seed, `PANDO_SIMULATE_RUNS` that number of seeds from 0 on, and
//! `PANDO_SIMULATE_CLUSTER_SEED` one seed of a cluster of three nodes.

mod clock;
mod cluster;
mod content;
mod copy;
mod disk;
mod events;
mod judge;
mod log;
mod model;
mod node;
mod random;
mod template;
mod words;
mod workload;
mod world;
mod writes;

use state::bounds::Bounds;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use world::World;

const BASE: &str = "dc=example,dc=com";
/// Bounds that a few entries reach.
const BOUNDS: Bounds = Bounds {
    left_groups: 2,
    renamed_entries: 4,
    deleted_entries: 3,
    examined_entries: 8,
    history_changes: 32,
};
/// Seeds that a test runs unless told otherwise: five seconds on two processors.
const RUNS: u64 = 200;

/// The number in an environment variable; `None` if it is not set.
fn setting(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    let number = text.parse();
    Some(number.unwrap_or_else(|_| panic!("{name} is a number, not {text:?}")))
}

/// Runs a seed. Returns the digests by position and the steps; panics with the steps if a result or
/// the state is wrong.
fn run(seed: u64) -> (BTreeMap<u64, u128>, Vec<String>) {
    let mut world = World::new(seed);
    match catch_unwind(AssertUnwindSafe(|| world.run())) {
        Ok(digests) => (digests, std::mem::take(&mut world.steps)),
        Err(panic) => {
            let text = panic.downcast_ref::<String>().cloned();
            let text = text.or_else(|| panic.downcast_ref::<&str>().map(|it| (*it).to_owned()));
            panic!(
                "seed {seed}: {}\nagain with PANDO_SIMULATE_SEED={seed}; its steps:\n{}",
                text.unwrap_or_default(),
                world.steps.join("\n")
            );
        }
    }
}

/// Runs the seeds from 0 to `runs` on all processors.
fn run_all(runs: u64, run: impl Fn(u64) + Sync) {
    let next = AtomicU64::new(0);
    std::thread::scope(|scope| {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        for _ in 0..processors {
            scope.spawn(|| {
                let seeds = || Some(next.fetch_add(1, Ordering::Relaxed)).filter(|it| *it < runs);
                while let Some(seed) = seeds() {
                    run(seed);
                }
            });
        }
    });
}

#[test]
fn nodes_are_what_the_model_says() {
    if let Some(seed) = setting("PANDO_SIMULATE_SEED") {
        run(seed);
        return;
    }
    let runs = setting("PANDO_SIMULATE_RUNS").unwrap_or(RUNS);
    run_all(runs, |seed| drop(run(seed)));
}

#[test]
fn nodes_of_a_cluster_are_equal() {
    if let Some(seed) = setting("PANDO_SIMULATE_CLUSTER_SEED") {
        return cluster::run(seed);
    }
    let runs = setting("PANDO_SIMULATE_RUNS").unwrap_or(RUNS);
    run_all(runs, cluster::run);
}

#[test]
fn a_node_without_its_log_leaves_no_client_waiting() {
    cluster::lose_the_log();
}

#[test]
fn a_program_stops_before_a_level_that_it_does_not_know() {
    cluster::meet_a_later_level();
}

#[test]
fn golden_logs_lead_to_the_states_that_they_led_to() {
    cluster::golden::replay();
}

#[test]
fn a_seed_gives_the_same_run_again() {
    for seed in 0..20 {
        let (first, second) = (run(seed), run(seed));
        assert_eq!(first, second, "seed {seed}");
    }
}
