//! Unindexed searches: the number of them that a subject may run at a time.

use kit::{Client, Pando, SUFFIX};
use protocol::control::{SortKey, SortRequest, SyncMode, SyncRequest};
use protocol::{MessageId, OwnedControl, ResultCode, Scope, oid};

const PEOPLE: u32 = 6_000;

/// Long texts, so that no socket takes a whole answer.
fn people() -> String {
    let text = "x".repeat(3_000);
    let person = |n: u32| {
        format!(
            "dn: uid=p{n},{SUFFIX}\nobjectClass: inetOrgPerson\ncn: p{n}\nsn: p{n}\n\
             description: {text}\n\n"
        )
    };
    (0..PEOPLE).map(person).collect()
}

/// Serves a node with these entries, on which anonymous clients may run one such search at a time.
fn node(ldif: &str) -> Pando {
    let mut pando = Pando::init();
    pando
        .run_on_node(&["index", "add"], &["cn", "ordering"])
        .expect(0);
    let file = pando.folder.write("people.ldif", ldif);
    let args = [file.to_string_lossy().into_owned()];
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    pando.run_on_node(&["import"], &args).expect(0);
    let settings = pando.node().join("pando.toml");
    let limits = "[limits]\nsize_entries_max = 0\n\n[anonymous_limits]\nsize_entries_max = 0\n\
                  unindexed_searches_max = 1\n";
    std::fs::write(&settings, limits).expect("our own file");
    pando.serve();
    pando
}

/// Begins a search that waits while the socket is full, since its client does not read.
fn begin(slow: &mut Client) -> MessageId {
    let begun = slow.send_search(SUFFIX, Scope::WholeSubtree, "(sn=p*)", &[], &[], |_| ());
    slow.receive();
    begun
}

#[test]
fn a_subject_has_so_many_at_a_time() {
    let pando = node(&people());
    let (mut slow, mut other) = (pando.client(), pando.client());
    let begun = begin(&mut slow);
    let find = |client: &mut Client| {
        let found = client.search(SUFFIX, Scope::WholeSubtree, "(&(sn=p7)(l=x))", &["1.1"]);
        (found.outcome.code, found.outcome.diagnostic)
    };
    let (code, diagnostic) = find(&mut other);
    assert_eq!(code, ResultCode::BUSY, "{diagnostic}");
    for part in [
        "limit of 1 ",
        "unindexed_searches_max",
        "anonymous clients",
        "pando index add DIR sn equality",
    ] {
        assert!(diagnostic.contains(part), "{part} in {diagnostic}");
    }
    // Indexed searches are not limited, nor are other subjects.
    let found = other.search(SUFFIX, Scope::WholeSubtree, "(uid=p7)", &["1.1"]);
    assert_eq!(found.entries.len(), 1);
    assert_eq!(find(&mut pando.admin()).0, ResultCode::SUCCESS);
    // Anonymous clients of other addresses are not limited either.
    let mut elsewhere = Client::connect_from([127, 0, 0, 2], pando.address());
    assert_eq!(find(&mut elsewhere).0, ResultCode::SUCCESS);
    let all = slow.try_finish(begun).expect("the server answers");
    assert_eq!(all.outcome.code, ResultCode::SUCCESS);
    assert_eq!(all.entries.len() as u32 + 1, PEOPLE);
    assert_eq!(find(&mut other).0, ResultCode::SUCCESS);
    // A client that disconnects frees its place.
    begin(&mut slow);
    drop(slow);
    kit::process::until("there is room again", || {
        (find(&mut other).0 == ResultCode::SUCCESS).then_some(())
    });
}

/// Children of a container that is large, but only a small part of the directory.
const FEW: u32 = 5_000;
/// Number of other entries.
const MANY: u32 = 15_000;

