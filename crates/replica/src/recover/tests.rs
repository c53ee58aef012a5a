//! Tests that records have equal outcomes on copies of one state with different progress of
//! indexes, and that refusals because of a node's own indexes come before there is a record.

use super::*;
use crate::InitOptions;
use crate::clock::{Clock, SystemClock};
use protocol::control::ReadEntryRequest;
use protocol::{ChangeOperation, ResultCode, parse_filter};
use state::execute::Done;
use state::grant::Grant;
use state::rules::ready;
use state::write::{Change, Given, Modification, Renaming, Write, WriteOptions};
use tempfile::TempDir;

mod packing;
mod slices;

const BASE: &str = "dc=example,dc=com";

/// One of several copies with equal state.
struct Node {
    store: Store,
    replayer: Replayer,
    _folder: TempDir,
}

impl Node {
    fn open(folder: TempDir) -> Node {
        let store = Store::open(folder.path()).expect("opened");
        let mut replayer = Replayer::new(&store).expect("a catalog");
        replayer.catalog.bounds = Bounds::SMALL;
        Node {
            store,
            replayer,
            _folder: folder,
        }
    }

    fn digest(&self) -> u128 {
        let mut reader = self.store.reader().expect("a reader");
        let snapshot = reader.snapshot().expect("a snapshot");
        snapshot.digest().expect("a digest")
    }

    /// The outcome of a write that has no place in the order yet.
    fn first(&self, write: &Write) -> Done {
        let catalog = &self.replayer.catalog;
        let mut batch = self.store.begin(&catalog.indexes).expect("begun");
        let record = Record {
            position: self.replayer.position + 1,
            time_us: SystemClock.now_us(),
            units: vec![std::slice::from_ref(write)],
        };
        let applied = apply(&mut batch, catalog, &record, Occasion::First).expect("applied");
        applied.results.into_iter().next().expect("a result")
    }
}

/// Two copies: one builds all its indexes at once, the other none.
struct Copies {
    ahead: Node,
    behind: Node,
    time_us: u64,
}

impl Copies {
    /// Copies of a new directory without some of the usual indexes.
    fn new() -> Copies {
        let (first, second) = (TempDir::new().expect("a"), TempDir::new().expect("b"));
        let mut options = InitOptions::new(BASE, "{SSHA}x".to_owned());
        let left_out = ["member", "uidNumber"];
        options.indexes.retain(|(it, _)| !left_out.contains(&&**it));
        crate::create(first.path(), &options).expect("created");
        let file = store::DATABASE_FILE;
        std::fs::copy(first.path().join(file), second.path().join(file)).expect("copied");
        Copies {
            ahead: Node::open(first),
            behind: Node::open(second),
            time_us: SystemClock.now_us(),
        }
    }

    /// Executes a write on both copies; returns whether it was done.
    fn execute(&mut self, write: &Write) -> bool {
        self.time_us += 1;
        let record = Record {
            position: self.ahead.replayer.position + 1,
            time_us: self.time_us,
            units: vec![std::slice::from_ref(write)],
        };
        let mut bytes = Vec::new();
        let schema = &self.ahead.replayer.catalog.schema;
        record::encode(&record, self.ahead.digest(), schema, &mut bytes);
        let outcomes = [&mut self.ahead, &mut self.behind].map(|node| {
            let executed = node.replayer.execute(&node.store, &bytes);
            executed.expect("it belongs to this state").1
        });
        assert_eq!(outcomes[0], outcomes[1], "{write:?}");
        assert_eq!(self.ahead.digest(), self.behind.digest(), "{write:?}");
        let ahead = &mut self.ahead;
        while !(ahead.replayer.build_indexes(&ahead.store, 100)).expect("built") {}
        outcomes[0].has(0)
    }

    fn add(&self, name: &str, attributes: &[(&str, &str)]) -> Write {
        let catalog = &self.ahead.replayer.catalog;
        crate::create::entry(catalog, BASE, name, attributes, &SystemClock).expect("an entry")
    }

