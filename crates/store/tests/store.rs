//! The store from outside: names, entries, indexes and plans in small, readable cases.

#![allow(clippy::unwrap_used)]

mod kit;

use kit::*;
use std::os::fd::AsFd;
use store::{
    Candidates, EntryId, Error, IndexKind, IndexKinds, Lookup, Region, RegionScope, SliceLimits,
    Store,
};

const EVERY_KIND: IndexKinds = IndexKinds {
    equality: true,
    presence: true,
    substring: true,
    ordering: true,
    approximate: true,
};
const EQUALITY: IndexKinds = IndexKinds {
    equality: true,
    ..IndexKinds::NONE
};

/// Makes dc=example,dc=com (1) with ou=People (2), uid=a (3) and uid=b (4) below it, and cn=config
/// (5).
fn small(folder: &std::path::Path) -> (Store, store::IndexSet) {
    let schema = schema();
    let indexes = indexes(
        &schema,
        &[
            ("cn", EVERY_KIND),
            ("uid", EQUALITY),
            ("sn", EVERY_KIND),
            ("uidNumber", EVERY_KIND),
            ("objectClass", EQUALITY),
        ],
    );
    let store = create(folder, &indexes, 4);
    let mut batch = store.begin(&indexes).unwrap();
    let top = attributes("objectClass: domain; dc: example");
    let top = insert(
        &mut batch,
        &schema,
        EntryId::ROOT,
        "dc=Example,dc=com",
        &top,
    )
    .unwrap();
    let people = attributes("objectClass: organizationalUnit; ou: People");
    let people = insert(&mut batch, &schema, top, "ou=People", &people).unwrap();
    let a =
        attributes("objectClass: inetOrgPerson; uid: a; cn: Anna Smith; sn: Smith; uidNumber: 11");
    insert(&mut batch, &schema, people, "uid=A", &a).unwrap();
    let b = attributes(
        "objectClass: person; uid: b; cn: Bob; cn_lang-de: Robert; sn: Miller; uidNumber: 9",
    );
    insert(&mut batch, &schema, people, "uid=b", &b).unwrap();
    let config = attributes("objectClass: device; cn: config");
    insert(&mut batch, &schema, EntryId::ROOT, "cn=config", &config).unwrap();
    batch.commit().unwrap();
    (store, indexes)
}

#[test]
fn names_lead_to_entries_and_back() {
    let folder = tempfile::tempdir().unwrap();
    let (store, indexes) = small(folder.path());
    let mut reader = store.reader().unwrap();
    let snapshot = reader.snapshot().unwrap();
    assert_sound(&snapshot, &indexes);
    let find = |dn: &str| snapshot.find(&name(&indexes.schema, dn)).unwrap();
    // The second look-up finds the superior in the cache.
    for _ in 0..2 {
        assert_eq!(
            find("uid=a,ou=people,dc=example,dc=com"),
            Lookup::Found(EntryId(3))
        );
        assert_eq!(
            find("UID=B, OU=People, DC=example, DC=COM"),
            Lookup::Found(EntryId(4))
        );
        assert_eq!(find("dc=example,dc=com"), Lookup::Found(EntryId(1)));
        assert_eq!(find("cn=config"), Lookup::Found(EntryId(5)));
        let missing = |matched, depth| Lookup::Missing {
            matched: EntryId(matched),
            depth,
        };
        assert_eq!(find("uid=c,ou=people,dc=example,dc=com"), missing(2, 3));
        assert_eq!(
            find("uid=c,uid=a,ou=people,dc=example,dc=com"),
            missing(3, 4)
        );
        assert_eq!(find("uid=c,ou=none,dc=example,dc=com"), missing(1, 2));
        assert_eq!(find("dc=com"), missing(0, 0));
    }
    assert_eq!(find(""), Lookup::Found(EntryId::ROOT));
    let mut text = Vec::new();
    let view = snapshot.entry(EntryId(3)).unwrap().unwrap();
    snapshot.write_name(&view, &mut text).unwrap();
    assert_eq!(text, b"uid=A,ou=People,dc=Example,dc=com");
    assert_eq!(snapshot.child_count(EntryId(2)).unwrap(), 2);
    assert_eq!(snapshot.child_count(EntryId::ROOT).unwrap(), 2);
    let children: Vec<_> = snapshot.children(EntryId(1)).map(Result::unwrap).collect();
    assert_eq!(children, [EntryId(2)]);
}

