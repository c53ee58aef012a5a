//! RFC 4533, persistent search and virtual list view: answers that follow a directory or a list.

use protocol::ber::{self, Reader};
use protocol::control::VirtualListViewResponse;

use crate::prelude::*;

pub(crate) fn clauses(book: &mut Book) {
    refresh(book);
    refresh_again(book);
    persist(book);
    persistent_search(book);
    views(book);
    collective(book);
}

/// Encodes a sync request: mode and cookie.
fn sync(mode: i64, cookie: Option<&[u8]>) -> OwnedControl {
    let mut parts = vec![enumerated(mode)];
    parts.extend(cookie.map(octets));
    control(oid::SYNC_REQUEST, true, sequence(&parts))
}

const REFRESH_ONLY: i64 = 1;
const REFRESH_AND_PERSIST: i64 = 3;

/// Entries of a refresh with their states, and the cookie at its end.
struct Refresh {
    states: Vec<(String, i64, usize)>,
    cookie: Option<Vec<u8>>,
}

impl Refresh {
    /// Returns the names of the entries that came as added or modified.
    fn changed(&self) -> impl Iterator<Item = &str> {
        let changed = self.states.iter().filter(|it| matches!(it.1, 1 | 2));
        changed.map(|it| it.0.as_str())
    }
}

/// Refreshes until at least `count` entries have come as added or modified.
///
/// slapd leaves out entries newer than its contextCSN, which stands still while an older write of
/// any other connection is in progress: there, the refresh is repeated until all have come.
fn refreshed(it: &mut Case<'_>, cookie: Option<&[u8]>, count: usize) -> Result<Refresh, Finding> {
    loop {
        let refresh = refreshed_once(it, cookie)?;
        let came = refresh.changed().count();
        if came >= count || !it.site.is_openldap() {
            return Ok(refresh);
        }
    }
}

fn refreshed_once(it: &mut Case<'_>, cookie: Option<&[u8]>) -> Result<Refresh, Finding> {
    let home = it.home()?;
    let controls = [sync(REFRESH_ONLY, cookie)];
    let admin = it.admin()?;
    let scope = Scope::WholeSubtree;
    admin.send_search(&home, scope, EVERYTHING, &["title"], &controls, |_| {})?;
    let mut states = Vec::new();
    loop {
        match admin.receive()?.1 {
            Event::Entry(entry, controls) => {
                let (state, octets) = state_of(&controls)?;
                states.push((rdn_value(&entry.name), state, octets));
            }
            Event::Done(outcome) => {
                let outcome = outcome.ok()?;
                let done = outcome.control_value(oid::SYNC_DONE)?;
                let cookie = Reader::new(done)
                    .nested(ber::SEQUENCE)
                    .and_then(|mut it| Ok(it.optional(ber::OCTET_STRING)?.map(<[u8]>::to_vec)));
                let Ok(cookie) = cookie else {
                    return Finding::wrong("a syncDoneValue", format_args!("{done:02x?}"));
                };
                return Ok(Refresh { states, cookie });
            }
            _ => {}
        }
    }
}

/// Returns the state and the number of octets of the entryUUID.
fn state_of(controls: &crate::Controls) -> Result<(i64, usize), Finding> {
    let value = controls.iter().find(|it| it.0 == oid::SYNC_STATE);
    let value = value.and_then(|it| it.1.clone()).unwrap_or_default();
    let read = Reader::new(&value)
        .nested(ber::SEQUENCE)
        .and_then(|mut it| {
            Ok((
                it.integer(ber::ENUMERATED)?,
                it.expect(ber::OCTET_STRING)?.len(),
            ))
        });
    read.or_else(|error| Finding::wrong("a sync state control on each entry", error))
}

