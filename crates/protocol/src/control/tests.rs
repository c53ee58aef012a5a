//! Tests of the values of controls: bytes from the RFCs, and malformed values, which must be
//! refused.

use super::*;
use crate::error::Component;
use crate::{Filter, ResultCode};

/// Decodes these bytes to this, and encodes this to these bytes.
macro_rules! check {
    ($type:ident, $bytes:expr, $value:expr) => {{
        let value = $value;
        assert_eq!($type::decode($bytes), Ok(value.clone()));
        let mut out = Vec::new();
        value.encode(&mut out);
        assert_eq!(out, $bytes, "{}", out.escape_ascii());
    }};
}

mod replication;

#[test]
fn paged_results() {
    let first = PagedResults {
        size: 100,
        cookie: b"",
    };
    check!(PagedResults, b"\x30\x05\x02\x01\x64\x04\x00", first);
    let next = PagedResults {
        size: 1000,
        cookie: b"ab",
    };
    check!(PagedResults, b"\x30\x08\x02\x02\x03\xe8\x04\x02ab", next);
    let negative = DecodeError::OutOfRange {
        what: Component::PageSize,
        value: -1,
    };
    assert_eq!(
        PagedResults::decode(b"\x30\x05\x02\x01\xff\x04\x00"),
        Err(negative)
    );
    assert!(PagedResults::decode(b"\x30\x05\x02\x01\x64\x04\x00\x00").is_err());
    assert!(PagedResults::decode(b"").is_err());
}

#[test]
fn queue_length() {
    let plain = QueueLength {
        responses: 100,
        delay_us_max: None,
    };
    check!(QueueLength, b"\x30\x03\x02\x01\x64", plain);
    let timed = QueueLength {
        delay_us_max: Some(500),
        ..plain
    };
    check!(QueueLength, b"\x30\x07\x02\x01\x64\x80\x02\x01\xf4", timed);
    assert_eq!(QueueLength::decode(b"\x02\x01\x64"), Ok(plain));
    let negative = DecodeError::OutOfRange {
        what: Component::QueueLength,
        value: -1,
    };
    assert_eq!(QueueLength::decode(b"\x02\x01\xff"), Err(negative));
    for junk in [&b""[..], b"\x02\x01\x64\x00", b"\x30\x00", b"\x04\x01\x64"] {
        assert!(
            QueueLength::decode(junk).is_err(),
            "{}",
            junk.escape_ascii()
        );
    }
}

#[test]
fn sorting() {
    let keys = vec![
        SortKey {
            attribute: "sn",
            ordering_rule: None,
            reverse: false,
        },
        SortKey {
            attribute: "cn",
            ordering_rule: Some("2.5.13.3"),
            reverse: true,
        },
    ];
    let bytes = b"\x30\x19\x30\x04\x04\x02sn\x30\x11\x04\x02cn\x80\x082.5.13.3\x81\x01\xff";
    check!(SortRequest, bytes, SortRequest { keys });
    let empty = DecodeError::EmptyList {
        what: Component::SortKeys,
    };
    assert_eq!(SortRequest::decode(b"\x30\x00"), Err(empty));
    let many = SortRequest {
        keys: vec![
            SortKey {
                attribute: "a",
                ordering_rule: None,
                reverse: false
            };
            65
        ],
    };
    let mut out = Vec::new();
    many.encode(&mut out);
    let expected = DecodeError::TooMany {
        what: Component::SortKeys,
        limit: 64,
    };
    assert_eq!(SortRequest::decode(&out), Err(expected));
    let response = SortResponse {
        code: ResultCode::NO_SUCH_ATTRIBUTE,
        attribute: Some("sn"),
    };
    check!(SortResponse, b"\x30\x07\x0a\x01\x10\x80\x02sn", response);
}

