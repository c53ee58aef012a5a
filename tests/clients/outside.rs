//! Passwords of `{SASL}` values, which saslauthd verifies.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::thread;

use kit::client::Modification;
use kit::{Pando, people};
use protocol::ResultCode;

/// Name of the socket in the node's folder.
const SOCKET: &str = "mux";

/// Serves as saslauthd does, for one user with one password, until the test ends.
fn serve(socket: &Path, user: &'static str, password: &'static str, realm: &'static str) {
    let listener = UnixListener::bind(socket).expect("a socket");
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.expect("a client");
            let asked = [(); 4].map(|()| text(&mut stream));
            let answer: &[u8] = match asked == [user, password, "ldap", realm] {
                true => b"\0\x02OK",
                false => b"\0\x02NO",
            };
            stream.write_all(answer).expect("the client listens");
        }
    });
}

/// Reads one counted text.
fn text(stream: &mut UnixStream) -> String {
    let mut count = [0; 2];
    stream.read_exact(&mut count).expect("a count");
    let mut text = vec![0; usize::from(u16::from_be_bytes(count))];
    stream.read_exact(&mut text).expect("a text");
    String::from_utf8(text).expect("UTF-8")
}

/// Serves a node with ada, whose password saslauthd knows; returns her DN.
fn served(settings: &str) -> (Pando, String) {
    let mut pando = Pando::init();
    let listen = format!("listen = [\"ldap://127.0.0.1:0\"]\n{settings}");
    fs::write(pando.node().join("pando.toml"), listen).expect("our own folder");
    pando.serve_as_configured();
    let mut admin = pando.admin();
    admin.add(&people::unit("People")).expect_success();
    let mut ada = people::person("ada");
    ada.push("userPassword", b"{SASL}ada@EXAMPLE.COM".to_vec());
    admin.add(&ada).expect_success();
    (pando, ada.name)
}

#[test]
fn saslauthd_verifies_passwords_of_sasl_values() {
    let (mut pando, ada) = served("[passwords]\nsaslauthd = \"mux\"\nrehash_on_bind = true\n");
    let socket = pando.node().join(SOCKET);
    let bind = |password: &str| pando.client().bind(&ada, password).code;
    assert_eq!(bind("elsewhere"), ResultCode::INVALID_CREDENTIALS);
    serve(&socket, "ada", "elsewhere", "EXAMPLE.COM");
    assert_eq!(bind("elsewhere"), ResultCode::SUCCESS);
    assert_eq!(bind("wrong"), ResultCode::INVALID_CREDENTIALS);
    assert_eq!(
        bind("{SASL}ada@EXAMPLE.COM"),
        ResultCode::INVALID_CREDENTIALS
    );
    // The password changes elsewhere, and the former one is not remembered.
    fs::remove_file(&socket).expect("removed");
    serve(&socket, "ada", "changed", "EXAMPLE.COM");
    assert_eq!(bind("elsewhere"), ResultCode::INVALID_CREDENTIALS);
    assert_eq!(bind("changed"), ResultCode::SUCCESS);
    let stored = pando.admin().read(&ada).expect("an entry");
    assert_eq!(stored.text("userPassword"), "{SASL}ada@EXAMPLE.COM");
    let log = pando.process().log();
    assert_eq!(log.matches("cannot be asked").count(), 1, "{log}");
}

#[test]
fn values_of_other_programs_match_nothing_without_them() {
    let (pando, ada) = served("");
    let bind = |password: &str| pando.client().bind(&ada, password).code;
    assert_eq!(bind("elsewhere"), ResultCode::INVALID_CREDENTIALS);
    let kerberos = [Modification::replace("userPassword", &["{K5KEY}"])];
    pando.admin().modify(&ada, &kerberos).expect_success();
    assert_eq!(bind("elsewhere"), ResultCode::INVALID_CREDENTIALS);
    assert_eq!(bind("{K5KEY}"), ResultCode::INVALID_CREDENTIALS);
}