#[test]
fn a_plan_uses_the_index_that_is_cheapest() {
    let folder = tempfile::tempdir().unwrap();
    let (store, indexes) = small(folder.path());
    let mut reader = store.reader().unwrap();
    let snapshot = reader.snapshot().unwrap();
    let plan = |text: &str, region: &Region| {
        let filter = filter(&indexes.schema, text);
        let plan = store::plan(&snapshot, &indexes, &filter, region).unwrap();
        let candidates = snapshot.candidates(&plan, EntryId::ROOT).unwrap();
        let found = search(&snapshot, &indexes, &filter, region);
        assert_eq!(found, scan(&snapshot, &indexes, &filter, region), "{text}");
        (plan.explain(&indexes.schema), candidates)
    };
    let all = subtree(EntryId(1));
    let (why, found) = plan("(uid=A)", &all);
    assert_eq!(why, "equality index of uid (1); about 1 candidates");
    assert_eq!(found, Candidates::One(EntryId(3)));
    assert_eq!(plan("(uid=nobody)", &all).1, Candidates::None);
    assert_eq!(
        plan("(&(uid=b)(objectClass=person))", &all).1,
        Candidates::One(EntryId(4))
    );
    assert_eq!(
        plan("(&(cn=*)(description=x)(uid=b))", &all).1,
        Candidates::One(EntryId(4))
    );
    // Subclasses count: an inetOrgPerson is a person.
    let people = Candidates::Ids(vec![EntryId(3), EntryId(4)]);
    assert_eq!(plan("(objectClass=person)", &all).1, people);
    assert_eq!(plan("(|(uid=a)(uid=b))", &all).1, people);
    // Subtypes count: sn and cn are names, and both are indexed; options share the type's index.
    assert_eq!(plan("(cn=robert)", &all).1, Candidates::One(EntryId(4)));
    assert_eq!(plan("(uidNumber>=10)", &all).1, Candidates::One(EntryId(3)));
    assert_eq!(plan("(uidNumber<=10)", &all).1, Candidates::One(EntryId(4)));
    assert_eq!(plan("(cn=*nna*)", &all).1, Candidates::One(EntryId(3)));
    assert_eq!(plan("(cn~=bop)", &all).1, Candidates::One(EntryId(4)));
    let by_name = plan("(entryDN=uid=a,ou=people,dc=example,dc=com)", &all).1;
    assert_eq!(by_name, Candidates::One(EntryId(3)));
    let base = Region {
        base: EntryId(2),
        scope: RegionScope::Base,
    };
    assert_eq!(
        plan("(objectClass=*)", &base).1,
        Candidates::One(EntryId(2))
    );
    assert_eq!(
        plan(
            "(!(uid=a))",
            &Region {
                base: EntryId(9),
                ..base
            }
        )
        .1
        .count(),
        Some(1)
    );
}

#[test]
fn a_refused_change_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (store, indexes) = small(folder.path());
    let schema = &indexes.schema;
    let mut batch = store.begin(&indexes).unwrap();
    let before = batch.snapshot().digest().unwrap();
    let person = attributes("objectClass: person; uid: x; cn: X; sn: X");
    let taken = insert(&mut batch, schema, EntryId(2), "uid=a", &person);
    assert!(matches!(taken, Err(Error::Conflict { .. })));
    let parent = batch.delete(EntryId(2), (EntryId(1), &rdn_normal(schema, "ou=People")));
    assert!(matches!(parent, Err(Error::Conflict { .. })));
    let circle = batch.rename(
        EntryId(1),
        (EntryId::ROOT, name(schema, "dc=example,dc=com").bytes()),
        (EntryId(2), &rdn_normal(schema, "dc=example")),
        &row(schema, EntryId(2), "dc=example", &person),
    );
    assert!(matches!(circle, Err(Error::Conflict { .. })));
    let nobody = batch.update(EntryId(77), &row(schema, EntryId(2), "uid=x", &person));
    assert!(matches!(nobody, Err(Error::Conflict { .. })));
    assert_eq!(batch.snapshot().digest().unwrap(), before);
    assert_sound(&batch.snapshot(), &indexes);
    batch.commit().unwrap();
    let mut reader = store.reader().unwrap();
    assert_sound(&reader.snapshot().unwrap(), &indexes);
}

