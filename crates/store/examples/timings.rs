//! Timings of the store's basic steps on a database of one million small entries, or of fewer large
//! ones. Arguments: number of entries, `small` or `large`, folder for the database.

use std::hint::black_box;
use std::io::{Write, stdout};
use std::path::{Path, PathBuf};
use std::time::Instant;

use schema::{Filter, Name, Schema};
use store::{
    BulkLoader, Candidates, EntryBuilder, EntryId, IndexDefinition, IndexKinds, IndexSet, Lookup,
    Place, Preparer, Reader, Region, RegionScope, Snapshot, Store,
};

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

const EQUALITY: IndexKinds = IndexKinds {
    equality: true,
    ..IndexKinds::NONE
};
const USED: [&str; 14] = [
    "objectClass",
    "uid",
    "cn",
    "sn",
    "givenName",
    "mail",
    "carLicense",
    "dc",
    "ou",
    "description",
    "entryUUID",
    "entryCSN",
    "createTimestamp",
    "creatorsName",
];
/// Id of the first entry below the second level.
const FIRST: u64 = 3;

fn main() -> Outcome<()> {
    let mut arguments = std::env::args().skip(1);
    let entries: u64 = arguments.next().map_or(Ok(1_000_000), |it| it.parse())?;
    let large = arguments.next().as_deref() == Some("large");
    let folder = arguments
        .next()
        .map_or_else(std::env::temp_dir, PathBuf::from);
    let folder = folder.join(format!("store-timings-{}", std::process::id()));
    let indexes = indexes()?;
    load(&folder, &indexes, entries, large)?;
    let store = Store::open(&folder)?;
    sizes(&store, entries)?;
    reads(&store, &indexes, entries)?;
    writes(&store, &indexes, entries)?;
    drop(store);
    std::fs::remove_dir_all(&folder)?;
    Ok(())
}

fn say(text: std::fmt::Arguments<'_>) -> Outcome<()> {
    writeln!(stdout(), "{text}")?;
    Ok(())
}

fn indexes() -> Outcome<IndexSet> {
    let mut schema = Schema::standard();
    for text in USED {
        let description = schema.describe(text)?;
        schema = schema.with_number(&description)?.0;
    }
    let mut definitions = Vec::new();
    for attribute in ["objectClass", "uid", "cn", "mail"] {
        let type_id = schema.attribute_type(attribute).ok_or("no such type")?;
        let attribute = attribute.to_owned();
        definitions.push(IndexDefinition {
            type_id,
            attribute,
            kinds: EQUALITY,
            ready: true,
        });
    }
    Ok(IndexSet {
        schema,
        definitions,
    })
}

/// Composes entry number `n`; `change` varies its unindexed value.
fn compose(
    schema: &Schema,
    builder: &mut EntryBuilder,
    parent: EntryId,
    n: u64,
    large: bool,
    change: u64,
) {
    builder.start(parent, &format!("uid=user.{n}"), 1);
    let number = |text: &str| {
        let description = schema.describe(text).expect("a standard attribute");
        schema
            .number(&description)
            .expect("an attribute with a number")
    };
    let mut put = |text: &str, values: &[&str]| {
        let values = values.iter().map(|it| it.as_bytes());
        if text.starts_with("entry") || text.starts_with("create") || text.starts_with("creat") {
            builder.operational(number(text), text, values);
        } else {
            builder.user(number(text), text, values);
        }
    };
    put(
        "objectClass",
        &["top", "person", "organizationalPerson", "inetOrgPerson"],
    );
    put("uid", &[&format!("user.{n}")]);
    put("cn", &[&format!("Common Name {n}")]);
    put("sn", &["Name"]);
    put("carLicense", &[&format!("{:08}", n ^ change)]);
    if large {
        let text = "x".repeat(700);
        put("mail", &[&format!("user.{n}@example.com")]);
        put("description", &[&text, &text[1..], &text[2..]]);
        put("entryUUID", &[&format!("{n:032x}")]);
        put("createTimestamp", &["20260101000000Z"]);
        put("creatorsName", &["cn=admin,dc=example,dc=com"]);
    }
}

