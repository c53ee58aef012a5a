//! Generated operations: names and words come from small sets, so that they collide.

use kit::client::Modification;
use kit::{Entry, Random, SUFFIX};
use protocol::{ChangeOperation, Scope};

use crate::directory::Directory;
use crate::filter::Filter;

/// One operation.
#[derive(Debug)]
pub enum Step {
    Add(Entry),
    Delete(String),
    Modify(String, Vec<Modification>),
    Rename {
        name: String,
        new_rdn: String,
        delete_old_rdn: bool,
        new_superior: Option<String>,
    },
    Compare(String, String, String),
    Search {
        base: String,
        scope: Scope,
        filter: Filter,
    },
}

const WORDS: &[&str] = &[
    "alpha",
    "Alpine",
    "beta",
    "Bet",
    "gamma",
    "delta",
    "Delphi",
    "epsilon",
    "zeta",
    "eta",
    "theta",
    "two words",
    "Two Words more",
    "x",
    "yy",
    "omega",
];
/// Words without spaces, for names.
const SIMPLE: &[&str] = &[
    "alpha", "Alpine", "beta", "Bet", "gamma", "delta", "Delphi", "omega",
];
const ATTRIBUTES: &[&str] = &[
    "description",
    "title",
    "sn",
    "cn",
    "employeeNumber",
    "ou",
    "Description",
    "givenName",
    "givenName;lang-de",
    "givenName;LANG-de",
];
/// Number of [`ATTRIBUTES`] from the start that are compared: for a description with options,
/// servers disagree about compare.
const COMPARED: usize = 7;

/// Returns the next operation, depending on the present entries.
pub fn next(random: &mut Random, model: &Directory) -> Step {
    match random.below(100) {
        0..20 => Step::Add(entry(random, model)),
        20..28 => Step::Delete(other_than_base(random, model)),
        28..50 => {
            let count = 1 + random.below(3);
            let changes = (0..count).map(|_| modification(random)).collect();
            Step::Modify(other_than_base(random, model), changes)
        }
        50..60 => rename(random, model),
        60..65 => {
            let attribute = (*random.pick(&ATTRIBUTES[..COMPARED])).to_owned();
            Step::Compare(some_name(random, model), attribute, word(random))
        }
        _ => {
            let scope = *random.pick(&[
                Scope::BaseObject,
                Scope::SingleLevel,
                Scope::WholeSubtree,
                Scope::WholeSubtree,
                Scope::Subordinate,
            ]);
            let base = if random.chance(60) {
                SUFFIX.to_owned()
            } else {
                some_name(random, model)
            };
            Step::Search {
                base,
                scope,
                filter: filter(random, 3),
            }
        }
    }
}

fn entry(random: &mut Random, model: &Directory) -> Entry {
    let parent = some_name(random, model);
    let simple = *random.pick(SIMPLE);
    let number = random.below(4);
    if random.chance(25) {
        let name = format!("ou={simple}{number},{parent}");
        let ou = format!("{simple}{number}");
        return Entry::of(
            &name,
            &[("objectClass", &["organizationalUnit"]), ("ou", &[&ou])],
        );
    }
    let cn = format!("{simple}{number}");
    let (mut rdn, mut surname) = (format!("cn={cn}"), word(random));
    if random.chance(20) {
        (*random.pick(SIMPLE)).clone_into(&mut surname);
        rdn = two(random, &cn, &surname);
    }
    let classes = ["inetOrgPerson", "organizationalPerson", "person", "top"];
    let attributes: &[(&str, &[&str])] = &[
        ("objectClass", &classes),
        ("cn", &[&cn]),
        ("sn", &[&surname]),
    ];
    let mut entry = Entry::of(&format!("{rdn},{parent}"), attributes);
    for attribute in [
        "description",
        "title",
        "employeeNumber",
        "givenName;lang-de",
    ] {
        if random.chance(40) {
            entry.push(attribute, word(random).into_bytes());
        }
    }
    if random.chance(3) {
        entry.attributes.retain(|(name, _)| name != "sn");
    }
    entry
}

/// Returns an RDN of two values, in either order.
fn two(random: &mut Random, cn: &str, sn: &str) -> String {
    match random.chance(50) {
        true => format!("cn={cn}+sn={sn}"),
        false => format!("sn={sn}+cn={cn}"),
    }
}

