//! Postfix looks up mailboxes and aliases through its LDAP maps, with an OpenLDAP schema file.

use std::path::{Path, PathBuf};

use kit::client::{Client, Event};
use kit::{ADMIN, Entry, Folder, PASSWORD, SUFFIX, Subject, people, tools};

const MAILBOXES: usize = 10_000;

fn mailbox(number: usize) -> Entry {
    Entry::of(
        &format!("mailid=box{number}@example.com,ou=Mail,{SUFFIX}"),
        &[
            ("objectClass", &["mailAccount"]),
            ("mailid", &[&format!("box{number}@example.com")]),
            ("maildir", &[&format!("example.com/box{number}/")]),
            ("mailquota", &[&format!("{}", 1_000_000 + number)]),
        ],
    )
}

fn alias(number: usize) -> Entry {
    let also = format!("box{}@example.com", (number + 1) % MAILBOXES);
    Entry::of(
        &format!("mailid=alias{number}@example.com,ou=Mail,{SUFFIX}"),
        &[
            ("objectClass", &["mailAccount"]),
            ("mailid", &[&format!("alias{number}@example.com")]),
            ("maildrop", &[&format!("box{number}@example.com"), &also]),
        ],
    )
}

/// Adds entries with a hundred requests in flight.
fn add_all(client: &mut Client, entries: impl Iterator<Item = Entry>) {
    let mut waiting = 0;
    let settle = |client: &mut Client| {
        let (_, Event::Done(outcome)) = client.receive() else {
            panic!("an add has one response")
        };
        outcome.expect_success();
    };
    for entry in entries {
        client
            .try_send_add(&entry, &[])
            .expect("the server takes requests");
        waiting += 1;
        if waiting == 100 {
            settle(client);
            waiting -= 1;
        }
    }
    for _ in 0..waiting {
        settle(client);
    }
}

/// Writes a map definition as described in Postfix's `ldap_table(5)`.
fn map(folder: &Folder, subject: &Subject, name: &str, result: &str) -> PathBuf {
    let address = subject.address();
    folder.write(
        name,
        format!(
            "server_host = ldap://{address}\n\
             version = 3\n\
             bind = yes\n\
             bind_dn = {ADMIN}\n\
             bind_pw = {PASSWORD}\n\
             search_base = ou=Mail,{SUFFIX}\n\
             scope = one\n\
             query_filter = (&(objectClass=mailAccount)(mailid=%s)({result}=*))\n\
             result_attribute = {result}\n"
        ),
    )
}

/// Runs `postmap -q -` for every key and returns the lines `key<TAB>value`.
fn look_up(config: &Path, map: &Path, keys: &str) -> Vec<String> {
    let config = config.to_string_lossy().into_owned();
    let map = format!("ldap:{}", map.display());
    let args = ["-c", &config, "-q", "-", &map];
    let answer = tools::run("/usr/sbin/postmap", &args, keys).expect(0);
    assert_eq!(answer.err, "");
    answer.out.lines().map(str::to_owned).collect()
}

#[test]
fn ten_thousand_mailboxes_and_aliases() {
    let schema = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/mail.schema");
    let subject = Subject::with_schema(&schema, "mailid");
    let mut admin = subject.admin();
    admin.add(&people::unit("Mail")).expect_success();
    add_all(&mut admin, (0..MAILBOXES).map(mailbox));
    add_all(&mut admin, (0..MAILBOXES).map(alias));

    let folder = Folder::new();
    folder.write("main.cf", "compatibility_level = 3.6\n");
    let mailboxes = map(&folder, &subject, "mailboxes.cf", "maildir");
    let aliases = map(&folder, &subject, "aliases.cf", "maildrop");

    let keys: String = (0..MAILBOXES)
        .map(|n| format!("BOX{n}@example.com\n"))
        .collect();
    let found = look_up(folder.path(), &mailboxes, &keys);
    assert_eq!(found.len(), MAILBOXES);
    for (number, line) in found.iter().enumerate() {
        assert_eq!(
            *line,
            format!("BOX{number}@example.com\texample.com/box{number}/")
        );
    }

    let keys: String = (0..MAILBOXES)
        .map(|n| format!("alias{n}@example.com\n"))
        .collect();
    let found = look_up(folder.path(), &aliases, &keys);
    assert_eq!(found.len(), MAILBOXES);
    for (number, line) in found.iter().enumerate() {
        let (_, targets) = line.split_once('\t').expect("key and value");
        let mut targets: Vec<&str> = targets.split(',').collect();
        targets.sort_unstable();
        let mut expected =
            [number, (number + 1) % MAILBOXES].map(|n| format!("box{n}@example.com"));
        expected.sort();
        assert_eq!(targets, expected);
    }

    let config = folder.path();
    tools::postmap(config, &mailboxes, "box7@example.com")
        .expect(0)
        .says("example.com/box7/");
    tools::postmap(config, &mailboxes, "nobody@example.com").expect(1);
    // An alias has no mailbox, and a mailbox is no alias.
    tools::postmap(config, &mailboxes, "alias7@example.com").expect(1);
    tools::postmap(config, &aliases, "box7@example.com").expect(1);
    // These characters must be escaped in a filter.
    tools::postmap(config, &mailboxes, "*@example.com").expect(1);
    tools::postmap(config, &mailboxes, "box7)(mailid=*@example.com").expect(1);
}
