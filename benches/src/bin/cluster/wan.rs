//! Part `wan`: sites far from each other with a node each, and with a member of etcd each at up to
//! five of them. The clients of a node are at its site.

use std::io;
use std::thread;
use std::time::{Duration, Instant};

use ::load::bench::{Convergence, Options, Report, run};
use pando_benches::cluster::fleet::{Fleet, NODES};
use pando_benches::cluster::load::{Load, converge, equal, thread_lines, usage_without_reads};
use pando_benches::cluster::pando::Plan;
use pando_benches::cluster::process::Role;
use pando_benches::cluster::sites::{Sites, settings};
use pando_benches::cluster::status::await_voters;
use pando_benches::cluster::table::{equal_after, thread_table, yes};
use pando_benches::cluster::usage::{Difference, Usage, own_threads_us};
use pando_benches::journal::Journal;

use crate::Arguments;

/// Voting members of etcd at most.
const VOTERS_MAX: usize = 5;
/// Connections to each node under load.
const CONNECTIONS: usize = 10;
/// Requests in flight on each of them.
const DEPTH: usize = 1_000;
/// Converged changes each second that three sites must reach together.
const RATE_MUST: f64 = 20_000.0;
/// Round trips that the median of single changes may take at three sites.
const ROUND_TRIPS_MAX: f64 = 4.0;

/// Loads all sites at the same time, and then each one alone with one change at a time.
pub fn wan(arguments: &Arguments, journal: &mut Journal) -> io::Result<()> {
    let sites = Sites::new(arguments.sites)?;
    let folder = arguments.imported("wan", arguments.entries)?;
    sites.observe(|| {
        let plan = Plan {
            folder: &folder,
            places: sites.places(),
            settings: settings(arguments.lanes, &arguments.etcd)?,
        };
        let fleet = served(&plan, &sites, arguments)?;
        together(arguments, journal, &sites, &fleet)?;
        single(arguments, journal, &sites, &fleet, &plan)
    })
}

/// A node at each site, all of which are served, with as many members of etcd as there are to be;
/// the sites are far from each other afterwards.
fn served(plan: &Plan<'_>, sites: &Sites, arguments: &Arguments) -> io::Result<Fleet> {
    let mut fleet = plan.empty_fleet();
    plan.found(&mut fleet)?;
    plan.join_all(&mut fleet)?;
    let voters = match arguments.sites {
        0..VOTERS_MAX => NODES,
        _ => VOTERS_MAX,
    };
    await_voters(plan, voters)?;
    sites.set_round_trip(arguments.round_trip);
    fleet.start()?;
    Ok(fleet)
}

/// Outcome of a load of all sites at the same time.
struct Together {
    reports: Vec<Report>,
    converged: Convergence,
    /// Time from the first request until the end of the reads that agreed, or until nobody waited
    /// any longer.
    elapsed: Duration,
    /// Processor time of the servers, without that of the reads.
    usage: Difference,
    /// Microseconds of the thread that moves packets between the sites.
    router_us: f64,
}

impl Together {
    fn measure(sites: &Sites, fleet: &Fleet, load: &Load) -> io::Result<Together> {
        let (before, router_us) = (Usage::take(fleet), own_threads_us("router"));
        let begin = Instant::now();
        let runs = (0..fleet.nodes.len()).map(|number| (number, options(load, fleet, number)));
        let reports: io::Result<Vec<Report>> = thread::scope(|scope| {
            let runs: Vec<_> = runs
                .map(|(number, options)| scope.spawn(move || run_at(sites, number, &options)))
                .collect();
            let reports = runs.into_iter().map(|it| {
                let report = it.join();
                report.map_err(|_| io::Error::other("the load generator panicked"))?
            });
            reports.collect()
        });
        let router_us = own_threads_us("router") - router_us;
        let converged = equal(fleet, &converge(load.within))?;
        let elapsed = begin.elapsed();
        Ok(Together {
            reports: reports?,
            usage: usage_without_reads(fleet, &before, converged.rounds)?,
            converged,
            elapsed,
            router_us,
        })
    }

    /// Number of accepted changes.
    fn accepted(&self) -> u64 {
        self.reports.iter().map(|it| it.outcomes.accepted).sum()
    }

    /// Accepted changes for each second of the load.
    fn rate(&self) -> f64 {
        let rate = |it: &Report| (it.operations - it.failures) as f64 / it.elapsed_s;
        self.reports.iter().map(rate).sum()
    }

