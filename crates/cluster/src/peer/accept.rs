//! Accepts connections within bounds, and lets requests through to the routes.

use super::routes::Caller;
use crate::snapshot::Donor;
use axum::{Extension, Router};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use rustls::ServerConfig;
use std::net::TcpListener;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::{MissedTickBehavior, interval, timeout};
use tokio_rustls::TlsAcceptor;

/// Connections at a time.
const CONNECTIONS_MAX: usize = 512;
/// Connections at a time that have shown no certificate yet, or never will.
const STRANGERS_MAX: usize = 64;
/// How long a connection may take for the TLS handshake.
const HANDSHAKE_WAIT: Duration = Duration::from_secs(10);
/// How long a connection without a certificate may last.
const STRANGER_TIME: Duration = Duration::from_secs(30);
/// How long a connection may be without a request.
const IDLE_MAX: Duration = Duration::from_secs(120);
/// How long a peer's machine may leave bytes unacknowledged, in milliseconds.
const UNACKNOWLEDGED_MS_MAX: u32 = 30_000;
/// Pause after a failure to accept, for example without file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// The longest time between two looks at whether a copy is still used.
const TIDY_EVERY: Duration = Duration::from_secs(30);

/// The way of connections to the routes.
pub struct Door {
    /// Settings of TLS.
    pub tls: ServerConfig,
    /// The routes.
    pub routes: Router,
    /// Keeper of copies, to be tidied now and then.
    pub donor: Arc<Donor>,
    /// How long copies are kept.
    pub kept: Duration,
}

/// Room for connections.
struct Room {
    all: Arc<Semaphore>,
    strangers: Arc<Semaphore>,
}

/// Serves until `stopped` turns true.
pub async fn run(listener: TcpListener, door: Door, mut stopped: watch::Receiver<bool>) {
    let listener = match tokio::net::TcpListener::from_std(listener) {
        Ok(listener) => listener,
        Err(error) => return tracing::error!(%error, "the service for peers cannot listen"),
    };
    let tls = TlsAcceptor::from(Arc::new(door.tls));
    let room = Room {
        all: Arc::new(Semaphore::new(CONNECTIONS_MAX)),
        strangers: Arc::new(Semaphore::new(STRANGERS_MAX)),
    };
    let mut tidy = interval((door.kept / 4).clamp(Duration::from_millis(10), TIDY_EVERY));
    tidy.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            _ = stopped.wait_for(|it| *it) => return,
            _ = tidy.tick() => {
                let donor = Arc::clone(&door.donor);
                // It waits for the disk.
                tokio::task::spawn_blocking(move || donor.tidy());
            }
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    // Without room the connection is closed: the peer tries again.
                    if let (Ok(permit), Ok(stranger)) = (
                        Arc::clone(&room.all).try_acquire_owned(),
                        Arc::clone(&room.strangers).try_acquire_owned(),
                    ) {
                        let permits = Permits { _all: permit, stranger };
                        tokio::spawn(serve(stream, tls.clone(), door.routes.clone(), permits));
                    }
                }
                Err(error) => {
                    tracing::warn!(%error, "a connection of a peer cannot be accepted");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            }
        }
    }
}

/// The room that one connection takes.
struct Permits {
    _all: OwnedSemaphorePermit,
    stranger: OwnedSemaphorePermit,
}

async fn serve(stream: TcpStream, tls: TlsAcceptor, routes: Router, permits: Permits) {
    // Neither is needed to answer.
    let _ = stream.set_nodelay(true);
    let socket = stream.as_fd();
    let _ = rustix::net::sockopt::set_tcp_user_timeout(socket, UNACKNOWLEDGED_MS_MAX);
    let Ok(Ok(stream)) = timeout(HANDSHAKE_WAIT, tls.accept(stream)).await else {
        return;
    };
    let certificates = stream.get_ref().1.peer_certificates();
    let certificate = certificates.and_then(|it| it.first());
    let caller = match certificate {
        Some(certificate) => Caller::Node(certificate.clone().into_owned()),
        None => Caller::Stranger,
    };
    let routes = TowerToHyperService::new(routes.layer(Extension(caller.clone())));
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(IDLE_MAX)
        .serve_connection(TokioIo::new(stream), routes);
    // Errors of connections are the peers' to tell.
    match caller {
        Caller::Node(_) => {
            drop(permits.stranger);
            let _ = connection.await;
        }
        Caller::Stranger => {
            let _ = timeout(STRANGER_TIME, connection).await;
            drop(permits.stranger);
        }
    }
}