fn modification(random: &mut Random) -> Modification {
    let attribute = *random.pick(ATTRIBUTES);
    let operation = *random.pick(&[
        ChangeOperation::Add,
        ChangeOperation::Add,
        ChangeOperation::Delete,
        ChangeOperation::Replace,
    ]);
    let least = u64::from(operation == ChangeOperation::Add);
    // Two values of a single-valued attribute are given at once: servers differ in when they
    // refuse.
    let most = if attribute == "employeeNumber" { 2 } else { 3 };
    let count = least + random.below(most - least);
    let mut values: Vec<String> = Vec::new();
    for _ in 0..count {
        let value = word(random);
        // A value twice in one list is the client's error, tested elsewhere.
        if !values
            .iter()
            .any(|known| known.eq_ignore_ascii_case(&value))
        {
            values.push(value);
        }
    }
    crate::change(operation, attribute, &values)
}

fn rename(random: &mut Random, model: &Directory) -> Step {
    let name = other_than_base(random, model);
    let simple = *random.pick(SIMPLE);
    let number = random.below(4);
    let is_unit = model
        .entry(&name)
        .is_some_and(|entry| entry.name.starts_with("ou="));
    let attribute = match is_unit {
        true => "ou",
        false if random.chance(15) => "sn",
        false => "cn",
    };
    let new_superior = random.chance(50).then(|| some_name(random, model));
    let delete_old_rdn = random.chance(70);
    let value = format!("{simple}{number}");
    // The new name is sometimes the old one, spelled differently.
    let value = if random.chance(15) {
        value.to_uppercase()
    } else {
        value
    };
    let new_rdn = match attribute {
        "cn" if random.chance(20) => {
            let sn = *random.pick(SIMPLE);
            two(random, &value, sn)
        }
        _ => format!("{attribute}={value}"),
    };
    Step::Rename {
        name,
        new_rdn,
        delete_old_rdn,
        new_superior,
    }
}

/// Returns in most cases the name of an entry, in some spelling.
fn some_name(random: &mut Random, model: &Directory) -> String {
    let names = model.names();
    let name = *random.pick(&names);
    match random.below(21) {
        0 => format!("cn=nobody,{name}"),
        1 => name.to_uppercase(),
        // The RDN's values are in another order.
        2 => match name.split_once(',') {
            Some((rdn, parent)) => match rdn.split_once('+') {
                Some((one, other)) => format!("{other}+{one},{parent}"),
                None => name.to_owned(),
            },
            None => name.to_owned(),
        },
        // Superiors near the top are more likely, or the tree becomes a list.
        3..9 => SUFFIX.to_owned(),
        _ => name.to_owned(),
    }
}

fn other_than_base(random: &mut Random, model: &Directory) -> String {
    let name = some_name(random, model);
    if name.eq_ignore_ascii_case(SUFFIX) {
        format!("cn=nobody,{SUFFIX}")
    } else {
        name
    }
}

fn word(random: &mut Random) -> String {
    let word = *random.pick(WORDS);
    if random.chance(20) {
        word.to_uppercase()
    } else {
        word.to_owned()
    }
}

fn filter(random: &mut Random, depth: u32) -> Filter {
    let attribute = match random.below(12) {
        0 => "noSuchType",
        1 => "name",
        _ => *random.pick(ATTRIBUTES),
    };
    let attribute = attribute.to_owned();
    match random.below(if depth == 0 { 6 } else { 10 }) {
        0 | 1 => Filter::Equality(attribute, word(random)),
        2 => Filter::Present(attribute),
        3 | 4 => substrings(random, attribute),
        5 => Filter::Exact(attribute, word(random)),
        6 | 7 => Filter::And(parts(random, depth)),
        8 => Filter::Or(parts(random, depth)),
        _ => Filter::Not(Box::new(filter(random, depth - 1))),
    }
}

fn parts(random: &mut Random, depth: u32) -> Vec<Filter> {
    (0..1 + random.below(3))
        .map(|_| filter(random, depth - 1))
        .collect()
}

/// Pieces have no spaces, which are special at the edges (RFC 4518 §2.6.1).
fn substrings(random: &mut Random, attribute: String) -> Filter {
    let mut piece = |longest: u64| {
        let word = *random.pick(SIMPLE);
        let length = random.below(longest + 1) as usize;
        word[..length.min(word.len())].to_owned()
    };
    let (initial, any, mut last) = (piece(3), piece(4), piece(2));
    if initial.is_empty() && any.is_empty() && last.is_empty() {
        last = "a".to_owned();
    }
    Filter::Substrings {
        attribute,
        initial,
        any,
        last,
    }
}
