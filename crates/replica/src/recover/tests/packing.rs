//! Tests that the packing of writes into records has no effect on the state: a refused write leaves
//! nothing behind, whatever else is in its record.

use super::*;
use proptest::prelude::*;
use std::path::Path;

/// Tables without positions and times, which differ between records.
const TIMELESS: [&str; 9] = [
    "name",
    "index",
    "posting",
    "order",
    "count",
    "dictionary",
    "link",
    "linked",
    "linkset",
];

/// One write: its kind, its entry, and the option of its attribute descriptions.
type Step = (u8, u8, u8);

/// A write of a history. Many are refused, each kind for a different reason.
fn write(copies: &Copies, step: Step) -> Write {
    let (kind, who, option) = step;
    let name = format!("cn=n{who},{BASE}");
    let tagged = |attribute: &str| format!("{attribute};x-{option}");
    let class = |it| ("objectClass", it);
    match kind {
        // Refused if the entry exists.
        0 => copies.add(
            &name,
            &[class("person"), ("sn", "x"), (&tagged("description"), "y")],
        ),
        // The class does not allow the attribute.
        1 => copies.add(
            &name,
            &[class("person"), ("sn", "x"), (&tagged("title"), "y")],
        ),
        // The value does not exist.
        2 => {
            let mut write = copies.replace(&name, &tagged("seeAlso"), &[BASE]);
            if let Change::Modify(changes) = &mut write.change {
                changes[0].operation = ChangeOperation::Delete;
            }
            write
        }
        // Sets flags: an alias, a referral or a subentry, with an assertion.
        3..=8 => {
            let (kinds, more) = match kind {
                3 | 4 => ("alias", ("aliasedObjectName", BASE)),
                5 | 6 => ("referral", ("ref", "ldap://elsewhere.example")),
                _ => ("subentry", ("subtreeSpecification", "{ }")),
            };
            let attributes = [class(kinds), class("extensibleObject"), more];
            let mut write = copies.add(&format!("cn=f{who},{BASE}"), &attributes);
            write.manage_dsa_it = true;
            if kind % 2 == 0 {
                write.options = WriteOptions {
                    administrator: true,
                    assertion: Some(parse_filter("(cn=somebody else)").expect("a filter")),
                    ..WriteOptions::default()
                }
                .if_any();
            }
            write
        }
        9 => copies.replace(&name, &tagged("description"), &["z"]),
        // Refused because the class requires sn.
        10 => copies.replace(&name, "sn", &[]),
        _ => copies.write(&name, Change::Delete),
    }
}

impl Node {
    /// A copy of a closed directory.
    pub(super) fn copy(original: &Path) -> Node {
        let folder = TempDir::new().expect("a folder");
        let file = store::DATABASE_FILE;
        std::fs::copy(original.join(file), folder.path().join(file)).expect("copied");
        Node::open(folder)
    }

    /// Executes a record of units; returns for each whether it was done.
    pub(super) fn record(&mut self, time_us: u64, units: &[&[Write]]) -> Vec<bool> {
        let record = Record {
            position: self.replayer.position + 1,
            time_us,
            units: units.to_vec(),
        };
        let mut bytes = Vec::new();
        let schema = &self.replayer.catalog.schema;
        record::encode(&record, self.digest(), schema, &mut bytes);
        let executed = self.replayer.execute(&self.store, &bytes);
        let outcome = executed.expect("it belongs to this state").1;
        let mut at = 0;
        let done = units.iter().map(|unit| {
            at += unit.len();
            outcome.has(at - unit.len())
        });
        done.collect()
    }

    pub(super) fn hashes(&self) -> Vec<(&'static str, u128)> {
        let mut reader = self.store.reader().expect("a reader");
        let snapshot = reader.snapshot().expect("a snapshot");
        snapshot.table_hashes().expect("readable")
    }
}

/// Splits a list behind the indexes that are set.
fn cut<'t, T>(items: &'t [T], cuts: &[bool]) -> Vec<&'t [T]> {
    let (mut parts, mut begun) = (Vec::new(), 0);
    for at in 0..items.len() {
        if at + 1 == items.len() || cuts[at] {
            parts.push(&items[begun..=at]);
            begun = at + 1;
        }
    }
    parts
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn packing_does_not_show(
        steps in prop::collection::vec((0..12u8, 0..3u8, 0..6u8), 12..24),
        together in prop::collection::vec(prop::bool::weighted(0.8), 24),
        records in prop::collection::vec(any::<bool>(), 24),
        others in prop::collection::vec(any::<bool>(), 24),
    ) {
        let copies = Copies::new();
        let origin = copies.ahead._folder.path();
        let writes: Vec<Write> = steps.iter().map(|it| write(&copies, *it)).collect();
        let units = cut(&writes, &together);
        let (mut whole, mut without) = (Node::copy(origin), Node::copy(origin));
        for (number, units) in cut(&units, &records).into_iter().enumerate() {
            let time_us = copies.time_us + number as u64;
            let done = whole.record(time_us, units);
            let kept: Vec<&[Write]> = units
                .iter()
                .zip(&done)
                .filter_map(|(unit, done)| done.then_some(*unit))
                .collect();
            if !kept.is_empty() {
                let all = without.record(time_us, &kept);
                prop_assert!(all.iter().all(|it| *it), "{:?}", steps);
            }
            prop_assert_eq!(whole.hashes(), without.hashes(), "{:?}", steps);
        }
        prop_assert_eq!(whole.digest(), without.digest());
        let mut otherwise = Node::copy(origin);
        for units in cut(&units, &others) {
            otherwise.record(copies.time_us, units);
        }
        let timeless = |node: &Node| {
            let hashes = node.hashes().into_iter();
            hashes.filter(|(name, _)| TIMELESS.contains(name)).collect::<Vec<_>>()
        };
        prop_assert_eq!(timeless(&whole), timeless(&otherwise), "{:?}", steps);
    }
}
