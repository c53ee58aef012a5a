//! Keys of issuers, from files and from a server of our own.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::thread;

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer as Authority, KeyPair};
use rustls::pki_types::PrivateKeyDer;
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use sasl::token::Terms;

use super::*;

/// A set with one key for ES256.
const KEYS: &str = r#"{"keys":[{"kty":"EC","crv":"P-256","kid":"one",
    "x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
    "y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"}]}"#;

fn settings(keys: KeySource) -> IssuerSettings {
    IssuerSettings {
        terms: Terms {
            issuer: "https://id.example.com".to_owned(),
            audience: vec!["ldap".to_owned()],
            algorithms: vec!["ES256".parse().unwrap()],
            clock_skew_s: 60,
            scopes: Vec::new(),
            openid_configuration: None,
        },
        keys,
    }
}

fn url(text: &str) -> KeySource {
    KeySource::Url {
        url: text.parse().unwrap(),
        ca: "no such file".into(),
        refresh: Duration::from_secs(300),
    }
}

fn answer(status: &str, body: &str) -> String {
    let length = body.len();
    format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}")
}

/// Reads a request and answers it.
fn serve(mut stream: impl Read + Write, answer: &str) {
    let mut request = Vec::new();
    let mut bytes = [0; 1_024];
    while !request.ends_with(b"\r\n\r\n") {
        match stream.read(&mut bytes) {
            Ok(count @ 1..) => request.extend_from_slice(&bytes[..count]),
            _ => return,
        }
    }
    assert!(request.starts_with(b"GET /keys?v=1 HTTP/1.1\r\n"));
    // A client that has read enough may be gone.
    let _ = stream.write_all(answer.as_bytes());
    let _ = stream.flush();
}

/// The address of a server that gives one answer.
fn served(answer: String) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || serve(listener.accept().unwrap().0, &answer));
    format!("http://127.0.0.1:{port}/keys?v=1")
}

fn fetched(url: &str) -> Result<Vec<u8>, String> {
    fetch::fetch(&url.parse().unwrap(), Path::new("no such file"))
}

#[test]
fn a_document_is_fetched() {
    let url = served(answer("200 OK", KEYS));
    assert_eq!(fetched(&url).unwrap(), KEYS.as_bytes());
    let url = served(answer("404 Not Found", KEYS));
    assert!(fetched(&url).unwrap_err().contains("got 404"));
    let moved = "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\n\r\n";
    assert!(
        fetched(&served(moved.to_owned()))
            .unwrap_err()
            .contains("got 302")
    );
    let long = "x".repeat(sasl::token::KEY_SET_OCTETS_MAX + 1);
    let error = fetched(&served(answer("200 OK", &long))).unwrap_err();
    assert!(error.contains("length limit exceeded"), "{error}");
    assert!(
        fetched("http://127.0.0.1:1/keys")
            .unwrap_err()
            .starts_with("http://127.0.0.1:1/keys")
    );
}

#[test]
fn a_server_is_verified() {
    let authority_key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = params.self_signed(&authority_key).unwrap();
    let key = KeyPair::generate().unwrap();
    let issuer = Authority::new(params, authority_key);
    let params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    let certificate = params.signed_by(&key, &issuer).unwrap();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(
            vec![certificate.der().clone()],
            PrivateKeyDer::Pkcs8(key.serialize_der().into()),
        )
        .unwrap();
    let config = Arc::new(config);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let session = ServerConnection::new(Arc::clone(&config)).unwrap();
            serve(
                StreamOwned::new(session, stream.unwrap()),
                &answer("200 OK", KEYS),
            );
        }
    });
    let folder = tempfile::tempdir().unwrap();
    let trusted = folder.path().join("ca.pem");
    std::fs::write(&trusted, authority.pem()).unwrap();
    let named = |host: &str| format!("https://{host}:{port}/keys?v=1").parse().unwrap();
    assert_eq!(
        fetch::fetch(&named("localhost"), &trusted).unwrap(),
        KEYS.as_bytes()
    );
    // The certificate has another name, and another authority.
    assert!(fetch::fetch(&named("127.0.0.1"), &trusted).is_err());
    let stranger = folder.path().join("other.pem");
    let other = CertificateParams::new(Vec::new()).unwrap();
    let other = other.self_signed(&KeyPair::generate().unwrap()).unwrap();
    std::fs::write(&stranger, other.pem()).unwrap();
    assert!(fetch::fetch(&named("localhost"), &stranger).is_err());
    let missing = fetch::fetch(&named("localhost"), Path::new("missing.pem"));
    assert!(missing.unwrap_err().contains("missing.pem"));
}

