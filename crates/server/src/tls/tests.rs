//! Handshakes in memory: who is let in, with which certificate.

mod bindings;

use super::choice::Choosable;
use super::*;
use crate::settings::{TlsClients, TlsFiles};
use rcgen::{
    BasicConstraints, CertificateParams, CertificateRevocationListParams, DnType, IsCa, Issuer,
    KeyIdMethod, KeyPair, KeyUsagePurpose, RevokedCertParams, SanType, SerialNumber, date_time_ymd,
};
use rustls::pki_types::{PrivateKeyDer, ServerName};
use rustls::sign::CertifiedKey;
use rustls::{ClientConfig, ClientConnection, RootCertStore};
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// An authority of certificates, in a folder of its own.
struct Authority {
    folder: TempDir,
    params: CertificateParams,
    key: KeyPair,
    certificate: CertificateDer<'static>,
}

/// A certificate with its key.
struct Issued {
    files: TlsFiles,
    der: CertificateDer<'static>,
    key: Vec<u8>,
}

impl Authority {
    fn new(name: &str) -> Authority {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let certificate = params.self_signed(&key).unwrap();
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("ca.pem"), certificate.pem()).unwrap();
        Authority {
            folder,
            params,
            key,
            certificate: certificate.der().clone(),
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn issuer(&self) -> Issuer<'_, &KeyPair> {
        Issuer::from_params(&self.params, &self.key)
    }

    /// A certificate for these hosts, with this serial number and year of its end.
    fn issue(&self, hosts: &[&str], serial: u64, end: i32) -> Issued {
        let key = KeyPair::generate().unwrap();
        let hosts: Vec<String> = hosts.iter().map(|it| (*it).to_owned()).collect();
        let mut params = CertificateParams::new(hosts).unwrap();
        params.distinguished_name.push(DnType::CommonName, "Ada");
        params.serial_number = Some(SerialNumber::from(serial));
        params.not_after = date_time_ymd(end, 1, 1);
        let mail = "ada@example.com".try_into().unwrap();
        params.subject_alt_names.push(SanType::Rfc822Name(mail));
        let made = params.signed_by(&key, &self.issuer()).unwrap();
        let path = |end: &str| self.path(&format!("{serial}.{end}"));
        let files = TlsFiles::of(path("pem"), path("key"));
        std::fs::write(&files.certificate, made.pem()).unwrap();
        std::fs::write(&files.key, key.serialize_pem()).unwrap();
        std::fs::set_permissions(&files.key, Permissions::from_mode(0o600)).unwrap();
        let der = made.der().clone();
        let key = key.serialize_der();
        Issued { files, der, key }
    }

    /// Writes a revocation list that ends in a year.
    fn revoke(&self, serials: &[u64], end: i32) -> PathBuf {
        let revoked = |it: &u64| RevokedCertParams {
            serial_number: SerialNumber::from(*it),
            revocation_time: date_time_ymd(2020, 1, 1),
            reason_code: None,
            invalidity_date: None,
        };
        let list = CertificateRevocationListParams {
            this_update: date_time_ymd(2020, 1, 1),
            next_update: date_time_ymd(end, 1, 1),
            crl_number: SerialNumber::from(1),
            issuing_distribution_point: None,
            revoked_certs: serials.iter().map(revoked).collect(),
            key_identifier_method: KeyIdMethod::Sha256,
        };
        let path = self.path("list.pem");
        let list = list.signed_by(&self.issuer()).unwrap();
        std::fs::write(&path, list.pem().unwrap()).unwrap();
        path
    }

    fn clients(&self, certificates: ClientCertificates, crl: Vec<PathBuf>) -> TlsClients {
        TlsClients {
            ca: self.path("ca.pem"),
            certificates,
            crl,
            accept_expired_crl: false,
        }
    }
}

/// The end of a handshake.
struct End {
    client: ClientConnection,
    tls: Tls,
    received: Received,
}

