//! Plans in a directory of a size at which the choice matters.

#![allow(clippy::unwrap_used)]

mod kit;

use kit::*;
use store::{Candidates, EntryId, IndexKinds, Region, RegionScope, Store};

/// Number of entries in one container, each with a number greater by one than the previous.
const NUMBERED: usize = 100_000;
/// Number of these entries that stand below an entry of their own.
const APART: usize = 5_000;

/// Makes dc=example,dc=com (1) with ou=Part (2), numbered entries below both, and an index of
/// numbers.
fn numbered(folder: &std::path::Path) -> (Store, store::IndexSet) {
    let ordering = IndexKinds {
        ordering: true,
        ..IndexKinds::NONE
    };
    let schema = schema();
    let indexes = indexes(&schema, &[("uidNumber", ordering)]);
    let store = create(folder, &indexes, 4);
    let mut batch = store.begin(&indexes).unwrap();
    let top = attributes("objectClass: domain; dc: example");
    let root = EntryId::ROOT;
    let top = insert(&mut batch, &schema, root, "dc=Example,dc=com", &top).unwrap();
    let part = attributes("objectClass: organizationalUnit; ou: Part");
    let part = insert(&mut batch, &schema, top, "ou=Part", &part).unwrap();
    for at in 0..NUMBERED {
        let own = attributes(&format!("objectClass: account; uidNumber: {at}"));
        let parent = if at < APART { part } else { top };
        insert(&mut batch, &schema, parent, &format!("uid={at}"), &own).unwrap();
    }
    batch.commit().unwrap();
    (store, indexes)
}

#[test]
fn what_has_very_many_rows_is_collected_in_slices() {
    let folder = tempfile::tempdir().unwrap();
    let (store, indexes) = numbered(folder.path());
    let mut reader = store.reader().unwrap();
    let snapshot = reader.snapshot().unwrap();
    let everywhere = subtree(EntryId(1));
    let plan = |text: &str, region: &Region| {
        let filter = filter(&indexes.schema, text);
        store::plan(&snapshot, &indexes, &filter, region).unwrap()
    };
    for after in [EntryId::ROOT, EntryId(50_000)] {
        let plan = plan("(uidNumber>=30000)", &everywhere);
        let mut candidates = snapshot.begin_candidates(&plan, after).unwrap();
        assert!(matches!(candidates, Candidates::Gathering(_)), "{plan}");
        let mut slices = 0;
        while !snapshot.gather(&mut candidates).unwrap() {
            slices += 1;
        }
        assert_eq!(slices, 1);
        assert_eq!(candidates, snapshot.candidates(&plan, after).unwrap());
        let first = EntryId(30_003.max(after.0 + 1));
        assert_eq!(candidates.next(EntryId::ROOT), Some(first));
        assert_eq!(candidates.count(), Some(NUMBERED as u64 + 3 - first.0));
    }
    // Collecting fails when the index was dropped in between.
    let one = plan("(uidNumber>=30000)", &everywhere);
    let found = snapshot.begin_candidates(&one, EntryId::ROOT).unwrap();
    let mut dropped = indexes.clone();
    dropped.definitions.clear();
    assert!(found.are_indexed(&indexes) && !found.are_indexed(&dropped));
    // A page does not need the rows collected, unless its entries are far away.
    let many = plan("(uidNumber>=30000)", &everywhere);
    let page = |after, wanted| snapshot.begin_page(&many, EntryId(after), wanted).unwrap();
    assert_eq!(page(30_000, 500), Candidates::Scan);
    assert!(matches!(page(30_000, 50_000), Candidates::Gathering(_)));
    assert!(matches!(page(0, 500), Candidates::Gathering(_)));
    // Both sides of a range are walked.
    let range = plan("(&(uidNumber>=30000)(uidNumber<=30099))", &everywhere);
    let mut found = snapshot.begin_candidates(&range, EntryId::ROOT).unwrap();
    while !snapshot.gather(&mut found).unwrap() {}
    assert_eq!(found.count(), Some(100));
    // Narrowing by the range costs more than evaluating the filter on the other candidates.
    let few = plan("(&(uidNumber>=30000)(uidNumber<=99))", &everywhere);
    let found = snapshot.begin_candidates(&few, EntryId::ROOT).unwrap();
    assert_eq!(found.count(), Some(100));
}

