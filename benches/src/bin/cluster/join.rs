//! Part `join`: a node joins another one that has very many entries.

use std::io;
use std::time::Duration;

use pando_benches::cluster::load::{converge, equal};
use pando_benches::cluster::pando::Plan;
use pando_benches::cluster::table::yes;
use pando_benches::journal::Journal;
use pando_benches::subject::octets_below;

use crate::Arguments;

/// Bytes of a copy each second that must be reached.
const COPY_MUST: f64 = 200e6;

/// Lets a second node join, and measures the time until it serves.
pub fn join(arguments: &Arguments, journal: &mut Journal) -> io::Result<()> {
    let entries = arguments.join_entries;
    let folder = arguments.imported("join", entries)?;
    let (plan, mut fleet) = Plan::on_loopback(&folder, &arguments.etcd, 2)?;
    let joined = plan.join(&mut fleet)?;
    let copied_s = joined.copied.as_secs_f64();
    let bytes = octets_below(&plan.node(1).join("data"))? as f64;
    let until = converge(Duration::from_secs(arguments.within));
    let converged = equal(&fleet, &until)?;
    let rate = bytes / copied_s;
    journal.line(&format!(
        "## A second node joins one with {entries} entries\n\n\
         | MB on its disk | join s | MB/s | takes changes after s | equal | must | reached |\n\
         |---|---|---|---|---|---|---|\n\
         | {:.0} | {copied_s:.2} | {:.0} | {:.2} | {} | {:.0} MB/s | {} |\n",
        bytes / 1e6,
        rate / 1e6,
        joined.served.as_secs_f64(),
        yes(converged.equal),
        COPY_MUST / 1e6,
        yes(converged.equal && rate >= COPY_MUST),
    ))
}
