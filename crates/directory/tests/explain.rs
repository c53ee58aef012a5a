//! The explain control: plans, parts, counts, advice, and who may ask.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod kit;

use kit::{Answer, Client};
use protocol::control::{
    Explanation, MatchingEntryCountRequest, PagedResults, SortKey, SortRequest, ViewTarget,
    VirtualListViewRequest,
};
use protocol::{OwnedControl, ResultCode, Scope, oid};

const BASE: &str = "dc=example,dc=com";
const PEOPLE: u32 = 5_000;

fn control() -> OwnedControl {
    OwnedControl {
        oid: oid::EXPLAIN.into(),
        critical: true,
        value: None,
    }
}

fn explain(client: &mut Client, filter: &str) -> Answer {
    explain_with(client, filter, &[control()])
}

fn explain_with(client: &mut Client, filter: &str, controls: &[OwnedControl]) -> Answer {
    let scope = Scope::WholeSubtree;
    let answer = client.search_with(BASE, scope, filter, &["1.1"], |_| (), controls);
    assert!(answer.entries.is_empty(), "{:?}", answer.entries);
    answer
}

/// The value of the control at the result.
fn value(answer: &Answer) -> &[u8] {
    let (name, value) = &answer.controls[0];
    assert_eq!(name, oid::EXPLAIN);
    value.as_deref().unwrap()
}

/// More people than small regions have, so that what is not indexed is a scan.
fn crowd() -> Client {
    let person = |n: u32| {
        let colour = if n.is_multiple_of(100) { "red" } else { "blue" };
        format!(
            "dn: cn=p{n},{BASE}\nobjectClass: inetOrgPerson\nsn: p{n}\nuid: p{n}\n\
             employeeType: {colour}\n\n"
        )
    };
    Client::filled(&(0..PEOPLE).map(person).collect::<String>())
}

#[test]
fn searches_are_explained() {
    let mut client = crowd();
    let answer = explain(&mut client, "(&(employeeType=red)(uid=p100))");
    assert_eq!(answer.result.code, ResultCode::SUCCESS);
    let indexed = Explanation::decode(value(&answer)).unwrap();
    assert_eq!(
        (indexed.examined, indexed.tested, indexed.matched),
        (1, 1, 1)
    );
    let region = &indexed.regions[0];
    assert_eq!(
        (region.base, region.scan, region.estimate),
        (BASE, false, 1)
    );
    assert!(
        region.plan.contains("equality index of uid"),
        "{}",
        region.plan
    );
    assert!(region.advice.is_empty(), "{:?}", region.advice);
    let parts = region
        .parts
        .iter()
        .map(|it| (it.depth, it.filter, it.found_by));
    assert_eq!(
        parts.collect::<Vec<_>>(),
        [
            (0, "(&…)", "equality index of uid (1)"),
            (1, "(employeeType=red)", ""),
            (1, "(uid=p100)", "equality index of uid (1)"),
        ]
    );
    // Without an index everything is looked at; the plan says so, and what would help.
    let answer = explain(&mut client, "(&(employeeType=red)(sn=*1*))");
    let scan = Explanation::decode(value(&answer)).unwrap();
    let red_with_1 = (0..PEOPLE).filter(|n| n.is_multiple_of(100) && n.to_string().contains('1'));
    assert_eq!(scan.matched, red_with_1.count() as u64);
    assert!(scan.examined > u64::from(PEOPLE), "{}", scan.examined);
    assert!(scan.tested > u64::from(PEOPLE) && scan.tested <= scan.examined);
    assert!(scan.microseconds > 0);
    assert!(scan.regions[0].scan, "{}", scan.regions[0].plan);
    assert_eq!(scan.regions[0].advice, ["employeeType equality"]);
    let answer = explain(&mut client, "(|(employeeType=red)(sn=p1))");
    let both = Explanation::decode(value(&answer)).unwrap();
    assert_eq!(
        both.regions[0].advice,
        ["employeeType equality", "sn equality"]
    );
    for hopeless in [
        "(!(sn=p1))",
        "(|(uid=p1)(!(sn=p1)))",
        "(sn=*1*)",
        "(memberOf=cn=x)",
    ] {
        let answer = explain(&mut client, hopeless);
        let found = Explanation::decode(value(&answer)).unwrap();
        assert!(found.regions[0].advice.is_empty(), "{hopeless}: {found:?}");
    }
}

