//! The certificate of a handshake, by the name that the client asks for (RFC 6066 §3), and the
//! response of OCSP stapled to it (RFC 6066 §8).

use std::sync::Arc;

use policy::mapping::certificate::{CertificateNames, CertificateStatus};
use rustls::pki_types::UnixTime;
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use sasl::channel;

/// All certificates of the server.
#[derive(Debug)]
pub(super) struct Choice {
    main: Choosable,
    further: Vec<Choosable>,
}

/// One certificate with its key.
#[derive(Debug)]
pub(super) struct Choosable {
    /// Names of hosts, in lower case.
    names: Vec<String>,
    plain: Arc<CertifiedKey>,
    /// Binding to the channel (RFC 5929 §4); `None` where it is not defined for the certificate.
    end_point: Option<Arc<[u8]>>,
    stapled: Option<Stapled>,
}

/// A certificate with a response of OCSP.
#[derive(Debug)]
struct Stapled {
    key: Arc<CertifiedKey>,
    /// Seconds from 1970 to the moment from which on it is not sent; `None` for never.
    until_s: Option<u64>,
}

impl Stapled {
    fn is_fresh(&self) -> bool {
        let now_s = UnixTime::now().as_secs();
        self.until_s.is_none_or(|it| now_s < it)
    }
}

impl Choosable {
    /// A certificate, which is chosen for the hosts that it names.
    pub(super) fn new(key: CertifiedKey) -> Choosable {
        let names = key.cert.first().and_then(|it| CertificateNames::read(it));
        let names = names.map_or_else(Vec::new, |it| it.dns);
        Choosable {
            names: names.iter().map(|it| it.to_ascii_lowercase()).collect(),
            end_point: key.cert.first().and_then(|it| channel::end_point(it)),
            plain: Arc::new(key),
            stapled: None,
        }
    }

    /// This certificate with a response of OCSP in DER, which is sent until it expires.
    ///
    /// # Errors
    /// A text that says what the response is instead.
    pub(super) fn with_staple(mut self, response: Vec<u8>) -> Result<Choosable, String> {
        let statuses = CertificateStatus::read_all(&response);
        let statuses = statuses.ok_or("what is none, or says that the responder has failed")?;
        let names = self.plain.cert.first();
        let serial = names
            .and_then(|it| CertificateNames::read(it))
            .map(|it| it.serial);
        let own = statuses
            .iter()
            .find(|it| Some(&it.serial) == serial.as_ref());
        let own = own.ok_or("a response for another certificate")?;
        if !own.is_good {
            tracing::warn!("OCSP: the certificate is revoked, or its authority does not know it");
        }
        let until_s = own.next_update_s.map(|it| u64::try_from(it).unwrap_or(0));
        let mut key = CertifiedKey::clone(&self.plain);
        key.ocsp = Some(response);
        let key = Arc::new(key);
        let stapled = Stapled { key, until_s };
        if !stapled.is_fresh() {
            tracing::warn!("OCSP: the response has expired and is not stapled");
        }
        self.stapled = Some(stapled);
        Ok(self)
    }

    /// The key of a handshake that begins now.
    pub(super) fn key(&self) -> Arc<CertifiedKey> {
        let stapled = self.stapled.as_ref().filter(|it| it.is_fresh());
        Arc::clone(stapled.map_or(&self.plain, |it| &it.key))
    }

    fn has(&self, name: &str) -> bool {
        self.names.iter().any(|it| it == name)
    }

    /// Whether `*` as the first label of a name stands for that of `name` (RFC 6125 §6.4.3).
    fn has_wildcard(&self, name: &str) -> bool {
        let Some((_, domain)) = name.split_once('.') else {
            return false;
        };
        let stands = |it: &String| it.strip_prefix("*.").is_some_and(|it| it == domain);
        self.names.iter().any(stands)
    }
}

impl Choice {
    /// A choice among a certificate for all names and others for their own.
    pub(super) fn new(main: Choosable, further: Vec<Choosable>) -> Choice {
        Choice { main, further }
    }

    /// The binding to the channel of the certificate for a name that a client asked for.
    pub(super) fn end_point(&self, name: Option<&str>) -> Option<Arc<[u8]>> {
        self.of(name).end_point.clone()
    }

    fn of(&self, name: Option<&str>) -> &Choosable {
        let Some(name) = name.filter(|_| !self.further.is_empty()) else {
            return &self.main;
        };
        let name = name.to_ascii_lowercase();
        let all = || std::iter::once(&self.main).chain(&self.further);
        let exact = all().find(|it| it.has(&name));
        let found = exact.or_else(|| all().find(|it| it.has_wildcard(&name)));
        found.unwrap_or(&self.main)
    }
}

impl ResolvesServerCert for Choice {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.of(hello.server_name()).key())
    }
}