#[test]
fn virtual_list_view() {
    let by_offset = VirtualListViewRequest {
        before_count: 0,
        after_count: 9,
        target: ViewTarget::ByOffset {
            offset: 1,
            content_count: 0,
        },
        context_id: None,
    };
    let bytes = b"\x30\x0e\x02\x01\x00\x02\x01\x09\xa0\x06\x02\x01\x01\x02\x01\x00";
    check!(VirtualListViewRequest, bytes, by_offset);
    let by_value = VirtualListViewRequest {
        before_count: 1,
        after_count: 2,
        target: ViewTarget::GreaterThanOrEqual(b"m"),
        context_id: Some(b"c"),
    };
    let bytes = b"\x30\x0c\x02\x01\x01\x02\x01\x02\x81\x01m\x04\x01c";
    check!(VirtualListViewRequest, bytes, by_value);
    let response = VirtualListViewResponse {
        target_position: 5,
        content_count: 100,
        code: ResultCode::SUCCESS,
        context_id: None,
    };
    let bytes = b"\x30\x09\x02\x01\x05\x02\x01\x64\x0a\x01\x00";
    check!(VirtualListViewResponse, bytes, response);
}

#[test]
fn assertion_and_matched_values() {
    let filter = Filter::Equality {
        attribute: "sn",
        value: b"x",
    };
    check!(
        Assertion,
        b"\xa3\x07\x04\x02sn\x04\x01x",
        Assertion {
            filter: filter.clone()
        }
    );
    let items = vec![filter, Filter::Present("cn")];
    let bytes = b"\x30\x0d\xa3\x07\x04\x02sn\x04\x01x\x87\x02cn";
    check!(MatchedValues, bytes, MatchedValues { items });
    let and = MatchedValues::decode(b"\x30\x02\xa0\x00");
    assert_eq!(and, Err(DecodeError::FilterTooDeep { limit: 0 }));
    let names = MatchedValues::decode(b"\x30\x0b\xa9\x09\x82\x01a\x83\x01x\x84\x01\xff");
    assert_eq!(names, Err(DecodeError::MatchingInNames));
}

#[test]
fn subentries_and_proxied_authorization() {
    check!(Subentries, b"\x01\x01\xff", Subentries { visible: true });
    check!(Subentries, b"\x01\x01\x00", Subentries { visible: false });
    assert!(Subentries::decode(b"\x01\x01\x00\x00").is_err());
    let somebody = ProxiedAuthorization {
        authorization_id: "u:ada",
    };
    check!(ProxiedAuthorization, b"u:ada", somebody);
    check!(
        ProxiedAuthorization,
        b"",
        ProxiedAuthorization {
            authorization_id: ""
        }
    );
}

#[test]
fn read_entry() {
    let request = ReadEntryRequest {
        attributes: vec!["cn", "*"],
    };
    check!(ReadEntryRequest, b"\x30\x07\x04\x02cn\x04\x01*", request);
    let attributes = vec![crate::PartialAttribute {
        description: "dc",
        values: crate::Values::from_checked(b"\x04\x01x"),
    }];
    let response = ReadEntryResponse {
        name: "dc=x",
        attributes,
    };
    let bytes = *b"\x64\x13\x04\x04dc=x\x30\x0b\x30\x09\x04\x02dc\x31\x03\x04\x01x";
    check!(ReadEntryResponse, &bytes, response.clone());
    let mut out = Vec::new();
    put_read_entry(&mut out, b"dc=x", &bytes[10..]);
    assert_eq!(out, bytes);
    let mut sequence = bytes;
    sequence[0] = 0x30;
    assert_eq!(ReadEntryResponse::decode(&sequence), Ok(response));
}

#[test]
fn synchronisation() {
    let request = SyncRequest {
        mode: SyncMode::RefreshAndPersist,
        cookie: Some(b"c"),
        reload_hint: true,
    };
    check!(
        SyncRequest,
        b"\x30\x09\x0a\x01\x03\x04\x01c\x01\x01\xff",
        request
    );
    let mode = DecodeError::OutOfRange {
        what: Component::SyncMode,
        value: 2,
    };
    assert_eq!(SyncRequest::decode(b"\x30\x03\x0a\x01\x02"), Err(mode));
    let entry_uuid = *b"0123456789abcdef";
    let state = SyncStateValue {
        state: SyncState::Modify,
        entry_uuid,
        cookie: None,
    };
    check!(
        SyncStateValue,
        b"\x30\x15\x0a\x01\x02\x04\x100123456789abcdef",
        state
    );
    let short = SyncStateValue::decode(b"\x30\x05\x0a\x01\x02\x04\x00");
    assert_eq!(short, Err(DecodeError::UuidLength { octets: 0 }));
    let done = SyncDone {
        cookie: None,
        refresh_deletes: false,
    };
    check!(SyncDone, b"\x30\x00", done);
}