fn refresh(book: &mut Book) {
    let mut section = book.section_needing("rfc4533", "3.3", &[Need::Control(oid::SYNC_REQUEST)]);
    section.clause(
        "initial-content-is-added",
        "Without a cookie every entry comes with the state add.",
        |it| {
            it.person("ada", &[])?;
            it.person("grace", &[])?;
            let refresh = refreshed(it, None, 3)?;
            equal(refresh.states.len(), 3, "entries")?;
            let all_added = refresh.states.iter().all(|it| it.1 == 1);
            ensure(all_added, "the state add (1)", &refresh.states)
        },
    );
    section.clause(
        "each-entry-has-its-uuid",
        "The state control carries the entryUUID in 16 octets.",
        |it| {
            let refresh = refreshed(it, None, 1)?;
            let right = refresh.states.iter().all(|it| it.2 == 16);
            ensure(
                right && !refresh.states.is_empty(),
                "16 octets",
                &refresh.states,
            )
        },
    );
    section.clause(
        "refresh-ends-with-a-cookie",
        "The sync done control carries a cookie.",
        |it| {
            let cookie = refreshed(it, None, 1)?.cookie.unwrap_or_default();
            ensure(!cookie.is_empty(), "a cookie", cookie)
        },
    );
    section.clause(
        "search-without-the-control-has-no-states",
        "A search without the control is answered without states.",
        |it| {
            let found = it.search_home(EVERYTHING, &["1.1"], &[])?.ok()?;
            ensure(
                !found.outcome.has_control(oid::SYNC_DONE),
                "no sync done control",
                "one",
            )
        },
    );
    section.clause(
        "junk-is-refused",
        "A value that is no syncRequestValue is protocolError, or ends the session.",
        |it| {
            let controls = [control(oid::SYNC_REQUEST, true, vec![2, 1, 1])];
            let home = it.home()?;
            let admin = it.admin()?;
            let scope = Scope::BaseObject;
            admin.send_search(&home, scope, EVERYTHING, &[], &controls, |_| {})?;
            match admin.receive() {
                Ok((_, Event::Done(outcome))) => outcome.is(ResultCode::PROTOCOL_ERROR).map(|_| ()),
                Ok((_, event)) => Finding::wrong("a refusal", format_args!("{event:?}")),
                Err(_) => ensure(admin.is_closed_by_server(), "an end of the session", "none"),
            }
        },
    );
}

fn refresh_again(book: &mut Book) {
    let mut section = book.section_needing("rfc4533", "3.3.2", &[Need::Control(oid::SYNC_REQUEST)]);
    section.clause(
        "nothing-new-brings-no-entries",
        "With the cookie of a moment ago no entry comes as changed.",
        |it| {
            it.person("ada", &[])?;
            let cookie = refreshed(it, None, 2)?.cookie;
            let again = refreshed(it, cookie.as_deref(), 0)?;
            // The entries are added and modified. A server need not know the former place of a
            // deleted entry, and other clauses delete theirs at the same time.
            equal(again.changed().count(), 0, "changed entries")
        },
    );
    section.clause(
        "changed-entries-come",
        "With the cookie, what has changed since comes.",
        |it| {
            let ada = it.person("ada", &[])?;
            it.person("grace", &[])?;
            let cookie = refreshed(it, None, 3)?.cookie;
            it.modify(&ada, &[Modification::add("title", &["x"])])?
                .ok()?;
            let again = refreshed(it, cookie.as_deref(), 1)?;
            let changed: Vec<&str> = again.changed().collect();
            ensure(changed.contains(&"ada"), "ada", &changed)
        },
    );
    section.clause(
        "new-entries-come",
        "With the cookie, what was added since comes.",
        |it| {
            let cookie = refreshed(it, None, 1)?.cookie;
            it.person("grace", &[])?;
            let again = refreshed(it, cookie.as_deref(), 1)?;
            let there = again.changed().any(|name| name == "grace");
            ensure(there, "grace", &again.states)
        },
    );
}

fn persist(book: &mut Book) {
    let mut section = book.section_needing("rfc4533", "3.4", &[Need::Control(oid::SYNC_REQUEST)]);
    for operation in ["add", "modify", "delete"] {
        section.clause(
            format_args!("persist-brings-{operation}"),
            format_args!("In the persist stage a {operation} is sent as it happens."),
            move |it| {
                let ada = it.person("ada", &[])?;
                let home = it.home()?;
                refreshed(it, None, 2)?;
                let soon = std::time::Instant::now() + std::time::Duration::from_secs(25);
                let mut watcher = it.site.admin(soon)?;
                let controls = [sync(REFRESH_AND_PERSIST, None)];
                let scope = Scope::WholeSubtree;
                watcher.send_search(&home, scope, EVERYTHING, &["title"], &controls, |_| {})?;
                // The refresh stage ends with an intermediate response.
                while !matches!(watcher.receive()?.1, Event::Intermediate(..)) {}
                let (name, states) = match operation {
                    "add" => (it.person("grace", &[])?, [1, 1]),
                    "modify" => {
                        it.modify(&ada, &[Modification::add("title", &["x"])])?
                            .ok()?;
                        (ada, [2, 1])
                    }
                    _ => {
                        it.delete(&ada)?.ok()?;
                        (ada, [3, 3])
                    }
                };
                loop {
                    match watcher.receive()?.1 {
                        Event::Entry(entry, controls) => {
                            equal_name(&entry.name, &name)?;
                            let (state, _) = state_of(&controls)?;
                            return ensure(states.contains(&state), format!("{states:?}"), state);
                        }
                        Event::Done(outcome) => return Finding::wrong("a change", outcome),
                        _ => {}
                    }
                }
            },
        );
    }
}

