//! Bindings to the channel: both ends know them.

use super::super::*;
use crate::server::tests::tls::certificate;
use rustls::pki_types::ServerName;
use rustls::version::{TLS12, TLS13};
use rustls::{ClientConfig, ClientConnection, RootCertStore, SupportedProtocolVersion};

/// A session and its client, after the handshake.
fn connected(version: &'static SupportedProtocolVersion) -> (Tls, ClientConnection) {
    let folder = tempfile::tempdir().unwrap();
    let (files, trusted) = certificate(folder.path());
    let certificate = Arc::new(Certificate::load(&TlsSettings::from(files)).unwrap());
    let mut tls = certificate.session(None).unwrap();
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