/// Carries out a handshake; the client trusts `authority`, asks for `host` and shows `own`.
fn handshake(
    authority: &Authority,
    server: &Arc<Certificate>,
    asked: Option<ClientCertificates>,
    host: &str,
    own: Option<&Issued>,
) -> End {
    let mut roots = RootCertStore::empty();
    roots.add(authority.certificate.clone()).unwrap();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots);
    let config = match own {
        None => builder.with_no_client_auth(),
        Some(own) => {
            let key = PrivateKeyDer::try_from(own.key.clone()).unwrap();
            let chain = vec![own.der.clone()];
            builder.with_client_auth_cert(chain, key).unwrap()
        }
    };
    let host = ServerName::try_from(host.to_owned()).unwrap();
    let mut client = ClientConnection::new(Arc::new(config), host).unwrap();
    let mut tls = server.session(asked).unwrap();
    let mut received = Received::Plain;
    loop {
        let mut bytes = Vec::new();
        while client.wants_write() {
            client.write_tls(&mut bytes).unwrap();
        }
        if bytes.is_empty() || received != Received::Plain {
            break;
        }
        received = tls.decrypt(&bytes, &mut Vec::new());
        let mut answer = Vec::new();
        tls.encrypt(&[], &mut answer).unwrap();
        let mut rest = &answer[..];
        while !rest.is_empty() {
            client.read_tls(&mut rest).unwrap();
            let _ = client.process_new_packets();
        }
    }
    End {
        client,
        tls,
        received,
    }
}

fn served(settings: TlsSettings) -> Arc<Certificate> {
    Arc::new(Certificate::load(&settings).unwrap())
}

/// The parts of the client's identity of a kind, after a handshake.
fn identified(end: &mut End, part: &str) -> Option<String> {
    let certificate = end.tls.take_certificate()?;
    let mut parts = certificate.identity.parts.iter();
    let (_, value) = parts.find(|(name, _)| name == part)?;
    Some(value.to_string())
}

#[test]
fn clients_are_asked_as_listener_or_settings_say() {
    let authority = Authority::new("CA");
    let server = authority.issue(&["localhost"], 1, 2100);
    let ada = authority.issue(&[], 2, 2100);
    let mut settings = TlsSettings::from(server.files);
    settings.clients = Some(authority.clients(ClientCertificates::None, Vec::new()));
    let server = served(settings.clone());
    let end = |asked, own| handshake(&authority, &server, asked, "localhost", own);
    let mail = Some("ada@example.com".to_owned());
    for (asked, own, is_in, known) in [
        (None, Some(&ada), true, None),
        (
            Some(ClientCertificates::Ask),
            Some(&ada),
            true,
            mail.clone(),
        ),
        (Some(ClientCertificates::Ask), None, true, None),
        (Some(ClientCertificates::Require), Some(&ada), true, mail),
        (Some(ClientCertificates::Require), None, false, None),
    ] {
        let mut end = end(asked, own);
        assert_eq!(end.received == Received::Plain, is_in, "{asked:?}");
        assert_eq!(identified(&mut end, "mail"), known, "{asked:?}");
        let complaint = end.tls.take_complaint();
        assert_eq!(complaint.is_none(), is_in, "{asked:?}: {complaint:?}");
    }
    let clients = settings.clients.as_mut().unwrap();
    clients.certificates = ClientCertificates::Require;
    let refused = handshake(&authority, &served(settings), None, "localhost", None);
    assert_eq!(refused.received, Received::Broken);
}

#[test]
fn strangers_and_the_expired_are_refused() {
    let authority = Authority::new("CA");
    let server = authority.issue(&["localhost"], 1, 2100);
    let stranger = Authority::new("CA").issue(&[], 3, 2100);
    let expired = authority.issue(&[], 4, 2021);
    let mut settings = TlsSettings::from(server.files);
    settings.clients = Some(authority.clients(ClientCertificates::Ask, Vec::new()));
    let server = served(settings);
    for (own, why) in [(&expired, "it has expired"), (&stranger, "it")] {
        let mut end = handshake(&authority, &server, None, "localhost", Some(own));
        assert_eq!(end.received, Received::Broken, "{why}");
        assert!(end.tls.take_complaint().unwrap().starts_with(why));
        assert!(end.tls.take_certificate().is_none());
    }
}

