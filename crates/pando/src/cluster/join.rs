//! `pando cluster join`: a new node with a copy of the directory.

use super::folder::{self, address};
use crate::cli::ClusterJoin;
use crate::progress::{Progress, Standing};
use crate::report::{Problem, note};
use ::cluster::Trouble;
use ::cluster::address::Address;
use ::cluster::identity::Identity;
use ::cluster::join::{self, JoinOptions, WantedCopy};
use ::cluster::snapshot::Watch;
use ::cluster::token::Token;
use indicatif::HumanBytes;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};
use store::private;

/// Time for which a node that needs a copy waits until another node can be asked for it.
const DONOR_WAIT: Duration = Duration::from_secs(60);
/// Time between two attempts.
const DONOR_PAUSE: Duration = Duration::from_millis(500);

/// Joins, or goes on with a joining that was interrupted, and says what to do next.
pub fn join(it: &ClusterJoin) -> Result<(), Problem> {
    let identity = enter(it)?;
    note(format_args!(
        "{} is node {} of the cluster, at {}\nstart it with: pando serve {}",
        it.dir.display(),
        identity.membership.node,
        identity.membership.address,
        it.dir.display()
    ));
    Ok(())
}

/// Joins, or goes on with a joining that was interrupted.
pub fn enter(it: &ClusterJoin) -> Result<Identity, Problem> {
    let from = address("--from", &it.from)?;
    let own = it.address.as_deref();
    let token = it.token.parse::<Token>();
    let options = JoinOptions {
        dir: it.dir.clone(),
        address: own.map(|text| address("--address", text)).transpose()?,
        token: token.map_err(|error| Problem::usage(format_args!("--token: {error}")))?,
        from,
        without_etcd: folder::etcd_program(&it.dir)?
            .err()
            .map(|it| it.to_string()),
    };
    let identity = join::enter(&options).map_err(Problem::failed)?;
    write_settings(&it.dir)?;
    fill(&it.dir, &options.from, &WantedCopy::first(&it.dir))?;
    Ok(identity)
}

/// Fetches a copy of the directory for the node in `dir`, and shows how far it is.
pub fn fill(dir: &Path, from: &Address, wanted: &WantedCopy) -> Result<(), Problem> {
    fetch(dir, from, wanted).map_err(Problem::failed)
}

/// Like [`fill`], for a node whose own state was put aside: waits for nodes that are just being
/// started, as several are after an import.
pub fn refill(dir: &Path, from: &Address, wanted: &WantedCopy) -> Result<(), Problem> {
    let until = Instant::now() + DONOR_WAIT;
    loop {
        match fetch(dir, from, wanted) {
            Err(Trouble::Unreachable { .. }) if Instant::now() < until => {
                std::thread::park_timeout(DONOR_PAUSE);
            }
            filled => return filled.map_err(Problem::failed),
        }
    }
}

fn fetch(dir: &Path, from: &Address, wanted: &WantedCopy) -> Result<(), Trouble> {
    let watch = Arc::new(Watch::default());
    let watched = Arc::clone(&watch);
    let look = move || {
        let (done, total) = (watched.done.load(Relaxed), watched.total.load(Relaxed));
        Standing {
            bytes: done - watched.found.load(Relaxed).min(done),
            done,
            total: Some(total).filter(|it| *it > 0),
            finishing: total > 0 && done == total,
            ..Standing::default()
        }
    };
    let started = Instant::now();
    let progress = Progress::show("writing to the disk", Arc::new(look));
    let filled = join::fill(dir, from, wanted, &watch);
    drop(progress);
    filled?;
    note(format_args!(
        "{} copied in {:.1} s",
        HumanBytes(watch.done.load(Relaxed)),
        started.elapsed().as_secs_f64()
    ));
    Ok(())
}

/// Writes pando.toml, unless an interrupted joining has done so.
fn write_settings(dir: &Path) -> Result<(), Problem> {
    let path = dir.join(server::settings::FILE_NAME);
    if path.exists() {
        return Ok(());
    }
    private::write(&path, server::settings::sample()).map_err(|error| Problem::file(&path, error))
}