    /// A write that replaces the values of an attribute.
    fn replace(&self, name: &str, attribute: &str, values: &[&str]) -> Write {
        let schema = &self.ahead.replayer.catalog.schema;
        let values = values.iter().map(|it| it.as_bytes().to_vec()).collect();
        let description = schema.describe(attribute).expect("known");
        let given = Given {
            description,
            values,
        };
        self.write(
            name,
            Change::Modify(vec![Modification {
                operation: ChangeOperation::Replace,
                given,
            }]),
        )
    }

    fn write(&self, name: &str, change: Change) -> Write {
        let schema = &self.ahead.replayer.catalog.schema;
        Write {
            grant: Grant::recorded(BASE.to_owned(), schema.resolve_name(name).expect("a name")),
            spelled: name.to_owned(),
            manage_dsa_it: false,
            options: None,
            change,
        }
    }

    fn index(&self, attribute: &str, kind: &str) -> Write {
        let name = format!("cn={attribute},cn=indexes,cn=config");
        let attributes = [
            ("objectClass", "pandoIndex"),
            ("pandoIndexAttribute", attribute),
            ("pandoIndexKind", kind),
        ];
        self.add(&name, &attributes)
    }

    fn unique(&self, attribute: &str) -> Write {
        let attributes = [
            ("objectClass", "pandoUnique"),
            ("pandoUniqueAttribute", attribute),
            ("pandoBase", "ou=people,dc=example,dc=com"),
        ];
        self.add(&format!("cn={attribute},cn=rules,cn=config"), &attributes)
    }

    fn person(&self, name: &str, more: &[(&str, &str)]) -> Write {
        let mut attributes = vec![("objectClass", "inetOrgPerson"), ("sn", "x")];
        attributes.extend(more);
        self.add(&format!("cn={name},ou=people,{BASE}"), &attributes)
    }

    fn account(&self, name: &str, more: &[(&str, &str)]) -> Write {
        let mut attributes = vec![
            ("objectClass", "account"),
            ("objectClass", "posixAccount"),
            ("cn", "x"),
            ("gidNumber", "1"),
            ("homeDirectory", "/"),
        ];
        attributes.extend(more);
        self.add(&format!("uid={name},ou=people,{BASE}"), &attributes)
    }

    /// Adds two containers.
    fn units(&mut self) {
        for name in ["people", "guests"] {
            let class = [("objectClass", "organizationalUnit")];
            let unit = self.add(&format!("ou={name},{BASE}"), &class);
            assert!(self.execute(&unit));
        }
    }
}

#[test]
fn holders_of_a_value_are_found_with_and_without_its_index() {
    let mut copies = Copies::new();
    copies.units();
    let first = copies.person("ada", &[("employeeNumber", "1")]);
    assert!(copies.execute(&first));
    let definition = copies.index("employeeNumber", "equality");
    assert!(copies.execute(&definition));
    let rule = copies.unique("employeeNumber");
    assert!(copies.execute(&rule));
    assert!(!copies.ahead.replayer.waits() && copies.behind.replayer.waits());
    let held = copies.person("bob", &[("employeeNumber", "1")]);
    assert!(!copies.execute(&held));
    let free = copies.person("bob", &[("employeeNumber", "2")]);
    assert!(copies.execute(&free));
    let bob = format!("cn=bob,ou=people,{BASE}");
    let held = copies.replace(&bob, "employeeNumber", &["1"]);
    assert!(!copies.execute(&held));
}

#[test]
fn numbers_are_the_same_with_and_without_the_index() {
    let mut copies = Copies::new();
    copies.units();
    for (name, number) in [("a", "1000"), ("b", "1001")] {
        let account = copies.account(name, &[("uidNumber", number)]);
        assert!(copies.execute(&account));
    }
    let definition = copies.index("uidNumber", "equality");
    assert!(copies.execute(&definition));
    let rule = [
        ("objectClass", "pandoNumbers"),
        ("pandoNumberAttribute", "uidNumber"),
        ("pandoNumberClass", "posixAccount"),
        ("pandoNumberRange", "1000-1999"),
    ];
    let rule = copies.add("cn=numbers,cn=rules,cn=config", &rule);
    assert!(copies.execute(&rule));
    for name in ["c", "d"] {
        let account = copies.account(name, &[]);
        assert!(copies.execute(&account));
    }
}

