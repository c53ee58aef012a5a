//! Tests that the size of slices in which left work is done has no effect, neither while work is
//! left nor at the end.

use super::*;
use proptest::prelude::*;
use state::view::write_member;
use std::collections::{BTreeMap, BTreeSet};
use store::{EntryId, Lookup};

/// More groups than a delete changes itself in unit tests.
const GROUPS: usize = 20;
const PEOPLE: u8 = 4;

fn person(number: u8) -> String {
    format!("cn=p{number},ou=people,{BASE}")
}

fn group(number: usize) -> String {
    format!("cn=g{number},{BASE}")
}

impl Copies {
    /// A directory with groups that all have equal members, only some of which exist.
    fn crowded(keep: bool) -> Copies {
        let mut copies = Copies::new();
        copies.units();
        if keep {
            let setting = copies.replace("cn=config", "pandoDeletedMember", &["keep"]);
            assert!(copies.execute(&setting));
        }
        for number in 0..PEOPLE / 2 {
            let person = copies.person(&format!("p{number}"), &[]);
            assert!(copies.execute(&person));
        }
        let people: Vec<String> = (0..PEOPLE).map(person).collect();
        let mut attributes = vec![("objectClass", "groupOfEntries")];
        attributes.extend(people.iter().map(|it| ("member", it.as_str())));
        for number in 0..GROUPS {
            let group = copies.add(&group(number), &attributes);
            assert!(copies.execute(&group));
        }
        copies
    }
}

impl Node {
    /// Executes one write in a record of its own; returns whether it was done.
    fn write(&mut self, time_us: u64, write: &Write) -> bool {
        self.record(time_us, &[std::slice::from_ref(write)])[0]
    }

    /// The visible members of each group.
    fn members(&self) -> BTreeMap<usize, BTreeSet<String>> {
        let mut reader = self.store.reader().expect("a reader");
        let snapshot = reader.snapshot().expect("a snapshot");
        let catalog = &self.replayer.catalog;
        let mut shown = BTreeMap::new();
        for number in 0..GROUPS {
            let name = catalog.schema.resolve_name(&group(number)).expect("a name");
            let Lookup::Found(id) = snapshot.find(&name).expect("readable") else {
                panic!("group {number} is there");
            };
            let members: &mut BTreeSet<String> = shown.entry(number).or_default();
            for set in snapshot.linked_sets(id).expect("readable") {
                let all = snapshot.members_after(set.set, EntryId::ROOT);
                for member in all.expect("readable") {
                    let member = member.expect("readable");
                    let mut name = Vec::new();
                    if write_member(&snapshot, catalog, set.set, member, &mut name)
                        .expect("readable")
                    {
                        members.insert(String::from_utf8(name).expect("a name"));
                    }
                }
            }
        }
        shown
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn slices_do_not_show(
        keep in any::<bool>(),
        steps in prop::collection::vec((0..3u8, 0..PEOPLE), 1..8),
        slices in prop::collection::vec(prop::option::of(1..30u32), 8),
    ) {
        let copies = Copies::crowded(keep);
        let origin = copies.ahead._folder.path();
        let (mut early, mut late) = (Node::copy(origin), Node::copy(origin));
        let reclaim = |most| copies.write("", Change::Reclaim(most));
        let mut time_us = copies.time_us;
        for ((kind, who), slice) in steps.iter().zip(&slices) {
            time_us += 1;
            let name = format!("p{who}");
            let write = match kind {
                0 => copies.person(&name, &[]),
                _ => copies.write(&person(*who), Change::Delete),
            };
            let done = early.write(time_us, &write);
            prop_assert_eq!(done, late.write(time_us, &write), "{:?}", steps);
            if let Some(most) = slice {
                time_us += 1;
                early.write(time_us, &reclaim(*most));
            }
            prop_assert_eq!(early.members(), late.members(), "{:?} {:?}", steps, slices);
        }
        for (node, most) in [(&mut early, 3), (&mut late, 10_000)] {
            let before = node.members();
            time_us += 1;
            while node.write(time_us, &reclaim(most)) {
                time_us += 1;
            }
            prop_assert_eq!(before, node.members(), "{:?}", steps);
        }
        prop_assert_eq!(early.members(), late.members());
        for node in [early, late] {
            let folder = node._folder;
            drop(node.store);
            let report = crate::check::check(folder.path()).expect("checked");
            prop_assert_eq!(report.problems, Vec::<String>::new());
        }
    }
}

#[test]
fn an_entry_comes_to_the_groups_that_name_it_without_a_change_of_links() {
    let mut copies = Copies::crowded(false);
    let links = |copies: &Copies| {
        let hashes = copies.ahead.hashes().into_iter();
        let links = hashes.filter(|(table, _)| ["link", "linked"].contains(table));
        links.collect::<Vec<_>>()
    };
    let before = links(&copies);
    let name = format!("p{}", PEOPLE - 1);
    let added = copies.person(&name, &[]);
    assert!(copies.execute(&added));
    assert_eq!(links(&copies), before);
    let mut all = copies.ahead.members().into_values();
    assert!(all.all(|it| it.contains(&person(PEOPLE - 1))));
}
