//! Connections to other nodes: one request after the other, over TLS.

use super::message::Refusal;
use super::tls;
use crate::address::Address;
use crate::identity::Identity;
use crate::trouble::Trouble;
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1::{self, SendRequest};
use hyper::header::{CONTENT_TYPE, HOST};
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use rustls::{CertificateError, Error as TlsError};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::BufReader;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

/// How long connecting may take, TLS included.
const CONNECT_WAIT: Duration = Duration::from_secs(10);
/// How long a peer may be silent. Answers that wait for something wait less than this.
const SILENCE_MAX: Duration = Duration::from_secs(30);
/// Bytes read from a connection at once.
const READ_BYTES: usize = 128 << 10;
/// The longest answer that is no piece of a copy.
const ANSWER_BYTES_MAX: u64 = 4 << 20;

/// Makes connections to one node.
#[derive(Clone)]
pub struct PeerClient {
    address: Address,
    tls: TlsConnector,
}

/// A connection to a node.
pub struct Link {
    address: Address,
    local: IpAddr,
    sender: SendRequest<Full<Bytes>>,
}

impl PeerClient {
    /// A client that shows a node's certificate, for the node at an address.
    ///
    /// # Errors
    /// The certificates of the identity cannot be used.
    pub fn new(identity: &Identity, address: Address) -> Result<PeerClient, Trouble> {
        Ok(PeerClient::with(address, tls::client(identity)?))
    }

    /// A client without a certificate, for a node whose cluster's authority has this SHA-256.
    ///
    /// # Errors
    /// TLS cannot be set up.
    pub fn pinned(fingerprint: [u8; 32], address: Address) -> Result<PeerClient, Trouble> {
        Ok(PeerClient::with(address, tls::pinned(fingerprint)?))
    }

    fn with(address: Address, config: rustls::ClientConfig) -> PeerClient {
        PeerClient {
            address,
            tls: TlsConnector::from(Arc::new(config)),
        }
    }

    /// The node's address.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// Opens a connection.
    ///
    /// # Errors
    /// The node does not answer, or is not of the cluster.
    pub async fn connect(&self) -> Result<Link, Trouble> {
        match timeout(CONNECT_WAIT, self.open()).await {
            Ok(opened) => opened,
            Err(_) => Err(self.failed(format_args!(
                "no answer within {} seconds; is the node served, and the port open?",
                CONNECT_WAIT.as_secs()
            ))),
        }
    }

    async fn open(&self) -> Result<Link, Trouble> {
        let Address { host, port } = &self.address;
        let stream = TcpStream::connect((host.as_str(), *port)).await;
        let stream = stream.map_err(|error| {
            let hint = match error.kind() {
                io::ErrorKind::ConnectionRefused => "; serve the node there with `pando serve`",
                _ => "",
            };
            self.failed(format_args!("{error}{hint}"))
        })?;
        let prepared = stream.set_nodelay(true).and_then(|()| stream.local_addr());
        let local = prepared.map_err(|error| self.failed(error))?.ip();
        // TLS reads 4 KiB at a time.
        let stream = BufReader::with_capacity(READ_BYTES, stream);
        let stream = self.tls.connect(tls::server_name(), stream).await;
        let stream = stream.map_err(|error| self.failed(tls_trouble(&error)))?;
        let (sender, connection) = http1::handshake(TokioIo::new(stream))
            .await
            .map_err(|error| self.failed(error))?;
        // The task ends when the link is dropped; its errors are those of the requests.
        tokio::spawn(connection);
        Ok(Link {
            address: self.address.clone(),
            local,
            sender,
        })
    }

    fn failed(&self, detail: impl ToString) -> Trouble {
        Trouble::unreachable(&self.address, detail)
    }
}

impl Link {
    /// The address of this machine that the connection comes from.
    pub fn local(&self) -> IpAddr {
        self.local
    }

    /// Asks for a message.
    ///
    /// # Errors
    /// The connection ended, or the node refuses.
    pub async fn get<T: DeserializeOwned>(&mut self, path: &str) -> Result<T, Trouble> {
        let response = self.send(Method::GET, path, Bytes::new()).await?;
        self.message(response).await
    }