#[test]
fn groups_in_an_assertion_are_the_same_with_and_without_an_index() {
    let mut copies = Copies::new();
    copies.units();
    let ada = format!("cn=ada,ou=people,{BASE}");
    let group = format!("cn=group,{BASE}");
    let person = copies.person("ada", &[]);
    assert!(copies.execute(&person));
    let members = [("objectClass", "groupOfNames"), ("member", ada.as_str())];
    let added = copies.add(&group, &members);
    assert!(copies.execute(&added));
    let definition = copies.index("member", "equality");
    assert!(copies.execute(&definition));
    for (filter, matches) in [
        (format!("(memberOf={group})"), true),
        (format!("(isMemberOf={group})"), true),
        (format!("(memberOf:1.2.840.113556.1.4.1941:={group})"), true),
        (format!("(memberOf=cn=other,{BASE})"), false),
    ] {
        let mut write = copies.replace(&ada, "title", &[&filter]);
        write.options = WriteOptions {
            administrator: true,
            assertion: Some(parse_filter(&filter).expect("a filter")),
            ..WriteOptions::default()
        }
        .if_any();
        assert_eq!(copies.execute(&write), matches, "{filter}");
    }
}

#[test]
fn a_schema_is_as_good_with_and_without_an_index() {
    let shoe_size = |more: &str| {
        format!(
            "( 1.2.3.4.5 NAME 'shoeSize' EQUALITY integerMatch \
             SYNTAX 1.3.6.1.4.1.1466.115.121.1.27{more} )"
        )
    };
    let mut copies = Copies::new();
    copies.units();
    let own = "cn=mine,cn=schema,cn=config";
    let several = shoe_size("");
    let definitions = [
        ("objectClass", "pandoSchema"),
        ("attributeTypes", several.as_str()),
        (
            "objectClasses",
            "( 1.2.3.4.6 NAME 'walker' SUP top AUXILIARY MAY shoeSize )",
        ),
    ];
    let schema = copies.add(own, &definitions);
    assert!(copies.execute(&schema));
    let definition = copies.index("shoeSize", "presence");
    assert!(copies.execute(&definition));
    let more = [("objectClass", "walker"), ("shoeSize", "42")];
    let ada = copies.person("ada", &more);
    assert!(copies.execute(&ada));
    let gone = copies.write(&format!("cn=ada,ou=people,{BASE}"), Change::Delete);
    assert!(copies.execute(&gone));
    let single = copies.replace(own, "attributeTypes", &[&shoe_size(" SINGLE-VALUE")]);
    // The node without the index refuses this write, but executes it if another node ordered it.
    let refused = copies.behind.first(&single).outcome.result;
    assert_eq!(refused.code, ResultCode::CONSTRAINT_VIOLATION);
    assert!(copies.execute(&single));
}