#[test]
fn a_revoked_certificate_is_refused_and_ends_to_be_accepted() {
    let authority = Authority::new("CA");
    let server = authority.issue(&["localhost"], 1, 2100);
    let (ada, bob) = (authority.issue(&[], 2, 2100), authority.issue(&[], 3, 2100));
    let list = authority.revoke(&[3], 2100);
    let mut settings = TlsSettings::from(server.files);
    settings.clients = Some(authority.clients(ClientCertificates::Ask, vec![list]));
    let server = served(settings.clone());
    let end = |own| handshake(&authority, &server, None, "localhost", Some(own));
    let refused = |own| end(own).tls.take_complaint();
    assert_eq!(refused(&bob).as_deref(), Some("it was revoked"));
    let shown = end(&ada).tls.take_certificate().unwrap();
    assert_eq!((shown.check)(), Ok(()));
    // The list now names both, and is read again because the file has changed.
    authority.revoke(&[2, 3], 2101);
    assert_eq!(server.reload_if_changed(), Ok(true));
    assert_eq!((shown.check)(), Err("it was revoked".to_owned()));
    assert_eq!(refused(&ada).as_deref(), Some("it was revoked"));
    // A list that has expired lets nobody in, unless the settings say so.
    authority.revoke(&[3], 2021);
    assert_eq!(server.reload_if_changed(), Ok(true));
    let why = "the revocation list of its authority has expired";
    assert_eq!(refused(&ada).as_deref(), Some(why));
    settings.clients.as_mut().unwrap().accept_expired_crl = true;
    server.replace(server.read(&settings).unwrap());
    assert_eq!(refused(&ada), None);
    // A list of another authority says nothing about them.
    let other = Authority::new("Other").revoke(&[], 2100);
    settings.clients.as_mut().unwrap().crl = vec![other.clone()];
    assert!(
        server.read(&settings).is_err(),
        "{} is gone",
        other.display()
    );
    let other = Authority::new("Other");
    settings.clients.as_mut().unwrap().crl = vec![other.revoke(&[], 2100)];
    server.replace(server.read(&settings).unwrap());
    let why = "no revocation list of its authority is in tls.client_crl";
    assert_eq!(refused(&ada).as_deref(), Some(why));
    // Without authorities, nobody who was let in before is accepted.
    settings.clients = None;
    server.replace(server.read(&settings).unwrap());
    assert!((shown.check)().is_err());
    let session = server.session(Some(ClientCertificates::Require));
    assert!(session.is_err(), "the listener asks for what is gone");
}

#[test]
fn the_name_that_a_client_asks_for_chooses_the_certificate() {
    let authority = Authority::new("CA");
    let main = authority.issue(&["localhost", "main.example.com"], 1, 2100);
    let exact = authority.issue(&["ldap.example.com"], 2, 2100);
    let wild = authority.issue(&["*.example.com"], 3, 2100);
    let mut settings = TlsSettings::from(main.files.clone());
    settings.further = vec![wild.files.clone(), exact.files.clone()];
    let server = served(settings);
    for (host, expected) in [
        ("localhost", &main),
        ("LDAP.example.com", &exact),
        ("other.example.com", &wild),
        ("main.example.com", &main),
        ("a.b.example.com", &main),
        ("example.com", &main),
        ("127.0.0.1", &main),
    ] {
        let end = handshake(&authority, &server, None, host, None);
        let shown = end.client.peer_certificates().map(|it| it[0].clone());
        // A client closes when the certificate is not for the name, and has seen none then.
        let is_for_it = !["a.b.example.com", "example.com", "127.0.0.1"].contains(&host);
        assert_eq!(shown.as_ref() == Some(&expected.der), is_for_it, "{host}");
    }
}