#[test]
fn synchronisation_messages() {
    check!(SyncInfo, b"\x80\x01c", SyncInfo::NewCookie(b"c"));
    let phase = SyncInfo::RefreshDelete {
        cookie: None,
        refresh_done: true,
    };
    check!(SyncInfo, b"\xa1\x00", phase);
    let phase = SyncInfo::RefreshPresent {
        cookie: Some(b"c"),
        refresh_done: false,
    };
    check!(SyncInfo, b"\xa2\x06\x04\x01c\x01\x01\x00", phase);
    let entry_uuids = vec![*b"0123456789abcdef"];
    let gone = SyncInfo::IdSet {
        cookie: None,
        refresh_deletes: true,
        entry_uuids,
    };
    check!(
        SyncInfo,
        b"\xa3\x17\x01\x01\xff\x31\x12\x04\x100123456789abcdef",
        gone
    );
    let unknown = DecodeError::UnknownChoice {
        what: Component::SyncInfo,
        tag: 0xA4,
    };
    assert_eq!(SyncInfo::decode(b"\xa4\x00"), Err(unknown));
}

#[test]
fn persistent_search() {
    let all = PersistentSearch {
        change_types: 15,
        changes_only: true,
        return_entry_changes: true,
    };
    check!(
        PersistentSearch,
        b"\x30\x09\x02\x01\x0f\x01\x01\xff\x01\x01\xff",
        all
    );
    let deletes = PersistentSearch {
        change_types: 2,
        ..all
    };
    assert!(deletes.wants(ChangeType::Delete) && !deletes.wants(ChangeType::Add));
    let none = DecodeError::OutOfRange {
        what: Component::ChangeTypes,
        value: 0,
    };
    assert_eq!(PersistentSearch::decode(b"\x30\x03\x02\x01\x00"), Err(none));
    let renamed = EntryChangeNotification {
        change_type: ChangeType::ModifyDn,
        previous_dn: Some("cn=a"),
        change_number: Some(300),
    };
    check!(
        EntryChangeNotification,
        b"\x30\x0d\x0a\x01\x08\x04\x04cn=a\x02\x02\x01\x2c",
        renamed
    );
}

#[test]
fn password_policy() {
    check!(
        PasswordPolicyResponse,
        b"\x30\x00",
        PasswordPolicyResponse::default()
    );
    let expiring = PasswordPolicyResponse {
        warning: Some(PasswordPolicyWarning::TimeBeforeExpiration(3600)),
        error: None,
    };
    check!(
        PasswordPolicyResponse,
        b"\x30\x06\xa0\x04\x80\x02\x0e\x10",
        expiring
    );
    let grace = PasswordPolicyResponse {
        warning: Some(PasswordPolicyWarning::GraceAuthenticationsRemaining(2)),
        error: Some(PasswordPolicyError::PasswordExpired),
    };
    check!(
        PasswordPolicyResponse,
        b"\x30\x08\xa0\x03\x81\x01\x02\x81\x01\x00",
        grace
    );
    for number in 0..=9 {
        let bytes = [0x30, 3, 0x81, 1, number];
        let error = PasswordPolicyResponse::decode(&bytes)
            .unwrap()
            .error
            .unwrap();
        assert_eq!(error as u8, number);
    }
    assert!(PasswordPolicyResponse::decode(b"\x30\x03\x81\x01\x0a").is_err());
}

#[test]
fn dereference() {
    let specification = |attribute, wanted| DereferenceSpecification { attribute, wanted };
    let request = DereferenceRequest {
        specifications: vec![specification("member", vec!["uid", "cn"])],
    };
    let bytes = b"\x30\x15\x30\x13\x04\x06member\x30\x09\x04\x03uid\x04\x02cn";
    check!(DereferenceRequest, bytes, request);
    let mut out = Vec::new();
    let none = DecodeError::EmptyList {
        what: Component::DereferenceSpecifications,
    };
    assert_eq!(DereferenceRequest::decode(b"\x30\x00"), Err(none));
    let twice = DereferenceRequest {
        specifications: vec![
            specification("member", vec!["uid"]),
            specification("MEMBER", vec!["cn"]),
        ],
    };
    out.clear();
    twice.encode(&mut out);
    let repeated = DecodeError::Repeated {
        what: Component::DereferenceSpecifications,
    };
    assert_eq!(DereferenceRequest::decode(&out), Err(repeated));
    let many = DereferenceRequest {
        specifications: vec![specification("m", Vec::new()); 65],
    };
    out.clear();
    many.encode(&mut out);
    assert!(DereferenceRequest::decode(&out).is_err());
    // A value that names no entry has no attributes.
    let dangling = DereferenceResponse {
        results: vec![DereferenceResult {
            attribute: "m",
            name: "cn=a",
            attributes: Vec::new(),
        }],
    };
    let bytes = b"\x30\x0b\x30\x09\x04\x01m\x04\x04cn=a";
    check!(DereferenceResponse, bytes, dangling);
}