#[test]
fn writes_that_need_an_index_wait_for_it_before_they_are_ordered() {
    let mut copies = Copies::new();
    copies.units();
    let definition = copies.index("employeeNumber", "equality");
    assert!(copies.execute(&definition));
    // A node also refuses a rule whose index is not complete on the node.
    let rule = copies.unique("employeeNumber");
    let refused = copies.behind.first(&rule).outcome.result;
    assert_eq!(refused.code, ResultCode::BUSY);
    assert_eq!(
        refused.diagnostic,
        "the equality index of employeeNumber is being built, and a rule in \
         cn=rules,cn=config needs it; try again when `pando index status` says that it is ready"
    );
    assert_eq!(
        copies.ahead.first(&rule).outcome.result.code,
        ResultCode::SUCCESS
    );
    assert!(copies.execute(&rule));
    // Another rule, for an attribute with an index, need not wait for it.
    let other = copies.unique("mail");
    assert_eq!(
        copies.behind.first(&other).outcome.result.code,
        ResultCode::SUCCESS
    );

    let number = [("employeeNumber", "1")];
    let guest = |name: &str| format!("cn={name},ou=guests,{BASE}");
    let people = format!("ou=people,{BASE}");
    let schema = &copies.ahead.replayer.catalog.schema;
    let renamed = |name: &str, superior: Option<&str>| {
        let rdn = "cn=other";
        let renaming = Renaming {
            rdn_spelled: rdn.to_owned(),
            rdn: schema.resolve_rdn(rdn).expect("an RDN"),
            delete_old_rdn: false,
            new_superior: superior.map(|it| schema.resolve_name(it).expect("a name")),
        };
        copies.write(name, Change::Rename(renaming))
    };
    let ada = format!("cn=ada,{people}");
    for (write, waits) in [
        (copies.person("ada", &number), true),
        (copies.person("ada", &[]), false),
        (copies.replace(&ada, "employeeNumber", &["1"]), true),
        (copies.replace(&ada, "employeeNumber", &[]), false),
        (copies.replace(&ada, "title", &["1"]), false),
        (copies.replace(&guest("a"), "employeeNumber", &["1"]), false),
        (renamed(&ada, None), false),
        (renamed(&guest("a"), Some(&people)), true),
        (renamed(&ada, Some(&format!("ou=guests,{BASE}"))), false),
        (copies.write(&ada, Change::Delete), false),
    ] {
        let here = ready::require_indexes(&copies.behind.replayer.catalog, &write);
        let code = here.err().map(|it| it.code);
        assert_eq!(code, waits.then_some(ResultCode::BUSY), "{write:?}");
        let there = ready::require_indexes(&copies.ahead.replayer.catalog, &write);
        assert!(there.is_ok(), "{write:?}");
    }
}

#[test]
fn writes_of_a_subtype_need_its_index_too() {
    let mut copies = Copies::new();
    copies.units();
    let definition = copies.index("name", "equality");
    assert!(copies.execute(&definition));
    let rule = copies.unique("name");
    let refused = copies.ahead.first(&rule).outcome.result;
    assert_eq!(refused.code, ResultCode::UNWILLING_TO_PERFORM);
    assert!(
        refused.diagnostic.contains("needs an equality index"),
        "{}",
        refused.diagnostic
    );
}

/// A write on a hidden entry found by id reveals no more than one found by name.
#[test]
fn execution_tells_nothing_of_hidden_entries() {
    let copies = Copies::new();
    let mut everything = Vec::new();
    let attributes = vec!["*", "+"];
    ReadEntryRequest { attributes }.encode(&mut everything);
    let holds = parse_filter("(objectClass=*)").expect("a filter");
    let schema = &copies.ahead.replayer.catalog.schema;
    let write = |by: &str, name: &str, options: WriteOptions| Write {
        grant: Grant::recorded(by.to_owned(), schema.resolve_name(name).expect("a name")),
        spelled: name.to_owned(),
        manage_dsa_it: false,
        options: options.if_any(),
        change: Change::Modify(Vec::new()),
    };
    let read = |administrator| WriteOptions {
        administrator,
        pre_read: Some(everything.clone()),
        post_read: Some(everything.clone()),
        ..WriteOptions::default()
    };
    let asserted = |administrator| WriteOptions {
        administrator,
        assertion: Some(holds.clone()),
        ..WriteOptions::default()
    };
    let administrator = "cn=admin,dc=example,dc=com";
    let (config, below) = ("cn=config", "cn=x,cn=rules,cn=config");
    for by in ["", BASE] {
        let done = copies.ahead.first(&write(by, config, read(false)));
        assert!(done.outcome.controls.is_empty(), "{by}: {done:?}");
        let done = copies.ahead.first(&write(by, config, asserted(false)));
        assert_eq!(
            done.outcome.result.code,
            ResultCode::ASSERTION_FAILED,
            "{by}"
        );
        let done = copies
            .ahead
            .first(&write(by, below, WriteOptions::default()));
        assert_eq!(done.outcome.result.matched, "", "{by}");
    }
    let done = copies
        .ahead
        .first(&write(administrator, config, read(true)));
    assert_eq!(done.outcome.controls.len(), 2);
    let done = copies
        .ahead
        .first(&write(administrator, config, asserted(true)));
    assert_eq!(done.outcome.result.code, ResultCode::SUCCESS);
    let done = copies
        .ahead
        .first(&write(administrator, below, WriteOptions::default()));
    assert_eq!(done.outcome.result.matched, "cn=rules,cn=config");
}