fn persistent_search(book: &mut Book) {
    let needs = [Need::Control(oid::PERSISTENT_SEARCH)];
    let mut section = book.section_needing("draft-psearch", "4", &needs);
    for (operation, kind) in [("add", 1), ("delete", 2), ("modify", 4)] {
        section.clause(
            format_args!("notification-of-{operation}"),
            format_args!("A {operation} brings the entry with changeType {kind}."),
            move |it| {
                let ada = it.person("ada", &[])?;
                let grace = it.draft("uid=grace", &person("grace", &[]))?;
                let home = it.home()?;
                let value = sequence(&[integer(15), boolean(true), boolean(true)]);
                let controls = [control(oid::PERSISTENT_SEARCH, true, value)];
                let admin = it.admin()?;
                let scope = Scope::WholeSubtree;
                admin.send_search(&home, scope, "(uid=*)", &["1.1"], &controls, |_| {})?;
                match operation {
                    "add" => admin.send_add(&grace, &[])?,
                    "modify" => {
                        admin.send_modify(&ada, &[Modification::add("title", &["x"])], &[])?
                    }
                    _ => {
                        let request = protocol::DeleteRequest { entry: &ada };
                        admin.send(&Request::Delete(request), &[])?
                    }
                };
                loop {
                    if let Event::Entry(_, controls) = admin.receive()?.1 {
                        let of = controls
                            .iter()
                            .find(|it| it.0 == oid::ENTRY_CHANGE_NOTIFICATION);
                        let value = of.and_then(|it| it.1.clone()).unwrap_or_default();
                        let came = Reader::new(&value)
                            .nested(ber::SEQUENCE)
                            .and_then(|mut it| it.integer(ber::ENUMERATED));
                        return equal(came.ok(), Some(kind), "changeType");
                    }
                }
            },
        );
    }
    section.clause(
        "changes-only-false-sends-what-is-there",
        "With changesOnly FALSE what matches already comes first.",
        |it| {
            it.person("ada", &[])?;
            let home = it.home()?;
            let value = sequence(&[integer(15), boolean(false), boolean(true)]);
            let controls = [control(oid::PERSISTENT_SEARCH, true, value)];
            let admin = it.admin()?;
            let scope = Scope::WholeSubtree;
            admin.send_search(&home, scope, "(uid=*)", &["1.1"], &controls, |_| {})?;
            match admin.receive()?.1 {
                Event::Entry(entry, _) => {
                    equal(rdn_value(&entry.name).as_str(), "ada", "the entry")
                }
                event => Finding::wrong("the entry that is there", format_args!("{event:?}")),
            }
        },
    );
}

/// Rows of words, statement, entries before and after, the target, the result, and the target's
/// position.
type View = (
    &'static str,
    &'static str,
    i64,
    i64,
    fn() -> Vec<u8>,
    &'static str,
    i64,
);

fn by_offset(offset: i64, count: i64) -> Vec<u8> {
    constructed(0xA0, &[integer(offset), integer(count)])
}

const VIEWS: &[View] = &[
    (
        "from-the-first",
        "Offset 1 begins at the first entry.",
        0,
        1,
        || by_offset(1, 0),
        "a b",
        1,
    ),
    (
        "in-the-middle",
        "Entries before and after the target come too.",
        1,
        1,
        || by_offset(3, 5),
        "b c d",
        3,
    ),
    (
        "at-the-last",
        "An offset of the count is the last entry.",
        1,
        0,
        || by_offset(5, 5),
        "d e",
        5,
    ),
    (
        "fewer-before-than-asked",
        "Before the first there is nothing.",
        3,
        0,
        || by_offset(2, 5),
        "a b",
        2,
    ),
    (
        "fewer-after-than-asked",
        "After the last there is nothing.",
        0,
        9,
        || by_offset(4, 5),
        "d e",
        4,
    ),
    (
        "by-value",
        "A value leads to the first entry that is not less.",
        0,
        1,
        || tagged(0x81, "c"),
        "c d",
        3,
    ),
    (
        "by-value-between",
        "Also when no entry has it.",
        0,
        0,
        || tagged(0x81, "bb"),
        "c",
        3,
    ),
];

