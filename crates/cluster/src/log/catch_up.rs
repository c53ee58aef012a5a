//! Reading history by single questions, several at a time: what changed in revision R is
//! what stands below the prefix as of R and was set in R.

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

#[cfg(test)]
#[allow(dead_code, reason = "its users elsewhere need more of it")]
#[path = "../../tests/log"]
mod kit {
    pub(super) mod certificates;
    pub(super) mod etcd;
}

#[cfg(test)]
mod tests {
    use super::kit::etcd::{Etcd, wait_for};
    use super::*;
    use crate::log::pool::keys_of;
    use crate::log::{EtcdLog, EtcdLogSettings, found};
    use replica::commit_log::{Bundle, CommitLog, LogEvent, NodeId};
    use std::time::{Duration, Instant};

    /// Places that a watch left out: those of others' keys are passed over, those of ours read.
    #[test]
    fn events_that_a_watch_lost_are_found() {
        let etcd = Etcd::start(&[]);
        let settings = EtcdLogSettings::new(vec![etcd.url()], [1; 16], NodeId([1; 16]));
        wait_for("etcd to begin a cluster", || found(&settings, 1).ok());
        let log = EtcdLog::open(settings.clone()).unwrap();
        let mut places = Vec::new();
        for number in 1..=5 {
            // What a watch on the prefix leaves out anyhow.
            etcd.with(async |mut client| client.put("/elsewhere", "", None).await.unwrap());
            wait_for("a free lane", || log.is_free(0).then_some(()));
            log.submit(Bundle {
                number,
                lane: 0,
                payload: vec![b'x'; 100],
                until: Instant::now() + Duration::from_secs(10),
            });
            wait_for("its record", || {
                let events = log.next(Duration::from_millis(10)).unwrap();
                let place = events.iter().find_map(|it| match it {
                    LogEvent::Record(record) => Some(record.place),
                    _ => None,
                });
                place.inspect(|it| places.push(*it))
            });
        }
        let shared = Shared::new(settings).unwrap();
        let mut intake = Intake::new(0);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        let mut found_at = |to| {
            runtime.block_on(async {
                let kv = keys_of(&shared.pool.dial(&shared.pool.order()[0]).await.unwrap());
                missing(&shared, &kv, &mut intake, to).await.unwrap();
            });
            assert_eq!(intake.last, to);
            let events = shared.queue.next(Duration::ZERO).unwrap();
            let records = events.into_iter().filter_map(|it| match it {
                LogEvent::Record(record) => Some(record.place),
                _ => None,
            });
            records.collect::<Vec<_>>()
        };
        assert!(found_at(places[0] - 1).is_empty());
        assert_eq!(found_at(places[0]), [places[0]]);
        assert!(found_at(places[1] - 1).is_empty());
        assert_eq!(found_at(places[4]), places[1..]);
    }
}
