//! Controls that change what a search shows and what comes with it.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod kit;

use kit::{ADMIN, Answer, Client, PASSWORD};
use protocol::control::{
    AccountUsability, DereferenceRequest, DereferenceResponse, DereferenceSpecification,
    EntryCount, MatchedValues, MatchingEntryCountRequest, MatchingEntryCountResponse, PagedResults,
    SessionTracking, Subentries,
};
use protocol::{
    Authentication, BindRequest, CompareRequest, DeleteRequest, Filter, OwnedControl, Request,
    ResultCode, Scope, oid, parse_filter,
};

const BASE: &str = "dc=example,dc=com";
const ADA: &str = "cn=Ada,dc=example,dc=com";

fn search(client: &mut Client, filter: &str, select: &[&str], control: OwnedControl) -> Answer {
    let scope = Scope::WholeSubtree;
    client.search_with(BASE, scope, filter, select, |_| (), &[control])
}

fn matched_values(items: &[&str]) -> OwnedControl {
    let encoded: Vec<Vec<u8>> = items.iter().map(|it| parse_filter(it).unwrap()).collect();
    let items = encoded.iter().map(|it| {
        let mut reader = protocol::ber::Reader::new(it);
        Filter::decode(&mut reader, 1).unwrap()
    });
    let value = MatchedValues {
        items: items.collect(),
    };
    OwnedControl::with_value(oid::MATCHED_VALUES, true, |out| value.encode(out))
}

fn client_with_ada() -> Client {
    let mut client = Client::admin();
    let result = client.add(
        ADA,
        &[
            ("objectClass", &["top", "person", "inetOrgPerson"]),
            ("sn", &["Lovelace"]),
            ("mail", &["ada@example.com", "countess@example.org"]),
            ("telephoneNumber", &["+44 1", "+44 2"]),
            ("userPassword", &["secret of ada"]),
        ],
    );
    assert_eq!(result.code, ResultCode::SUCCESS, "{}", result.diagnostic);
    client
}

#[test]
fn matched_values_are_the_only_ones_returned() {
    let mut client = client_with_ada();
    let select = ["mail", "telephoneNumber", "sn"];
    let some = matched_values(&["(mail=*.org)", "(telephoneNumber=*)"]);
    let found = search(&mut client, "(cn=ada)", &select, some);
    assert_eq!(found.values("mail"), ["countess@example.org"]);
    assert_eq!(found.values("telephoneNumber"), ["+44 1", "+44 2"]);
    // RFC 3876 §2: an attribute without a matching value is there, empty.
    let (_, attributes) = &found.entries[0];
    assert!(attributes.contains(&("sn".to_owned(), Vec::new())));
    // A class is a value here, not what it derives from.
    let class = matched_values(&["(objectClass=person)", "(entryDN=cn=ada,dc=example,dc=com)"]);
    let found = search(&mut client, "(cn=ada)", &["objectClass", "entryDN"], class);
    assert_eq!(found.values("objectClass"), ["person"]);
    assert_eq!(found.values("entryDN"), [ADA]);
    let top = matched_values(&["(objectClass=top)"]);
    let found = search(&mut client, "(cn=ada)", &["objectClass"], top);
    assert_eq!(found.values("objectClass"), ["top"]);
    // Times are held against the present one.
    for (filter, count) in [
        ("(createTimestamp:relativeTimeGTOrderingMatch:=-1h)", 1),
        ("(createTimestamp:relativeTimeLTOrderingMatch:=-1h)", 0),
    ] {
        let time = matched_values(&[filter]);
        let found = search(&mut client, "(cn=ada)", &["createTimestamp"], time);
        assert_eq!(found.values("createTimestamp").len(), count, "{filter}");
    }
    // Types alone and no attributes are not touched by it.
    let types = matched_values(&["(mail=*.org)"]);
    let found = search(&mut client, "(cn=ada)", &["1.1"], types);
    assert_eq!(found.entries[0].1, []);
}

