//! OAUTHBEARER (RFC 7628) over the Unix socket of a node, by a client of our own: Debian's Cyrus
//! SASL has no such mechanism.

use std::fs;
use std::io::{self, Read, Write};
use std::net::TcpListener;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use conformance::{Outcome, Session, Transport};
use kit::client::Modification;
use kit::issuer::{self, IssuerKey};
use kit::process::until;
use kit::{Folder, PATIENCE, Pando};
use protocol::sasl::Bearer;
use protocol::{Authentication, BindRequest, ExtendedRequest, Request, ResultCode, Scope};
use serde_json::{Value, json};

use super::{ADA, GRACE};

const ENTRIES: &str = "\
dn: cn=identities,cn=config
objectClass: pandoConfig

dn: cn=tokens,cn=identities,cn=config
objectClass: pandoIdentityRule
pandoIdentityOrder: 10
pandoIdentityText: token iss \"https://id.example.com\" sub \"*\"
  in subtree \"ou=People,dc=example,dc=com\" where (uid=$1)
";

const SETTINGS: &str = "listen = [\"ldap://127.0.0.1:0\"]
[[sasl.oauth]]
issuer = \"https://id.example.com\"
audience = [\"ldap\"]
keys = \"keys.json\"
clock_skew_s = 0
openid_configuration = \"https://id.example.com/.well-known/openid-configuration\"
";

/// A served node with people, which accepts tokens that are signed with the key.
struct World {
    pando: Pando,
    key: IssuerKey,
}

impl World {
    fn new() -> World {
        World::with(SETTINGS)
    }

    /// Makes these the access rules.
    fn apply(&self, rules: &str) {
        let file = self.pando.node().join("rules");
        fs::write(&file, rules).expect("our own folder");
        let file = file.to_string_lossy().into_owned();
        self.pando
            .run_on_node(&["access", "apply"], &[&file])
            .expect(0);
    }

    fn with(settings: &str) -> World {
        let mut pando = Pando::init();
        let key = IssuerKey::new("first");
        issuer::publish(&[&key], &pando.node().join("keys.json"));
        fs::write(pando.node().join("pando.toml"), settings).expect("our own folder");
        pando.serve_as_configured();
        let mut admin = pando.admin();
        for entry in kit::people::sample() {
            admin.add(&entry).expect_success();
        }
        pando.tools().run("ldapadd", &[], ENTRIES).expect(0);
        World { pando, key }
    }

    fn keys(&self) -> PathBuf {
        self.pando.node().join("keys.json")
    }

    fn client(&self) -> Local {
        let stream = UnixStream::connect(self.pando.node().join("ldapi")).expect("a socket");
        Local(Session::new(
            Box::new(Unix(stream)),
            Instant::now() + PATIENCE,
        ))
    }
}

/// A Unix socket.
struct Unix(UnixStream);

impl Read for Unix {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.0.read(bytes)
    }
}

impl Write for Unix {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl Transport for Unix {
    fn limit(&mut self, patience: Duration) -> io::Result<()> {
        self.0.set_read_timeout(Some(patience))?;
        self.0.set_write_timeout(Some(patience))
    }
}

/// A client over a Unix socket.
struct Local(Session);

impl Local {
    fn send(&mut self, credentials: &[u8]) -> Outcome {
        let request = Request::Bind(BindRequest {
            version: 3,
            name: "",
            authentication: Authentication::Sasl {
                mechanism: "OAUTHBEARER",
                credentials: Some(credentials),
            },
        });
        self.0.call(&request, &[]).expect("an answer").outcome
    }

    fn bind_as(&mut self, token: &str, other: &str) -> Outcome {
        let mut credentials = Vec::new();
        let message = Bearer {
            authorization: other.into(),
            token,
        };
        message.encode(&mut credentials);
        self.send(&credentials)
    }

    fn bind(&mut self, token: &str) -> Outcome {
        self.bind_as(token, "")
    }