    /// Accepted changes for each second until all were equal; 0 when they never were.
    fn converged_rate(&self) -> f64 {
        match self.converged.equal {
            true => self.accepted() as f64 / self.elapsed.as_secs_f64(),
            false => 0.0,
        }
    }

    /// Greatest value of all sites, in milliseconds.
    fn slowest_ms(&self, of: impl Fn(&Report) -> f64) -> f64 {
        self.reports.iter().map(of).fold(0.0, f64::max) / 1e3
    }
}

/// Settings of the load of one site.
fn options(load: &Load, fleet: &Fleet, number: usize) -> Options {
    let mut options = load.options(fleet);
    options.urls = vec![fleet.nodes[number].url.clone()];
    options.connections = load.connections;
    // Sites that change the same entries in the same order would collide all the time.
    options.seed = number as u64;
    options
}

fn run_at(sites: &Sites, number: usize, options: &Options) -> io::Result<Report> {
    let report = sites.at(number, || run(options, &mut |_| {}));
    report.map_err(io::Error::other)
}

/// Changes at all sites at the same time.
fn together(
    arguments: &Arguments,
    journal: &mut Journal,
    sites: &Sites,
    fleet: &Fleet,
) -> io::Result<()> {
    let load = Load {
        nodes: 1,
        ..arguments.load(CONNECTIONS, DEPTH)
    };
    let it = Together::measure(sites, fleet, &load)?;
    let accepted = it.accepted().max(1);
    let has_goal = arguments.sites == NODES;
    let must = format!("{RATE_MUST}/s");
    let reached = yes(it.converged_rate() >= RATE_MUST);
    let refused = it.reports.iter().map(|it| it.outcomes.refusals());
    let unknown = it.reports.iter().map(|it| it.outcomes.unknown);
    journal.line(&format!(
        "## {} sites, {} at each, {} ms from site to site and back, lanes of a node: {}\n\n\
         | accepted/s | converged/s | unequal s | equal after s | entries that differed | refused \
         | unknown | p50 ms | p99 ms | CPU us, nodes | CPU us, etcd | CPU us, router \
         | packets lost | must | reached |\n\
         |---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n\
         | {:.0} | {:.0} | {:.2} | {} | {} | {} | {} | {:.1} | {:.1} | {:.1} | {:.1} | {:.1} | {} \
         | {} | {} |",
        arguments.sites,
        load.words(),
        arguments.round_trip,
        arguments.lanes,
        it.rate(),
        it.converged_rate(),
        it.converged.unequal_s,
        equal_after(&it.converged),
        it.converged.differing,
        refused.sum::<u64>(),
        unknown.sum::<u64>(),
        it.slowest_ms(|it| it.latency.p50_us),
        it.slowest_ms(|it| it.latency.p99_us),
        it.usage.us(Role::Node) / accepted as f64,
        it.usage.us(Role::Log) / accepted as f64,
        it.router_us / accepted as f64,
        sites.lost_packets(),
        if has_goal { &must } else { "-" },
        if has_goal { reached } else { "-" },
    ))?;
    thread_table(journal, &thread_lines("all sites", &it.usage, accepted))
}

/// One change at a time, at one site after the other.
fn single(
    arguments: &Arguments,
    journal: &mut Journal,
    sites: &Sites,
    fleet: &Fleet,
    plan: &Plan<'_>,
) -> io::Result<()> {
    journal.line(
        "| site | leads etcd | changes/s | p50 ms | p99 ms | max ms | p50 in round trips | must \
         | reached |\n|---|---|---|---|---|---|---|---|---|",
    )?;
    let load = arguments.load(1, 1);
    let round_trip_us = arguments.round_trip as f64 * 1e3;
    let has_goal = arguments.sites == NODES;
    for number in 0..arguments.sites {
        let report = run_at(sites, number, &options(&load, fleet, number))?;
        let latency = report.latency;
        let round_trips = latency.p50_us / round_trip_us;
        journal.line(&format!(
            "| {number} | {} | {:.1} | {:.1} | {:.1} | {:.1} | {round_trips:.2} | {} | {} |",
            yes(kit::etcd::leads(&plan.node(number))),
            report.outcomes.accepted as f64 / report.elapsed_s,
            latency.p50_us / 1e3,
            latency.p99_us / 1e3,
            latency.max_us / 1e3,
            match has_goal {
                true => format!("{ROUND_TRIPS_MAX}"),
                false => "-".to_owned(),
            },
            match has_goal {
                true => yes(report.operations > 0 && round_trips <= ROUND_TRIPS_MAX),
                false => "-",
            },
        ))?;
    }
    journal.line("")
}