#[test]
fn a_subtree_moves_with_one_row_and_readers_notice() {
    let folder = tempfile::tempdir().unwrap();
    let (store, indexes) = small(folder.path());
    let schema = &indexes.schema;
    let mut reader = store.reader().unwrap();
    let dn = |snapshot: &store::Snapshot<'_>| {
        let mut text = Vec::new();
        let view = snapshot.entry(EntryId(3)).unwrap().unwrap();
        snapshot.write_name(&view, &mut text).unwrap();
        String::from_utf8(text).unwrap()
    };
    assert_eq!(
        dn(&reader.snapshot().unwrap()),
        "uid=A,ou=People,dc=Example,dc=com"
    );
    let mut batch = store.begin(&indexes).unwrap();
    let people = attributes("objectClass: organizationalUnit; ou: Staff");
    batch
        .rename(
            EntryId(2),
            (EntryId(1), &rdn_normal(schema, "ou=People")),
            (EntryId(5), &rdn_normal(schema, "ou=Staff")),
            &row(schema, EntryId(5), "ou=Staff", &people),
        )
        .unwrap();
    assert_eq!(dn(&batch.snapshot()), "uid=A,ou=Staff,cn=config");
    batch.commit().unwrap();
    // The old snapshot still has the old name.
    assert_eq!(
        dn(&reader.snapshot().unwrap()),
        "uid=A,ou=People,dc=Example,dc=com"
    );
    reader.reset();
    let snapshot = reader.snapshot().unwrap();
    assert_eq!(dn(&snapshot), "uid=A,ou=Staff,cn=config");
    let found = snapshot
        .find(&name(schema, "uid=a,ou=staff,cn=config"))
        .unwrap();
    assert_eq!(found, Lookup::Found(EntryId(3)));
    let view = snapshot.entry(EntryId(3)).unwrap().unwrap();
    assert!(
        !snapshot
            .is_within(EntryId(3), &view, &subtree(EntryId(1)))
            .unwrap()
    );
    assert!(
        snapshot
            .is_within(EntryId(3), &view, &subtree(EntryId(5)))
            .unwrap()
    );
    assert_sound(&snapshot, &indexes);
}

#[test]
fn one_process_opens_a_folder_once() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::create(folder.path()).unwrap();
    match Store::open(folder.path()) {
        Err(Error::Locked { process, .. }) => assert_eq!(process, Some(std::process::id())),
        other => panic!("expected a lock, got {other:?}"),
    }
    let reader = store.reader().unwrap();
    store.close();
    // A reader keeps the database open.
    assert!(matches!(
        Store::open(folder.path()),
        Err(Error::Locked { .. })
    ));
    drop(reader);
    assert!(matches!(
        Store::create(folder.path()),
        Err(Error::Exists { .. })
    ));
    Store::open(folder.path()).unwrap();
    let empty = tempfile::tempdir().unwrap();
    assert!(matches!(
        Store::open(empty.path()),
        Err(Error::Missing { .. })
    ));
}

