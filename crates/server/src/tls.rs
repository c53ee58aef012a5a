//! TLS by rustls, without I/O: decrypts received bytes and encrypts output.
//!
//! Certificates are read again when their files change. A connection keeps the certificate it began
//! with.

use std::io::{self, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::ArcSwap;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ProtocolVersion, ServerConfig, ServerConnection};
use sasl::{ChannelBindings, channel};

use crate::settings::TlsFiles;

/// Time of a file's last change in seconds and nanoseconds, and its length; `None` if it cannot be
/// read.
type Stamp = Option<(i64, i64, u64)>;

/// The certificate in use.
#[derive(Debug)]
pub struct Certificate {
    current: ArcSwap<Served>,
    seen: Mutex<Seen>,
}

/// What connections are served with.
#[derive(Debug)]
struct Served {
    config: Arc<ServerConfig>,
    /// The certificate's binding to the channel (RFC 5929 §4); `None` where it is not defined.
    end_point: Option<Arc<[u8]>>,
}

/// The files read last, whether usable or not.
#[derive(Debug, Clone)]
struct Seen {
    files: TlsFiles,
    stamps: [Stamp; 2],
}

/// A certificate that was read and is not in use yet.
pub struct Fresh {
    served: Served,
    seen: Seen,
}

impl Certificate {
    /// Reads the certificate and its key.
    ///
    /// # Errors
    /// A text that says what is wrong with which file.
    pub fn load(files: &TlsFiles) -> Result<Self, String> {
        let stamps = stamps(files);
        let files = files.clone();
        Ok(Certificate {
            current: ArcSwap::from_pointee(read(&files)?),
            seen: Mutex::new(Seen { files, stamps }),
        })
    }

    /// Reads a certificate and its key, possibly from other files, without using them.
    ///
    /// # Errors
    /// A text that says what is wrong with which file.
    pub fn read(&self, files: &TlsFiles) -> Result<Fresh, String> {
        let (stamps, files) = (stamps(files), files.clone());
        Ok(Fresh {
            served: read(&files)?,
            seen: Seen { files, stamps },
        })
    }

    /// Uses the certificate for new connections.
    pub fn replace(&self, fresh: Fresh) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        *seen = fresh.seen;
        self.current.store(Arc::new(fresh.served));
    }

    /// Reads the files again if they have changed; `true` if the new ones are in use.
    ///
    /// # Errors
    /// A text that says what is wrong with which file; the old certificate stays in use.
    pub fn reload_if_changed(&self) -> Result<bool, String> {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let stamps = stamps(&seen.files);
        if seen.stamps == stamps {
            return Ok(false);
        }
        // Recorded even if unusable, so that each change is reported once.
        seen.stamps = stamps;
        self.current.store(Arc::new(read(&seen.files)?));
        Ok(true)
    }

    /// The server's side of a new TLS session.
    pub fn session(&self) -> Result<Tls, rustls::Error> {
        let served = self.current.load();
        let mut connection = ServerConnection::new(Arc::clone(&served.config))?;
        // The connection limits the output: it stops executing requests.
        connection.set_buffer_limit(None);
        Ok(Tls {
            connection,
            end_point: served.end_point.clone(),
            failed: false,
            told: false,
        })
    }
}

fn stamps(files: &TlsFiles) -> [Stamp; 2] {
    [&files.certificate, &files.key].map(|path| {
        let metadata = std::fs::metadata(path).ok()?;
        Some((metadata.ctime(), metadata.ctime_nsec(), metadata.len()))
    })
}

fn read(files: &TlsFiles) -> Result<Served, String> {
    let wrong = |path: &Path, expected: &str, got: &dyn std::fmt::Display| {
        format!("{}: expected {expected}, got: {got}", path.display())
    };
    let certificates = CertificateDer::pem_file_iter(&files.certificate)
        .and_then(|them| them.collect::<Result<Vec<_>, _>>())
        .map_err(|it| wrong(&files.certificate, "PEM certificates", &it))?;
    if certificates.is_empty() {
        return Err(wrong(&files.certificate, "a PEM certificate", &"none"));
    }
    refuse_open(&files.key)?;
    let key = PrivateKeyDer::from_pem_file(&files.key)
        .map_err(|it| wrong(&files.key, "a PEM private key", &it))?;
    let end_point = channel::end_point(&certificates[0]);
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .and_then(|it| it.with_no_client_auth().with_single_cert(certificates, key))
        .map(|config| Served {
            config: Arc::new(config),
            end_point,
        })
        .map_err(|it| wrong(&files.certificate, "a certificate that fits the key", &it))
}

/// Refuses a private key that other users can read or write. A key of root's may be readable by its
/// group, as on systems that share keys between services (`root:ssl-cert`, mode 0640).
fn refuse_open(key: &Path) -> Result<(), String> {
    let shown = key.display();
    let found = std::fs::metadata(key).map_err(|error| format!("{shown}: {error}"))?;
    let forbidden = match found.uid() {
        0 => 0o037,
        _ => 0o077,
    };
    if !found.is_file() || found.mode() & forbidden == 0 {
        return Ok(());
    }
    Err(format!(
        "{shown}: expected a private key for its owner alone, got mode {:04o}: chmod 600 {shown}",
        found.mode() & 0o7777
    ))
}

/// One TLS session.
#[derive(Debug)]
pub struct Tls {
    connection: ServerConnection,
    /// Binding of the certificate that the session began with.
    end_point: Option<Arc<[u8]>>,
    failed: bool,
    /// Whether the bindings to the channel were taken.
    told: bool,
}

