//! RFC 4511 §4.1.1: undecodable values are a protocolError and change nothing. Covers values of
//! controls and extended operations whose own clauses do not test it.

use crate::prelude::*;

/// A value with one octet too many.
const JUNK: [u8; 3] = [0x02, 0x05, 0x01];

pub(crate) fn clauses(book: &mut Book) {
    controls_of_searches(book);
    controls_of_writes(book);
    operations(book);
}

fn controls_of_searches(book: &mut Book) {
    for (standard, section, oid) in [
        ("rfc3672", "3", oid::SUBENTRIES),
        ("draft-psearch", "4", oid::PERSISTENT_SEARCH),
    ] {
        let mut section = book.section_needing(standard, section, &[Need::Control(oid)]);
        section.clause(
            "junk-is-a-protocol-error",
            "A value that is none of the control's is protocolError.",
            move |it| {
                let controls = [control(oid, true, JUNK.to_vec())];
                let found = it.search_home(EVERYTHING, &["1.1"], &controls)?;
                found.is(ResultCode::PROTOCOL_ERROR)?.count(0).map(|_| ())
            },
        );
    }
    let needs = [
        Need::Control(oid::VIRTUAL_LIST_VIEW_REQUEST),
        Need::Control(oid::SORT_REQUEST),
    ];
    let mut section = book.section_needing("draft-vlv", "6.1", &needs);
    section.clause(
        "junk-is-a-protocol-error",
        "A value that is no view is protocolError.",
        |it| {
            let keys = sequence(&[sequence(&[octets("sn"), tagged(0x80, "2.5.13.3")])]);
            let controls = [
                control(oid::SORT_REQUEST, true, keys),
                control(oid::VIRTUAL_LIST_VIEW_REQUEST, true, JUNK.to_vec()),
            ];
            let found = it.search_home(EVERYTHING, &["1.1"], &controls)?;
            found.is(ResultCode::PROTOCOL_ERROR)?.count(0).map(|_| ())
        },
    );
}

fn controls_of_writes(book: &mut Book) {
    let mut section = book.section_needing("rfc4527", "3.1", &[Need::Control(oid::PRE_READ)]);
    section.clause(
        "pre-read-with-junk",
        "A value that is no selection is protocolError, and nothing changes.",
        |it| {
            let ada = it.person("ada", &[])?;
            let controls = [control(oid::PRE_READ, true, JUNK.to_vec())];
            let outcome = it.admin()?.delete(&ada, &controls)?;
            outcome.is(ResultCode::PROTOCOL_ERROR)?;
            it.exists(&ada)
        },
    );
}

fn operations(book: &mut Book) {
    for (standard, section, oid) in [
        ("rfc5805", "2.3", oid::END_TRANSACTION),
        ("rfc2589", "4.1", oid::REFRESH),
        ("rfc4373", "5.5", oid::END_BULK_UPDATE),
    ] {
        let mut section = book.section_needing(standard, section, &[Need::Extension(oid)]);
        section.clause(
            "junk-is-a-protocol-error",
            "A value that is none of the operation's is protocolError.",
            move |it| {
                let outcome = it.extended(oid, Some(&JUNK))?;
                outcome.is(ResultCode::PROTOCOL_ERROR).map(|_| ())
            },
        );
    }
}