    /// Binds in vain. Returns the answer for programs, and the reason in the last answer.
    #[track_caller]
    fn refused(&mut self, token: &str) -> (Value, String) {
        let told = self.bind(token).expect(ResultCode::SASL_BIND_IN_PROGRESS);
        let told = serde_json::from_slice(&told.value.expect("an answer")).expect("JSON");
        let last = self.send(b"\x01").expect(ResultCode::INVALID_CREDENTIALS);
        assert_eq!(self.who(), "", "a client that was refused is nobody");
        (told, last.diagnostic)
    }

    fn who(&mut self) -> String {
        let request = Request::Extended(ExtendedRequest {
            name: "1.3.6.1.4.1.4203.1.11.3",
            value: None,
        });
        let found = self.0.call(&request, &[]).expect("an answer");
        String::from_utf8(found.outcome.value.unwrap_or_default()).expect("text")
    }
}

#[test]
fn a_claim_says_which_entry_a_client_is() {
    let world = World::new();
    let mut client = world.client();
    client.bind(&world.key.token("ada", 600)).expect_success();
    assert_eq!(client.who(), format!("dn:{ADA}"));
    // Other parts of the message are allowed, and so is any case of the scheme.
    let token = world.key.token("grace", 600);
    let message = format!("n,,\x01host=a.example\x01port=389\x01auth=bearer {token}\x01\x01");
    client.send(message.as_bytes()).expect_success();
    assert_eq!(client.who(), format!("dn:{GRACE}"));
    // Who signs in by a token is told apart in rules.
    let password = [Modification::replace("userPassword", &["grace"])];
    world
        .pando
        .admin()
        .modify(GRACE, &password)
        .expect_success();
    let rules = "rule passwords\non everything\nfor userPassword\nlet anyone authenticate\n\
                 rule tokens\non subtree \"dc=example,dc=com\"\nlet users via token read\n";
    world.apply(rules);
    let found = client
        .0
        .search(ADA, Scope::BaseObject, "(objectClass=*)", &["cn"]);
    assert_eq!(found.expect("an answer").entries.len(), 1);
    let mut other = world.pando.client();
    other.bind(GRACE, "grace").expect_success();
    assert!(other.read(ADA).is_none());
}

#[test]
fn the_audit_names_the_token_as_the_way_in() {
    let world = World::with(&format!("{SETTINGS}[audit]\nenabled = true\n"));
    let mut client = world.client();
    client.bind(&world.key.token("ada", 600)).expect_success();
    let change = [Modification::replace("userPassword", &["other"])];
    client
        .0
        .modify(ADA, &change, &[])
        .expect("an answer")
        .expect_success();
    let folder = world.pando.node().join("data/audit");
    let written = || {
        let files = fs::read_dir(&folder).expect("a folder");
        let texts = files.filter_map(|it| fs::read_to_string(it.ok()?.path()).ok());
        let said = texts.flat_map(|it| it.lines().map(str::to_owned).collect::<Vec<_>>());
        let lines = said.filter_map(|it| serde_json::from_str::<Value>(&it).ok());
        lines.into_iter().find(|it| it["authentication"] == "token")
    };
    let line = until("the line is written", written);
    assert_eq!(line["transport"], "local", "{line}");
}

#[test]
fn the_program_says_which_entry_a_token_is() {
    let world = World::new();
    let file = world.pando.node().join("token");
    let path = file.to_string_lossy().into_owned();
    let test = || {
        let args = ["--token-file", path.as_str()];
        world.pando.run_on_node(&["identity", "test"], &args)
    };
    fs::write(&file, world.key.token("ada", 0)).expect("our own folder");
    test()
        .expect(0)
        .says("iss: https://id.example.com")
        .says("rule: tokens")
        .says(&format!("entry: {ADA}"));
    fs::write(&file, world.key.token("nobody", 0)).expect("our own folder");
    test().expect(1).says("no entry matches");
    fs::write(&file, "a.b.c").expect("our own folder");
    test().expect(1).says("expected a signed JSON Web Token");
}

#[test]
fn tokens_that_are_not_accepted_are_refused_in_two_steps() {
    let world = World::new();
    let mut client = world.client();
    let with = |name: &str, value: Value| {
        let mut claims = issuer::claims("ada", 600);
        claims[name] = value;
        world.key.sign(&claims)
    };
    let past = world.key.token("ada", 0);
    let forged = IssuerKey::new("first").token("ada", 600);
    let unknown = IssuerKey::new("second").token("ada", 600);
    let long = with("long", json!("x".repeat(20_000)));
    let address = "https://id.example.com/.well-known/openid-configuration";
    for (token, why) in [
        (
            with("iss", json!("https://other.example")),
            "not a configured one",
        ),
        (with("aud", json!("mail")), "aud: not for this service"),
        (past, "exp: the token expired"),
        (with("nbf", json!(u32::MAX)), "nbf: "),
        (forged, "InvalidSignature"),
        (unknown, "\"second\" is not known"),
        (long, "16384 octets"),
        ("abc".to_owned(), "JSON Web Token"),
        (with("sub", json!("nobody")), "stand for no entry"),
        // A star matches no text of several words that the filter would take for its own.
        (with("sub", json!("*")), "stand for no entry"),
        (with("sub", json!(["ada", "grace"])), "the token: "),
    ] {
        let (told, last) = client.refused(&token);
        assert_eq!(told["status"], "invalid_token", "{why}");
        assert_eq!(told["openid-configuration"], address, "{why}");
        assert!(last.contains(why), "expected {why}, got {last}");
    }
    // Without a token a client is told where to get one.
    let (told, _) = client.refused("");
    assert_eq!(told["openid-configuration"], address);
    for junk in [
        &b""[..],
        b"n,,",
        b"p=tls-exporter,,\x01auth=Bearer a\x01\x01",
    ] {
        client.send(junk).expect(ResultCode::PROTOCOL_ERROR);
    }
    client.bind(&world.key.token("ada", 600)).expect_success();
}

#[test]
fn keys_are_read_again_when_their_file_changes() {
    let mut world = World::new();
    let second = IssuerKey::new("second");
    let token = second.token("ada", 600);
    let mut client = world.client();
    client.refused(&token);
    issuer::publish(&[&world.key, &second], &world.keys());
    let mut binds = || match world.client().bind(&token).code {
        ResultCode::SUCCESS => Some(()),
        _ => None,
    };
    until("the new key is known", &mut binds);
    // A damaged file takes no key away.
    fs::write(world.keys(), "{").expect("our own folder");
    world
        .client()
        .refused(&IssuerKey::new("third").token("ada", 600));
    world
        .pando
        .process()
        .wait_for("the damaged file is reported", |line| {
            line.contains("the known ones stay").then_some(())
        });
    world.client().bind(&token).expect_success();
}

#[test]
fn a_connection_ends_with_its_token() {
    let world = World::new();
    let (mut ada, mut grace) = (world.client(), world.client());
    ada.bind(&world.key.token("ada", 2)).expect_success();
    grace.bind(&world.key.token("grace", 600)).expect_success();
    assert!(ada.0.is_closed_by_server());
    assert_eq!(grace.who(), format!("dn:{GRACE}"));
}

#[test]
fn clients_act_as_others_by_the_right_proxy() {
    let world = World::new();
    let rules = "rule ada\non subtree \"ou=People,dc=example,dc=com\" where (uid=grace)\n\
                 let entry \"uid=ada,ou=People,dc=example,dc=com\" proxy, read\n\
                 rule all\non everything\nfor all, userPassword\nlet anyone authenticate\n\
                 let self read\n";
    world.apply(rules);
    let mut client = world.client();
    let token = world.key.token("ada", 600);
    client
        .bind_as(&token, &format!("dn:{GRACE}"))
        .expect_success();
    assert_eq!(client.who(), format!("dn:{GRACE}"));
    let token = world.key.token("grace", 600);
    client
        .bind_as(&token, &format!("dn:{ADA}"))
        .expect(ResultCode::INVALID_CREDENTIALS);
}

#[test]
fn the_mechanism_is_offered_where_nobody_can_read_the_token() {
    let world = World::new();
    let mechanism = "OAUTHBEARER";
    let select = ["supportedSASLMechanisms"];
    let mut local = world.client();
    let found = local
        .0
        .search("", Scope::BaseObject, "(objectClass=*)", &select);
    let offered = found.expect("an answer").entries.remove(0).texts(select[0]);
    assert!(offered.iter().any(|it| it == mechanism), "{offered:?}");
    let mut plain = world.pando.client();
    let found = plain.search("", Scope::BaseObject, "(objectClass=*)", &select);
    let offered = found.entries[0].texts(select[0]);
    assert!(!offered.iter().any(|it| it == mechanism), "{offered:?}");
    let request = Request::Bind(BindRequest {
        version: 3,
        name: "",
        authentication: Authentication::Sasl {
            mechanism,
            credentials: Some(b"n,,\x01auth=\x01\x01"),
        },
    });
    let refused = plain.call(&request, &[]).outcome;
    refused.expect(ResultCode::CONFIDENTIALITY_REQUIRED);
    // Without an issuer there is no such mechanism, until the settings are read again.
    let none = World::with("listen = [\"ldap://127.0.0.1:0\"]\n");
    let refused = none.client().bind("abc");
    refused.expect(ResultCode::AUTH_METHOD_NOT_SUPPORTED);
    fs::write(none.pando.node().join("pando.toml"), SETTINGS).expect("our own folder");
    none.pando
        .run_on_node(&["reload"], &[])
        .expect(0)
        .says("changed: sasl");
    let token = none.key.token("ada", 600);
    let binds = || match none.client().bind(&token).code {
        ResultCode::SUCCESS => Some(()),
        _ => None,
    };
    until("new connections know the issuer", binds);
}

#[test]
fn an_issuer_without_keys_is_named_at_the_start() {
    let pando = Pando::init();
    fs::write(pando.node().join("pando.toml"), SETTINGS).expect("our own folder");
    pando
        .serve_in_vain()
        .says("sasl.oauth.keys: ")
        .says("keys.json: expected a readable file");
}

#[test]
fn keys_are_fetched_and_stay_while_the_issuer_is_away() {
    let key = IssuerKey::new("first");
    let folder = Folder::new();
    let file = folder.path().join("keys.json");
    issuer::publish(&[&key], &file);
    let keys = fs::read_to_string(&file).expect("written");
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}/keys", listener.local_addr().expect("bound"));
    let length = keys.len();
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a fetch");
        let mut request = [0; 4_096];
        let _ = stream.read(&mut request);
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n");
        stream
            .write_all(format!("{head}{keys}").as_bytes())
            .expect("the fetch is not over");
    });
    let settings = SETTINGS.replace("\"keys.json\"", &format!("\"{url}\"\nrefresh_s = 10"));
    let world = World::with(&settings);
    server.join().expect("keys were fetched");
    let token = key.token("ada", 600);
    let binds = || match world.client().bind(&token).code {
        ResultCode::SUCCESS => Some(()),
        _ => None,
    };
    until("the keys are known", binds);
    let mut admin = world.pando.admin();
    let mut says = |wanted: &str| {
        let name = "cn=Issuer 0,cn=Issuers,cn=monitor";
        let select = ["monitorCounter", "monitoredInfo"];
        let found = admin.search(name, Scope::BaseObject, "(objectClass=*)", &select);
        assert_eq!(found.entries[0].texts(select[0]), ["1"]);
        found.entries[0].texts(select[1])[0].contains(wanted)
    };
    assert!(says("keys read"));
    until("the next fetch fails", || {
        says("not read again").then_some(())
    });
    assert_eq!(binds(), Some(()));
}