#[test]
fn a_full_map_refuses_the_batch_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let schema = schema();
    let indexes = indexes(&schema, &[("uid", EQUALITY), ("cn", EVERY_KIND)]);
    let options = store::StoreOptions {
        map_bytes: 1 << 20,
        map_adapts: false,
        ..store::StoreOptions::default()
    };
    let store = Store::create_with(folder.path(), &options).unwrap();
    let mut batch = store.begin(&indexes).unwrap();
    batch.put_dictionary(&schema.dictionary_rows()).unwrap();
    batch.set_index("uid", EQUALITY).unwrap();
    batch.set_index("cn", EVERY_KIND).unwrap();
    let top = attributes("objectClass: domain; dc: example");
    let top = insert(&mut batch, &schema, EntryId::ROOT, "dc=example", &top).unwrap();
    batch.commit().unwrap();
    let mut entries = 1;
    let long = "x".repeat(3000);
    let full = loop {
        let mut batch = store.begin(&indexes).unwrap();
        let rdn = format!("uid=u{entries}");
        let text = format!("objectClass: account; uid: u{entries}; cn: {long}");
        let done =
            insert(&mut batch, &schema, top, &rdn, &attributes(&text)).and_then(|_| batch.commit());
        match done {
            Ok(()) => entries += 1,
            Err(error) => break error,
        }
    };
    assert!(matches!(full, Error::Full), "{full:?}");
    let mut reader = store.reader().unwrap();
    let snapshot = reader.snapshot().unwrap();
    assert_eq!(snapshot.entry_count().unwrap(), entries);
    assert_sound(&snapshot, &indexes);
    // With room again, writes work, and the old rows are still there.
    drop(reader);
    drop(store);
    let larger = store::StoreOptions {
        map_bytes: 4 << 20,
        ..options
    };
    let store = Store::open_with(folder.path(), &larger).unwrap();
    let mut batch = store.begin(&indexes).unwrap();
    insert(
        &mut batch,
        &schema,
        top,
        "uid=more",
        &attributes("uid: more"),
    )
    .unwrap();
    batch.commit().unwrap();
    let mut reader = store.reader().unwrap();
    assert_sound(&reader.snapshot().unwrap(), &indexes);
}

#[test]
fn indexes_are_built_in_slices_under_writes() {
    let folder = tempfile::tempdir().unwrap();
    let (store, mut indexes) = small(folder.path());
    let schema = indexes.schema.clone();
    let mut batch = store.begin(&indexes).unwrap();
    batch.set_index("mail", EVERY_KIND).unwrap();
    batch
        .set_index("cn", IndexKinds::of(&[IndexKind::Equality]))
        .unwrap();
    batch.commit().unwrap();
    let mut slices = 0;
    loop {
        let mut reader = store.reader().unwrap();
        let states = reader.snapshot().unwrap().index_states().unwrap();
        indexes = store::IndexSet::from_states(schema.clone(), &states);
        assert_sound(&reader.snapshot().unwrap(), &indexes);
        drop(reader);
        let mut batch = store.begin(&indexes).unwrap();
        let text = format!("objectClass: person; uid: n{slices}; mail: n{slices}@x; cn: N");
        let rdn = format!("uid=n{slices}");
        insert(&mut batch, &schema, EntryId(2), &rdn, &attributes(&text)).unwrap();
        batch.commit().unwrap();
        let mut batch = store.begin(&indexes).unwrap();
        let progress = batch.build_indexes(SliceLimits::entries(3)).unwrap();
        batch.commit().unwrap();
        if progress.is_finished() {
            break;
        }
        slices += 1;
        assert!(slices < 1000, "{progress:?}");
    }
    assert!(slices > 3, "{slices}");
    let mut reader = store.reader().unwrap();
    let snapshot = reader.snapshot().unwrap();
    let states = snapshot.index_states().unwrap();
    let indexes = store::IndexSet::from_states(schema.clone(), &states);
    assert!(indexes.definitions.iter().all(|it| it.ready));
    let wanted = filter(&schema, "(mail=n1@x)");
    let plan = store::plan(&snapshot, &indexes, &wanted, &subtree(EntryId(1))).unwrap();
    assert!(
        plan.explain(&schema).starts_with("equality index of mail"),
        "{plan}"
    );
    assert_sound(&snapshot, &indexes);
}