    /// Sends a message and receives the answer.
    ///
    /// # Errors
    /// The connection ended, or the node refuses.
    pub async fn post<T: DeserializeOwned>(
        &mut self,
        path: &str,
        message: &impl Serialize,
    ) -> Result<T, Trouble> {
        let body = serde_json::to_vec(message).map_err(|error| self.failed(error))?;
        let response = self.send(Method::POST, path, Bytes::from(body)).await?;
        self.message(response).await
    }

    /// Asks for bytes, at most `bytes_max`, which replace those in `into`.
    ///
    /// # Errors
    /// The connection ended, or the node refuses.
    pub async fn get_bytes(
        &mut self,
        path: &str,
        bytes_max: u64,
        into: &mut Vec<u8>,
    ) -> Result<(), Trouble> {
        let response = self.send(Method::GET, path, Bytes::new()).await?;
        if !response.status().is_success() {
            return Err(self.refusal(response).await);
        }
        self.body(response.into_body(), bytes_max, into).await
    }

    async fn send(
        &mut self,
        method: Method,
        path: &str,
        body: Bytes,
    ) -> Result<Response<Incoming>, Trouble> {
        let request = Request::builder().method(method).uri(path);
        let request = request
            .header(HOST, self.address.to_string())
            .header(CONTENT_TYPE, "application/json")
            .body(Full::new(body))
            .map_err(|error| self.failed(error))?;
        let sent = timeout(SILENCE_MAX, async {
            self.sender.ready().await?;
            self.sender.send_request(request).await
        });
        match sent.await {
            Ok(response) => response.map_err(|error| self.failed(ended(&error))),
            Err(_) => Err(self.silent()),
        }
    }

    async fn message<T: DeserializeOwned>(
        &mut self,
        response: Response<Incoming>,
    ) -> Result<T, Trouble> {
        if !response.status().is_success() {
            return Err(self.refusal(response).await);
        }
        let mut body = Vec::new();
        self.body(response.into_body(), ANSWER_BYTES_MAX, &mut body)
            .await?;
        serde_json::from_slice(&body).map_err(|error| {
            self.failed(format_args!(
                "expected another answer ({error}): is it a node of Pando?"
            ))
        })
    }

    /// The line in an answer other than success.
    async fn refusal(&mut self, response: Response<Incoming>) -> Trouble {
        let status = response.status();
        let mut body = Vec::new();
        if let Err(trouble) = self
            .body(response.into_body(), ANSWER_BYTES_MAX, &mut body)
            .await
        {
            return trouble;
        }
        match serde_json::from_slice(&body) {
            // What is gone may come back, unlike other refusals.
            Ok(Refusal { error }) if status == StatusCode::NOT_FOUND => self.failed(error),
            Ok(Refusal { error }) => Trouble::Refused(format!("{}: {error}", self.address)),
            Err(_) => self.failed(format_args!("it answered {status}")),
        }
    }

    async fn body(
        &self,
        mut body: Incoming,
        bytes_max: u64,
        into: &mut Vec<u8>,
    ) -> Result<(), Trouble> {
        into.clear();
        loop {
            let frame = timeout(SILENCE_MAX, body.frame()).await;
            let Some(frame) = frame.map_err(|_| self.silent())? else {
                return Ok(());
            };
            let frame = frame.map_err(|error| self.failed(ended(&error)))?;
            if let Some(bytes) = frame.data_ref() {
                if (into.len() + bytes.len()) as u64 > bytes_max {
                    return Err(self.failed("it sent more than was asked for"));
                }
                into.extend_from_slice(bytes);
            }
        }
    }

    fn silent(&self) -> Trouble {
        self.failed(format_args!("silent for {} seconds", SILENCE_MAX.as_secs()))
    }

    fn failed(&self, detail: impl ToString) -> Trouble {
        Trouble::unreachable(&self.address, detail)
    }
}

/// Reason why a connection ended, with the causes that the library keeps apart.
fn ended(error: &hyper::Error) -> String {
    let mut text = format!("the connection ended: {error}");
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}

/// Description of a failure of TLS.
fn tls_trouble(error: &io::Error) -> String {
    let inner = error.get_ref().and_then(|it| it.downcast_ref::<TlsError>());
    match inner {
        Some(TlsError::InvalidCertificate(CertificateError::UnknownIssuer)) => {
            tls::OTHER_AUTHORITY.to_owned()
        }
        Some(TlsError::InvalidMessage(_)) => {
            "it does not speak TLS: is it a node of Pando, and the \
             port that of its address in the cluster?"
                .to_owned()
        }
        _ => error.to_string(),
    }
}
