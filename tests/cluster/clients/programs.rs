//! Programs that are given the addresses of several nodes go on with the next when one dies.

use super::{served, take_turns};
use kit::{ADMIN, Entry, Folder, PASSWORD, Pando, SUFFIX, tools};
use std::path::{Path, PathBuf};

/// URLs of nodes, in the form of ldap.conf(5) and ldap_table(5).
fn urls(nodes: &[Pando]) -> String {
    let urls: Vec<String> = nodes.iter().map(Pando::url).collect();
    urls.join(" ")
}

#[test]
fn tools_of_openldap_use_the_next_address() {
    let mut nodes = served(3);
    let all = tools::Tools::admin(&urls(&nodes));
    let find = || all.search(&["-b", SUFFIX, "(uid=person001)", "mail"]);
    let modify = |text: &str| {
        all.modify(&format!(
            "dn: uid=person001,ou=People,{SUFFIX}\nchangetype: modify\n\
             replace: mail\nmail: {text}\n"
        ))
    };
    find().expect(0).says("mail: person001@example.com");
    nodes[0].kill_with_etcd();
    find().expect(0).says("mail: person001@example.com");
    // The cluster takes writes again once it has another leader; the tool waits for the answer.
    modify("first@example.com").expect(0);
    find().expect(0).says("mail: first@example.com");
    take_turns(&mut nodes);
    find().expect(0).says("mail: first@example.com");
    modify("second@example.com").expect(0);
}

fn mailbox(number: usize) -> Entry {
    let address = format!("box{number}@example.com");
    Entry::of(
        &format!("uid=box{number},ou=People,{SUFFIX}"),
        &[
            ("objectClass", &["inetOrgPerson"]),
            ("cn", &["box"]),
            ("sn", &["box"]),
            ("mail", &[&address]),
            ("labeledURI", &[&format!("example.com/box{number}/")]),
        ],
    )
}

/// A map of Postfix with these servers, written as in `ldap_table(5)`.
fn map(folder: &Folder, nodes: &[Pando]) -> PathBuf {
    let text = format!(
        "server_host = {}\nversion = 3\nbind = yes\nbind_dn = {ADMIN}\nbind_pw = {PASSWORD}\n\
         search_base = ou=People,{SUFFIX}\nquery_filter = (mail=%s)\n\
         result_attribute = labeledURI\ntimeout = 5\n",
        urls(nodes)
    );
    folder.write("mailboxes.cf", text)
}

#[test]
fn postfix_finds_mailboxes_after_its_node_died() {
    let mut nodes = served(0);
    let mut admin = nodes[1].admin();
    for number in 0..3 {
        admin.add(&mailbox(number)).expect_success();
    }
    let folder = Folder::new();
    folder.write("main.cf", "compatibility_level = 3.6\n");
    let map = map(&folder, &nodes[..2]);
    let is_found = |config: &Path| {
        for number in 0..3 {
            let key = format!("box{number}@example.com");
            let found = tools::postmap(config, &map, &key).expect(0);
            assert_eq!(found.out, format!("example.com/box{number}/\n"));
            assert_eq!(found.err, "");
        }
        // Nobody, as opposed to an error for which Postfix would defer the mail.
        let nobody = tools::postmap(config, &map, "nobody@example.com").expect(1);
        assert_eq!(nobody.err, "");
    };
    kit::process::until("the first node has the mailboxes", || {
        let found = nodes[0].admin().read(&mailbox(2).name);
        found.map(drop)
    });
    is_found(folder.path());
    nodes[0].kill_with_etcd();
    is_found(folder.path());
    take_turns(&mut nodes);
    is_found(folder.path());
}
