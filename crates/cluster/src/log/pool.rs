//! The connection to etcd: one member at a time, the nearest that works.
//!
//! A member is used only after it has shown, by an answer that needs a majority, that it holds this
//! cluster's log up to the place that this node has reached.

use super::probe::{self, Refusal};
use super::settings::{EtcdLogSettings, LogTls, OpenFailure};
use super::state::{Reason, Shared};
use etcd_client::{Certificate, Client, ConnectOptions, Error, Identity, KvClient, TlsOptions};
use replica::commit_log::Unreachable;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::Instant;

/// Longest message that is accepted from etcd.
pub(super) const MESSAGE_BYTES_MAX: usize = 64 << 20;
/// Time between two looks whether a nearer member works again.
const NEARER: Duration = Duration::from_secs(10);
/// Time for which a member that was given up is not returned to because it is nearer.
const GIVEN_UP: Duration = Duration::from_secs(30);

/// Members of etcd, and the one in use.
pub(super) struct Pool {
    endpoints: Vec<String>,
    options: ConnectOptions,
    current: watch::Sender<Option<Connected>>,
    /// Number of the last connection.
    connections: AtomicU64,
    /// The member after which the next search begins.
    after: AtomicUsize,
    opening: watch::Sender<Opening>,
}

/// How far the first search for a member is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Opening {
    /// Not all members were asked.
    Trying,
    /// A member works, or none does.
    Tried,
    /// A member runs a program that is too old.
    Old {
        /// Its URL.
        endpoint: String,
        /// Version of the program.
        found: String,
    },
}

/// A member in use.
#[derive(Clone)]
pub(super) struct Connected {
    /// Which connection this is.
    pub(super) number: u64,
    /// Which of the settings' endpoints.
    pub(super) index: usize,
    /// URL of the member.
    pub(super) url: String,
    /// The member.
    pub(super) client: Client,
}

impl Connected {
    /// For questions about keys, and for appends.
    pub(super) fn kv(&self) -> KvClient {
        keys_of(&self.client)
    }
}

/// For questions about keys, with room for answers of the size of records.
pub(super) fn keys_of(client: &Client) -> KvClient {
    let kv = client.kv_client();
    kv.max_decoding_message_size(MESSAGE_BYTES_MAX)
}

impl Pool {
    /// No connection yet.
    ///
    /// # Errors
    /// The settings name no endpoint.
    pub(super) fn new(settings: &EtcdLogSettings) -> Result<Pool, OpenFailure> {
        if settings.endpoints.is_empty() {
            let text = "expected at least one URL of etcd, found none".to_owned();
            return Err(OpenFailure::Settings(text));
        }
        let mut options = ConnectOptions::new()
            .with_connect_timeout(settings.attempt_timeout)
            .with_keep_alive(Duration::from_secs(10), settings.attempt_timeout * 3)
            .with_require_leader(true);
        if let Some(tls) = &settings.tls {
            options = options.with_tls(tls_options(tls));
        }
        Ok(Pool {
            endpoints: settings.endpoints.clone(),
            options,
            current: watch::Sender::new(None),
            connections: AtomicU64::new(0),
            after: AtomicUsize::new(0),
            opening: watch::Sender::new(Opening::Trying),
        })
    }

    /// Number of members.
    pub(super) fn len(&self) -> usize {
        self.endpoints.len()
    }

    /// URL of a member.
    pub(super) fn url(&self, index: usize) -> &str {
        &self.endpoints[index]
    }

    /// A connection of its own to a member, made at its first use.
    ///
    /// # Errors
    /// The URL or the certificates are no such.
    pub(super) async fn dial(&self, index: usize) -> Result<Client, Error> {
        Client::connect([self.url(index)], Some(self.options.clone())).await
    }

    /// How far the first search is.
    pub(super) fn opening(&self) -> watch::Receiver<Opening> {
        self.opening.subscribe()
    }

    /// The member in use, once there is one.
    pub(super) async fn connected(&self) -> Connected {
        let mut current = self.current.subscribe();
        loop {
            if let Some(connected) = current.borrow_and_update().clone() {
                return connected;
            }
            if current.changed().await.is_err() {
                // Cannot be: the sender is in `self`.
                std::future::pending::<()>().await;
            }
        }
    }

    /// The member in use, waited for at most for `wait`.
    ///
    /// # Errors
    /// None was found in time.
    pub(super) async fn connected_within(&self, wait: Duration) -> Result<Connected, Unreachable> {
        let connected = tokio::time::timeout(wait, self.connected()).await;
        connected.map_err(|_| Unreachable(format!("no member of etcd answered within {wait:?}")))
    }

