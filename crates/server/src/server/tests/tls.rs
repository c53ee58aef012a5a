//! The server under TLS.

use super::*;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;

use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

/// A new certificate for localhost, in files.
pub(crate) fn certificate(folder: &Path) -> (TlsFiles, CertificateDer<'static>) {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let files = TlsFiles::of(folder.join("server.pem"), folder.join("server.key"));
    std::fs::write(&files.certificate, made.cert.pem()).unwrap();
    std::fs::write(&files.key, made.signing_key.serialize_pem()).unwrap();
    std::fs::set_permissions(&files.key, Permissions::from_mode(0o600)).unwrap();
    (files, made.cert.der().clone())
}

type TlsClient = Client<StreamOwned<ClientConnection, TcpStream>>;

fn secure(client: Client<TcpStream>, trusted: &CertificateDer<'static>) -> TlsClient {
    let mut roots = RootCertStore::empty();
    roots.add(trusted.clone()).unwrap();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = ServerName::try_from("localhost").unwrap();
    let connection = ClientConnection::new(Arc::new(config), name).unwrap();
    Client {
        stream: StreamOwned::new(connection, client.stream),
        bytes: Vec::new(),
    }
}

fn world(change: impl FnOnce(&mut Config)) -> (World, CertificateDer<'static>) {
    let mut trusted = None;
    let secured = |config: &mut Config| {
        let (files, certificate) = certificate(&config.folder);
        trusted = Some(certificate);
        config.tls = Some(files.into());
        let ldaps = "ldaps://127.0.0.1:0".parse().unwrap();
        config.listen.push(ldaps);
        change(config);
    };
    let world = World::filled(secured, |it| it.people("long", 40, SLICE_BYTES));
    (world, trusted.unwrap())
}

#[test]
fn ldaps_serves_small_and_large_answers_and_writes() {
    let (world, trusted) = world(|_| {});
    let mut client = secure(world.connect_to(1), &trusted);
    client.send(&(1..=500).map(say::compare).collect::<Vec<_>>());
    for id in 1..=500 {
        assert_eq!(client.next().unwrap(), format!("compare {id} compareTrue"));
    }
    assert_eq!(client.ask(say::bind_admin(999)), "bind 999 success");
    client.send(&[say::list(1, "long"), say::modify(2)]);
    let answers: Vec<String> = (0..42).map(|_| client.next().unwrap()).collect();
    assert_eq!(answers[40..], ["done 1 success", "modify 2 success"]);
    client.stream.conn.send_close_notify();
    client.stream.flush().unwrap();
    assert!(client.rest().is_empty());
}

#[test]
fn secured_long_and_short_input_share_a_thread_and_do_not_mix() {
    let (world, trusted) = world(|it| it.threads = 1);
    let mut secured: Vec<_> = (0..8)
        .map(|_| secure(world.connect_to(1), &trusted))
        .collect();
    let mut plain: Vec<_> = (0..40).map(|_| world.connect()).collect();
    let asked = |id: MessageId, at: usize| id * 1000 + at as MessageId;
    for id in 1..=10 {
        for (at, client) in plain.iter_mut().enumerate() {
            // Every tenth sends more than is left to a round.
            let count = if at % 10 == 0 { 100 } else { 1 };
            client.send(&vec![say::compare(asked(id, at)); count]);
            if let Some(client) = secured.get_mut(at / 5) {
                client.send(&[say::search(asked(id, at), "cn=a")]);
            }
        }
        for (at, client) in plain.iter_mut().enumerate() {
            let count = if at % 10 == 0 { 100 } else { 1 };
            for _ in 0..count {
                let said = client.next().unwrap();
                assert_eq!(said, format!("compare {} compareTrue", asked(id, at)));
            }
            if let Some(client) = secured.get_mut(at / 5) {
                assert_eq!(client.next().unwrap(), format!("entry {}", asked(id, at)));
                let said = client.next().unwrap();
                assert_eq!(said, format!("done {} success", asked(id, at)));
            }
        }
    }
}

#[test]
fn start_tls_upgrades_a_connection() {
    let (world, trusted) = world(|_| {});
    let mut client = world.connect();
    assert_eq!(
        client.ask(say::extended(1, oid::START_TLS)),
        "extended 1 success"
    );
    let mut client = secure(client, &trusted);
    assert_eq!(client.ask(say::bind_admin(2)), "bind 2 success");
    assert_eq!(
        client.ask(say::extended(3, oid::START_TLS)),
        "extended 3 operationsError",
        "the directory knows that the connection is secure"
    );
}

#[test]
fn stopping_says_goodbye_under_tls() {
    let (world, trusted) = world(|_| {});
    let mut client = secure(world.connect_to(1), &trusted);
    assert_eq!(client.ask(say::compare(1)), "compare 1 compareTrue");
    world.server.stop();
    assert_eq!(client.rest(), ["notice unavailable the server is stopping"]);
}

#[test]
fn what_is_not_tls_is_closed_and_half_a_handshake_times_out() {
    let (world, trusted) = world(|it| it.connections.message_timeout = Duration::from_millis(1500));
    let mut plain = world.connect_to(1);
    plain.send(&[say::compare(1)]);
    let mut answer = Vec::new();
    let _ = plain.stream.read_to_end(&mut answer);
    assert!(heard_nothing_in_ldap(&answer));
    let mut half = world.connect_to(1);
    half.stream.write_all(&[0x16, 3, 1, 2, 0, 1]).unwrap();
    assert!(half.rest().is_empty());
    let mut client = secure(world.connect_to(1), &trusted);
    assert_eq!(client.ask(say::compare(1)), "compare 1 compareTrue");
}

/// A TLS alert is not a message.
fn heard_nothing_in_ldap(bytes: &[u8]) -> bool {
    bytes.first().is_none_or(|it| *it == 0x15)
}

#[test]
fn a_changed_certificate_is_used_for_new_connections() {
    let folder = tempfile::tempdir().unwrap();
    let (files, first) = certificate(folder.path());
    let certificates = Arc::new(Certificate::load(&files.clone().into()).unwrap());
    assert_eq!(certificates.reload_if_changed(), Ok(false));
    let old = std::fs::metadata(&files.certificate)
        .unwrap()
        .modified()
        .unwrap();
    let (_, second) = certificate(folder.path());
    assert_ne!(first, second);
    let later = old + Duration::from_secs(10);
    let file = std::fs::File::options()
        .append(true)
        .open(&files.certificate)
        .unwrap();
    file.set_modified(later).unwrap();
    assert_eq!(certificates.reload_if_changed(), Ok(true));
    assert_eq!(certificates.reload_if_changed(), Ok(false));
    std::fs::write(&files.key, "nonsense").unwrap();
    let error = certificates.reload_if_changed().unwrap_err();
    assert!(
        error.contains("server.key: expected a PEM private key"),
        "{error}"
    );
    assert_eq!(
        certificates.reload_if_changed(),
        Ok(false),
        "complained once"
    );
    assert!(certificates.session(None).is_ok(), "the old one stays");
}

#[test]
fn an_unusable_certificate_is_refused_at_the_start() {
    let folder = tempfile::tempdir().unwrap();
    let mut config = config(folder.path());
    let (certificate, key) = (folder.path().join("none"), folder.path().join("none"));
    config.tls = Some(TlsFiles::of(certificate, key).into());
    let home = Home::at(folder, "data", &config.directory_options());
    let error = start_directory(config, home.directory.clone()).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("none: expected PEM certificates, got: "),
        "{error}"
    );
}
