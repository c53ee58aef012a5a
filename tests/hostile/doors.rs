//! Every operation with every control, sent by subjects without rights: no change, no disclosure.

use std::fmt::Write as _;

use kit::client::{Entry, Event, Found, Modification, Outcome};
use kit::{ADMIN, Client, PASSWORD, Pando, SUFFIX};
use protocol::control::{
    Assertion, EntryCount, MatchingEntryCountRequest, MatchingEntryCountResponse, PagedResults,
    ReadEntryRequest, SortKey, SortRequest,
};
use protocol::extended::{
    EndTransactionRequest, PasswordModifyRequest, RefreshRequest, StartBulkUpdateRequest,
};
use protocol::{
    AddRequest, Change, ChangeOperation, CompareRequest, DeleteRequest, DerefAliases,
    ExtendedRequest, Filter, ModifyDnRequest, ModifyRequest, OwnedControl, PartialAttribute,
    Request, ResultCode, Scope, SearchRequest, Values, oid,
};

/// DN of an ordinary user.
const ADA: &str = "uid=ada,ou=People,dc=example,dc=com";
/// A hidden entry, and a name of equal length that no entry has.
const HIDDEN: &str = "cn=mailrule,cn=rules,cn=config";
const MISSING: &str = "cn=mailnone,cn=rules,cn=config";
/// Text that stands only in values of hidden attributes.
const WORD: &str = "hiddenword";

/// Serves a node with an entry of each kind.
fn served() -> Pando {
    let pando = Pando::start();
    let mut admin = pando.admin();
    for entry in kit::people::sample() {
        admin.add(&entry).expect_success();
    }
    let people = [
        Entry::of(
            "cn=group,dc=example,dc=com",
            &[("objectClass", &["groupOfNames"]), ("member", &[ADA])],
        ),
        Entry::of(
            "cn=alias,dc=example,dc=com",
            &[
                ("objectClass", &["alias", "extensibleObject"]),
                ("aliasedObjectName", &[HIDDEN]),
            ],
        ),
        Entry::of(
            "cn=referral,dc=example,dc=com",
            &[
                ("objectClass", &["referral", "extensibleObject"]),
                ("ref", &["ldap://127.0.0.1:9/dc=elsewhere"]),
            ],
        ),
        Entry::of(
            HIDDEN,
            &[
                ("objectClass", &["pandoUnique"]),
                ("pandoUniqueAttribute", &["mail"]),
                ("description", &[WORD]),
            ],
        ),
    ];
    let manage = control(oid::MANAGE_DSA_IT, None);
    for entry in people {
        let manage = std::slice::from_ref(&manage);
        admin.add_with(&entry, manage).expect_success();
    }
    pando
}

/// Names of the entries that requests target; each request is also sent for a child of each.
const TARGETS: &[&str] = &[
    "",
    "cn=Subschema",
    "cn=monitor",
    "cn=config",
    "cn=schema,cn=config",
    "cn=rules,cn=config",
    "cn=administrator,cn=config",
    HIDDEN,
    MISSING,
    ADMIN,
    SUFFIX,
    ADA,
    "uid=grace,ou=People,dc=example,dc=com",
    "uid=nobody,ou=People,dc=example,dc=com",
    "cn=group,dc=example,dc=com",
    "cn=alias,dc=example,dc=com",
    "cn=referral,dc=example,dc=com",
];

fn control(oid: &str, value: Option<Vec<u8>>) -> OwnedControl {
    OwnedControl {
        oid: oid.to_owned().into(),
        critical: true,
        value,
    }
}

/// Returns lists of controls: each update is sent with each of them.
fn controls() -> Vec<Vec<OwnedControl>> {
    let mut everything = Vec::new();
    let attributes = vec!["*", "+"];
    ReadEntryRequest { attributes }.encode(&mut everything);
    let assertion = |word: &[u8]| {
        let (mut value, attribute) = (Vec::new(), "description");
        let filter = Filter::Equality {
            attribute,
            value: word,
        };
        let present = Filter::Present("objectClass");
        let filter = Filter::Or(vec![filter, present]);
        Assertion { filter }.encode(&mut value);
        control(oid::ASSERTION, Some(value))
    };
    let (pre, post) = (
        control(oid::PRE_READ, Some(everything.clone())),
        control(oid::POST_READ, Some(everything)),
    );
    let no_operation = control(oid::NO_OPERATION, None);
    let (relaxed, permissive) = (
        control(oid::RELAX_RULES, None),
        control(oid::PERMISSIVE_MODIFY, None),
    );
    vec![
        vec![],
        vec![pre.clone()],
        vec![post.clone()],
        vec![assertion(WORD.as_bytes())],
        vec![assertion(WORD.as_bytes()), no_operation.clone()],
        vec![no_operation],
        vec![relaxed.clone()],
        vec![permissive.clone(), pre, post],
        vec![control(oid::TREE_DELETE, None)],
        vec![control(oid::MANAGE_DSA_IT, None), relaxed],
        vec![control(oid::PASSWORD_POLICY, None)],
    ]
}