#[test]
fn matching_entry_count() {
    check!(
        MatchingEntryCountRequest,
        b"\x30\x00",
        MatchingEntryCountRequest::default()
    );
    let all = MatchingEntryCountRequest {
        examined_max: 100,
        always_examine: true,
        process_unindexed: true,
        debug_information: true,
        skip_exploded_indexes: true,
        fast_threshold: Some(1),
        slow_threshold: Some(2),
        extended_response: true,
    };
    let bytes = b"\x30\x18\x80\x01\x64\x81\x01\xff\x82\x01\xff\x83\x01\xff\x84\x01\xff\
        \x85\x01\x01\x86\x01\x02\x87\x01\xff";
    check!(MatchingEntryCountRequest, bytes, all);
    let negative = DecodeError::OutOfRange {
        what: Component::MaxCandidatesToExamine,
        value: -1,
    };
    assert_eq!(
        MatchingEntryCountRequest::decode(b"\x30\x03\x80\x01\xff"),
        Err(negative)
    );
    let response = |count| MatchingEntryCountResponse {
        count,
        debug_information: Vec::new(),
        indexed: true,
        short_circuited: None,
        fully_indexed: None,
        in_scope: None,
        remaining: None,
    };
    let (examined, unknown) = (EntryCount::Examined(5), EntryCount::Unknown);
    check!(
        MatchingEntryCountResponse,
        b"\x30\x03\x80\x01\x05",
        response(examined)
    );
    let mut scan = response(unknown);
    scan.indexed = false;
    scan.debug_information = vec!["x"];
    let bytes = b"\x30\x0a\x83\x00\xa0\x03\x04\x01x\x81\x01\x00";
    check!(MatchingEntryCountResponse, bytes, scan);
    let mut more = response(EntryCount::UpperBound(9));
    more.fully_indexed = Some(false);
    more.in_scope = Some(true);
    more.remaining = Some(Filter::Present("cn"));
    let bytes = b"\x30\x0f\x82\x01\x09\x83\x01\x00\x84\x01\xff\xa5\x04\x87\x02cn";
    check!(MatchingEntryCountResponse, bytes, more);
    let wrong = MatchingEntryCountResponse::decode(b"\x30\x03\x84\x01\x05");
    let unknown = DecodeError::UnknownChoice {
        what: Component::EntryCount,
        tag: 0x84,
    };
    assert_eq!(wrong, Err(unknown));
}

#[test]
fn explanation() {
    let part = ExplainedPart {
        depth: 1,
        filter: "(cn=a)",
        found_by: "",
        estimate: 300,
    };
    let region = ExplainedRegion {
        base: "dc=a",
        plan: "scan",
        estimate: 300,
        scan: true,
        advice: vec!["cn equality"],
        parts: vec![part],
    };
    let value = Explanation {
        examined: 300,
        tested: 299,
        matched: 1,
        microseconds: 5_000_000_000,
        regions: vec![region],
    };
    let bytes = b"\x30\x4d\x02\x02\x01\x2c\x02\x02\x01\x2b\x02\x01\x01\
        \x02\x05\x01\x2a\x05\xf2\x00\x30\x39\x30\x37\x04\x04dc=a\x04\x04scan\
        \x02\x02\x01\x2c\x01\x01\xff\x30\x0d\x04\x0bcn equality\
        \x30\x13\x30\x11\x02\x01\x01\x04\x06(cn=a)\x04\x00\x02\x02\x01\x2c";
    check!(Explanation, bytes, value);
    let negative = Explanation::decode(b"\x30\x03\x02\x01\xff");
    let error = DecodeError::out_of_range(Component::Explanation, -1);
    assert_eq!(negative, Err(error));
}