fn views(book: &mut Book) {
    let needs = [
        Need::Control(oid::VIRTUAL_LIST_VIEW_REQUEST),
        Need::Control(oid::SORT_REQUEST),
    ];
    let mut section = book.section_needing("draft-vlv", "6", &needs);
    for (words, text, before, after, target, expected, position) in VIEWS {
        section.clause(words, text, move |it| {
            for uid in ["c", "a", "e", "b", "d"] {
                it.person(uid, &[])?;
            }
            let keys = sequence(&[sequence(&[octets("sn"), tagged(0x80, "2.5.13.3")])]);
            let view = sequence(&[integer(*before), integer(*after), target()]);
            let controls = [
                control(oid::SORT_REQUEST, true, keys),
                control(oid::VIRTUAL_LIST_VIEW_REQUEST, true, view),
            ];
            let found = it.search_home("(uid=*)", &["1.1"], &controls)?.ok()?;
            let names: Vec<String> = found.entries.iter().map(|it| rdn_value(&it.name)).collect();
            equal(names.join(" ").as_str(), *expected, "the view")?;
            let value = found
                .outcome
                .control_value(oid::VIRTUAL_LIST_VIEW_RESPONSE)?;
            let read = Reader::new(value)
                .nested(ber::SEQUENCE)
                .and_then(|mut it| Ok((it.integer(ber::INTEGER)?, it.integer(ber::INTEGER)?)));
            equal(read.ok(), Some((*position, 5)), "position and count")
        });
    }
    section
        .clause(
            "sorting-is-required",
            "A view without sorting is virtualListViewError; its control says sortControlMissing.",
            |it| {
                let view = sequence(&[integer(0), integer(1), by_offset(1, 0)]);
                let controls = [control(oid::VIRTUAL_LIST_VIEW_REQUEST, true, view)];
                let found = it.search_home("(uid=*)", &["1.1"], &controls)?;
                let found = found.is(ResultCode::VIRTUAL_LIST_VIEW_ERROR)?;
                let value = found
                    .outcome
                    .control_value(oid::VIRTUAL_LIST_VIEW_RESPONSE)?;
                let said = VirtualListViewResponse::decode(value)
                    .ok()
                    .map(|it| it.code);
                equal(
                    said,
                    Some(ResultCode::SORT_CONTROL_MISSING),
                    "what the control says",
                )
            },
        )
        .slapd(
            "slapd repeats virtualListViewError in the control, where §6.2 has sortControlMissing",
        );
}

fn collective(book: &mut Book) {
    let needs = [
        Need::Class("collectiveAttributeSubentry"),
        Need::Type("c-l"),
    ];
    let rows = [
        (
            "2",
            "returned",
            "An entry of the subtree shows the collective attribute.",
        ),
        ("2", "found", "It is found by filters."),
        (
            "3",
            "excluded",
            "collectiveExclusions of the entry leaves it out.",
        ),
    ];
    for (number, words, text) in rows {
        let mut section = book.section_needing("rfc3671", number, &needs);
        section
            .clause(words, text, move |it| {
                let ada = it.person("ada", &[])?;
                let home = it.home()?;
                let role = Modification::add("administrativeRole", &["2.5.23.5"]);
                it.modify(&home, &[role])?;
                let lent = [
                    ("objectClass", "subentry"),
                    ("objectClass", "collectiveAttributeSubentry"),
                    ("subtreeSpecification", "{ }"),
                    ("c-l", "Berlin"),
                ];
                it.put("cn=berlin", &lent)?;
                match words {
                    "found" => it.finds("(&(uid=*)(c-l=berlin))", "ada"),
                    "returned" => equal(it.get(&ada, &["c-l"])?.value("c-l")?, "Berlin", "c-l"),
                    _ => {
                        let change = Modification::add("collectiveExclusions", &["2.5.18.0"]);
                        it.modify(&ada, &[change])?.ok()?;
                        ensure(!it.get(&ada, &["c-l"])?.has("c-l"), "no c-l", "one")
                    }
                }
            })
            .slapd("slapd's overlay lends by its configuration, not by subentries");
    }
}
