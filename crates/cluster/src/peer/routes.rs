//! The answer to each request.

use super::message::{
    Executed, JoinAnswer, JoinEtcd, JoinRequest, LeaveRequest, NodeStatus, Refusal, RemoveRequest,
    Removed, UpgradeRequest,
};
use super::node::PeerNode;
use crate::authority::is_of;
use crate::identity::{Etcd, Identity, Member};
use crate::snapshot::{Donor, NoCopy};
use crate::token::{Outstanding, Secret, TokenRefused};
use crate::trouble::Trouble;
use axum::body::{Body, Bytes};
use axum::extract::{DefaultBodyLimit, Path, State};
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Extension, Router};
use replica::clock::{Clock, SystemClock};
use replica::level;
use rustls::pki_types::CertificateDer;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::fs;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

/// The longest body of a request.
const BODY_BYTES_MAX: usize = 16 << 10;
/// Time for which a question for a position waits until the node has reached it.
const EXECUTED_WAIT: Duration = Duration::from_secs(1);
/// Pieces of copies in memory at a time.
const PIECES_MAX: usize = 16;

/// Sender of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Caller {
    /// A node that is or was of the cluster, by this certificate.
    Node(CertificateDer<'static>),
    /// Anybody.
    Stranger,
}

/// The sources of answers.
struct Answers {
    identity: Identity,
    node: Arc<dyn PeerNode>,
    donor: Arc<Donor>,
    pieces: Arc<Semaphore>,
}

/// An answer other than success.
struct Refused {
    status: StatusCode,
    error: String,
}

/// A piece of a copy, in the path of a request.
#[derive(Deserialize)]
struct Asked {
    /// Identifier of the copy.
    id: String,
    /// Number of the piece, or of the first one.
    number: usize,
}

type Shared = State<Arc<Answers>>;

/// Makes the routes of a node.
pub fn routes(
    identity: &Identity,
    node: Arc<dyn PeerNode>,
    donor: Arc<Donor>,
) -> Result<Router, Trouble> {
    // Read once at the start, so that a missing file is known then.
    identity.authority()?;
    let answers = Answers {
        identity: identity.clone(),
        node,
        donor,
        pieces: Arc::new(Semaphore::new(PIECES_MAX)),
    };
    Ok(Router::new()
        .route("/join", post(join))
        .route("/status", get(status))
        .route("/executed/{position}", get(executed))
        .route("/remove", post(remove))
        .route("/leave", post(leave))
        .route("/upgrade", post(upgrade))
        .route("/snapshot/{place}", get(snapshot))
        .route("/snapshot/{id}/{number}", get(piece))
        .route("/snapshot/{id}/sums/{number}", get(sums))
        .fallback(|| async { Refused::new(StatusCode::NOT_FOUND, "there is nothing here") })
        .layer(DefaultBodyLimit::max(BODY_BYTES_MAX))
        .with_state(Arc::new(answers)))
}

async fn join(State(it): Shared, body: Bytes) -> Result<Response, Refused> {
    let request: JoinRequest = request(&body)?;
    let answer = blocking(move || it.join(&request)).await??;
    json(&answer)
}

async fn status(
    State(it): Shared,
    Extension(caller): Extension<Caller>,
) -> Result<Response, Refused> {
    it.require_node(&caller)?;
    let status = blocking(move || it.node.status()).await?;
    json(&status)
}

async fn executed(
    State(it): Shared,
    Extension(caller): Extension<Caller>,
    Path(position): Path<u64>,
) -> Result<Response, Refused> {
    it.require_node(&caller)?;
    let (tell, told) = oneshot::channel();
    let then = Box::new(move |position| {
        // Who asked may have gone.
        let _ = tell.send(position);
    });
    it.node
        .when_reached(position, Instant::now() + EXECUTED_WAIT, then);
    let ends = |_| Refused::new(StatusCode::SERVICE_UNAVAILABLE, "this node stops");
    let position = told.await.map_err(ends)?;
    json(&Executed { position })
}

async fn remove(
    State(it): Shared,
    Extension(caller): Extension<Caller>,
    body: Bytes,
) -> Result<Response, Refused> {
    it.require_node(&caller)?;
    let request: RemoveRequest = request(&body)?;
    blocking(move || it.node.remove(&request))
        .await?
        .map_err(|why| Refused::new(StatusCode::CONFLICT, why))?;
    json(&Removed {})
}