#[test]
fn an_index_that_is_built_anew_answers_meanwhile() {
    let folder = tempfile::tempdir().unwrap();
    let (store, indexes) = small(folder.path());
    let states = |store: &Store| {
        let mut reader = store.reader().unwrap();
        let states = reader.snapshot().unwrap().index_states().unwrap();
        store::IndexSet::from_states(indexes.schema.clone(), &states)
    };
    // A write without the index, whose rows are then missing.
    let mut forgetful = indexes.clone();
    forgetful.definitions.retain(|it| it.attribute != "cn");
    let mut batch = store.begin(&forgetful).unwrap();
    let carl = attributes("objectClass: person; uid: c; cn: Carl");
    insert(&mut batch, &indexes.schema, EntryId(2), "uid=c", &carl).unwrap();
    batch.commit().unwrap();
    let mut batch = store.begin(&indexes).unwrap();
    batch.rebuild_index("cn").unwrap();
    batch.rebuild_index("mail").unwrap();
    batch.commit().unwrap();
    let schema = &indexes.schema;
    let mut slices = 0;
    loop {
        let now = states(&store);
        let mut reader = store.reader().unwrap();
        let snapshot = reader.snapshot().unwrap();
        let wanted = filter(schema, "(cn=bob)");
        let plan = store::plan(&snapshot, &now, &wanted, &subtree(EntryId(1))).unwrap();
        let text = plan.explain(schema);
        assert!(text.starts_with("equality index of cn"), "{text}");
        let mut batch = store.begin(&now).unwrap();
        let progress = batch.build_indexes(SliceLimits::entries(2)).unwrap();
        batch.commit().unwrap();
        if progress.is_finished() {
            break;
        }
        slices += 1;
    }
    assert!(slices >= 3, "{slices}");
    let mut reader = store.reader().unwrap();
    assert_sound(&reader.snapshot().unwrap(), &states(&store));
}

#[test]
fn a_slice_ends_when_its_time_is_over() {
    let folder = tempfile::tempdir().unwrap();
    let (store, indexes) = small(folder.path());
    let mut batch = store.begin(&indexes).unwrap();
    for number in 0..100 {
        let text = format!("objectClass: person; uid: n{number}; mail: n{number}@x; cn: N");
        let rdn = format!("uid=n{number}");
        insert(
            &mut batch,
            &indexes.schema,
            EntryId(2),
            &rdn,
            &attributes(&text),
        )
        .unwrap();
    }
    batch.commit().unwrap();
    let no_time = SliceLimits {
        entries: 1_000,
        time: std::time::Duration::ZERO,
    };
    let mut indexes = indexes;
    for (kinds, removing) in [(EQUALITY, false), (IndexKinds::NONE, true)] {
        let mut batch = store.begin(&indexes).unwrap();
        batch.set_index("mail", kinds).unwrap();
        batch.commit().unwrap();
        let mut slices = 0;
        loop {
            let mut reader = store.reader().unwrap();
            let states = reader.snapshot().unwrap().index_states().unwrap();
            indexes = store::IndexSet::from_states(indexes.schema.clone(), &states);
            assert_sound(&reader.snapshot().unwrap(), &indexes);
            let mut batch = store.begin(&indexes).unwrap();
            let progress = batch.build_indexes(no_time).unwrap();
            batch.commit().unwrap();
            if progress.is_finished() {
                break;
            }
            assert_eq!(progress.removing, removing);
            assert!(progress.taken < 100, "{progress:?}");
            slices += 1;
        }
        assert!(slices > 3, "{slices}");
    }
}

#[test]
fn a_copy_is_the_same_database() {
    let folder = tempfile::tempdir().unwrap();
    let (store, indexes) = small(folder.path());
    let to = tempfile::tempdir().unwrap();
    let file = std::fs::File::create(to.path().join(store::DATABASE_FILE)).unwrap();
    store.copy_to(file.as_fd()).unwrap();
    let copy = Store::open(to.path()).unwrap();
    let (mut one, mut other) = (store.reader().unwrap(), copy.reader().unwrap());
    let other = other.snapshot().unwrap();
    assert_eq!(
        one.snapshot().unwrap().digest().unwrap(),
        other.digest().unwrap()
    );
    assert_sound(&other, &indexes);
}