#[test]
fn matched_values_find_one_definition_in_the_subschema() {
    let mut client = client_with_ada();
    let one = matched_values(&["(attributeTypes=2.5.4.4)"]);
    let select = ["attributeTypes"];
    let scope = Scope::BaseObject;
    let filter = "(objectClass=*)";
    let found = client.search_with("cn=Subschema", scope, filter, &select, |_| (), &[one]);
    let values = found.values("attributeTypes");
    assert_eq!(values.len(), 1);
    assert!(values[0].contains("'sn'"), "{values:?}");
}

#[test]
fn subentries_are_seen_when_asked_for() {
    let mut client = client_with_ada();
    let area = "cn=area,dc=example,dc=com";
    let result = client.add(
        area,
        &[
            ("objectClass", &["top", "subentry"]),
            ("subtreeSpecification", &["{ }"]),
        ],
    );
    assert_eq!(result.code, ResultCode::SUCCESS, "{}", result.diagnostic);
    let all = "(objectClass=*)";
    let asked = |visible| {
        let value = Subentries { visible };
        OwnedControl::with_value(oid::SUBENTRIES, true, |out| value.encode(out))
    };
    for _ in 0..2 {
        let plain = client.search(BASE, Scope::WholeSubtree, all, &["1.1"]);
        assert_eq!(plain.names(), [BASE, ADA]);
        let entries = search(&mut client, all, &["1.1"], asked(false));
        assert_eq!(entries.names(), [BASE, ADA]);
        let subentries = search(&mut client, all, &["1.1"], asked(true));
        assert_eq!(subentries.names(), [area]);
        // The control of the older draft has no value and shows subentries beside all other
        // entries.
        let mut as_drafted = asked(true);
        as_drafted.oid = oid::SUBENTRIES_LDUP.into();
        let refused = search(&mut client, all, &["1.1"], as_drafted.clone());
        assert_eq!(refused.result.code, ResultCode::PROTOCOL_ERROR);
        as_drafted.value = None;
        let everything = search(&mut client, all, &["1.1"], as_drafted);
        assert_eq!(everything.names(), [BASE, ADA, area]);
        let base = client.search(area, Scope::BaseObject, all, &["1.1"]);
        assert_eq!(base.names(), [area]);
        let mut base = |control| {
            let scope = Scope::BaseObject;
            let answer = client.search_with(area, scope, all, &["1.1"], |_| (), &[control]);
            answer.entries.len()
        };
        assert_eq!((base(asked(true)), base(asked(false))), (1, 0));
        client = client.reopen();
    }
    let mut base = |base, visible| {
        let scope = Scope::BaseObject;
        let controls = [asked(visible)];
        let answer = client.search_with(base, scope, all, &["1.1"], |_| (), &controls);
        answer.entries.len()
    };
    assert_eq!(
        (base("cn=Subschema", true), base("cn=Subschema", false)),
        (1, 0)
    );
    assert_eq!((base("", true), base("", false)), (1, 1));
}

#[test]
fn names_are_followed_to_the_entries_behind_them() {
    let mut client = client_with_ada();
    let group = "cn=group,dc=example,dc=com";
    let gone = "cn=gone,dc=example,dc=com";
    let result = client.add(
        group,
        &[("objectClass", &["groupOfNames"]), ("member", &[ADA, gone])],
    );
    assert_eq!(result.code, ResultCode::SUCCESS, "{}", result.diagnostic);
    let asked = |attribute, wanted: &[&'static str], critical| {
        let request = DereferenceRequest {
            specifications: vec![DereferenceSpecification {
                attribute,
                wanted: wanted.to_vec(),
            }],
        };
        OwnedControl::with_value(oid::DEREFERENCE, critical, |out| request.encode(out))
    };
    let wanted = ["sn", "mail", "userPassword", "entryDN", "noSuchAttribute"];
    let follow = |client: &mut Client| {
        let control = asked("member", &wanted, true);
        let found = search(client, "(cn=group)", &["1.1"], control);
        assert_eq!(found.names(), [group]);
        let (oid, value) = found.entry_controls[0][0].clone();
        assert_eq!(oid, oid::DEREFERENCE);
        let value = value.unwrap();
        let decoded = DereferenceResponse::decode(&value).unwrap();
        let described = decoded.results.iter().map(|it| {
            let attributes = it.attributes.iter().map(|it| it.description.to_owned());
            (it.name.to_owned(), attributes.collect::<Vec<_>>())
        });
        described.collect::<Vec<_>>()
    };
    let as_admin = follow(&mut client);
    let all = ["sn", "mail", "userPassword", "entryDN"].map(str::to_owned);
    assert_eq!(as_admin[0], (ADA.to_owned(), all.to_vec()));
    assert_eq!(as_admin[1], (gone.to_owned(), Vec::new()));
    let mut anonymous = client.another();
    let seen = ["sn", "mail", "entryDN"].map(str::to_owned);
    assert_eq!(follow(&mut anonymous)[0].1, seen);
    // An entry that names nobody comes without the control.
    let plain = search(
        &mut client,
        "(cn=ada)",
        &["1.1"],
        asked("member", &["sn"], true),
    );
    assert_eq!(plain.entry_controls, [Vec::new()]);
    // Attributes that hold no names cannot be followed.
    for attribute in ["sn", "noSuchAttribute"] {
        let refused = search(
            &mut client,
            "(cn=group)",
            &[],
            asked(attribute, &["sn"], true),
        );
        let code = ResultCode::UNAVAILABLE_CRITICAL_EXTENSION;
        assert_eq!(refused.result.code, code, "{attribute}");
        assert_eq!(refused.entries, []);
        let ignored = search(
            &mut client,
            "(cn=group)",
            &[],
            asked(attribute, &["sn"], false),
        );
        assert_eq!(ignored.entry_controls, [Vec::new()], "{attribute}");
    }
}