#[test]
fn very_many_owners_of_links_are_collected_in_slices() {
    const GROUPS: u64 = 70_000;
    let folder = tempfile::tempdir().unwrap();
    let equality = IndexKinds {
        equality: true,
        ..IndexKinds::NONE
    };
    let mut schema = schema();
    for attribute in ["member", "uniqueMember"] {
        let description = schema.describe(attribute).unwrap();
        schema = schema.with_number(&description).unwrap().0;
    }
    let indexes = indexes(&schema, &[("member", equality), ("uniqueMember", equality)]);
    let store = create(folder.path(), &indexes, 4);
    let mut batch = store.begin(&indexes).unwrap();
    let top = attributes("objectClass: domain; dc: example");
    let root = EntryId::ROOT;
    let top = insert(&mut batch, &schema, root, "dc=Example,dc=com", &top).unwrap();
    let own = attributes("objectClass: account");
    let mut expected = Vec::new();
    let (member, unique) = (number(&schema, "member"), number(&schema, "uniqueMember"));
    for at in 0..GROUPS {
        let id = insert(&mut batch, &schema, top, &format!("uid={at}"), &own).unwrap();
        // Some entries have only the other attribute, some both.
        if at % 3 != 0 {
            batch.change_links(id, member, &[(top, true)]).unwrap();
        }
        if at % 3 != 1 {
            batch.change_links(id, unique, &[(top, true)]).unwrap();
            expected.push(id);
        }
    }
    batch.commit().unwrap();
    let mut reader = store.reader().unwrap();
    let snapshot = reader.snapshot().unwrap();
    let filter = filter(&schema, "(uniqueMember=*)");
    let plan = store::plan(&snapshot, &indexes, &filter, &subtree(top)).unwrap();
    let mut candidates = snapshot.begin_candidates(&plan, root).unwrap();
    assert!(matches!(candidates, Candidates::Gathering(_)), "{plan}");
    let mut slices = 0;
    while !snapshot.gather(&mut candidates).unwrap() {
        slices += 1;
    }
    assert_eq!(slices, 1);
    let mut found = Vec::new();
    while let Some(id) = candidates.next(found.last().copied().unwrap_or(root)) {
        found.push(id);
    }
    assert!(found == expected, "{} of {}", found.len(), expected.len());
}

#[test]
fn what_finds_most_of_what_it_looks_at_is_not_unindexed() {
    let folder = tempfile::tempdir().unwrap();
    let (store, indexes) = numbered(folder.path());
    let mut reader = store.reader().unwrap();
    let snapshot = reader.snapshot().unwrap();
    let everywhere = subtree(EntryId(1));
    let part = |scope| Region {
        base: EntryId(2),
        scope,
    };
    let plan = |text: &str, region: &Region| {
        let filter = filter(&indexes.schema, text);
        let plan = store::plan(&snapshot, &indexes, &filter, region).unwrap();
        (plan.is_scan(), plan.is_unindexed())
    };
    // A filter that an index finds to match nearly all entries is planned as a scan.
    assert_eq!(plan("(uidNumber>=1)", &everywhere), (true, false));
    assert_eq!(plan("(uidNumber<=99000)", &everywhere), (true, false));
    assert_eq!(plan("(uidNumber<=9000)", &everywhere), (false, false));
    assert_eq!(plan("(objectClass=*)", &everywhere), (true, false));
    let both = "(&(uidNumber>=1)(description=x))";
    assert_eq!(plan(both, &everywhere), (true, true));
    assert_eq!(plan("(!(uidNumber>=1))", &everywhere), (true, true));
    // A large container is a small part of the directory.
    let children = part(RegionScope::OneLevel);
    assert_eq!(plan("(objectClass=*)", &children), (false, false));
    assert_eq!(plan("(uidNumber>=1)", &children), (false, false));
    assert_eq!(plan("(description=x)", &children), (false, true));
    let below = part(RegionScope::Subtree);
    assert_eq!(plan("(objectClass=*)", &below), (true, true));
    let one = (false, false);
    assert_eq!(plan("(uidNumber<=100)", &below), one);
}
