//! Life of a server: TLS, paging across restarts, an orderly stop.

use std::io;
use std::path::PathBuf;
use std::process::Command;

use kit::client::Event;
use kit::tools::{self, Answer, Tools};
use kit::{Client, Found, Pando, SUFFIX, Secure, ldif, people};
use protocol::ber::{self, Reader};
use protocol::{OwnedControl, ResultCode, Scope};

const PAGED_RESULTS: &str = "1.2.840.113556.1.4.319";
const NOTICE_OF_DISCONNECTION: &str = "1.3.6.1.4.1.1466.20036";

/// Serves a node with `count` people directly below the suffix.
fn node(count: usize) -> Pando {
    let pando = Pando::init();
    let text: String = (0..count)
        .map(|number| {
            let mut person = people::person(&format!("p{number}"));
            person.name = format!("uid=p{number},{SUFFIX}");
            ldif::print(&person)
        })
        .collect();
    let file = pando.folder.write("people.ldif", text);
    pando
        .run_on_node(&["import"], &[&file.to_string_lossy()])
        .expect(0);
    pando
}

/// Returns one page of the people, and the cookie for the next.
fn page(client: &mut Client, cookie: &[u8]) -> (Found, Vec<u8>) {
    let mut value = Vec::new();
    ber::put_nested(&mut value, ber::SEQUENCE, |out| {
        ber::put_integer(out, ber::INTEGER, 7);
        ber::put_octets(out, ber::OCTET_STRING, cookie);
    });
    let paged = OwnedControl {
        oid: PAGED_RESULTS.into(),
        critical: true,
        value: Some(value),
    };
    let scope = Scope::WholeSubtree;
    let filter = "(objectClass=person)";
    let found = client.search_with(SUFFIX, scope, filter, &["1.1"], &[paged], |_| {});
    let next = found
        .outcome
        .control(PAGED_RESULTS)
        .map_or_else(Vec::new, |value| {
            let mut fields = Reader::new(value)
                .nested(ber::SEQUENCE)
                .expect("a SEQUENCE");
            fields.integer(ber::INTEGER).expect("the estimate");
            fields
                .expect(ber::OCTET_STRING)
                .expect("the cookie")
                .to_vec()
        });
    (found, next)
}

#[test]
fn paging_goes_on_after_a_restart_and_on_other_connections() {
    let mut pando = node(50);
    pando.serve();
    let mut names = Vec::new();
    let mut cookie = Vec::new();
    loop {
        // Each page is read on a new connection, with a crash between two.
        let mut client = pando.client();
        let (found, next) = page(&mut client, &cookie);
        found.outcome.clone().expect_success();
        names.extend(found.names());
        if next.is_empty() {
            break;
        }
        cookie = next;
        if names.len() == 21 {
            drop(client);
            pando.kill();
            pando.serve();
        }
    }
    names.sort();
    names.dedup();
    assert_eq!(names.len(), 50);
}

#[test]
fn several_paged_searches_share_a_connection() {
    let mut pando = node(30);
    pando.serve();
    let mut client = pando.client();
    let mut rows: Vec<(usize, Vec<u8>)> = vec![(0, Vec::new()); 3];
    for _ in 0..5 {
        for (count, cookie) in &mut rows {
            let (found, next) = page(&mut client, cookie);
            *count += found.entries.len();
            *cookie = next;
        }
    }
    assert!(
        rows.iter()
            .all(|(count, cookie)| *count == 30 && cookie.is_empty()),
        "{rows:?}"
    );
}

#[test]
fn forged_cookies_are_refused() {
    let mut pando = node(30);
    pando.serve();
    let mut client = pando.client();
    let (_, cookie) = page(&mut client, &[]);
    for at in 0..cookie.len() {
        let mut forged = cookie.clone();
        forged[at] ^= 1;
        let (found, _) = page(&mut client, &forged);
        assert!(
            found.outcome.code != ResultCode::SUCCESS,
            "byte {at}: {found:?}"
        );
        assert!(found.entries.is_empty());
    }
    let (found, _) = page(&mut client, b"short");
    assert!(found.outcome.code != ResultCode::SUCCESS, "{found:?}");
    // The connection and the real cookie are still valid.
    assert_eq!(page(&mut client, &cookie).0.entries.len(), 7);
}

#[test]
fn a_stopping_server_says_so_and_finishes_writes() {
    let mut pando = Pando::start();
    let mut idle = pando.client();
    let mut admin = pando.admin();
    admin.add(&people::unit("Last")).expect_success();
    assert!(pando.stop().success(), "an orderly stop is a success");
    let (id, event) = idle.receive();
    let Event::Done(notice) = event else {
        panic!("{event:?}")
    };
    assert_eq!(
        (id, notice.name.as_deref()),
        (0, Some(NOTICE_OF_DISCONNECTION))
    );
    assert!(notice.code == ResultCode::UNAVAILABLE, "{notice:?}");
    let end = idle.try_receive().expect_err("the server is gone");
    assert_eq!(end.kind(), io::ErrorKind::UnexpectedEof);
    pando.assert_clean();
    assert!(pando.export().contains("ou=Last"));
}

/// Returns a tool that trusts one certificate only.
fn trusting(certificate: &PathBuf, url: &str, args: &[&str]) -> Answer {
    let mut command = Command::new("timeout");
    command.args(["60", "ldapwhoami", "-H", url]).args(args);
    command
        .env_remove("LDAPNOINIT")
        .env("LDAPTLS_CACERT", certificate);
    tools::run_command(&mut command, "")
}

#[test]
fn tls_from_the_first_byte_and_on_request() {
    let server = Secure::start();
    let (certificate, secure) = (server.certificate, server.url);
    let plain = server.pando.url();
    let bind = ["-x", "-D", kit::ADMIN, "-w", kit::PASSWORD];
    trusting(&certificate, &secure, &bind)
        .expect(0)
        .says(kit::ADMIN);
    trusting(&certificate, &plain, &[&["-ZZ"], &bind[..]].concat())
        .expect(0)
        .says(kit::ADMIN);
    trusting(&certificate, &plain, &bind).expect(0);
    // SASL PLAIN requires a protected connection; it works over both kinds of TLS.
    let who = format!("dn:{}", kit::ADMIN);
    let sasl = [
        "-Q",
        "-Y",
        "PLAIN",
        "-O",
        "none",
        "-U",
        &who,
        "-w",
        kit::PASSWORD,
    ];
    trusting(&certificate, &secure, &sasl).expect(0);
    trusting(&certificate, &plain, &[&["-ZZ"], &sasl[..]].concat()).expect(0);
    let refused = trusting(&certificate, &plain, &sasl);
    assert_ne!(refused.status, 0, "{refused:?}");
    // A client that does not trust the certificate disconnects, without effect on the server.
    let stranger = Tools::admin(&secure).run("ldapwhoami", &[], "");
    assert_ne!(stranger.status, 0, "{stranger:?}");
    trusting(&certificate, &secure, &bind).expect(0);
}
