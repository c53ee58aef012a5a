//! `pando tls check`: a handshake that succeeds, and why others do not; `pando identity`: whom a
//! certificate stands for.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::thread;

use kit::tools::Answer;
use kit::{Authority, Pando, SUFFIX, process};

use super::Shell;

/// A node with TLS, and the authority of its certificate and of clients.
struct World {
    shell: Shell,
    authority: Authority,
    pando: Pando,
    /// URLs of the listeners for StartTLS, for TLS at once, and for TLS with certificates alone.
    urls: [String; 3],
}

impl World {
    fn new() -> World {
        let authority = Authority::new();
        authority.issue(
            "server",
            "/O=Kit/CN=Server",
            "DNS:localhost,DNS:ldap.example.com",
        );
        authority.issue("ada", "/O=Kit/CN=Ada", "email:ada@example.com");
        authority.staple("server", "server.ocsp");
        let mut pando = Pando::init();
        let folder = authority.folder().display();
        let settings = format!(
            "listen = [\"ldap://127.0.0.1:0\", \"ldaps://127.0.0.1:0\", \
             \"ldaps://127.0.0.1:0?client_certificates=require\"]\n\
             [tls]\ncertificate = \"{folder}/server.pem\"\nkey = \"{folder}/server.key\"\n\
             ocsp = \"{folder}/server.ocsp\"\nclient_ca = \"{folder}/ca.pem\"\n\
             versions = [\"1.3\"]\n"
        );
        fs::write(pando.node().join("pando.toml"), settings).expect("our own folder");
        pando.serve_as_configured();
        let urls = process::until("all listeners are announced", || {
            let log = pando.process().log();
            let announced = log
                .lines()
                .filter_map(|it| it.split_once("listening on ldap"));
            let urls: Vec<String> = announced
                .filter_map(|(_, url)| {
                    let url = format!("ldap{}", url.split('?').next()?);
                    Some(url.replace("127.0.0.1", "localhost"))
                })
                .collect();
            <[String; 3]>::try_from(urls.get(..3)?.to_vec()).ok()
        });
        World {
            shell: Shell::new(),
            authority,
            pando,
            urls,
        }
    }

    /// `pando tls check` with the authority and further arguments.
    fn check(&self, url: &str, more: &[&str]) -> Answer {
        let ca = self.authority.path("ca.pem").display().to_string();
        let args = ["tls", "check", url, "--ca", ca.as_str()];
        self.shell.pando(&[&args, more].concat())
    }

    /// Arguments that show a certificate.
    fn own(&self, name: &str) -> [String; 4] {
        let path = |end| {
            self.authority
                .path(&format!("{name}.{end}"))
                .display()
                .to_string()
        };
        [
            "--cert".to_owned(),
            path("pem"),
            "--key".to_owned(),
            path("key"),
        ]
    }
}

#[test]
fn a_handshake_tells_what_was_agreed() {
    let world = World::new();
    for url in &world.urls[..2] {
        let answer = world.check(url, &[]).expect(0);
        let answer = answer.says("TLS 1.3, TLS_AES").says("cn=Server,o=Kit");
        let answer = answer
            .says("localhost, ldap.example.com")
            .says("stapled OCSP        good");
        answer
            .says("client certificate  not asked for")
            .says("result              trusted");
    }
    let own = world.own("ada");
    let own: Vec<&str> = own.iter().map(String::as_str).collect();
    world
        .check(&world.urls[2], &own)
        .expect(0)
        .says("client certificate  asked for and shown");
    let json = world.check(&world.urls[1], &["--format", "json"]).expect(0);
    json.says("\"trusted\": true")
        .says("\"suite\": \"TLS_AES_256_GCM_SHA384\"");
}

#[test]
fn a_handshake_that_fails_tells_who_refuses_and_why() {
    let world = World::new();
    let [plain, tls, strict] = &world.urls;
    let refused = |url: &str, more: &[&str], why: &str| {
        world.check(url, more).expect(1).says(why);
    };
    let by_address = tls.replace("localhost", "127.0.0.1");
    let names = "it is not for 127.0.0.1; its names are: localhost, ldap.example.com";
    refused(&by_address, &[], names);
    refused(strict, &[], "it requires a certificate of the client");
    refused(
        &plain.replace("ldap:", "ldaps:"),
        &[],
        "the port speaks LDAP without it",
    );
    refused(&tls.replace("ldaps:", "ldap:"), &[], "then it is ldaps://");
    let unknown = world.shell.pando(&["tls", "check", tls]).expect(1);
    unknown.says("its authority \"cn=CA,o=Kit\" is unknown here");
    // A certificate of an authority that the server does not know.
    let other = Authority::new();
    other.issue("eve", "/O=Kit/CN=Eve", "DNS:eve");
    let path = |name: &str| other.path(name).display().to_string();
    let (certificate, key) = (path("eve.pem"), path("eve.key"));
    let own = ["--cert", certificate.as_str(), "--key", key.as_str()];
    refused(strict, &own, "the server refuses: ");
    let mixed = [
        "--cert",
        certificate.as_str(),
        "--key",
        &world.own("ada")[3],
    ];
    world
        .check(tls, &mixed)
        .expect(1)
        .says("expected the key of");
    // A server whose connections end at once, and one that is not there.
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback");
    let port = listener.local_addr().expect("bound").port();
    let closing = thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("the command connects");
        let _ = stream.read(&mut [0; 512]);
        let _ = stream.write_all(b"");
    });
    let url = format!("ldaps://localhost:{port}");
    refused(
        &url,
        &[],
        "the server closes the connection during the handshake",
    );
    closing.join().expect("it has closed");
    refused(&url, &[], "no connection to localhost port");
    world.shell.pando(&["tls", "check", "ldapi://x"]).expect(2);
}

#[test]
fn rules_are_shown_and_tried() {
    let world = World::new();
    let rules = format!(
        "dn: cn=identities,cn=config\nobjectClass: pandoConfig\n\n\
         dn: cn=people,cn=identities,cn=config\nobjectClass: pandoIdentityRule\n\
         pandoIdentityOrder: 10\npandoIdentityText: certificate mail \"*@example.com\" in one \
         \"{SUFFIX}\" where (uid=$1)\n\n\
         dn: uid=ada,{SUFFIX}\nobjectClass: account\n"
    );
    world.pando.tools().run("ldapadd", &[], &rules).expect(0);
    let identity = |args: &[&str]| {
        let (action, more) = args.split_first().expect("an action");
        world.pando.run_on_node(&["identity", action], more)
    };
    identity(&["show"])
        .expect(0)
        .says("10 people\n  certificate mail");
    let certificate = world.own("ada")[1].clone();
    let found = identity(&["test", "--certificate", &certificate]).expect(0);
    let found = found.says("mail: ada@example.com").says("rule: people");
    found.says(&format!("entry: uid=ada,{SUFFIX}"));
    let server = world.authority.path("server.pem").display().to_string();
    let nobody = identity(&["test", "--certificate", &server]).expect(1);
    nobody.says("no rule matches the identity");
    identity(&["test", "--sasl", "eve"])
        .expect(1)
        .says("no entry matches");
    identity(&["test", "--sasl", "ada"])
        .expect(0)
        .says("rule: built-in");
    identity(&["test"]).expect(2);
    identity(&["test", "--token", "sub"])
        .expect(2)
        .says("expected CLAIM=VALUE");
}
