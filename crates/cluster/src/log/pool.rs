//! The connection to etcd: one member at a time, the nearest that works.
//!
//! A member is used only after it has shown, by an answer that needs a majority, that it holds this
//! cluster's log up to the place that this node has reached.

use super::settings::{EtcdLogSettings, LogTls, OpenFailure};
use etcd_client::{Certificate, Client, ConnectOptions, Error, Identity, KvClient, TlsOptions};
use replica::commit_log::Unreachable;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::watch;

/// Longest message that is accepted from etcd.
pub(super) const MESSAGE_BYTES_MAX: usize = 64 << 20;
/// Members of etcd, and the one in use.
pub(super) struct Pool {
    /// URLs, the nearest first.
    endpoints: watch::Sender<Arc<[String]>>,
    options: ConnectOptions,
    pub(super) current: watch::Sender<Option<Connected>>,
    /// Number of the last connection.
    connections: AtomicU64,
    /// URL of the member with which the next search begins, or that of one behind which it begins.
    begin: watch::Sender<Begin>,
    pub(super) opening: watch::Sender<Opening>,
}

/// The place in the list of members at which a search begins.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Begin {
    /// The nearest.
    First,
    /// The member with this URL.
    At(String),
    /// The one after the member with this URL.
    After(String),
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
            .with_connect_timeout(settings.attempt_timeout * 3)
            .with_keep_alive(Duration::from_secs(10), settings.attempt_timeout * 3)
            .with_require_leader(true);
        if let Some(tls) = &settings.tls {
            options = options.with_tls(tls_options(tls));
        }
        Ok(Pool {
            endpoints: watch::Sender::new(settings.endpoints.clone().into()),
            options,
            current: watch::Sender::new(None),
            connections: AtomicU64::new(0),
            begin: watch::Sender::new(Begin::First),
            opening: watch::Sender::new(Opening::Trying),
        })
    }

    /// URLs of all members, the nearest first.
    pub(super) fn endpoints(&self) -> Arc<[String]> {
        Arc::clone(&self.endpoints.borrow())
    }

    /// Takes other members from the next search on; an empty list changes nothing.
    pub(super) fn set_endpoints(&self, urls: &[String]) {
        self.endpoints.send_if_modified(|known| {
            let differs = !urls.is_empty() && **known != *urls;
            if differs {
                *known = urls.into();
            }
            differs
        });
    }

    /// URLs of all members in the order in which the next search asks them.
    pub(super) fn order(&self) -> Vec<String> {
        let endpoints = self.endpoints();
        let at = |url: &String| endpoints.iter().position(|it| it == url);
        let first = match &*self.begin.borrow() {
            Begin::First => None,
            Begin::At(url) => at(url),
            Begin::After(url) => at(url).map(|it| it + 1),
        };
        let mut order = endpoints.to_vec();
        order.rotate_left(first.unwrap_or(0) % endpoints.len());
        order
    }

    /// Gives the member in use up for a nearer one.
    pub(super) fn move_to(&self, url: &str) {
        self.begin.send_replace(Begin::At(url.to_owned()));
        self.current.send_replace(None);
    }

    /// A connection of its own to a member, made at its first use.
    ///
    /// # Errors
    /// The URL or the certificates are no such.
    pub(super) async fn dial(&self, url: &str) -> Result<Client, Error> {
        Client::connect([url], Some(self.options.clone())).await
    }

    /// A connection to a member that works.
    pub(super) fn connection(&self, url: String, client: Client) -> Connected {
        Connected {
            number: self.connections.fetch_add(1, Ordering::Relaxed) + 1,
            url,
            client,
        }
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

    /// URL of the member in use, `None` while there is none.
    pub(super) fn endpoint(&self) -> Option<String> {
        self.current.borrow().as_ref().map(|it| it.url.clone())
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
            self.begin.send_replace(Begin::After(connected.url.clone()));
            tracing::debug!(url = connected.url, why, "looks for another member of etcd");
        }
    }
}

/// Pauses between attempts, each twice as long as the one before, up to a quarter of a
/// second.
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
        self.next = (self.next * 2).min(Duration::from_millis(250));
    }
}

/// The certificates as the client wants them.
fn tls_options(tls: &LogTls) -> TlsOptions {
    TlsOptions::new()
        .ca_certificate(Certificate::from_pem(&tls.authority))
        .identity(Identity::from_pem(&tls.certificate, &tls.key))
}