/// Values of the control's response for this filter.
fn count(
    client: &mut Client,
    filter: &str,
    asked: MatchingEntryCountRequest,
) -> (EntryCount, bool, usize) {
    let oid = oid::MATCHING_ENTRY_COUNT_REQUEST;
    let control = OwnedControl::with_value(oid, true, |out| asked.encode(out));
    let answer = search(client, filter, &[], control);
    assert_eq!(
        answer.result.code,
        ResultCode::SUCCESS,
        "{}",
        answer.result.diagnostic
    );
    assert_eq!(answer.entries, []);
    let (oid, value) = &answer.controls[0];
    assert_eq!(oid, oid::MATCHING_ENTRY_COUNT_RESPONSE);
    let value = value.clone().unwrap();
    let decoded = MatchingEntryCountResponse::decode(&value).unwrap();
    (
        decoded.count,
        decoded.indexed,
        decoded.debug_information.len(),
    )
}

#[test]
fn entries_are_counted_in_place_of_being_sent() {
    let mut client = client_with_ada();
    for number in 0..5 {
        client.add_person(&format!("p{number}"));
    }
    let asked = |examined_max| MatchingEntryCountRequest {
        examined_max,
        debug_information: examined_max == 100,
        ..MatchingEntryCountRequest::default()
    };
    let examined = |count| (EntryCount::Examined(count), true, 0);
    assert_eq!(count(&mut client, "(sn=p*)", asked(99)), examined(5));
    assert_eq!(count(&mut client, "(cn=p3)", asked(99)), examined(1));
    assert_eq!(count(&mut client, "(cn=nobody)", asked(0)), examined(0));
    assert_eq!(
        count(&mut client, "(sn=p3)", asked(100)),
        (EntryCount::Examined(1), true, 1)
    );
    let (bound, indexed, _) = count(&mut client, "(objectClass=person)", asked(2));
    assert!(matches!(bound, EntryCount::UpperBound(6..)), "{bound:?}");
    assert!(indexed);
    // Beside the root DSE, too.
    let oid = oid::MATCHING_ENTRY_COUNT_REQUEST;
    let control = [OwnedControl::with_value(oid, true, |out| {
        asked(1).encode(out)
    })];
    let all = "(objectClass=*)";
    let root = client.search_with("", Scope::BaseObject, all, &[], |_| (), &control);
    assert_eq!((root.entries.len(), root.controls.len()), (0, 1));
    // A search from the root has no small region: nothing is known of it, or all is looked at.
    let scan = |client: &mut Client, process_unindexed| {
        let asked = MatchingEntryCountRequest {
            process_unindexed,
            ..asked(99)
        };
        let control = [OwnedControl::with_value(oid, true, |out| asked.encode(out))];
        let scope = Scope::WholeSubtree;
        let answer = client.search_with("", scope, "(description=*)", &[], |_| (), &control);
        let value = answer.controls[0].1.clone().unwrap();
        let decoded = MatchingEntryCountResponse::decode(&value).unwrap();
        (decoded.count, decoded.indexed)
    };
    assert_eq!(scan(&mut client, false), (EntryCount::Unknown, false));
    assert_eq!(scan(&mut client, true), (EntryCount::Examined(0), false));
    let page = PagedResults {
        size: 1,
        cookie: b"",
    };
    let page = OwnedControl::with_value(oid::PAGED_RESULTS, true, |out| page.encode(out));
    let both = [control[0].clone(), page];
    let refused = client.search_with(BASE, Scope::WholeSubtree, all, &[], |_| (), &both);
    assert_eq!(refused.result.code, ResultCode::UNWILLING_TO_PERFORM);
}