async fn leave(
    State(it): Shared,
    Extension(caller): Extension<Caller>,
    body: Bytes,
) -> Result<Response, Refused> {
    it.require_node(&caller)?;
    let request: LeaveRequest = request(&body)?;
    let answer = blocking(move || it.node.leave(&request))
        .await?
        .map_err(|why| Refused::new(StatusCode::CONFLICT, why))?;
    json(&answer)
}

async fn upgrade(
    State(it): Shared,
    Extension(caller): Extension<Caller>,
    body: Bytes,
) -> Result<Response, Refused> {
    it.require_node(&caller)?;
    let request: UpgradeRequest = request(&body)?;
    let answer = blocking(move || it.node.upgrade(&request))
        .await?
        .map_err(|why| Refused::new(StatusCode::CONFLICT, why))?;
    json(&answer)
}

/// The request in a body.
fn request<T: DeserializeOwned>(body: &[u8]) -> Result<T, Refused> {
    serde_json::from_slice(body).map_err(|error| {
        Refused::new(
            StatusCode::BAD_REQUEST,
            format!("expected another request ({error}): use programs of one version"),
        )
    })
}

async fn snapshot(
    State(it): Shared,
    Extension(caller): Extension<Caller>,
    Path(place): Path<u64>,
) -> Result<Response, Refused> {
    it.require_node(&caller)?;
    let offer = blocking(move || it.donor.offer(place)).await?;
    let offer = offer.map_err(|error| {
        let status = match error {
            NoCopy::NoRoom(_) => StatusCode::INSUFFICIENT_STORAGE,
            NoCopy::Failed(_) => StatusCode::INTERNAL_SERVER_ERROR,
        };
        Refused::new(status, error)
    })?;
    json(&offer)
}

async fn sums(
    State(it): Shared,
    Extension(caller): Extension<Caller>,
    Path(asked): Path<Asked>,
) -> Result<Response, Refused> {
    it.require_node(&caller)?;
    let copy = it.donor.copy(&asked.id).ok_or_else(gone)?;
    let sums = copy.sums(asked.number).await;
    let failed = |why| Refused::new(StatusCode::INTERNAL_SERVER_ERROR, why);
    json(&sums.map_err(failed)?)
}

async fn piece(
    State(it): Shared,
    Extension(caller): Extension<Caller>,
    Path(asked): Path<Asked>,
) -> Result<Response, Refused> {
    it.require_node(&caller)?;
    let copy = it.donor.copy(&asked.id).ok_or_else(gone)?;
    let permit = Arc::clone(&it.pieces).acquire_owned().await;
    let permit = permit.map_err(|_| gone())?;
    let piece = blocking(move || copy.piece(asked.number)).await?;
    let failed = |error| Refused::new(StatusCode::INTERNAL_SERVER_ERROR, error);
    let bytes = piece.map_err(failed)?.ok_or_else(gone)?;
    let held = Held {
        bytes,
        _permit: permit,
    };
    let body = Body::from(Bytes::from_owner(held));
    Ok(([(CONTENT_TYPE, "application/octet-stream")], body).into_response())
}

