//! Bulk load: it makes the same database as single writes, and postings come and go.

#![allow(clippy::unwrap_used)]

mod kit;

use kit::*;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use store::{
    BulkLoader, EntryId, Error, IndexKind, IndexKinds, IndexSet, Place, Preparer, Snapshot, Store,
    StoreOptions,
};

const ENTRIES: u64 = 11_000;

fn definitions() -> [(&'static str, IndexKinds); 4] {
    let kinds = IndexKinds::of(&IndexKind::ALL);
    let equality = IndexKinds::of(&[IndexKind::Equality]);
    [
        ("objectClass", equality),
        ("cn", kinds),
        ("uidNumber", kinds),
        ("uid", equality),
    ]
}

fn person(n: u64) -> Attributes {
    let class = if n.is_multiple_of(3) {
        "person"
    } else {
        "account"
    };
    let city = ["Bonn", "Rome", "Oslo"][n as usize % 3];
    attributes(&format!(
        "objectClass: {class}; uid: u{n}; cn: {city} {}; uidNumber: {n}",
        n % 50
    ))
}

/// Loads the same entries in bulk into `folder`, through preparers that take turns, with `memory`
/// bytes for sorting.
fn load_within(
    folder: &std::path::Path,
    indexes: &IndexSet,
    holders_max: u32,
    memory: usize,
) -> store::Loaded {
    let schema = &indexes.schema;
    let options = StoreOptions {
        holders_max,
        ..StoreOptions::default()
    };
    let mut loader = BulkLoader::create_with(folder, indexes, &options).unwrap();
    loader.limit_memory(memory, None);
    loader.put_dictionary(&schema.dictionary_rows()).unwrap();
    loader.put_meta(b"key", b"value").unwrap();
    loader.set_position(7);
    let mut preparer = Preparer::new(indexes);
    let top = row(
        schema,
        EntryId(99),
        "dc=example",
        &attributes("objectClass: domain"),
    );
    preparer
        .add(name(schema, "dc=example").bytes(), &top)
        .unwrap();
    let mut places = vec![Some(Place {
        id: EntryId(1),
        parent: EntryId::ROOT,
    })];
    for n in 2..=ENTRIES {
        let rdn = format!("uid=u{n}");
        let bytes = row(schema, EntryId::ROOT, &rdn, &person(n));
        preparer.add(&rdn_normal(schema, &rdn), &bytes).unwrap();
        places.push(Some(Place {
            id: EntryId(n),
            parent: EntryId(1),
        }));
        if n % 11 == 0 {
            // A rejected entry gets no place.
            preparer.add(b"uid=rejected", &bytes).unwrap();
            places.push(None);
        }
        if n % 1000 == 0 || n == ENTRIES {
            loader.append(&preparer.take(), &places).unwrap();
            places.clear();
        }
    }
    loader.finish().unwrap()
}

#[test]
fn bulk_load_and_single_writes_make_the_same() {
    let schema = schema();
    let indexes = indexes(&schema, &definitions());
    let folder = tempfile::tempdir().unwrap();
    let store = create(&folder.path().join("one"), &indexes, 100);
    let mut batch = store.begin(&indexes).unwrap();
    let top = attributes("objectClass: domain");
    insert(&mut batch, &schema, EntryId::ROOT, "dc=example", &top).unwrap();
    for n in 2..=ENTRIES {
        insert(
            &mut batch,
            &schema,
            EntryId(1),
            &format!("uid=u{n}"),
            &person(n),
        )
        .unwrap();
    }
    batch.commit().unwrap();
    let mut sizes = Vec::new();
    // Memory suffices for all keys; for a few sorted runs; for one piece each.
    for memory in [usize::MAX, 500_000, 1] {
        let folder = folder.path().join(format!("bulk-{memory}"));
        let loaded = load_within(&folder, &indexes, 100, memory);
        assert_loaded(&store, &folder, &loaded, &indexes);
        sizes.push(loaded.bytes);
        let left = std::fs::read_dir(folder.join("sorting"));
        assert_eq!(left.map_or(0, Iterator::count), 0);
    }
    assert!(
        sizes.iter().all(|it| it.abs_diff(sizes[0]) < 100_000),
        "{sizes:?}"
    );
}

/// Checks that the database in `folder` equals that of the store.
fn assert_loaded(
    store: &Store,
    folder: &std::path::Path,
    loaded: &store::Loaded,
    indexes: &IndexSet,
) {
    let schema = &indexes.schema;
    let options = StoreOptions {
        holders_max: 100,
        ..StoreOptions::default()
    };
    let bulk = Store::open_with(folder, &options).unwrap();
    let (mut one, mut two) = (store.reader().unwrap(), bulk.reader().unwrap());
    let (one, two) = (one.snapshot().unwrap(), two.snapshot().unwrap());
    assert_same(&one, &two, indexes);
    assert_eq!(
        (loaded.entries, loaded.digest),
        (ENTRIES, two.digest().unwrap())
    );
    assert_eq!(
        (two.position().unwrap(), two.last_id().unwrap()),
        (7, EntryId(ENTRIES))
    );
    assert_eq!(two.meta(b"key").unwrap(), Some(&b"value"[..]));
    assert_eq!(two.dictionary().unwrap(), schema.dictionary_rows());
}

#[test]
fn a_load_goes_on_from_its_checkpoint() {
    let schema = schema();
    let indexes = indexes(&schema, &definitions());
    let folder = tempfile::tempdir().unwrap();
    let (whole, resumed) = (folder.path().join("whole"), folder.path().join("resumed"));
    let mut loader = BulkLoader::create(&whole, &indexes).unwrap();
    append(&mut loader, &indexes, 1..=ENTRIES);
    let expected = loader.finish().unwrap();
    let mut loader = BulkLoader::create(&resumed, &indexes).unwrap();
    let mut checkpoint = Vec::new();
    let mut next = 1;
    for end in [3000, 8500, 10_000, ENTRIES] {
        append(&mut loader, &indexes, next..=end);
        checkpoint = loader.checkpoint().unwrap();
        loader.checkpoint_kept();
        next = end + 1;
        // Changes behind the checkpoint are lost: committed and collected entries, or even a
        // finished load.
        append(&mut loader, &indexes, next..=ENTRIES);
        match end {
            8500 => drop(loader.finish().unwrap()),
            _ => drop(loader),
        }
        loader = BulkLoader::resume(&resumed, &checkpoint).unwrap();
    }
    let loaded = loader.finish().unwrap();
    assert_eq!(
        (loaded.entries, loaded.digest),
        (expected.entries, expected.digest)
    );
    // The end of the load can be repeated.
    let again = BulkLoader::resume(&resumed, &checkpoint).unwrap();
    assert_eq!(again.finish().unwrap().digest, expected.digest);
    let (one, two) = (Store::open(&whole).unwrap(), Store::open(&resumed).unwrap());
    let (mut one, mut two) = (one.reader().unwrap(), two.reader().unwrap());
    assert_same(&one.snapshot().unwrap(), &two.snapshot().unwrap(), &indexes);
    assert!(BulkLoader::resume(&resumed, &checkpoint[..40]).is_err());
}

#[test]
fn changes_after_a_load_leave_its_checkpoint_good() {
    let schema = schema();
    let indexes = indexes(&schema, &definitions());
    let folder = tempfile::tempdir().unwrap();
    let (whole, resumed) = (folder.path().join("whole"), folder.path().join("resumed"));
    let mut loader = BulkLoader::create(&whole, &indexes).unwrap();
    append(&mut loader, &indexes, 1..=ENTRIES);
    let expected = loader.finish().unwrap();
    let mut loader = BulkLoader::create(&resumed, &indexes).unwrap();
    append(&mut loader, &indexes, 1..=ENTRIES);
    let checkpoint = loader.checkpoint().unwrap();
    loader.checkpoint_kept();
    // The load is cancelled, and resumed after more changes than it had left free pages for.
    let stopped = loader.finish_unless(Arc::new(AtomicBool::new(true)));
    assert!(matches!(stopped, Err(Error::Cancelled)), "{stopped:?}");
    let loader = BulkLoader::resume(&resumed, &checkpoint).unwrap();
    let finished = loader.finish_unless(Arc::default()).unwrap();
    assert_eq!(finished.loaded.digest, expected.digest);
    for round in 0..3_u8 {
        let mut batch = finished.store().begin(&indexes).unwrap();
        for key in 0..2_000_u32 {
            batch.put_meta(&key.to_be_bytes(), &[round; 1000]).unwrap();
        }
        batch.commit().unwrap();
    }
    drop(finished);
    let loader = BulkLoader::resume(&resumed, &checkpoint).unwrap();
    assert_eq!(loader.finish().unwrap().digest, expected.digest);
    let (one, two) = (Store::open(&whole).unwrap(), Store::open(&resumed).unwrap());
    let (mut one, mut two) = (one.reader().unwrap(), two.reader().unwrap());
    assert_same(&one.snapshot().unwrap(), &two.snapshot().unwrap(), &indexes);
}

/// Appends the entries with these numbers.
fn append(loader: &mut BulkLoader, indexes: &IndexSet, numbers: std::ops::RangeInclusive<u64>) {
    let schema = &indexes.schema;
    let mut preparer = Preparer::new(indexes);
    let mut places = Vec::new();
    for n in numbers {
        if n == 1 {
            let top = row(
                schema,
                EntryId(0),
                "dc=example",
                &attributes("objectClass: domain"),
            );
            preparer
                .add(name(schema, "dc=example").bytes(), &top)
                .unwrap();
        } else {
            let rdn = format!("uid=u{n}");
            let bytes = row(schema, EntryId::ROOT, &rdn, &person(n));
            preparer.add(&rdn_normal(schema, &rdn), &bytes).unwrap();
        }
        let parent = if n == 1 { EntryId::ROOT } else { EntryId(1) };
        places.push(Some(Place {
            id: EntryId(n),
            parent,
        }));
        if n.is_multiple_of(500) {
            loader.append(&preparer.take(), &places).unwrap();
            places.clear();
        }
    }
    loader.append(&preparer.take(), &places).unwrap();
}

fn assert_same(one: &Snapshot<'_>, two: &Snapshot<'_>, indexes: &IndexSet) {
    assert_sound(one, indexes);
    assert_sound(two, indexes);
    assert_eq!(one.digest().unwrap(), two.digest().unwrap());
    let states = two.index_states().unwrap();
    assert!(
        states
            .iter()
            .all(|it| it.building == IndexKinds::NONE && it.ready.equality)
    );
    assert_eq!(states.len(), definitions().len());
    for text in [
        "(uid=u77)",
        "(objectClass=person)",
        "(cn=*onn 1*)",
        "(uidNumber>=8990)",
        "(cn=oslo 2)",
    ] {
        let filter = filter(&indexes.schema, text);
        let found = search(two, indexes, &filter, &subtree(EntryId(1)));
        assert!(!found.is_empty(), "{text}");
        assert_eq!(
            found,
            search(one, indexes, &filter, &subtree(EntryId(1))),
            "{text}"
        );
        assert_eq!(
            found,
            scan(two, indexes, &filter, &subtree(EntryId(1))),
            "{text}"
        );
    }
    for view in two.entries_after(EntryId::ROOT).map(|it| it.unwrap()) {
        assert_eq!(
            Some(view.1.bytes()),
            one.entry(view.0).unwrap().map(|it| it.bytes())
        );
    }
}

#[test]
fn two_entries_of_one_name_are_refused() {
    let schema = schema();
    let indexes = indexes(&schema, &definitions());
    let folder = tempfile::tempdir().unwrap();
    let mut loader = BulkLoader::create(folder.path(), &indexes).unwrap();
    let mut preparer = Preparer::new(&indexes);
    let bytes = row(
        &schema,
        EntryId::ROOT,
        "dc=example",
        &attributes("dc: example"),
    );
    preparer.add(b"dc=example", &bytes).unwrap();
    preparer.add(b"dc=example", &bytes).unwrap();
    let place = |id| {
        Some(Place {
            id: EntryId(id),
            parent: EntryId::ROOT,
        })
    };
    let prepared = preparer.take();
    assert!(matches!(
        loader.append(&prepared, &[place(1)]),
        Err(Error::Conflict { .. })
    ));
    loader.append(&prepared, &[place(1), place(2)]).unwrap();
    assert!(matches!(loader.finish(), Err(Error::Conflict { .. })));
}

#[test]
fn a_value_moves_to_a_posting_and_back() {
    let schema = schema();
    let equality = IndexKinds::of(&[IndexKind::Equality]);
    let indexes = indexes(&schema, &[("l", equality)]);
    let folder = tempfile::tempdir().unwrap();
    let store = create(folder.path(), &indexes, 64);
    let mut batch = store.begin(&indexes).unwrap();
    let top = attributes("objectClass: domain");
    insert(&mut batch, &schema, EntryId::ROOT, "dc=example", &top).unwrap();
    batch.commit().unwrap();
    let wanted = filter(&schema, "(l=Bonn)");
    let rows = |table: &str| {
        let mut reader = store.reader().unwrap();
        let snapshot = reader.snapshot().unwrap();
        assert_sound(&snapshot, &indexes);
        let tables = snapshot.table_statistics().unwrap();
        tables.iter().find(|it| it.0 == table).unwrap().1.rows
    };
    let mut batch = store.begin(&indexes).unwrap();
    for n in 0..200 {
        let text = format!("uid: u{n}; l: Bonn");
        insert(
            &mut batch,
            &schema,
            EntryId(1),
            &format!("uid=u{n}"),
            &attributes(&text),
        )
        .unwrap();
    }
    // The batch reads its own pending writes.
    let found = search(&batch.snapshot(), &indexes, &wanted, &subtree(EntryId(1)));
    assert_eq!(found.len(), 200);
    batch.commit().unwrap();
    assert_eq!((rows("index"), rows("posting")), (1, 1));
    let mut batch = store.begin(&indexes).unwrap();
    for n in 10..200 {
        let name = rdn_normal(&schema, &format!("uid=u{n}"));
        batch.delete(EntryId(2 + n), (EntryId(1), &name)).unwrap();
    }
    batch.commit().unwrap();
    assert_eq!((rows("index"), rows("posting")), (10, 0));
    let mut reader = store.reader().unwrap();
    let snapshot = reader.snapshot().unwrap();
    let found = search(&snapshot, &indexes, &wanted, &subtree(EntryId(1)));
    assert_eq!(found, (2..12).map(EntryId).collect::<Vec<_>>());
}

#[test]
fn many_holders_are_counted_before_they_are_fetched() {
    let schema = schema();
    let equality = IndexKinds::of(&[IndexKind::Equality]);
    let indexes = indexes(&schema, &[("l", equality), ("sn", equality)]);
    let folder = tempfile::tempdir().unwrap();
    let store = create(folder.path(), &indexes, 4096);
    let mut batch = store.begin(&indexes).unwrap();
    let top = attributes("objectClass: domain");
    insert(&mut batch, &schema, EntryId::ROOT, "dc=example", &top).unwrap();
    for n in 0..5000 {
        let city = if n % 5 == 0 { "Bonn" } else { "Rome" };
        let text = format!("uid: u{n}; l: {city}; sn: {}", n % 100);
        insert(
            &mut batch,
            &schema,
            EntryId(1),
            &format!("uid=u{n}"),
            &attributes(&text),
        )
        .unwrap();
    }
    let snapshot = batch.snapshot();
    let region = subtree(EntryId(1));
    for (text, why) in [
        ("(l=bonn)", "equality index of l (1000)"),
        (
            "(&(l=bonn)(sn=7))",
            "all of [equality index of sn (50), equality index of l (1000)]",
        ),
        (
            "(|(l=bonn)(sn=7))",
            "any of [equality index of l (1000), equality index of sn (50)]",
        ),
        ("(l=rome)", "equality index of l (4000)"),
        ("(!(l=rome))", "scan of all entries"),
    ] {
        let filter = filter(&schema, text);
        let plan = store::plan(&snapshot, &indexes, &filter, &region).unwrap();
        let plan = plan.explain(&schema);
        assert!(plan.starts_with(why), "{text}: {plan}");
        let found = search(&snapshot, &indexes, &filter, &region);
        assert_eq!(found, scan(&snapshot, &indexes, &filter, &region), "{text}");
    }
}