#[test]
fn searches_of_everything_are_refused_when_unwanted() {
    let mut client = client_with_ada();
    let mut ask = |base: &str, filter: &str, oids: &[&'static str]| {
        let controls: Vec<_> = oids.iter().map(|it| OwnedControl::new(*it, true)).collect();
        let scope = Scope::WholeSubtree;
        let answer = client.search_with(base, scope, filter, &["1.1"], |_| (), &controls);
        (answer.result.code, answer.entries.len())
    };
    let (reject, permit) = (oid::REJECT_UNINDEXED_SEARCH, oid::PERMIT_UNINDEXED_SEARCH);
    let unwilling = (ResultCode::UNWILLING_TO_PERFORM, 0);
    let found = (ResultCode::SUCCESS, 1);
    assert_eq!(ask("", "(telephoneNumber=+44 1)", &[reject]), unwilling);
    assert_eq!(ask("", "(telephoneNumber=+44 1)", &[permit]), found);
    assert_eq!(ask("", "(cn=ada)", &[reject]), found);
    assert_eq!(ask(ADA, "(telephoneNumber=+44 1)", &[reject]), found);
    assert_eq!(ask("", "(cn=ada)", &[reject, permit]), unwilling);
}

#[test]
fn accounts_tell_their_state_to_those_who_may_ask() {
    let mut client = client_with_ada();
    client.add_person("Grace");
    let ask = |client: &mut Client, filter| {
        let control = OwnedControl::new(oid::ACCOUNT_USABILITY, true);
        let found = search(client, filter, &["1.1"], control);
        found.entry_controls
    };
    let usable = AccountUsability::Usable { expires_in_s: -1 };
    let told = ask(&mut client, "(cn=ada)");
    let value = told[0][0].1.clone().unwrap();
    assert_eq!(AccountUsability::decode(&value), Ok(usable));
    assert_eq!(ask(&mut client, "(cn=grace)"), [Vec::new()]);
    let mut other = client.another();
    assert_eq!(ask(&mut other, "(cn=ada)"), [Vec::new()]);
    other.bind(ADA, "secret of ada");
    assert_eq!(ask(&mut other, "(cn=ada)"), told);
}

#[test]
fn a_bind_tells_who_the_client_has_become() {
    let mut client = client_with_ada();
    let mut bind = |name: &str, password: &str| {
        let request = BindRequest {
            version: 3,
            name,
            authentication: Authentication::Simple(password.as_bytes()),
        };
        let asked = [OwnedControl::new(oid::AUTHORIZATION_IDENTITY_REQUEST, true)];
        client.call(&Request::Bind(request), &asked)
    };
    let told = |text: &str| {
        let oid = oid::AUTHORIZATION_IDENTITY_RESPONSE.to_owned();
        vec![(oid, Some(text.as_bytes().to_vec()))]
    };
    // The password in the clear was hashed slowly or not: both ways answer.
    assert_eq!(bind(ADMIN, PASSWORD).controls, told(&format!("dn:{ADMIN}")));
    let lower = "cn=ada,dc=EXAMPLE,dc=com";
    assert_eq!(
        bind(lower, "secret of ada").controls,
        told(&format!("dn:{ADA}"))
    );
    assert_eq!(bind("", "").controls, told(""));
    let wrong = bind(ADA, "wrong");
    assert_eq!(wrong.result.code, ResultCode::INVALID_CREDENTIALS);
    assert_eq!(wrong.controls, []);
}

