//! Fetches one document over HTTP, within bounds of time and length.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::{BodyExt, Empty, Limited};
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper::header::{ACCEPT, HOST, USER_AGENT};
use hyper::{Request, StatusCode, Uri};
use hyper_util::rt::TokioIo;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use sasl::token::KEY_SET_OCTETS_MAX;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::runtime::Builder;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

/// How long a fetch may take, from looking up the host to the last octet.
const FETCH_TIME_MAX: Duration = Duration::from_secs(10);

/// Fetches the document at an address. With `https://` the server's certificate must lead to one of
/// those in `ca`, a PEM file. Redirections are not followed.
///
/// # Errors
/// A text that names the address: it is not reached in time, or answers anything but a document of
/// at most [`KEY_SET_OCTETS_MAX`] octets.
pub(super) fn fetch(url: &Uri, ca: &Path) -> Result<Vec<u8>, String> {
    let runtime = Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| format!("{url}: {error}"))?;
    let fetched = runtime.block_on(async {
        match timeout(FETCH_TIME_MAX, document(url, ca)).await {
            Ok(fetched) => fetched,
            Err(_) => Err(format!("no answer within {} s", FETCH_TIME_MAX.as_secs())),
        }
    });
    // A host may still be looked up, which cannot be cancelled.
    runtime.shutdown_background();
    fetched.map_err(|error| format!("{url}: {error}"))
}

async fn document(url: &Uri, ca: &Path) -> Result<Vec<u8>, String> {
    let host = url
        .host()
        .ok_or("expected a host in the address, got none")?;
    let host = host.trim_matches(['[', ']']);
    let is_encrypted = url.scheme_str() == Some("https");
    let port = url
        .port_u16()
        .unwrap_or(if is_encrypted { 443 } else { 80 });
    let stream = TcpStream::connect((host, port)).await;
    let stream = stream.map_err(|error| error.to_string())?;
    if !is_encrypted {
        return ask(url, stream).await;
    }
    let name = ServerName::try_from(host.to_owned()).map_err(|error| error.to_string())?;
    let connector = TlsConnector::from(Arc::new(trusting(ca)?));
    let stream = connector.connect(name, stream).await;
    ask(url, stream.map_err(|error| error.to_string())?).await
}

/// Settings of TLS that trust the certificates of a file.
fn trusting(ca: &Path) -> Result<ClientConfig, String> {
    let wrong = |error: &dyn std::fmt::Display| format!("{}: {error}", ca.display());
    let certificates = CertificateDer::pem_file_iter(ca).map_err(|error| wrong(&error))?;
    let mut roots = RootCertStore::empty();
    let (taken, _) = roots.add_parsable_certificates(certificates.flatten());
    if taken == 0 {
        return Err(wrong(&"expected certificates as PEM, got none"));
    }
    let config = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?;
    Ok(config.with_root_certificates(roots).with_no_client_auth())
}

/// Asks for the document over an open connection.
async fn ask(
    url: &Uri,
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
) -> Result<Vec<u8>, String> {
    let failed = |error: hyper::Error| error.to_string();
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream))
        .await
        .map_err(failed)?;
    // The task ends with the connection; its errors are those of the request.
    tokio::spawn(connection);
    let authority = url.authority().map_or("", |it| it.as_str());
    let request = Request::get(url.path_and_query().map_or("/", |it| it.as_str()))
        .header(HOST, authority)
        .header(ACCEPT, "application/json")
        .header(USER_AGENT, "pando")
        .body(Empty::<Bytes>::new())
        .map_err(|error| error.to_string())?;
    let response = sender.send_request(request).await.map_err(failed)?;
    if response.status() != StatusCode::OK {
        return Err(format!("expected 200 OK, got {}", response.status()));
    }
    let body = Limited::new(response.into_body(), KEY_SET_OCTETS_MAX);
    let body = body.collect().await.map_err(|error| error.to_string())?;
    Ok(body.to_bytes().to_vec())
}
