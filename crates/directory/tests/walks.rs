//! Walks over groups that take more than a slice: what they find, and that others get their turn.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod kit;

use directory::{Clock, SystemClock};
use kit::groups::{BASE, dn};
use kit::{ADMIN, Answer, Client, PASSWORD, success};
use protocol::control::ReadEntryRequest;
use protocol::{ChangeOperation, OwnedControl, ResultCode, Scope, SearchRequest, oid};
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

const IN_CHAIN: &str = "1.2.840.113556.1.4.1941";
/// Looks that walks take in one slice.
const LOOKS: usize = 4_096;
/// Groups, each a member of the next.
const DEEP: usize = 3_000;
/// Members of one group.
const WIDE: usize = 20_000;
/// Groups in a corner, without members: few, but more than are asked one by one for their groups.
const CORNER: usize = 100;

fn person(ldif: &mut String, name: &str) {
    let dn = dn(name);
    writeln!(ldif, "dn: {dn}\nobjectClass: person\nsn: {name}\n").unwrap();
}

fn group(ldif: &mut String, name: &str, members: impl Iterator<Item = String>) {
    writeln!(ldif, "dn: {}\nobjectClass: groupOfEntries", dn(name)).unwrap();
    for member in members {
        writeln!(ldif, "member: {}", dn(&member)).unwrap();
    }
    ldif.push('\n');
}

/// `a` is in g0, g0 in g1, and so on; the last is in the first.
fn deep() -> Client {
    let mut ldif = String::new();
    person(&mut ldif, "a");
    person(&mut ldif, "b");
    for at in 0..DEEP {
        let below = match at {
            0 => ["a".to_owned(), format!("g{}", DEEP - 1)],
            _ => [format!("g{}", at - 1), "b".to_owned()],
        };
        group(&mut ldif, &format!("g{at}"), below.into_iter());
    }
    Client::filled(&ldif)
}

/// `outer` has `big`, which has very many people.
fn wide() -> Client {
    let mut ldif = String::new();
    (0..WIDE).for_each(|at| person(&mut ldif, &format!("p{at}")));
    group(&mut ldif, "big", (0..WIDE).map(|at| format!("p{at}")));
    group(&mut ldif, "outer", std::iter::once("big".to_owned()));
    let empty = std::iter::empty::<String>;
    group(&mut ldif, "corner", empty());
    (0..CORNER).for_each(|at| group(&mut ldif, &format!("c{at},cn=corner"), empty()));
    Client::filled(&ldif)
}

fn base(client: &mut Client, name: &str, filter: &str, attributes: &[&str]) -> Answer {
    let answer = client.search(&dn(name), Scope::BaseObject, filter, attributes);
    success(&answer.result);
    answer
}

fn below(client: &mut Client, filter: &str) -> Answer {
    let answer = client.search(BASE, Scope::WholeSubtree, filter, &["1.1"]);
    success(&answer.result);
    answer
}

#[test]
fn groups_are_climbed_in_slices() {
    let mut client = deep();
    let every = "(objectClass=*)";
    let answer = base(&mut client, "a", every, &["isMemberOf"]);
    let groups: BTreeSet<&str> = answer.values("isMemberOf").into_iter().collect();
    assert_eq!(groups.len(), DEEP);
    assert!(client.slices >= DEEP / LOOKS + 2, "{}", client.slices);
    assert_eq!(
        base(&mut client, "a", every, &["memberOf"]).values("memberOf"),
        [dn("g0")]
    );
    assert_eq!(client.slices, 0);
    // Asked of one entry, in the filter and for the answer.
    let filter = format!("(&(isMemberOf={})(isMemberOf=*))", dn("g2999"));
    let answer = base(&mut client, "a", &filter, &["isMemberOf", "sn"]);
    assert_eq!(answer.entries.len(), 1);
    assert_eq!(answer.values("isMemberOf").len(), DEEP);
    assert_eq!(answer.values("sn"), ["a"]);
    assert!(client.slices >= 2, "{}", client.slices);
    let filter = format!("(isMemberOf={})", dn("nobody"));
    assert_eq!(base(&mut client, "a", &filter, &[]).entries.len(), 0);
    // Looked for before the search begins.
    let filter = format!("(member:{IN_CHAIN}:={})", dn("a"));
    assert_eq!(below(&mut client, &filter).entries.len(), DEEP);
    assert!(client.slices >= 2, "{}", client.slices);
    let filter = format!("(!(member:{IN_CHAIN}:={}))", dn("a"));
    let others = below(&mut client, &filter);
    assert!(others.names().contains(&dn("b").as_str()));
    assert!(!others.names().contains(&dn("g5").as_str()));
    client.check();
}