#[test]
fn controls_out_of_place_are_refused_or_ignored() {
    let mut client = client_with_ada();
    let visible = Subentries { visible: true };
    let subentries =
        |critical| OwnedControl::with_value(oid::SUBENTRIES, critical, |out| visible.encode(out));
    let searches_only = [
        subentries(true),
        matched_values(&["(cn=*)"]),
        OwnedControl::new(oid::ACCOUNT_USABILITY, true),
        OwnedControl::new(oid::DONT_USE_COPY, true),
        OwnedControl::new(oid::AUTHORIZATION_IDENTITY_REQUEST, true),
        OwnedControl::new("1.2.3", true),
    ];
    let refused = ResultCode::UNAVAILABLE_CRITICAL_EXTENSION;
    let delete = Request::Delete(DeleteRequest { entry: ADA });
    for mut control in searches_only {
        let answer = client.call(&delete, std::slice::from_ref(&control));
        assert_eq!(answer.result.code, refused, "{}", control.oid);
        assert_eq!(
            client.search(ADA, Scope::BaseObject, "(cn=*)", &[]).names(),
            [ADA]
        );
        control.critical = false;
        assert_eq!(
            client.call(&delete, &[control]).result.code,
            ResultCode::SUCCESS
        );
        client = client_with_ada();
    }
    // Junk in a known control, critical or not.
    for oid in [
        oid::SUBENTRIES,
        oid::MATCHED_VALUES,
        oid::DEREFERENCE,
        oid::SESSION_TRACKING,
    ] {
        for value in [None, Some(b"junk".to_vec())] {
            let control = OwnedControl {
                oid: oid.into(),
                critical: false,
                value,
            };
            let answer = search(&mut client, "(cn=*)", &[], control);
            assert_eq!(answer.result.code, ResultCode::PROTOCOL_ERROR, "{oid}");
        }
    }
    for oid in [oid::ACCOUNT_USABILITY, oid::DONT_USE_COPY] {
        let control = OwnedControl::with_value(oid, true, |out| out.push(1));
        let answer = search(&mut client, "(cn=*)", &[], control);
        assert_eq!(answer.result.code, ResultCode::PROTOCOL_ERROR, "{oid}");
    }
    let scope = Scope::WholeSubtree;
    let twice = [subentries(true), subentries(false)];
    let answer = client.search_with(BASE, scope, "(cn=*)", &[], |_| (), &twice);
    assert_eq!(answer.result.code, ResultCode::PROTOCOL_ERROR);
}

#[test]
fn reads_that_must_be_current_see_every_acknowledged_write() {
    let mut writer = client_with_ada();
    let mut reader = writer.another();
    for number in 0..20 {
        let name = format!("p{number}");
        writer.add_person(&name);
        let control = OwnedControl::new(oid::DONT_USE_COPY, true);
        let found = search(&mut reader, &format!("(cn={name})"), &["1.1"], control);
        assert_eq!(found.entries.len(), 1, "{name}");
    }
    let compare = Request::Compare(CompareRequest {
        entry: "cn=p19,dc=example,dc=com",
        attribute: "sn",
        value: b"p19",
    });
    let control = OwnedControl::new(oid::DONT_USE_COPY, true);
    assert_eq!(
        reader.call(&compare, &[control]).result.code,
        ResultCode::COMPARE_TRUE
    );
}

#[test]
fn sessions_of_middleware_do_not_change_the_answer() {
    let mut client = client_with_ada();
    let session = |identifier| {
        let value = SessionTracking {
            source_address: "192.0.2.1",
            source_name: "shop",
            format: "1.3.6.1.4.1.21008.108.63.1.3",
            identifier,
        };
        OwnedControl::with_value(oid::SESSION_TRACKING, false, |out| value.encode(out))
    };
    let controls = [session("a\nforged line"), session("b")];
    let scope = Scope::WholeSubtree;
    let found = client.search_with(BASE, scope, "(cn=ada)", &["1.1"], |_| (), &controls);
    assert_eq!(found.names(), [ADA]);
}