fn containers() -> String {
    let mut ldif = String::new();
    for (unit, count) in [("Few", FEW), ("Many", MANY)] {
        let unit = format!("ou={unit},{SUFFIX}");
        ldif.push_str(&format!("dn: {unit}\nobjectClass: organizationalUnit\n\n"));
        for n in 0..count {
            ldif.push_str(&format!(
                "dn: ou={n},{unit}\nobjectClass: organizationalUnit\n\n"
            ));
        }
    }
    let url = format!("ldap:///{SUFFIX}??sub?(sn=p7)");
    ldif.push_str(&format!(
        "dn: cn=found,{SUFFIX}\nobjectClass: groupOfURLs\ncn: found\nmemberURL: {url}\n\n"
    ));
    ldif
}

fn sort() -> OwnedControl {
    let key = SortKey {
        attribute: "cn",
        ordering_rule: None,
        reverse: false,
    };
    let value = SortRequest { keys: vec![key] };
    OwnedControl::with_value(oid::SORT_REQUEST, true, |out| value.encode(out))
}

fn sync() -> OwnedControl {
    let value = SyncRequest {
        mode: SyncMode::RefreshOnly,
        cookie: None,
        reload_hint: false,
    };
    OwnedControl::with_value(oid::SYNC_REQUEST, true, |out| value.encode(out))
}

#[test]
fn there_is_no_way_around() {
    let pando = node(&(people() + &containers()));
    let (mut slow, mut other) = (pando.client(), pando.client());
    let begun = begin(&mut slow);
    let few = format!("ou=Few,{SUFFIX}");
    let found = format!("cn=found,{SUFFIX}");
    let mut ask = |what: (&str, Scope, &str), select: &[&str], controls: &[OwnedControl]| {
        let (base, scope, filter) = what;
        let found = other.search_with(base, scope, filter, select, controls, |_| ());
        let diagnostic = found.outcome.diagnostic;
        assert!(
            !diagnostic.contains("internal error"),
            "{what:?}: {diagnostic}"
        );
        (found.outcome.code, found.entries.len())
    };
    let (all, children) = (Scope::WholeSubtree, Scope::SingleLevel);
    let busy = (ResultCode::BUSY, 0);
    // The index gives an order, which does not help the filter.
    assert_eq!(ask((SUFFIX, all, "(sn=p7)"), &["1.1"], &[sort()]), busy);
    // The search lists a large container.
    assert_eq!(ask((&few, children, "(l=p7)"), &["1.1"], &[]), busy);
    // The filter is that of a dynamic group.
    let members = format!("(isMemberOf={found})");
    assert_eq!(ask((SUFFIX, all, &members), &["1.1"], &[]), busy);
    let every = "(objectClass=*)";
    let base = Scope::BaseObject;
    assert_eq!(ask((&found, base, every), &["member"], &[]), busy);
    // A search with following must find its entries first.
    assert_eq!(ask((SUFFIX, all, "(sn=p7)"), &["1.1"], &[sync()]), busy);
    // A search for everything returns each entry that it reads, and so does listing a container:
    // neither is limited.
    let everything = ask((SUFFIX, all, every), &["1.1"], &[sync()]);
    assert_eq!(everything.0, ResultCode::SUCCESS);
    assert!(everything.1 as u32 > PEOPLE + FEW + MANY);
    let listed = (ResultCode::SUCCESS, FEW as usize);
    assert_eq!(ask((&few, children, every), &["1.1"], &[]), listed);
    let sorted = ask((SUFFIX, all, "(uid=p1)"), &["1.1"], &[sort()]);
    assert_eq!(sorted, (ResultCode::SUCCESS, 1));
    slow.try_finish(begun).expect("the server answers");
    // There is room again, for every kind of search.
    let one = (ResultCode::SUCCESS, 1);
    assert_eq!(ask((SUFFIX, all, "(sn=p7)"), &["1.1"], &[sort()]), one);
    assert_eq!(ask((SUFFIX, all, &members), &["1.1"], &[]), one);
    assert_eq!(ask((SUFFIX, all, "(sn=p7)"), &["1.1"], &[sync()]), one);
    let none = (ResultCode::SUCCESS, 0);
    assert_eq!(ask((&few, children, "(l=p7)"), &["1.1"], &[]), none);
}