#[test]
fn each_entry_of_an_answer_may_take_slices() {
    let mut client = deep();
    // Each of them costs thousands of looks.
    let shown = ["isMemberOf"];
    let few = "(|(cn=g1)(cn=g2)(cn=b))";
    let answer = client.search(BASE, Scope::WholeSubtree, few, &shown);
    success(&answer.result);
    for (_, attributes) in &answer.entries {
        assert_eq!(attributes[0].1.len(), DEEP);
    }
    assert_eq!(answer.entries.len(), 3);
    assert!(client.slices >= 8, "{}", client.slices);
}

#[test]
fn members_are_found_in_slices() {
    let mut client = wide();
    for asserted in [
        format!("(isMemberOf={})", dn("outer")),
        format!("(memberOf:{IN_CHAIN}:={})", dn("outer")),
    ] {
        // The entries that are searched take hardly a slice: the members do.
        let answer = client.search(&dn("corner"), Scope::WholeSubtree, &asserted, &["1.1"]);
        success(&answer.result);
        assert_eq!(answer.entries.len(), 0);
        assert!(client.slices >= WIDE / LOOKS, "{}", client.slices);
        assert_eq!(below(&mut client, &asserted).entries.len(), WIDE + 1);
        let not = format!("(&(objectClass=*)(!{asserted}))");
        let others = below(&mut client, &not);
        assert!(others.names().contains(&dn("outer").as_str()));
        assert!(!others.names().contains(&dn("p7").as_str()));
    }
    client.check();
}

/// A clock that goes two seconds forward whenever it is looked at.
struct Hasty(AtomicU64);

impl Clock for Hasty {
    fn now_us(&self) -> u64 {
        self.0.fetch_add(2_000_000, Ordering::Relaxed)
    }

    fn uuid(&self) -> [u8; 16] {
        SystemClock.uuid()
    }
}

#[test]
fn the_time_limit_ends_a_walk() {
    let hasty = Hasty(AtomicU64::new(1_800_000_000_000_000));
    let options = directory::Options {
        clock: Arc::new(hasty),
        ..kit::options()
    };
    for (mut client, filter) in [
        (wide(), format!("(isMemberOf={})", dn("outer"))),
        (deep(), format!("(member:{IN_CHAIN}:={})", dn("a"))),
    ] {
        client = client.reopen_with(&options);
        success(&client.bind(ADMIN, PASSWORD));
        let brief = |request: &mut SearchRequest<'_>| request.time_limit_s = 1;
        let scope = Scope::WholeSubtree;
        let answer = client.search_with(BASE, scope, &filter, &["1.1"], brief, &[]);
        assert_eq!(answer.result.code, ResultCode::TIME_LIMIT_EXCEEDED);
        assert!(answer.entries.is_empty());
        client = client.reopen_with(&kit::options());
        success(&client.bind(ADMIN, PASSWORD));
        assert!(!below(&mut client, &filter).entries.is_empty());
    }
}

/// A dynamic group of all people, found by two searches.
fn described(client: &mut Client) {
    let urls = [
        "ldap:///dc=example,dc=com??sub?(objectClass=person)",
        "ldap:///dc=example,dc=com??one?(sn=p1*)",
    ];
    let attributes = [("objectClass", &["groupOfURLs"][..]), ("memberURL", &urls)];
    success(&client.add(&dn("described"), &attributes));
}

#[test]
fn members_of_a_dynamic_group_are_sent_in_parts() {
    let mut client = wide();
    described(&mut client);
    client.most_at_once = 0;
    let every = "(objectClass=*)";
    let answer = base(&mut client, "described", every, &["member", "cn"]);
    let members: BTreeSet<&str> = answer.values("member").into_iter().collect();
    assert_eq!((members.len(), answer.values("member").len()), (WIDE, WIDE));
    assert_eq!(answer.values("cn"), ["described"]);
    assert!(client.slices >= WIDE / LOOKS, "{}", client.slices);
    assert!(client.most_at_once < 600_000, "{}", client.most_at_once);
    // Only that there are some; only one of them; or none.
    let scope = Scope::BaseObject;
    let name = dn("described");
    let types = |request: &mut SearchRequest<'_>| request.types_only = true;
    let answer = client.search_with(&name, scope, every, &["member"], types, &[]);
    assert_eq!(answer.entries[0].1, [("member".to_owned(), Vec::new())]);
    for (value, expected) in [(dn("p17"), vec![dn("p17")]), (dn("nobody"), vec![])] {
        let filter = format!("(member={value})");
        let answer = client.search_with(&name, scope, every, &["member"], |_| (), &[only(&filter)]);
        success(&answer.result);
        assert_eq!(answer.entries[0].1, [("member".to_owned(), expected)]);
    }
    let found = below(&mut client, &format!("(isMemberOf={name})"));
    assert_eq!(found.entries.len(), WIDE);
    // An update cannot carry so many, and says so before it is done.
    let change = (ChangeOperation::Add, "description", &["new"][..]);
    let read = OwnedControl::with_value(oid::POST_READ, true, |out| {
        let attributes = vec!["member"];
        ReadEntryRequest { attributes }.encode(out);
    });
    let refused = client.modify_with(&name, &[change], &[read]).result;
    assert_eq!(refused.code, ResultCode::ADMIN_LIMIT_EXCEEDED);
    assert!(
        refused.diagnostic.contains("dynamic group"),
        "{}",
        refused.diagnostic
    );
    assert_eq!(
        base(&mut client, "described", "(description=new)", &[])
            .entries
            .len(),
        0
    );
}

