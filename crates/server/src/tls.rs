//! TLS by rustls, without I/O: decrypts received bytes and encrypts output.
//!
//! Certificates, authorities and revocation lists are read again when their files change. A
//! connection keeps those it began with, but for one thing: each SASL EXTERNAL checks the client's
//! certificate by the present ones.

mod build;
mod choice;
mod client;
#[cfg(test)]
mod tests;

use std::io::{self, Read, Write};
use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::ArcSwap;
use directory::ClientCertificate;
use rustls::pki_types::CertificateDer;
use rustls::{Error, ProtocolVersion, ServerConnection};
use sasl::{ChannelBindings, channel};

use crate::settings::{ClientCertificates, TlsSettings};
use crate::stamp::{Stamp, stamp};
use build::Made;
use choice::Choice;

/// The certificates in use, and the authorities of clients.
#[derive(Debug)]
pub struct Certificate {
    current: ArcSwap<Made>,
    seen: Mutex<Seen>,
}

/// The files read last, whether usable or not.
#[derive(Debug, Clone)]
struct Seen {
    settings: TlsSettings,
    stamps: Vec<Stamp>,
}

/// Certificates that were read and are not in use yet.
pub struct Fresh {
    made: Made,
    seen: Seen,
}

impl Certificate {
    /// Reads all files.
    ///
    /// # Errors
    /// A text that says what is wrong with which file.
    pub fn load(settings: &TlsSettings) -> Result<Self, String> {
        let Fresh { made, seen } = fresh(settings)?;
        Ok(Certificate {
            current: ArcSwap::from_pointee(made),
            seen: Mutex::new(seen),
        })
    }

    /// Reads all files, possibly others than before, without using them.
    ///
    /// # Errors
    /// A text that says what is wrong with which file.
    pub fn read(&self, settings: &TlsSettings) -> Result<Fresh, String> {
        fresh(settings)
    }

    /// Uses what was read for new connections.
    pub fn replace(&self, fresh: Fresh) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        *seen = fresh.seen;
        self.current.store(Arc::new(fresh.made));
    }

    /// Reads the files again if they have changed; `true` if the new ones are in use.
    ///
    /// # Errors
    /// A text that says what is wrong with which file; the old ones stay in use.
    pub fn reload_if_changed(&self) -> Result<bool, String> {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let stamps = stamps(&seen.settings);
        if seen.stamps == stamps {
            return Ok(false);
        }
        // Recorded even if unusable, so that each change is reported once.
        seen.stamps = stamps;
        self.current.store(Arc::new(build::made(&seen.settings)?));
        Ok(true)
    }

    /// The server's side of a new TLS session. `asked` is what the listener asks of clients; `None`
    /// for what the settings say.
    pub fn session(
        self: &Arc<Self>,
        asked: Option<ClientCertificates>,
    ) -> Result<Tls, rustls::Error> {
        let made = self.current.load();
        let mut connection = ServerConnection::new(made.config(asked)?)?;
        // The connection limits the output: it stops executing requests.
        connection.set_buffer_limit(None);
        Ok(Tls {
            connection,
            choice: Some(made.choice()),
            failed: false,
            of: Some(Arc::clone(self)),
            complaint: None,
        })
    }

    /// Checks a client's certificate chain by the present authorities and revocation lists.
    fn check(&self, chain: &[CertificateDer<'static>]) -> Result<(), String> {
        self.current.load().check(chain)
    }
}

fn fresh(settings: &TlsSettings) -> Result<Fresh, String> {
    let seen = Seen {
        settings: settings.clone(),
        // Taken before the files are read, so that a change in between is not missed.
        stamps: stamps(settings),
    };
    let made = build::made(settings)?;
    Ok(Fresh { made, seen })
}

fn stamps(settings: &TlsSettings) -> Vec<Stamp> {
    settings.files().into_iter().map(stamp).collect()
}

/// One TLS session.
#[derive(Debug)]
pub struct Tls {
    connection: ServerConnection,
    /// The choice of a certificate, until the bindings to the channel were taken.
    choice: Option<Arc<Choice>>,
    failed: bool,
    /// Whose session it is, until the client's certificate was asked for.
    of: Option<Arc<Certificate>>,
    /// Why the client's certificate was not accepted.
    complaint: Option<String>,
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
                    let concerns_client = matches!(
                        error,
                        Error::InvalidCertificate(_) | Error::NoCertificatesPresented
                    );
                    self.complaint = concerns_client.then(|| client::in_words(&error));
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

    /// The client's certificate, once after the handshake; `None` before, and if it has none.
    pub fn take_certificate(&mut self) -> Option<Arc<ClientCertificate>> {
        if self.connection.is_handshaking() {
            return None;
        }
        let of = self.of.take()?;
        let chain = self.connection.peer_certificates()?;
        Some(Arc::new(client::shown(chain, of)))
    }

    /// Why the client's certificate was not accepted, once; `None` if that is not the reason why
    /// the handshake failed.
    pub fn take_complaint(&mut self) -> Option<String> {
        self.complaint.take()
    }

    /// Queues a close_notify.
    pub fn close(&mut self) {
        self.connection.send_close_notify();
    }

    /// Takes the bindings to the channel, once, after the handshake.
    pub fn take_bindings(&mut self) -> Option<ChannelBindings> {
        if self.choice.is_none() || self.connection.is_handshaking() {
            return None;
        }
        let choice = self.choice.take()?;
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
            end_point: choice.end_point(self.connection.server_name()),
        })
    }

    /// Whether the handshake is not finished.
    pub fn is_handshaking(&self) -> bool {
        self.connection.is_handshaking()
    }
}
