//! Reading history by single questions, several at a time: what changed in revision R is what stands
//! below the prefix as of R and was set in R.

use super::intake::Intake;
use super::probe::{describe, within};
use super::state::{Shared, revision};
use super::tail::{Stop, history_wait};
use etcd_client::{Error, GetOptions, GetResponse, KvClient};
use std::collections::BTreeMap;
use tokio::task::JoinSet;

/// Questions in flight.
const IN_FLIGHT: usize = 8;

/// Reads all revisions behind the intake's last place up to another one.
///
/// # Errors
/// The member does not work, or gave what no node writes.
pub(super) async fn read(
    shared: &Shared,
    kv: &KvClient,
    intake: &mut Intake,
    to: u64,
) -> Result<(), Stop> {
    let wait = history_wait(shared);
    let prefix = shared.keys.prefix();
    let mut asked = intake.last;
    let mut asking = JoinSet::new();
    let mut answers = BTreeMap::new();
    while intake.last < to {
        while asking.len() + answers.len() < IN_FLIGHT && asked < to {
            asked += 1;
            let place = asked;
            let (mut kv, prefix) = (kv.clone(), prefix.clone());
            asking.spawn(async move {
                let options = changed(place, place);
                let answer = within(wait, kv.get(prefix, Some(options))).await;
                Answer { place, answer }
            });
        }
        if let Some(answer) = asking.join_next().await {
            let Answer { place, answer } =
                answer.map_err(|error| Stop::Trouble(error.to_string()))?;
            answers.insert(place, answer?);
        }
        while let Some(answer) = answers.remove(&(intake.last + 1)) {
            shared.queue.room().await;
            take(shared, intake, &answer)?;
        }
    }
    Ok(())
}

/// An answer, and the place that was asked for.
struct Answer {
    place: u64,
    answer: Result<GetResponse, Error>,
}

/// Deals with what changed in the revision behind the intake's last place.
fn take(shared: &Shared, intake: &mut Intake, answer: &GetResponse) -> Result<(), Stop> {
    let place = intake.last + 1;
    for found in answer.kvs() {
        intake.take(shared, found).map_err(Stop::Damaged)?;
    }
    // Of keys outside of the prefix.
    intake.skip(shared, place);
    Ok(())
}

/// Deals with the places from the intake's last up to `to` that a watch left out.
///
/// # Errors
/// The member does not work, or gave what no node writes.
pub(super) async fn missing(
    shared: &Shared,
    kv: &KvClient,
    intake: &mut Intake,
    to: u64,
) -> Result<(), Stop> {
    if to <= intake.last {
        return Ok(());
    }
    let options = changed(intake.last + 1, to).with_keys_only();
    let mut asked = kv.clone();
    let question = asked.get(shared.keys.prefix(), Some(options));
    let answer = within(history_wait(shared), question).await;
    let answer = answer.map_err(|error| Stop::Trouble(describe(&error)))?;
    let (first, last) = (intake.last + 1, to);
    if answer.kvs().is_empty() {
        tracing::debug!(
            first,
            last,
            "etcd is used for something besides this cluster"
        );
        intake.skip(shared, to);
        return Ok(());
    }
    tracing::warn!(
        first,
        last,
        "etcd lost events of a watch: they are read again"
    );
    read(shared, kv, intake, to).await
}

/// Options for what changed between two places, both included.
fn changed(from: u64, to: u64) -> GetOptions {
    GetOptions::new()
        .with_prefix()
        .with_serializable()
        .with_revision(revision(to))
        .with_min_mod_revision(revision(from))
}