fn only(filter: &str) -> OwnedControl {
    let encoded = protocol::parse_filter(filter).unwrap();
    OwnedControl::with_value(oid::MATCHED_VALUES, true, |out| {
        protocol::ber::put_nested(out, protocol::ber::SEQUENCE, |out| {
            out.extend_from_slice(&encoded);
        });
    })
}

#[test]
fn values_of_a_large_group_are_compared_in_slices() {
    let mut client = wide();
    let rule = "dnSubordinateMatch";
    let (below_one, below_all) = (dn("p7"), BASE.to_owned());
    let one = format!("(member:{rule}:={below_one})");
    let all = format!("(member:{rule}:={below_all})");
    let slices = |client: &mut Client, filter: &str| {
        let found = base(client, "big", filter, &["1.1"]).entries.len();
        (found, client.slices)
    };
    assert_eq!(slices(&mut client, &all), (1, 0));
    let (found, taken) = slices(&mut client, &one);
    assert!(found == 0 && taken >= WIDE / LOOKS, "{taken}");
    let (found, taken) = slices(&mut client, &format!("(|{one}{one}{all})"));
    assert!(found == 1 && taken >= 2 * (WIDE / LOOKS), "{taken}");
    let (found, _) = slices(&mut client, &format!("(!{one})"));
    assert_eq!(found, 1);
    // A condition of a write is decided in one piece, in the order of writes.
    let condition = OwnedControl::with_value(oid::ASSERTION, true, |out| {
        out.extend(protocol::parse_filter(&format!("(!{one})")).unwrap());
    });
    let change = (ChangeOperation::Add, "description", &["new"][..]);
    success(
        &client
            .modify_with(&dn("big"), &[change], &[condition])
            .result,
    );
    client.check();
}

#[test]
fn a_text_in_a_large_group_is_the_entry_that_came_to_its_name() {
    let mut ldif = format!("dn: ou=old,{BASE}\nobjectClass: organizationalUnit\n\n");
    person(&mut ldif, "a,ou=old");
    (0..7_000).for_each(|at| person(&mut ldif, &format!("p{at}")));
    let members = (0..3_000).map(|at| format!("p{at}"));
    let texts = (0..1_500).map(|at| format!("nobody{at}"));
    let named = std::iter::once("a,ou=new".to_owned());
    group(&mut ldif, "big", members.chain(texts).chain(named));
    let mut client = Client::filled(&ldif);
    let moved = client.rename_with(&format!("ou=old,{BASE}"), "ou=new", None, &[]);
    success(&moved.result);
    let asserted = format!("(memberOf={})", dn("big"));
    let found = below(&mut client, &asserted);
    assert_eq!(found.entries.len(), 3_001);
    let named = dn("a,ou=new");
    assert!(found.names().contains(&named.as_str()));
    // Texts that name nobody take their turns, too.
    assert!(client.slices >= 4_501 / 2_048, "{}", client.slices);
    let people = format!("(&(objectClass=person){asserted})");
    assert_eq!(below(&mut client, &people).entries.len(), 3_001);
    let either = format!("(|{asserted}(cn=p5000))");
    assert_eq!(below(&mut client, &either).entries.len(), 3_002);
    let others = below(
        &mut client,
        &format!("(&(objectClass=person)(!{asserted}))"),
    );
    assert_eq!(others.entries.len(), 4_000);
    assert!(!others.names().contains(&named.as_str()));
    let groups = base(&mut client, "a,ou=new", "(objectClass=*)", &["memberOf"]);
    assert_eq!(groups.values("memberOf"), [dn("big")]);
    client.check();
}