/// Calls `each` with every update of an entry, also with empty lists.
fn updates(target: &str, each: &mut dyn FnMut(&Request<'_>)) {
    use ChangeOperation::{Add, Delete, Increment, Replace};
    each(&modify(target, vec![]));
    for attribute in [
        "description",
        "cn;x-1",
        "userPassword",
        "member",
        "uidNumber",
    ] {
        if target == ADA && attribute == "userPassword" {
            // The entries are the user's own.
            continue;
        }
        for operation in [Add, Delete, Replace, Increment] {
            for values in [&[][..], b"\x04\x017"] {
                let values = Values::decode(values).expect("octet strings");
                let attribute = PartialAttribute {
                    description: attribute,
                    values,
                };
                let change = Change {
                    operation,
                    attribute,
                };
                each(&modify(target, vec![change]));
            }
        }
    }
    let device = PartialAttribute {
        description: "objectClass",
        values: Values::decode(b"\x04\x06device").expect("octet strings"),
    };
    for attributes in [vec![], vec![device]] {
        each(&Request::Add(AddRequest {
            entry: target,
            attributes,
        }));
    }
    each(&Request::Delete(DeleteRequest { entry: target }));
    let rdn = target.split(',').next().unwrap_or("");
    for new_rdn in [rdn, "cn=other"] {
        for new_superior in [None, Some(SUFFIX), Some("cn=config"), Some(HIDDEN)] {
            each(&Request::ModifyDn(ModifyDnRequest {
                entry: target,
                new_rdn,
                delete_old_rdn: true,
                new_superior,
            }));
        }
    }
}

fn modify<'a>(object: &'a str, changes: Vec<Change<'a>>) -> Request<'a> {
    Request::Modify(ModifyRequest { object, changes })
}

/// Calls `each` with every extended operation that may concern an entry.
fn extended(target: &str, each: &mut dyn FnMut(&Request<'_>)) {
    let mut value = Vec::new();
    let mut send = |name: &str, value: Option<&[u8]>| {
        each(&Request::Extended(ExtendedRequest { name, value }));
    };
    for old_password in [None, Some(b"wrong".as_slice())] {
        for identity in [target.to_owned(), format!("dn:{target}"), "u:grace".into()] {
            value.clear();
            let request = PasswordModifyRequest {
                user_identity: Some(&identity),
                old_password,
                new_password: Some(b"taken"),
            };
            request.encode(&mut value);
            if !identity.ends_with(ADA) {
                send(oid::PASSWORD_MODIFY, Some(&value));
            }
        }
    }
    value.clear();
    let (entry, ttl_s) = (target, 600);
    RefreshRequest { entry, ttl_s }.encode(&mut value);
    send(oid::REFRESH, Some(&value));
    value.clear();
    let style = oid::INCREMENTAL_UPDATE_STYLE;
    StartBulkUpdateRequest { style }.encode(&mut value);
    send(oid::START_BULK_UPDATE, Some(&value));
    send(oid::COMPACT, None);
    send(oid::CANCEL_COMPACTION, None);
    send(oid::BULK_UPDATE, Some(b""));
}

/// Calls `each` with every way to read an entry, and with the search's base and scope.
fn reads(target: &str, each: &mut dyn FnMut(&Request<'_>)) {
    for (attribute, value) in [("objectClass", "top"), ("description", WORD), ("cn", "x")] {
        each(&Request::Compare(CompareRequest {
            entry: target,
            attribute,
            value: value.as_bytes(),
        }));
    }
    let all = || Filter::Present("objectClass");
    let hidden = || Filter::Equality {
        attribute: "description",
        value: WORD.as_bytes(),
    };
    for scope in [Scope::BaseObject, Scope::SingleLevel, Scope::WholeSubtree] {
        for filter in [all(), hidden()] {
            for deref_aliases in [DerefAliases::Never, DerefAliases::Always] {
                each(&Request::Search(SearchRequest {
                    base: target,
                    scope,
                    deref_aliases,
                    size_limit: 0,
                    time_limit_s: 0,
                    types_only: false,
                    filter: filter.clone(),
                    attributes: vec!["*", "+"],
                }));
            }
        }
    }
}

/// A client without rights, and its answers.
struct Stranger {
    client: Client,
    sent: u32,
    /// A text for each answer that discloses too much.
    wrong: Vec<String>,
    /// Answers about [`HIDDEN`] and about [`MISSING`].
    about: [String; 2],
}

impl Stranger {
    fn call(&mut self, target: &str, request: &Request<'_>, controls: &[OwnedControl]) -> Found {
        self.sent += 1;
        let found = self.client.call(request, controls);
        let said = text_of(&found);
        let which = [HIDDEN, MISSING].iter().position(|it| target.ends_with(it));
        if let Some(which) = which {
            // Both names have the same length.
            let said = said.replace(HIDDEN, "cn=…").replace(MISSING, "cn=…");
            writeln!(self.about[which], "{said}").expect("a string");
        }
        let matched = &found.outcome.matched;
        if said.contains(WORD) || matched.ends_with("cn=config") {
            self.blame(request, controls, &found);
        }
        found
    }

    /// Sends an update, which must be refused before the entry is read.
    fn refused(&mut self, target: &str, request: &Request<'_>, controls: &[OwnedControl]) {
        let found = self.call(target, request, controls);
        let done = [
            ResultCode::SUCCESS,
            ResultCode::NO_OPERATION,
            ResultCode::ASSERTION_FAILED,
        ];
        let told = !found.outcome.controls.is_empty();
        if done.contains(&found.outcome.code) || told {
            self.blame(request, controls, &found);
        }
    }

    fn blame(&mut self, request: &Request<'_>, controls: &[OwnedControl], found: &Found) {
        let oids: Vec<_> = controls.iter().map(|it| &it.oid).collect();
        let outcome = &found.outcome;
        self.wrong
            .push(format!("{request:?} with {oids:?}: {outcome:?}"));
    }

    fn ask_all(&mut self) {
        let below: Vec<String> = TARGETS.iter().map(|it| below(it)).collect();
        let all = TARGETS
            .iter()
            .copied()
            .chain(below.iter().map(String::as_str));
        for target in all {
            for controls in controls() {
                updates(target, &mut |request| {
                    self.refused(target, request, &controls)
                });
            }
            extended(target, &mut |request| self.refused(target, request, &[]));
            reads(target, &mut |request| {
                self.call(target, request, &[]);
            });
        }
        for target in TARGETS {
            self.in_transaction(target);
        }
    }

    /// Sends every update again as part of a transaction.
    fn in_transaction(&mut self, target: &str) {
        // The lists are the empty one, and those that read the entry before and after.
        for controls in controls().into_iter().step_by(7) {
            updates(target, &mut |request| {
                let begun = self.client.extended(oid::START_TRANSACTION, None);
                let identifier = begun.expect_success().value.expect("an identifier");
                let mut controls = controls.clone();
                controls.push(control(
                    oid::TRANSACTION_SPECIFICATION,
                    Some(identifier.clone()),
                ));
                let queued = self.answer(request, &controls);
                let (mut value, commit, identifier) = (Vec::new(), true, identifier.as_slice());
                EndTransactionRequest { commit, identifier }.encode(&mut value);
                let (name, value) = (oid::END_TRANSACTION, Some(value.as_slice()));
                let end = Request::Extended(ExtendedRequest { name, value });
                let ended = self.answer(&end, &[]);
                let done = [queued.code, ended.code].contains(&ResultCode::SUCCESS);
                if done || !queued.controls.is_empty() || ended.value.is_some() {
                    let oids: Vec<_> = controls.iter().map(|it| &it.oid).collect();
                    let text = format!("{request:?} with {oids:?}: {queued:?}, {ended:?}");
                    self.wrong.push(text);
                }
            });
        }
    }

    /// Returns the result of one request; notices of aborted transactions may precede it.
    fn answer(&mut self, request: &Request<'_>, controls: &[OwnedControl]) -> Outcome {
        self.sent += 1;
        let sent = self.client.send(request, controls);
        loop {
            match self.client.receive() {
                (0, Event::Done(_)) => {}
                (id, Event::Done(outcome)) if id == sent => return outcome,
                other => panic!("expected the result of {sent}, got {other:?}"),
            }
        }
    }
}

fn below(target: &str) -> String {
    match target {
        "" => "cn=missing".to_owned(),
        target => format!("cn=missing,{target}"),
    }
}

/// Returns an answer as text, values of octets included.
fn text_of(found: &Found) -> String {
    let outcome = &found.outcome;
    let entries: Vec<String> = found.entries.iter().map(text_of_entry).collect();
    let controls = outcome.controls.iter();
    let controls: Vec<_> = controls
        .map(|(oid, value)| {
            (
                oid,
                String::from_utf8_lossy(value.as_deref().unwrap_or(b"")),
            )
        })
        .collect();
    format!(
        "{:?} {:?} {:?} {:?} {:?} {controls:?} {:?} {entries:?}",
        outcome.code,
        outcome.matched,
        outcome.diagnostic,
        outcome.referrals,
        outcome.value,
        found.references
    )
}

fn text_of_entry(entry: &Entry) -> String {
    let attributes = entry.attributes.iter();
    let attributes: Vec<_> = attributes
        .map(|(name, _)| (name, entry.texts(name)))
        .collect();
    format!("{} {attributes:?}", entry.name)
}

/// Returns everything that the administrator reads: each entry with all attributes, contextCSN
/// among them.
fn whole(pando: &Pando) -> Vec<String> {
    let mut admin = pando.admin();
    let manage = [control(oid::MANAGE_DSA_IT, None)];
    let mut all = Vec::new();
    for base in [SUFFIX, "cn=config"] {
        let found = admin.search_with(
            base,
            Scope::WholeSubtree,
            "(objectClass=*)",
            &["*", "+"],
            &manage,
            |_| {},
        );
        assert_eq!(found.outcome.code, ResultCode::SUCCESS);
        all.extend(found.entries.iter().map(text_of_entry));
    }
    assert!(all.iter().any(|it| it.contains("contextCSN")));
    assert!(all.iter().any(|it| it.contains(WORD)));
    all.sort();
    all
}

#[track_caller]
fn try_doors(name: &str, password: &str) {
    let pando = served();
    let mut client = pando.client();
    if !name.is_empty() {
        client.bind(name, password).expect_success();
    }
    let before = whole(&pando);
    let mut stranger = Stranger {
        client,
        sent: 0,
        wrong: Vec::new(),
        about: Default::default(),
    };
    stranger.ask_all();
    let count = stranger.wrong.len();
    stranger.wrong.truncate(20);
    let wrong = stranger.wrong.join("\n");
    assert!(count == 0, "{count} of {}:\n{wrong}", stranger.sent);
    let [hidden, missing] = stranger.about;
    for (hidden, missing) in hidden.lines().zip(missing.lines()) {
        assert_eq!(hidden, missing, "a hidden entry and one that is not there");
    }
    assert_eq!(whole(&pando), before);
}

#[test]
fn nobody_changes_or_learns_anything() {
    try_doors("", "");
}

#[test]
fn an_ordinary_user_changes_or_learns_nothing() {
    try_doors(ADA, "ada");
}

/// Returns the number of matching entries in an answer, and the text about it.
fn counted(client: &mut Client, base: &str, filter: &str) -> (EntryCount, String) {
    let mut value = Vec::new();
    MatchingEntryCountRequest {
        // No entry is read.
        examined_max: 0,
        always_examine: false,
        process_unindexed: true,
        debug_information: true,
        skip_exploded_indexes: false,
        fast_threshold: None,
        slow_threshold: None,
        extended_response: true,
    }
    .encode(&mut value);
    let count = [control(oid::MATCHING_ENTRY_COUNT_REQUEST, Some(value))];
    let found = client.search_with(base, Scope::WholeSubtree, filter, &["1.1"], &count, |_| ());
    let answer = found.outcome.controls.first();
    let (_, value) = answer.unwrap_or_else(|| panic!("{:?}", found.outcome));
    let value = value.as_deref().expect("a value");
    let answer = MatchingEntryCountResponse::decode(value).expect("it decodes");
    (answer.count, answer.debug_information.join("; "))
}

/// Attribute descriptions are numbered permanently, and there are 65,535 numbers.
#[test]
fn users_invent_no_attribute_options() {
    let pando = served();
    let mut ada = pando.client();
    ada.bind(ADA, "ada").expect_success();
    let mut admin = pando.admin();
    for (number, change) in [
        Modification::add,
        Modification::replace,
        Modification::delete,
    ]
    .into_iter()
    .enumerate()
    {
        let description = format!("userPassword;x-{number}");
        let refused = ada.modify(ADA, &[change(&description, &["other"])]);
        let refused = refused.expect(ResultCode::INSUFFICIENT_ACCESS_RIGHTS);
        let diagnostic = refused.diagnostic;
        assert!(diagnostic.contains(&description), "{diagnostic}");
    }
    // Users may continue where the administrator began, and other clients see none of it.
    let begun = [Modification::add("userPassword;lang-en", &["first"])];
    admin.modify(ADA, &begun).expect_success();
    let other = [Modification::replace("userPassword;lang-en", &["second"])];
    ada.modify(ADA, &other).expect_success();
    let seen = pando.client().read(ADA).expect("an entry");
    assert!(!text_of_entry(&seen).contains("userPassword"), "{seen:?}");
    let stored = admin.read(ADA).expect("an entry");
    assert!(stored.has("userPassword;lang-en"));
}

/// Searches end in the same way whether entries behind a bound are hidden or missing.
#[test]
fn hidden_entries_use_up_no_limit() {
    let mut pando = served();
    pando.stop();
    let settings = "[anonymous_limits]\ncandidates_max = 1\n";
    std::fs::write(pando.node().join("pando.toml"), settings).expect("our own file");
    pando.serve();
    let mut client = pando.client();
    let (mut page, mut order) = (Vec::new(), Vec::new());
    let (size, cookie) = (1, b"".as_slice());
    PagedResults { size, cookie }.encode(&mut page);
    let keys = vec![SortKey {
        attribute: "uid",
        ordering_rule: None,
        reverse: false,
    }];
    SortRequest { keys }.encode(&mut order);
    let page = control(oid::PAGED_RESULTS, Some(page));
    let order = control(oid::SORT_REQUEST, Some(order));
    for controls in [
        vec![],
        vec![page.clone()],
        vec![order.clone()],
        vec![order, page],
    ] {
        let manage = control(oid::MANAGE_DSA_IT, None);
        let controls = [controls, vec![manage]].concat();
        for base in [SUFFIX, ""] {
            let [hidden, missing] = ["mailrule", "mailnone"].map(|name| {
                let filter = format!("(|(uid=ada)(cn={name}))");
                let scope = Scope::WholeSubtree;
                let mut found =
                    client.search_with(base, scope, &filter, &["uid"], &controls, |_| ());
                // A cookie's bytes depend on the filter; its length shows only whether there is a
                // cookie.
                for (_, value) in &mut found.outcome.controls {
                    let length = value.as_ref().map_or(0, Vec::len);
                    *value = Some(length.to_string().into_bytes());
                }
                text_of(&found)
            });
            assert_eq!(hidden, missing, "{controls:?} at {base:?}");
            assert!(hidden.starts_with("ResultCode(0)"), "{hidden}");
            assert!(hidden.contains("uid=ada"), "{hidden}");
        }
    }
}

#[test]
fn counts_are_of_what_a_client_may_see() {
    let pando = served();
    for (name, password) in [("", ""), (ADA, "ada")] {
        let mut client = pando.client();
        client.bind(name, password).expect_success();
        for base in [SUFFIX, "", ADA] {
            let ask = |client: &mut Client, filter: &str| counted(client, base, filter);
            let missing = ask(&mut client, "(cn=mailnone)");
            for hidden in [
                "(cn=mailrule)".to_owned(),
                format!("(entryDN={HIDDEN})"),
                "(objectClass=pandoUnique)".to_owned(),
                "(entryDN:dnSubtreeMatch:=cn=rules,cn=config)".to_owned(),
            ] {
                let told = ask(&mut client, &hidden);
                assert_eq!(told.0, missing.0, "{hidden} at {base:?}: {told:?}");
                assert_eq!(told.1, "", "{hidden} at {base:?}");
            }
        }
    }
    // The administrator gets bounds and reasons.
    let mut admin = pando.client();
    admin.bind(ADMIN, PASSWORD).expect_success();
    let (count, words) = counted(&mut admin, "", "(cn=mailrule)");
    assert_eq!(count, EntryCount::UpperBound(1));
    assert!(words.contains("cn"), "{words}");
}