fn load(folder: &Path, indexes: &IndexSet, entries: u64, large: bool) -> Outcome<()> {
    let schema = &indexes.schema;
    let mut loader = BulkLoader::create(folder, indexes)?;
    loader.put_dictionary(&schema.dictionary_rows())?;
    let mut preparer = Preparer::new(indexes);
    let mut builder = EntryBuilder::new(EntryId::ROOT, "dc=example,dc=com", 1);
    preparer.build(
        schema.resolve_name("dc=example,dc=com")?.bytes(),
        &mut builder,
    )?;
    builder.start(EntryId(1), "ou=People", 1);
    preparer.build(&schema.resolve_rdn("ou=People")?.normal, &mut builder)?;
    let mut places = vec![Place {
        id: EntryId(1),
        parent: EntryId::ROOT,
    }];
    places.push(Place {
        id: EntryId(2),
        parent: EntryId(1),
    });
    let (mut composing, mut appending) = (0, 0);
    let mut next = 0;
    while next < entries || !preparer.is_empty() {
        let start = processor_ns()?;
        while next < entries && preparer.len() < 2000 {
            compose(schema, &mut builder, EntryId(2), next, large, 0);
            preparer.build(format!("uid=user.{next}").as_bytes(), &mut builder)?;
            places.push(Place {
                id: EntryId(FIRST + next),
                parent: EntryId(2),
            });
            next += 1;
        }
        let prepared = preparer.take();
        composing += processor_ns()? - start;
        let start = processor_ns()?;
        let places: Vec<_> = places.drain(..).map(Some).collect();
        loader.append(&prepared, &places)?;
        appending += processor_ns()? - start;
    }
    let start = Instant::now();
    let loaded = loader.finish()?;
    let finishing = start.elapsed().as_nanos() as u64;
    let each = |total: u64| total / entries;
    say(format_args!(
        "bulk load, ns each: compose and prepare {}, append {}, finish {} (wall); {} bytes each",
        each(composing),
        each(appending),
        each(finishing),
        loaded.bytes / entries,
    ))
}

fn sizes(store: &Store, entries: u64) -> Outcome<()> {
    let mut reader = store.reader()?;
    for (name, it) in reader.snapshot()?.table_statistics()? {
        let bytes = it.pages * 4096 * 10 / entries;
        let rows = it.rows;
        let (whole, tenth) = (bytes / 10, bytes % 10);
        say(format_args!(
            "table {name:10} {rows:10} rows, depth {}, {whole}.{tenth} bytes for each entry",
            it.depth
        ))?;
    }
    Ok(())
}

/// Random numbers below a bound, the same in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }
}

const ROUNDS: usize = 200_000;

/// Returns the nanoseconds of processor time of this thread (Linux), which other programs do not
/// change, unlike elapsed time.
fn processor_ns() -> Outcome<u64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat")?;
    Ok(text
        .split_whitespace()
        .next()
        .ok_or("no schedstat")?
        .parse()?)
}

/// Times `step` over all inputs, after a warm-up with the first of them.
fn time<T>(what: &str, inputs: &[T], mut step: impl FnMut(&T) -> Outcome<()>) -> Outcome<()> {
    for input in inputs.iter().take(inputs.len() / 10) {
        step(input)?;
    }
    let start = processor_ns()?;
    for input in inputs {
        step(input)?;
    }
    let each = (processor_ns()? - start) as usize / inputs.len();
    say(format_args!("{what:58} {each:6} ns"))
}

fn reads(store: &Store, indexes: &IndexSet, entries: u64) -> Outcome<()> {
    let schema = &indexes.schema;
    let mut random = Random(88_172_645_463_325_252);
    let chosen: Vec<u64> = (0..ROUNDS).map(|_| random.below(entries)).collect();
    let mut names: Vec<Name> = Vec::new();
    let mut filters: Vec<Filter> = Vec::new();
    for n in &chosen {
        names.push(schema.resolve_name(&format!("uid=user.{n},ou=People,dc=example,dc=com"))?);
        let ber = protocol::parse_filter(&format!("(uid=user.{n})"))?;
        let given = protocol::Filter::decode(&mut protocol::ber::Reader::new(&ber), 8)?;
        filters.push(schema.resolve_filter(&given));
    }
    let ids: Vec<EntryId> = chosen.iter().map(|n| EntryId(FIRST + n)).collect();
    let mut reader = store.reader()?;
    let region = Region {
        base: EntryId(1),
        scope: RegionScope::Subtree,
    };
    {
        let snapshot = reader.snapshot()?;
        time("find a name", &names, |name| {
            let found = snapshot.find(name)?;
            assert!(matches!(found, Lookup::Found(_)));
            Ok(())
        })?;
        time("plan and look up an equality filter", &filters, |filter| {
            let plan = store::plan(&snapshot, indexes, filter, &region)?;
            let found = snapshot.candidates(&plan, EntryId::ROOT)?;
            assert!(matches!(found, Candidates::One(_)));
            Ok(())
        })?;
        time("get an entry and one attribute", &ids, |id| {
            let view = snapshot.entry(*id)?.ok_or("an entry is missing")?;
            black_box(view.user_attributes().first());
            Ok(())
        })?;
    }
    searches(&mut reader, indexes, &region, &filters, &names)?;
    whole_scan(&mut reader, entries)
}

