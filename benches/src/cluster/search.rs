//! Searches beside changes: what a search costs a node of a cluster, and a node alone that executes
//! as many changes.

use std::io;
use std::thread;
use std::time::Duration;

use ::load::bench::{JobKind, Mix, Options, Report, cpu_ns, run};

use super::load::administrator;
use crate::row::Data;

/// Searches each second, few enough that the machine is not busy.
const SEARCHES: f64 = 8_000.0;
/// Changes each second.
pub const CHANGES: f64 = 1_000.0;

/// Servers under load, one of which is measured.
pub struct Measurement<'a> {
    /// URLs of all servers, which share the changes.
    pub urls: &'a [String],
    /// Position of the server that is searched.
    pub searched: usize,
    /// Its process.
    pub pid: u32,
    /// Entries in the servers.
    pub entries: u64,
    /// Length of each of the two loads.
    pub seconds: f64,
}

/// Processor time of a node for a search, in microseconds, beside changes: what changes and
/// searches cost together, without what the changes alone cost.
pub fn cost(it: &Measurement<'_>) -> io::Result<f64> {
    let (alone_ns, _) = spent(it, false)?;
    let (together_ns, searches) = spent(it, true)?;
    Ok((together_ns as f64 - alone_ns as f64) / 1e3 / searches.max(1) as f64)
}

/// Processor time of the node during the changes, and the number of searches beside them.
fn spent(it: &Measurement<'_>, searching: bool) -> io::Result<(u64, u64)> {
    let before = cpu_ns(it.pid).unwrap_or_default();
    let searches = thread::scope(|scope| {
        let changing = scope.spawn(|| run(&changes(it), &mut |_| {}));
        let searched = match searching {
            true => clean(run(&searches(it), &mut |_| {}))?.operations,
            false => 0,
        };
        let changed = changing.join();
        clean(changed.map_err(|_| io::Error::other("the load generator panicked"))?)?;
        io::Result::Ok(searched)
    })?;
    let after = cpu_ns(it.pid).unwrap_or_default();
    Ok((after.saturating_sub(before), searches))
}

fn changes(it: &Measurement<'_>) -> Options {
    let mut options = Options::new("", Mix::only(JobKind::Modify));
    options.urls = it.urls.to_vec();
    options.connections = 4 * it.urls.len();
    options.depth = 100;
    options.rate = Some(CHANGES);
    options.dn = format!("uid=user.[1-{}],{}", it.entries, Data::Plain.base());
    options.attribute = "carLicense".to_owned();
    options.value = "[random:8]".to_owned();
    open_loop(options, it)
}

fn searches(it: &Measurement<'_>) -> Options {
    let mut options = Options::new(&it.urls[it.searched], Mix::only(JobKind::Search));
    options.connections = 8;
    options.depth = 100;
    options.rate = Some(SEARCHES);
    options.search.base = Data::Plain.base().to_owned();
    options.search.filter = format!("(uid=user.[1-{}])", it.entries);
    open_loop(options, it)
}

fn open_loop(mut options: Options, it: &Measurement<'_>) -> Options {
    options.bind_as = Some(administrator());
    options.duration = Some(Duration::from_secs_f64(it.seconds));
    options.warm_up = Duration::ZERO;
    options
}

fn clean(report: Result<Report, ::load::bench::BenchError>) -> io::Result<Report> {
    let report = report.map_err(io::Error::other)?;
    match report.is_clean() {
        true => Ok(report),
        false => Err(io::Error::other(report.text())),
    }
}