#[test]
fn access_explanation() {
    let question = AccessQuestion {
        subject: "dn:cn=a",
        right: "read",
        object: "cn",
        value: Some(b"x"),
        real: Some("u:b"),
        address: Some("local"),
        ways: Some(vec!["tls"]),
        minute: Some(90),
    };
    let bytes = b"0,\x04\x07dn:cn=a\x04\x04read\x04\x02cn\x80\x01x\x81\x03u:b\x82\x05local\
        \xa3\x05\x04\x03tls\x84\x01Z";
    check!(AccessQuestion, bytes, question);
    // More ways than there are.
    let many = [
        b"\x30\x4a\x04\x00\x04\x00\x04\x00\xa3\x42".as_slice(),
        &[4, 0].repeat(33),
    ];
    assert!(AccessQuestion::decode(&many.concat()).is_err());
    let reason = AccessReason {
        rule: "staff",
        clause: "let users read",
        why: "gives the right",
    };
    let value = AccessExplanation {
        allowed: true,
        rule: "staff",
        clause: "let users read",
        reasons: vec![reason],
        changes: vec!["a rule were about it"],
    };
    let bytes = b"0^\x01\x01\xff\x04\x05staff\x04\x0elet users read0*0(\x04\x05staff\x04\x0e\
        let users read\x04\x0fgives the right0\x16\x04\x14a rule were about it";
    check!(AccessExplanation, bytes, value);
}

#[test]
fn account_usability() {
    let forever = AccountUsability::Usable { expires_in_s: -1 };
    check!(AccountUsability, b"\x80\x01\xff", forever);
    let trouble = AccountTrouble {
        inactive: true,
        unlocked_in_s: Some(60),
        ..AccountTrouble::default()
    };
    let bytes = b"\xa1\x06\x80\x01\xff\x84\x01\x3c";
    check!(AccountUsability, bytes, AccountUsability::Unusable(trouble));
    assert!(AccountUsability::decode(b"\x80\x05\x01\x00\x00\x00\x00").is_err());
    assert!(AccountUsability::decode(b"\x80\x01\x00\x00").is_err());
}

#[test]
fn effective_rights() {
    let request = |authorization_id, attributes: &[&'static str]| EffectiveRightsRequest {
        authorization_id,
        attributes: attributes.to_vec(),
    };
    let alone = b"\x30\x09\x04\x07dn:cn=a";
    check!(EffectiveRightsRequest, alone, request("dn:cn=a", &[]));
    let both = b"\x30\x0c\x04\x00\x30\x08\x04\x02cn\x04\x02sn";
    check!(EffectiveRightsRequest, both, request("", &["cn", "sn"]));
    // Value as clients of 389 Directory Server send it.
    let plain = EffectiveRightsRequest::decode(b"dn:cn=a").unwrap();
    assert_eq!(plain, request("dn:cn=a", &[]));
    let capitals = EffectiveRightsRequest::decode(b"DN:cn=a").unwrap();
    assert_eq!(capitals, request("DN:cn=a", &[]));
    for junk in [
        &b""[..],
        b"u:ada",
        b"\x30\x00",
        b"\x30\x03\x04\x01\xff",
        b"dn:\xff",
    ] {
        assert!(EffectiveRightsRequest::decode(junk).is_err(), "{junk:?}");
    }
}

#[test]
fn session_tracking() {
    let session = SessionTracking {
        source_address: "::1",
        source_name: "app",
        format: "1.3.6",
        identifier: "s1",
    };
    let bytes = b"\x30\x15\x04\x03::1\x04\x03app\x04\x051.3.6\x04\x02s1";
    check!(SessionTracking, bytes, session);
    let no_oid = DecodeError::NotAnOid {
        what: Component::SessionFormat,
    };
    assert_eq!(
        SessionTracking::decode(b"\x30\x09\x04\x00\x04\x00\x04\x01x\x04\x00"),
        Err(no_oid)
    );
    let long = SessionTracking {
        source_address: &"1".repeat(129),
        ..session
    };
    let mut out = Vec::new();
    long.encode(&mut out);
    assert!(SessionTracking::decode(&out).is_err());
}

#[test]
fn a_missing_value_is_an_error_where_one_is_due() {
    let control = Control {
        oid: oid::PAGED_RESULTS,
        critical: true,
        value: None,
    };
    assert_eq!(
        control.required_value(),
        Err(DecodeError::MissingElement { expected: 4 })
    );
}