fn searches(
    reader: &mut Reader,
    indexes: &IndexSet,
    region: &Region,
    filters: &[Filter],
    names: &[Name],
) -> Outcome<()> {
    let mut out = Vec::new();
    let mut scratch = Vec::new();
    time(
        "search: renew, plan, entry, filter, DN, copy, reset",
        filters,
        |filter| {
            let snapshot = reader.snapshot()?;
            search(&snapshot, indexes, filter, region, &mut scratch, &mut out)?;
            reader.reset();
            Ok(())
        },
    )?;
    time(
        "base search: renew, find, entry, DN, copy, reset",
        names,
        |name| {
            let snapshot = reader.snapshot()?;
            if let Lookup::Found(id) = snapshot.find(name)? {
                let view = snapshot.entry(id)?.ok_or("an entry is missing")?;
                out.clear();
                snapshot.write_name(&view, &mut out)?;
                out.extend_from_slice(view.user_attributes());
            }
            reader.reset();
            Ok(())
        },
    )
}

fn whole_scan(reader: &mut Reader, entries: u64) -> Outcome<()> {
    let mut out = Vec::new();
    let start = processor_ns()?;
    let snapshot = reader.snapshot()?;
    let mut bytes = 0;
    for entry in snapshot.entries_after(EntryId::ROOT) {
        let (_, view) = entry?;
        out.clear();
        snapshot.write_name(&view, &mut out)?;
        out.extend_from_slice(view.user_attributes());
        bytes += out.len();
    }
    let each = (processor_ns()? - start) / entries;
    say(format_args!(
        "scan with DN and copy, per entry ({bytes} bytes) {each:16} ns"
    ))
}

fn search(
    snapshot: &Snapshot<'_>,
    indexes: &IndexSet,
    filter: &Filter,
    region: &Region,
    scratch: &mut Vec<u8>,
    out: &mut Vec<u8>,
) -> Outcome<()> {
    let plan = store::plan(snapshot, indexes, filter, region)?;
    let candidates = snapshot.candidates(&plan, EntryId::ROOT)?;
    out.clear();
    for entry in candidates.entries_after(*snapshot, EntryId::ROOT) {
        let (id, view) = entry?;
        if snapshot.is_within(id, &view, region)?
            && filter.evaluate(&indexes.schema, &view, scratch) == schema::Truth::True
        {
            snapshot.write_name(&view, out)?;
            out.extend_from_slice(view.user_attributes());
        }
    }
    assert!(!out.is_empty());
    Ok(())
}

fn writes(store: &Store, indexes: &IndexSet, entries: u64) -> Outcome<()> {
    let mut random = Random(362_436_069_123_456_789);
    let mut builder = EntryBuilder::default();
    let large = {
        let mut reader = store.reader()?;
        let first = reader
            .snapshot()?
            .entry(EntryId(FIRST))?
            .ok_or("no entry")?;
        first.bytes().len() > 1000
    };
    for size in [1, 10, 100, 1000] {
        let batches = (4000 / size).clamp(4, 300);
        let (start, processor) = (Instant::now(), processor_ns()?);
        for change in 0..batches {
            let mut batch = store.begin(indexes)?;
            for _ in 0..size {
                let n = random.below(entries);
                let change = change as u64 + 1;
                compose(&indexes.schema, &mut builder, EntryId(2), n, large, change);
                let mut row = Vec::new();
                builder.finish(&mut row);
                batch.update(EntryId(FIRST + n), &row)?;
            }
            batch.set_position(change as u64);
            batch.commit()?;
        }
        let each = start.elapsed().as_nanos() as usize / (batches * size);
        let processor = (processor_ns()? - processor) as usize / (batches * size);
        say(format_args!(
            "durable modify, no index, {size:4} a batch {each:24} ns, {processor} of CPU"
        ))?;
    }
    let mut next = entries;
    for size in [1, 32, 1000] {
        let batches = (4000 / size).clamp(4, 300);
        let (start, processor) = (Instant::now(), processor_ns()?);
        for _ in 0..batches {
            let mut batch = store.begin(indexes)?;
            for _ in 0..size {
                compose(&indexes.schema, &mut builder, EntryId(2), next, large, 0);
                let mut row = Vec::new();
                builder.finish(&mut row);
                let id = batch.next_id();
                batch.insert(id, EntryId(2), format!("uid=user.{next}").as_bytes(), &row)?;
                next += 1;
            }
            batch.commit()?;
        }
        let each = start.elapsed().as_nanos() as usize / (batches * size);
        let processor = (processor_ns()? - processor) as usize / (batches * size);
        say(format_args!(
            "durable add of an entry, {size:4} a batch {each:25} ns, {processor} of CPU"
        ))?;
    }
    Ok(())
}