#[test]
fn keys_stay_while_others_cannot_be_had() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("keys.json");
    std::fs::write(&path, KEYS).unwrap();
    let keys = IssuerKeys::start(&[settings(KeySource::File(path))]).unwrap();
    let kept = Arc::clone(&keys.kept()[0]);
    kept.have(Err("no answer".to_owned()));
    let shown = || {
        let shown = keys.shown();
        assert_eq!(shown[0].name, "cn=Issuers");
        assert_eq!(shown[1].values[1], ("monitorCounter", "1".to_owned()));
        shown[1].values[2].1.clone()
    };
    assert!(
        shown().ends_with(" s ago; not read again: no answer"),
        "{}",
        shown()
    );
    kept.have(KeySet::read(KEYS.as_bytes()));
    assert!(shown().ends_with(" s ago"), "{}", shown());
}

#[test]
fn other_terms_go_on_with_the_known_keys() {
    let mut settings = settings(url("http://127.0.0.1:1/"));
    let keys = IssuerKeys::start(&[settings.clone()]).unwrap();
    let first = keys.issuers();
    assert!(keys.shown()[1].values[2].1.starts_with("no keys were read"));
    let read = KeySet::read(KEYS.as_bytes()).unwrap();
    first.0[0].set_keys(Arc::new(read));
    // One whose settings are as before stays itself.
    keys.replace(keys.read(&[settings.clone()]).unwrap());
    assert!(Arc::ptr_eq(&keys.issuers().0[0], &first.0[0]));
    settings.terms.audience = vec!["other".to_owned()];
    keys.replace(keys.read(&[settings.clone()]).unwrap());
    let second = keys.issuers();
    assert_eq!(second.0[0].keys().len(), 1);
    assert_eq!(second.0[0].terms().audience, ["other"]);
    // Older connections have the issuer with the terms that do not hold any more.
    assert!(first.0[0].keys().is_empty());
    // Another place may have other keys.
    settings.keys = url("http://127.0.0.1:1/other");
    keys.replace(keys.read(&[settings]).unwrap());
    assert!(keys.issuers().0[0].keys().is_empty());
    // An issuer that is gone gets no keys by a fetch that was under way.
    let kept = Arc::clone(&keys.kept()[0]);
    keys.replace(keys.read(&[]).unwrap());
    kept.have(KeySet::read(KEYS.as_bytes()));
    assert!(kept.issuer.keys().is_empty() && keys.shown().is_empty());
}

#[test]
fn a_file_without_keys_is_refused_at_the_start() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("keys.json");
    let start = || IssuerKeys::start(&[settings(KeySource::File(path.clone()))]);
    let error = start().unwrap_err();
    assert!(
        error.starts_with("sasl.oauth.keys: ") && error.contains("keys.json"),
        "{error}"
    );
    std::fs::write(&path, "{}").unwrap();
    assert!(start().unwrap_err().contains("JWK set"));
    std::fs::write(&path, KEYS).unwrap();
    assert_eq!(start().unwrap().issuers().0[0].keys().len(), 1);
}

#[test]
fn a_wish_brings_a_fetch_forward() {
    let keys = IssuerKeys::start(&[settings(url("http://127.0.0.1:1/"))]).unwrap();
    let kept = Arc::downgrade(&keys.kept()[0]);
    let (wish, wishes) = sync_channel(1);
    let (said, heard) = channel();
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    let keeper = thread::spawn(move || {
        let pauses = Pauses {
            refresh: Duration::from_secs(86_400),
            least: Duration::ZERO,
        };
        keep_fetched(&kept, &wishes, &pauses, || {
            counted.fetch_add(1, Ordering::Relaxed);
            let _ = said.send(());
            Ok(KEYS.as_bytes().to_vec())
        });
    });
    for fetches in 1..=3 {
        heard.recv().unwrap();
        assert_eq!(count.load(Ordering::Relaxed), fetches);
        wish.send(()).unwrap();
    }
    heard.recv().unwrap();
    // The thread ends as soon as nobody can wish any more.
    drop(wish);
    keeper.join().unwrap();
}

#[test]
fn many_wishes_are_one_fetch() {
    let (wish, wishes) = sync_channel(1);
    let least = Duration::from_millis(50);
    let wisher = thread::spawn(move || {
        while wish.send(()).is_ok() {
            thread::yield_now();
        }
    });
    let begun = Instant::now();
    assert!(wait(&wishes, Duration::from_secs(86_400), least));
    assert!(begun.elapsed() >= least);
    drop(wishes);
    wisher.join().unwrap();
}