/// A piece in memory, until it is sent.
struct Held {
    bytes: Vec<u8>,
    _permit: OwnedSemaphorePermit,
}

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Answers {
    /// Refuses who has no certificate of the cluster, and nodes that were removed from it, but for
    /// this one, which may have to hand its vote over.
    fn require_node(&self, caller: &Caller) -> Result<(), Refused> {
        let Caller::Node(certificate) = caller else {
            let why = "expected a certificate of a node of this cluster";
            return Err(Refused::new(StatusCode::UNAUTHORIZED, why));
        };
        let own = self.identity.membership.node;
        let removed = self.node.removed().into_iter();
        let mut removed = removed.filter(|it| *it != own);
        match removed.find(|it| is_of(certificate, *it)) {
            None => Ok(()),
            Some(node) => Err(Refused::new(
                StatusCode::FORBIDDEN,
                format!(
                    "node {node} was removed from the cluster: join with a new folder (pando \
                     cluster join)"
                ),
            )),
        }
    }

    /// Takes a new node in, if its token serves.
    fn join(&self, request: &JoinRequest) -> Result<JoinAnswer, Refused> {
        let forbidden = |why| Refused::new(StatusCode::FORBIDDEN, why);
        let secret = Secret::read(&request.secret).map_err(|_| forbidden("expected a token"))?;
        let membership = &self.identity.membership;
        let (own, members) = (membership.own(), self.node.members());
        let other = |it: &&Member| it.address == request.address && it.node != request.node;
        let taken = members.iter().chain([&own]).find(other);
        if let Some(taken) = taken {
            let why = format!(
                "node {} has the address {} already; give the new node another one with --address",
                taken.node, taken.address
            );
            return Err(Refused::new(StatusCode::CONFLICT, why));
        }
        self.require_known_level(request)?;
        self.require_etcd(request)?;
        // All that can fail comes before the token is used up.
        let failed = |error: Trouble| Refused::new(StatusCode::INTERNAL_SERVER_ERROR, error);
        let authority = self.identity.authority().map_err(failed)?;
        let etcd = self.etcd().map_err(failed)?;
        let now = Duration::from_micros(SystemClock.now_us());
        let taken = Outstanding::of(&self.identity).take(&secret, now);
        taken.map_err(|refused| match refused {
            TokenRefused::Failed(error) => failed(error),
            refused => Refused::new(StatusCode::FORBIDDEN, refused),
        })?;
        let (node, address) = (request.node, &request.address);
        tracing::info!(%node, %address, "a node joins the cluster");
        Ok(JoinAnswer {
            ca: authority.pem().to_owned(),
            ca_key: authority.key_pem(),
            cluster: membership.cluster,
            generation: membership.generation,
            replaces: membership.replaces,
            members,
            etcd,
        })
    }

    /// Refuses a new node whose program does not execute the cluster's format level.
    fn require_known_level(&self, request: &JoinRequest) -> Result<(), Refused> {
        let NodeStatus { log, version, .. } = self.node.status();
        let level = log.format_level.max(log.format_agreed);
        let level = level.unwrap_or(level::LOWEST);
        if request.format_max >= level {
            return Ok(());
        }
        let why = format!(
            "the cluster has format level {level}, and the new node's program executes levels up \
             to {}: install pando {version} there, as on this node, and give the command again; \
             the token is not used up",
            request.format_max
        );
        Err(Refused::new(StatusCode::CONFLICT, why))
    }

    /// Refuses a new node that could not run etcd, where nodes do.
    fn require_etcd(&self, request: &JoinRequest) -> Result<(), Refused> {
        let managed = matches!(self.identity.membership.etcd, Etcd::Managed(_));
        match &request.without_etcd {
            Some(reason) if managed => {
                let why = format!(
                    "nodes of this cluster run its etcd, and the new one cannot: {reason} (the \
                     new folder may hold a pando.toml with that setting); the token is not used up"
                );
                Err(Refused::new(StatusCode::CONFLICT, why))
            }
            _ => Ok(()),
        }
    }

    /// How a new node reaches etcd.
    fn etcd(&self) -> Result<JoinEtcd, Trouble> {
        let external = match &self.identity.membership.etcd {
            Etcd::Managed(_) => {
                let urls = self.node.etcd_urls();
                return Ok(JoinEtcd::Managed { urls });
            }
            Etcd::External(external) => external,
        };
        let read = |path| {
            let path = self.identity.path(path);
            fs::read_to_string(&path).map_err(Trouble::file(&path))
        };
        Ok(JoinEtcd::External {
            urls: external.urls.clone(),
            ca: read(&external.ca)?,
            certificate: read(&external.certificate)?,
            key: read(&external.key)?,
        })
    }
}

impl Refused {
    fn new(status: StatusCode, error: impl ToString) -> Refused {
        Refused {
            status,
            error: error.to_string(),
        }
    }
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        let refusal = Refusal { error: self.error };
        match json(&refusal) {
            Ok(body) => (self.status, body).into_response(),
            Err(_) => self.status.into_response(),
        }
    }
}

fn gone() -> Refused {
    Refused::new(StatusCode::NOT_FOUND, "there is no such copy any more")
}

fn json(message: &impl Serialize) -> Result<Response, Refused> {
    let failed = |error| Refused::new(StatusCode::INTERNAL_SERVER_ERROR, error);
    let body = serde_json::to_vec(message).map_err(failed)?;
    Ok(([(CONTENT_TYPE, "application/json")], body).into_response())
}

/// Runs what waits for the disk on a thread where that does no harm.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Refused> {
    let failed = |error| Refused::new(StatusCode::INTERNAL_SERVER_ERROR, error);
    tokio::task::spawn_blocking(work).await.map_err(failed)
}
