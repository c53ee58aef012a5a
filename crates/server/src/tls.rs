//! TLS by rustls, without I/O: ciphertext in, plaintext out, and the other way.
//!
//! Certificates are read again when their files change. A connection keeps the certificate it
//! began with.

use std::io::{self, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::ArcSwap;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection};

use crate::settings::TlsFiles;

/// When a file's content or mode last changed, in seconds and nanoseconds, and how large it was.
type Stamp = Option<(i64, i64, u64)>;

/// The certificate in use.
#[derive(Debug)]
pub struct Certificate {
    current: ArcSwap<ServerConfig>,
    seen: Mutex<Seen>,
}

/// The files that were read last, or could not be.
#[derive(Debug, Clone)]
struct Seen {
    files: TlsFiles,
    stamps: [Stamp; 2],
}

/// A certificate that has been read and is not in use yet.
pub struct Fresh {
    config: ServerConfig,
    seen: Seen,
}

impl Certificate {
    /// Reads the certificate and its key.
    ///
    /// # Errors
    /// What is wrong with which file.
    pub fn load(files: &TlsFiles) -> Result<Self, String> {
        let stamps = stamps(files);
        let files = files.clone();
        Ok(Certificate {
            current: ArcSwap::from_pointee(read(&files)?),
            seen: Mutex::new(Seen { files, stamps }),
        })
    }

    /// Reads a certificate and its key, perhaps from other files, without using them.
    ///
    /// # Errors
    /// What is wrong with which file.
    pub fn read(&self, files: &TlsFiles) -> Result<Fresh, String> {
        let (stamps, files) = (stamps(files), files.clone());
        Ok(Fresh {
            config: read(&files)?,
            seen: Seen { files, stamps },
        })
    }

    /// Uses it for connections that begin from now on.
    pub fn replace(&self, fresh: Fresh) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        *seen = fresh.seen;
        self.current.store(Arc::new(fresh.config));
    }

    /// Reads the files again when they have changed; `true` when the new ones are in use.
    ///
    /// # Errors
    /// What is wrong with which file; the old certificate stays in use.
    pub fn reload_if_changed(&self) -> Result<bool, String> {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let stamps = stamps(&seen.files);
        if seen.stamps == stamps {
            return Ok(false);
        }
        // Remembered also when they are no good: complaining once for each change is enough.
        seen.stamps = stamps;
        self.current.store(Arc::new(read(&seen.files)?));
        Ok(true)
    }

    /// The server's side of a new TLS session.
    pub fn session(&self) -> Result<Tls, rustls::Error> {
        let mut connection = ServerConnection::new(self.current.load_full())?;
        // Output is bounded by the connection, which stops executing at its own limit.
        connection.set_buffer_limit(None);
        Ok(Tls {
            connection,
            failed: false,
        })
    }
}

fn stamps(files: &TlsFiles) -> [Stamp; 2] {
    [&files.certificate, &files.key].map(|path| {
        let metadata = std::fs::metadata(path).ok()?;
        Some((metadata.ctime(), metadata.ctime_nsec(), metadata.len()))
    })
}

fn read(files: &TlsFiles) -> Result<ServerConfig, String> {
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
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .and_then(|it| it.with_no_client_auth().with_single_cert(certificates, key))
        .map_err(|it| wrong(&files.certificate, "a certificate that fits the key", &it))
}

/// Refuses a private key that others may read or write. The group may read a key of root's, as
/// systems that share keys between services have it (`root:ssl-cert`, mode 0640).
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
    failed: bool,
}

/// What came out of received ciphertext.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Received {
    /// Plaintext, perhaps none.
    Plain,
    /// The peer has said that nothing more comes.
    Closed,
}

impl Tls {
    /// Takes ciphertext and appends the plaintext in it to `plain`. Call [`Tls::encrypt`]
    /// afterwards in any case: there may be something to send, also after an error.
    ///
    /// # Errors
    /// The peer does not speak TLS as expected.
    pub fn decrypt(&mut self, bytes: &[u8], plain: &mut Vec<u8>) -> io::Result<Received> {
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

    /// Replaces the plaintext in `out` by what must be sent: its ciphertext, and whatever the
    /// session itself has to say.
    pub fn encrypt(&mut self, out: &mut Vec<u8>) -> io::Result<()> {
        if !out.is_empty() {
            self.connection.writer().write_all(out)?;
            out.clear();
        }
        while self.connection.wants_write() {
            self.connection.write_tls(out)?;
        }
        Ok(())
    }

    /// Queues the word that nothing more comes.
    pub fn close(&mut self) {
        self.connection.send_close_notify();
    }

    /// Whether the handshake is not finished.
    pub fn is_handshaking(&self) -> bool {
        self.connection.is_handshaking()
    }
}