#[test]
fn only_the_administrator_has_searches_explained() {
    let mut client = Client::admin();
    client.add_person("ada");
    let mut nobody = client.another();
    let answer = explain(&mut nobody, "(cn=ada)");
    assert_eq!(answer.result.code, ResultCode::INSUFFICIENT_ACCESS_RIGHTS);
    assert!(answer.controls.is_empty());
    let answer = explain(&mut client, "(cn=ada)");
    let found = Explanation::decode(value(&answer)).unwrap();
    assert_eq!(found.matched, 1);
    let base = (Scope::BaseObject, "(objectClass=*)");
    let virtual_one = client.search_with("cn=monitor", base.0, base.1, &[], |_| (), &[control()]);
    assert_eq!(virtual_one.result.code, ResultCode::UNWILLING_TO_PERFORM);
    let count = MatchingEntryCountRequest {
        examined_max: 10,
        ..MatchingEntryCountRequest::default()
    };
    let oid = oid::MATCHING_ENTRY_COUNT_REQUEST;
    let count = OwnedControl::with_value(oid, true, |out| count.encode(out));
    let both = explain_with(&mut client, "(cn=*)", &[control(), count]);
    assert_eq!(both.result.code, ResultCode::UNWILLING_TO_PERFORM);
}

fn sort(attribute: &str, reverse: bool) -> OwnedControl {
    let key = SortKey {
        attribute,
        ordering_rule: None,
        reverse,
    };
    OwnedControl::with_value(oid::SORT_REQUEST, true, |out| {
        SortRequest { keys: vec![key] }.encode(out);
    })
}

fn page(size: u32) -> OwnedControl {
    let value = PagedResults { size, cookie: &[] };
    OwnedControl::with_value(oid::PAGED_RESULTS, true, |out| value.encode(out))
}

/// The decoded explanation of an answer, which must be a success.
fn explained(answer: &Answer) -> Explanation<'_> {
    assert_eq!(answer.result.code, ResultCode::SUCCESS);
    let mut controls = answer.controls.iter();
    let control = controls.find(|(name, _)| name == oid::EXPLAIN);
    Explanation::decode(control.unwrap().1.as_deref().unwrap()).unwrap()
}

#[test]
fn orders_and_pages_are_explained() {
    let mut client = crowd();
    // A page ends the search as it would.
    let answer = explain_with(&mut client, "(uid=*)", &[control(), page(10)]);
    let found = explained(&answer);
    assert_eq!(found.matched, 10);
    assert!(found.examined < 100, "{}", found.examined);
    let has = |oid: &str| answer.controls.iter().any(|(name, _)| name == oid);
    assert!(has(oid::PAGED_RESULTS));
    // Without an index all of them are sorted; the first ten are the page.
    for (controls, matched) in [
        (vec![control(), sort("sn", false)], u64::from(PEOPLE)),
        (vec![control(), sort("sn", true), page(10)], 10),
    ] {
        let answer = explain_with(&mut client, "(uid=*)", &controls);
        let found = explained(&answer);
        assert_eq!(found.matched, matched);
        assert!(found.tested > u64::from(PEOPLE) && found.microseconds > 0);
        let plan = found.regions[0].plan;
        assert!(plan.ends_with("sorted by sn"), "{plan}");
        assert!(
            answer
                .controls
                .iter()
                .any(|(name, _)| name == oid::SORT_RESPONSE)
        );
    }
    let index = [
        ("objectClass", &["pandoIndex"][..]),
        ("pandoIndexAttribute", &["sn"]),
        ("pandoIndexKind", &["ordering"]),
    ];
    let dn = "cn=sn,cn=indexes,cn=config";
    assert_eq!(client.add(dn, &index).code, ResultCode::SUCCESS);
    let answer = loop {
        let controls = [control(), sort("sn", false), page(10)];
        let answer = explain_with(&mut client, "(uid=*)", &controls);
        let plan = explained(&answer).regions[0].plan;
        if plan.ends_with("in the order of the ordering index of sn") {
            break answer;
        }
        std::thread::yield_now();
    };
    let found = explained(&answer);
    assert_eq!(found.matched, 10);
    assert!(found.examined < 100, "{}", found.examined);
    // A view needs the whole list, and sorting looks at entries as they are stored.
    let answer = explain_with(
        &mut client,
        "(uid=*)",
        &[control(), sort("sn", false), view()],
    );
    let plan = explained(&answer).regions[0].plan;
    assert!(plan.ends_with("sorted by sn"), "{plan}");
}

/// The first entries of a list.
fn view() -> OwnedControl {
    let first = VirtualListViewRequest {
        before_count: 0,
        after_count: 9,
        target: ViewTarget::ByOffset {
            offset: 1,
            content_count: 0,
        },
        context_id: None,
    };
    OwnedControl::with_value(oid::VIRTUAL_LIST_VIEW_REQUEST, true, |out| {
        first.encode(out)
    })
}
