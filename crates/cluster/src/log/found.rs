//! The first keys of a new cluster.

use super::keys::Keys;
use super::pool::{Pool, keys_of};
use super::probe::{self, Refusal, describe, within};
use super::settings::{EtcdLogSettings, OpenFailure};
use super::values::{self, Format, Identity};
use etcd_client::{Client, Compare, CompareOp, Error, Txn, TxnOp};
use replica::commit_log::Unreachable;

/// Begins the log of a new cluster in etcd, with this format level of records. Does nothing if that
/// was done before.
///
/// # Errors
/// etcd cannot be reached or is too old, or the settings contradict themselves.
pub fn found(settings: &EtcdLogSettings, format_level: u32) -> Result<(), OpenFailure> {
    let pool = Pool::new(settings)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let mut troubles = Vec::new();
        for endpoint in pool.order() {
            let client = pool.dial(&endpoint).await.map_err(|error| {
                OpenFailure::Settings(format!("expected a URL of etcd, found {endpoint}: {error}"))
            })?;
            match begin(settings, &client, format_level).await {
                Ok(()) => return Ok(()),
                Err(Refusal::Old(found)) => {
                    return Err(OpenFailure::Version { endpoint, found });
                }
                Err(Refusal::Trouble(trouble)) => troubles.push(format!("{endpoint}: {trouble}")),
                Err(Refusal::Failure(failure)) => {
                    return Err(OpenFailure::Strange(failure.to_string()));
                }
            }
        }
        Err(OpenFailure::Unreachable(Unreachable(troubles.join("; "))))
    })
}

/// Writes the keys that are missing, the identity last: with it the cluster exists.
async fn begin(settings: &EtcdLogSettings, client: &Client, level: u32) -> Result<(), Refusal> {
    let wait = settings.attempt_timeout;
    probe::version(client, wait * 3).await?;
    let keys = Keys::of(&settings.cluster);
    let mut kv = keys_of(client);
    let answer = within(wait, kv.get(keys.named("cluster"), None)).await?;
    let identity = Identity {
        cluster: format!("{:032x}", u128::from_be_bytes(settings.cluster)),
        etcd: answer.header().map_or(0, |it| it.cluster_id()),
    };
    let format = Format { level };
    create(client, settings, keys.named("fmt"), values::encode(&format)).await?;
    create(
        client,
        settings,
        keys.named("cluster"),
        values::encode(&identity),
    )
    .await?;
    Ok(())
}

/// Sets a key that does not exist yet.
async fn create(
    client: &Client,
    settings: &EtcdLogSettings,
    key: Vec<u8>,
    value: Vec<u8>,
) -> Result<(), Error> {
    let absent = Compare::version(key.clone(), CompareOp::Equal, 0);
    let put = TxnOp::put(key, value, None);
    let transaction = Txn::new().when([absent]).and_then([put]);
    let answer = within(settings.attempt_timeout, keys_of(client).txn(transaction)).await;
    answer.map(|_| ()).inspect_err(|error| {
        tracing::debug!(
            error = describe(error),
            "a key of the cluster was not written"
        );
    })
}