    /// Whether this is still the member in use.
    pub(super) fn is_current(&self, number: u64) -> bool {
        let current = self.current.borrow();
        current.as_ref().is_some_and(|it| it.number == number)
    }

    /// Gives up a member that did not work, so that another one is looked for.
    pub(super) fn give_up(&self, connected: &Connected, why: &str) {
        let dropped = self.current.send_if_modified(|current| {
            let same = current
                .as_ref()
                .is_some_and(|it| it.number == connected.number);
            if same {
                *current = None;
            }
            same
        });
        if dropped {
            self.after.store(connected.index + 1, Ordering::Release);
            tracing::debug!(url = connected.url, why, "looks for another member of etcd");
        }
    }
}

/// Keeps a member connected as long as the log is open.
pub(super) async fn keep(shared: &Shared) {
    let pool = &shared.pool;
    let mut given_up = vec![None; pool.len()];
    let mut current = pool.current.subscribe();
    loop {
        let Some(connected) = search(shared).await else {
            return;
        };
        let index = connected.index;
        tracing::debug!(url = connected.url, "uses this member of etcd");
        pool.current.send_replace(Some(connected));
        pool.opening.send_replace(Opening::Tried);
        shared.set(Reason::Unreachable, None);
        let moved = loop {
            let lost = current.wait_for(Option::is_none);
            if tokio::time::timeout(NEARER, lost).await.is_ok() {
                break false;
            }
            if nearer(shared, index, &given_up).await {
                break true;
            }
        };
        if !moved {
            given_up[index] = Some(Instant::now());
        }
    }
}

/// Moves to a nearer member if one works; tells whether it did.
async fn nearer(shared: &Shared, index: usize, given_up: &[Option<Instant>]) -> bool {
    let recently = |it: &Option<Instant>| it.is_some_and(|at| at.elapsed() < GIVEN_UP);
    for (candidate, given_up) in given_up.iter().enumerate().take(index) {
        if !recently(given_up) && probe::probe(shared, candidate).await.is_ok() {
            shared.pool.after.store(candidate, Ordering::Release);
            shared.pool.current.send_replace(None);
            return true;
        }
    }
    false
}

/// Asks one member after the other until one works; `None` if the log cannot be followed.
async fn search(shared: &Shared) -> Option<Connected> {
    let pool = &shared.pool;
    let mut pause = Backoff::new();
    loop {
        let after = pool.after.load(Ordering::Acquire);
        let mut troubles = Vec::new();
        for step in 0..pool.len() {
            let index = (after + step) % pool.len();
            match probe::probe(shared, index).await {
                Ok(client) => {
                    return Some(Connected {
                        number: pool.connections.fetch_add(1, Ordering::Relaxed) + 1,
                        index,
                        url: pool.url(index).to_owned(),
                        client,
                    });
                }
                Err(Refusal::Trouble(trouble)) => {
                    troubles.push(format!("{}: {trouble}", pool.url(index)));
                }
                Err(Refusal::Old(found)) => {
                    let endpoint = pool.url(index).to_owned();
                    troubles.push(format!("{endpoint} runs etcd {found}, older than 3.6"));
                    pool.opening.send_if_modified(|it| {
                        let first = *it == Opening::Trying;
                        if first {
                            *it = Opening::Old { endpoint, found };
                        }
                        first
                    });
                }
                Err(Refusal::Failure(failure)) => {
                    shared.fail(failure);
                    pool.opening.send_replace(Opening::Tried);
                    return None;
                }
            }
        }
        let text = format!("etcd cannot be reached: {}", troubles.join("; "));
        shared.set(Reason::Unreachable, Some(text));
        pool.opening.send_if_modified(|it| {
            let first = *it == Opening::Trying;
            if first {
                *it = Opening::Tried;
            }
            first
        });
        pause.wait().await;
    }
}

/// Pauses between attempts, each twice as long as the one before, up to a second.
pub(super) struct Backoff {
    next: Duration,
}

impl Backoff {
    /// Begins with 50 ms.
    pub(super) fn new() -> Backoff {
        Backoff {
            next: Duration::from_millis(50),
        }
    }

    /// Waits for the next pause.
    pub(super) async fn wait(&mut self) {
        tokio::time::sleep(self.next).await;
        self.next = (self.next * 2).min(Duration::from_secs(1));
    }
}

/// The certificates as the client wants them.
fn tls_options(tls: &LogTls) -> TlsOptions {
    TlsOptions::new()
        .ca_certificate(Certificate::from_pem(&tls.authority))
        .identity(Identity::from_pem(&tls.certificate, &tls.key))
}