#[test]
fn readers_agree_on_a_state() {
    let folder = tempfile::tempdir().unwrap();
    let (store, _) = small(folder.path());
    let mut readers = store.readers(3).unwrap();
    let versions: Vec<_> = readers
        .iter_mut()
        .map(|it| it.snapshot().unwrap().version())
        .collect();
    assert_eq!(versions, [versions[0]; 3]);
}

#[test]
fn the_check_finds_what_is_wrong() {
    let folder = tempfile::tempdir().unwrap();
    let (store, indexes) = small(folder.path());
    let schema = &indexes.schema;
    // Writes without the indexes, a name that is not the entry's, and a wrong digest.
    let forgetful = store::IndexSet {
        schema: schema.clone(),
        definitions: Vec::new(),
    };
    let mut batch = store.begin(&forgetful).unwrap();
    let text = "objectClass: person; uid: c; cn: Carl; uidNumber: 7";
    insert(&mut batch, schema, EntryId(2), "uid=c", &attributes(text)).unwrap();
    let mut bytes = row(schema, EntryId(2), "uid=d", &attributes("description: d"));
    bytes[24] ^= 1;
    batch
        .insert(EntryId(7), EntryId(2), b"uid=other", &bytes)
        .unwrap();
    batch
        .delete(
            EntryId(5),
            (EntryId::ROOT, name(schema, "cn=config").bytes()),
        )
        .unwrap();
    batch.commit().unwrap();
    let mut reader = store.reader().unwrap();
    let report = store::check(&reader.snapshot().unwrap(), &indexes, &mut |_| {}).unwrap();
    let text = report.problems.join("\n");
    for problem in [
        "the name row of entry 7 (uid=d) has another name",
        "the digest of entry 7 is wrong",
        "entry 6 is missing in the equality index of attribute 4",
        "entry 6 is missing in the substring index of attribute 2",
        "entry 6 is missing in the ordering index",
    ] {
        assert!(text.contains(problem), "{problem}\n{text}");
    }
    assert_eq!(report.problem_count, report.problems.len() as u64);
    assert_eq!(report.entries, 6);
}

#[test]
fn a_database_is_read_into_memory_as_far_as_it_may_be() {
    let folder = tempfile::tempdir().unwrap();
    let (store, _) = small(folder.path());
    let (used, _) = store.sizes().unwrap();
    assert_eq!(store.warm_up(used, &|| true).unwrap(), Some(used));
    assert_eq!(store.warm_up(used - 1, &|| true).unwrap(), None);
    assert_eq!(store.warm_up(used, &|| false).unwrap(), Some(0));
}

#[test]
fn an_index_build_goes_on_where_a_process_ended() {
    let folder = tempfile::tempdir().unwrap();
    let (mut store, indexes) = small(folder.path());
    let mut batch = store.begin(&indexes).unwrap();
    batch.set_index("mail", EVERY_KIND).unwrap();
    batch.commit().unwrap();
    let (mut done, mut slices) = (0, 0);
    loop {
        let mut batch = store.begin(&indexes).unwrap();
        let progress = batch.build_indexes(SliceLimits::entries(1)).unwrap();
        batch.commit().unwrap();
        if progress.done < done || progress.is_finished() {
            break;
        }
        assert!(progress.done > done, "{progress:?}");
        done = progress.done;
        slices += 1;
        drop(store);
        store = Store::open(folder.path()).unwrap();
    }
    assert!(slices > 2, "{slices}");
    let mut reader = store.reader().unwrap();
    let snapshot = reader.snapshot().unwrap();
    let states = snapshot.index_states().unwrap();
    let indexes = store::IndexSet::from_states(indexes.schema.clone(), &states);
    assert!(indexes.definitions.iter().all(|it| it.ready));
    assert_sound(&snapshot, &indexes);
}