/// How received bytes ended.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub enum Received {
    /// With plaintext, possibly none.
    #[default]
    Plain,
    /// The peer has ended its output.
    Closed,
    /// The peer has violated the protocol of TLS.
    Broken,
}

impl Tls {
    /// Decrypts bytes and appends the plaintext to `plain`. [`Tls::encrypt`] must be called
    /// afterwards, even if the protocol was violated, because there may be output.
    pub fn decrypt(&mut self, bytes: &[u8], plain: &mut Vec<u8>) -> Received {
        self.try_decrypt(bytes, plain).unwrap_or_else(|error| {
            tracing::debug!(%error, "TLS failed");
            Received::Broken
        })
    }

    fn try_decrypt(&mut self, bytes: &[u8], plain: &mut Vec<u8>) -> io::Result<Received> {
        if self.failed {
            return Ok(Received::Closed);
        }
        let mut rest = bytes;
        let mut received = Received::Plain;
        while !rest.is_empty() {
            if self.connection.read_tls(&mut rest)? == 0 {
                return Ok(Received::Closed);
            }
            let state = match self.connection.process_new_packets() {
                Ok(state) => state,
                Err(error) => {
                    self.failed = true;
                    return Err(io::Error::new(io::ErrorKind::InvalidData, error));
                }
            };
            let start = plain.len();
            plain.resize(start + state.plaintext_bytes_to_read(), 0);
            self.connection.reader().read_exact(&mut plain[start..])?;
            if state.peer_has_closed() {
                received = Received::Closed;
            }
        }
        Ok(received)
    }

    /// Appends the bytes to send to `sealed`: the ciphertext of `plain`, and messages of the
    /// session itself.
    pub fn encrypt(&mut self, plain: &[u8], sealed: &mut Vec<u8>) -> io::Result<()> {
        self.connection.writer().write_all(plain)?;
        while self.connection.wants_write() {
            self.connection.write_tls(sealed)?;
        }
        Ok(())
    }

    /// Queues a close_notify.
    pub fn close(&mut self) {
        self.connection.send_close_notify();
    }

    /// Takes the bindings to the channel, once, after the handshake.
    pub fn take_bindings(&mut self) -> Option<ChannelBindings> {
        if self.told || self.connection.is_handshaking() {
            return None;
        }
        self.told = true;
        // Before TLS 1.3 the exporter is bound to the channel with an extension only that rustls
        // does not tell of (RFC 9266 §4).
        let is_safe = self.connection.protocol_version() == Some(ProtocolVersion::TLSv1_3);
        let exporter = is_safe.then(|| {
            let octets = [0; channel::EXPORTER_OCTETS];
            let label = channel::EXPORTER_LABEL;
            self.connection.export_keying_material(octets, label, None)
        });
        Some(ChannelBindings {
            exporter: exporter.and_then(Result::ok),
            end_point: self.end_point.clone(),
        })
    }

    /// Whether the handshake is not finished.
    pub fn is_handshaking(&self) -> bool {
        self.connection.is_handshaking()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::tests::tls::certificate;
    use rustls::pki_types::ServerName;
    use rustls::version::{TLS12, TLS13};
    use rustls::{ClientConfig, ClientConnection, RootCertStore, SupportedProtocolVersion};

    /// A session and its client, after the handshake.
    fn connected(version: &'static SupportedProtocolVersion) -> (Tls, ClientConnection) {
        let folder = tempfile::tempdir().unwrap();
        let (files, trusted) = certificate(folder.path());
        let mut tls = Certificate::load(&files).unwrap().session().unwrap();
        let mut roots = RootCertStore::empty();
        roots.add(trusted).unwrap();
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&[version])
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        let name = ServerName::try_from("localhost").unwrap();
        let mut client = ClientConnection::new(Arc::new(config), name).unwrap();
        assert_eq!(tls.take_bindings(), None, "the handshake has not begun");
        while client.is_handshaking() || tls.is_handshaking() {
            let (mut sent, mut answered) = (Vec::new(), Vec::new());
            while client.wants_write() {
                client.write_tls(&mut sent).unwrap();
            }
            tls.decrypt(&sent, &mut Vec::new());
            tls.encrypt(&[], &mut answered).unwrap();
            let mut answered = &answered[..];
            while !answered.is_empty() {
                client.read_tls(&mut answered).unwrap();
                client.process_new_packets().unwrap();
            }
        }
        (tls, client)
    }

    #[test]
    fn client_and_server_know_the_same_bindings() {
        let (mut tls, client) = connected(&TLS13);
        let bindings = tls.take_bindings().expect("the handshake is finished");
        assert_eq!(tls.take_bindings(), None, "they are taken once");
        let (octets, label) = ([0; 32], b"EXPORTER-Channel-Binding");
        let exported = client.export_keying_material(octets, label, None);
        assert_eq!(bindings.exporter, exported.ok());
        let certificate = &client.peer_certificates().unwrap()[0];
        assert_eq!(bindings.end_point, channel::end_point(certificate));
        assert!(bindings.end_point.is_some());
    }

    #[test]
    fn before_tls_1_3_the_exporter_is_no_binding() {
        let (mut tls, _) = connected(&TLS12);
        let bindings = tls.take_bindings().expect("the handshake is finished");
        assert_eq!(bindings.exporter, None);
        assert!(bindings.end_point.is_some());
    }
}