#[test]
fn versions_and_suites_are_those_of_the_settings() {
    let authority = Authority::new("CA");
    let server = authority.issue(&["localhost"], 1, 2100);
    let plain = TlsSettings::from(server.files);
    let spoken = |settings: &TlsSettings| {
        let end = handshake(
            &authority,
            &served(settings.clone()),
            None,
            "localhost",
            None,
        );
        let suite = end.client.negotiated_cipher_suite();
        suite.map(|it| format!("{:?} {:?}", it.version().version, it.suite()))
    };
    let mut settings = plain.clone();
    settings.speaks_1_3 = false;
    assert!(spoken(&settings).unwrap().starts_with("TLSv1_2"));
    settings = plain.clone();
    settings.suites = vec!["TLS_CHACHA20_POLY1305_SHA256".to_owned()];
    let only = "TLSv1_3 TLS13_CHACHA20_POLY1305_SHA256";
    settings.speaks_1_2 = false;
    assert_eq!(spoken(&settings).as_deref(), Some(only));
    settings.speaks_1_2 = true;
    settings.suites = vec!["TLS_NULL_WITH_NULL_NULL".to_owned()];
    let error = Certificate::load(&settings).unwrap_err();
    assert!(error.starts_with("tls.suites: expected some of TLS_AES_256_GCM_SHA384, "));
    assert!(
        error.ends_with("got \"TLS_NULL_WITH_NULL_NULL\""),
        "{error}"
    );
    settings.suites = vec!["TLS_AES_256_GCM_SHA384".to_owned()];
    settings.speaks_1_3 = false;
    let error = Certificate::load(&settings).unwrap_err();
    assert!(
        error.starts_with("tls.versions and tls.suites: "),
        "{error}"
    );
}

#[test]
fn a_file_that_is_no_response_of_ocsp_is_refused() {
    let authority = Authority::new("CA");
    let server = authority.issue(&["localhost"], 1, 2100);
    let mut settings = TlsSettings::from(server.files);
    let path: &Path = &authority.path("ocsp.der");
    std::fs::write(path, b"nonsense").unwrap();
    settings.main.ocsp = Some(path.to_owned());
    let error = Certificate::load(&settings).unwrap_err();
    let expected = "ocsp.der: expected a response of OCSP (DER) for the certificate";
    assert!(error.contains(expected), "{error}");
}

/// A response of OCSP that a certificate is good, without a signature.
fn good(serial: u8, next_update: &str) -> Vec<u8> {
    let der = |tag: u8, parts: &[&[u8]]| {
        let mut out = Vec::new();
        protocol::ber::put_octets(&mut out, tag, &parts.concat());
        out
    };
    let sequence = |parts: &[&[u8]]| der(0x30, parts);
    let (now, hash) = (der(0x18, &[b"20200101000000Z"]), der(0x04, &[&[1; 20]]));
    let next = der(0xa0, &[&der(0x18, &[next_update.as_bytes()])]);
    let certificate = sequence(&[&sequence(&[]), &hash, &hash, &der(0x02, &[&[serial]])]);
    let one = sequence(&[&certificate, &der(0x80, &[]), &now, &next]);
    let data = sequence(&[&der(0xa2, &[&hash]), &now, &sequence(&[&one])]);
    let basic = sequence(&[&data, &sequence(&[]), &der(0x03, &[&[0]])]);
    let kind = der(0x06, &[b"\x2b\x06\x01\x05\x05\x07\x30\x01\x01"]);
    let bytes = sequence(&[&kind, &der(0x04, &[&basic])]);
    sequence(&[&der(0x0a, &[&[0]]), &der(0xa0, &[&bytes])])
}

#[test]
fn a_response_of_ocsp_is_stapled_until_its_end() {
    let issued = Authority::new("CA").issue(&["localhost"], 7, 2100);
    let stapled = |response: Vec<u8>| {
        let key = PrivateKeyDer::try_from(issued.key.clone()).unwrap();
        let provider = rustls::crypto::aws_lc_rs::default_provider();
        let key = CertifiedKey::from_der(vec![issued.der.clone()], key, &provider).unwrap();
        let choosable = Choosable::new(key).with_staple(response);
        choosable.map(|it| it.key().ocsp.clone())
    };
    let fresh = good(7, "21000101000000Z");
    assert_eq!(stapled(fresh.clone()), Ok(Some(fresh)));
    assert_eq!(stapled(good(7, "20210101000000Z")), Ok(None));
    let other = stapled(good(8, "21000101000000Z"));
    assert_eq!(other, Err("a response for another certificate".to_owned()));
}
