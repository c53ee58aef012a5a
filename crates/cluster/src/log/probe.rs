//! Whether a member of etcd can be used: its version, whether a majority stands behind it, and
//! whether it holds this cluster's log.

use super::pool::keys_of;
use super::state::{Shared, place};
use super::values::{self, Identity};
use etcd_client::{Client, Error, GetResponse};
use replica::commit_log::LogFailure;
use std::error::Error as _;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// The first version of etcd that can be used.
const VERSION_MIN: Version = Version { major: 3, minor: 6 };

/// A version of etcd as far as it matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Version {
    major: u32,
    minor: u32,
}

/// Reasons why a member cannot be used.
#[derive(Debug)]
pub(super) enum Refusal {
    /// It does not answer, or no majority stands behind it.
    Trouble(String),
    /// Its program has this version, which is too old.
    Old(String),
    /// It is not the log that this node follows.
    Failure(LogFailure),
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Refusal {
        Refusal::Trouble(describe(&error))
    }
}

/// Connects to a member and asks what it is.
///
/// # Errors
/// It cannot be used.
pub(super) async fn probe(shared: &Shared, url: &str) -> Result<Client, Refusal> {
    let client = shared.pool.dial(url).await?;
    let wait = shared.settings.attempt_timeout;
    // A connection with certificates takes three round trips more.
    version(&client, wait * 3).await?;
    // Taken before the question: the answer cannot be older.
    let reached = shared.reached.load(Ordering::Acquire);
    let mut kv = keys_of(&client);
    let answer = within(wait, kv.get(shared.keys.named("cluster"), None)).await?;
    check(shared, url, &answer)?;
    let head = answer.header().map_or(0, |it| place(it.revision()));
    if head < reached {
        return Err(Refusal::Failure(LogFailure::Strange(format!(
            "etcd at {url} ends at place {head}, but this node has executed the log up to place \
             {reached}: etcd was emptied or restored from a backup; see `pando cluster recover`"
        ))));
    }
    shared.saw_head(head);
    Ok(client)
}

/// Asks a member for its version.
///
/// # Errors
/// It does not answer, or is too old.
pub(super) async fn version(client: &Client, wait: Duration) -> Result<(), Refusal> {
    let mut maintenance = client.maintenance_client();
    let status = within(wait, maintenance.status()).await?;
    let found = status.version();
    if Version::parse(found).is_none_or(|it| it < VERSION_MIN) {
        return Err(Refusal::Old(found.to_owned()));
    }
    if status.leader() == 0 {
        return Err(Refusal::Trouble("it has no leader".to_owned()));
    }
    Ok(())
}

/// Checks that an answer about the key `cluster` is that of this node's cluster.
fn check(shared: &Shared, url: &str, answer: &GetResponse) -> Result<(), Refusal> {
    let cluster = format!("{:032x}", u128::from_be_bytes(shared.settings.cluster));
    let strange = |text| Err(Refusal::Failure(LogFailure::Strange(text)));
    let Some(value) = answer.kvs().first() else {
        return strange(format!(
            "etcd at {url} holds nothing of cluster {cluster}: it was emptied, or serves another \
             cluster; see `pando cluster recover`"
        ));
    };
    let etcd = answer.header().map_or(0, |it| it.cluster_id());
    let identity = values::decode::<Identity>(value.value());
    match identity {
        Some(identity) if identity.cluster == cluster && identity.etcd == etcd => Ok(()),
        Some(identity) if identity.cluster == cluster => strange(format!(
            "etcd at {url} calls itself {etcd:016x}, but the log of cluster {cluster} was begun in \
             {:016x}: it was restored from a backup and may lack records; see `pando cluster \
             recover`",
            identity.etcd
        )),
        _ => strange(format!(
            "etcd at {url} has no readable identity of cluster {cluster} in its key `cluster`"
        )),
    }
}

/// An answer, waited for at most for `wait`.
///
/// # Errors
/// etcd refused, or did not answer in time.
pub(super) async fn within<T>(
    wait: Duration,
    question: impl Future<Output = Result<T, Error>>,
) -> Result<T, Error> {
    match tokio::time::timeout(wait, question).await {
        Ok(answer) => answer,
        Err(_) => Err(Error::EndpointError(format!("no answer within {wait:?}"))),
    }
}

/// Whether an attempt failed without an answer in time, so that the member may be well.
pub(super) fn is_slow(error: &Error) -> bool {
    match error {
        Error::EndpointError(_) => true,
        // etcd's own time limits, and a leader that changes.
        Error::GRpcStatus(status) => {
            let text = status.message();
            text.starts_with("etcdserver:") && !text.contains("no leader")
        }
        _ => false,
    }
}

/// What an error says, with its causes: the outermost is often only "transport error".
pub(super) fn describe(error: &Error) -> String {
    let mut text = match error {
        Error::GRpcStatus(status) => status.message().to_owned(),
        Error::EndpointError(text) => text.clone(),
        other => other.to_string(),
    };
    let mut cause: Option<&(dyn std::error::Error + 'static)> = match error {
        Error::GRpcStatus(status) => status.source(),
        Error::TransportError(error) => error.source(),
        _ => None,
    };
    while let Some(error) = cause {
        let said = error.to_string();
        if !text.contains(&said) {
            text = format!("{text}: {said}");
        }
        cause = error.source();
    }
    text
}

impl Version {
    /// `3.7.3` or `3.6.0-rc.1`, `None` for other text.
    fn parse(text: &str) -> Option<Version> {
        let mut parts = text.split('.');
        Some(Version {
            major: parts.next()?.parse().ok()?,
            minor: parts.next()?.parse().ok()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_by_their_numbers() {
        let old = |text| Version::parse(text).is_none_or(|it| it < VERSION_MIN);
        for text in ["3.4.23", "2.9.0", "3.5.30", "", "3", "new", "3.x"] {
            assert!(old(text), "{text}");
        }
        for text in ["3.6.0-rc.1", "3.7.3", "3.10.0", "4.0.0"] {
            assert!(!old(text), "{text}");
        }
    }
}
