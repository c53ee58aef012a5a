//! The order in which slapd asks the directives of its databases.
//!
//! slapd asks about an entry the directives of the database with the longest suffix above it, then
//! those about every database, and gives nothing more. As rules here are asked about every entry,
//! a database that lies in another one comes before it, with the directives about every database
//! and an end of its own.

use schema::{Name, Schema};

use super::text::{Configuration, Database, Given};

/// What becomes a rule.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// A line that may have rules, about databases with these suffixes; about every one if there
    /// are none.
    Line { given: Given, suffixes: Vec<String> },
    /// A line of a database without a suffix that the schema knows, which has no entries.
    Lost { given: Given },
    /// The end of all rules about databases with these suffixes.
    End { suffixes: Vec<String> },
}

/// Returns the lines of a configuration, in the order in which they are to be asked.
pub(super) fn parts(schema: &Schema, configuration: Configuration) -> Vec<Part> {
    let Configuration {
        mut databases,
        everywhere,
    } = configuration;
    // No entry here is below a name that the schema does not know.
    let is_known = |it: &String| schema.resolve_name(it).is_ok();
    for database in &mut databases {
        database.suffixes.retain(is_known);
    }
    let resolve = |it: &String| schema.resolve_name(it).unwrap_or_default();
    let suffixes = databases.iter().flat_map(|it| &it.suffixes);
    let names: Vec<Name> = suffixes.map(resolve).collect();
    let is_inside = |it: &Name| names.iter().any(|other| it != other && it.is_within(other));
    let some_inside = names.iter().any(is_inside);
    let mut databases: Vec<Database> = match some_inside {
        true => databases.into_iter().flat_map(by_suffix).collect(),
        false => databases,
    };
    let depth = |it: &Database| it.suffixes.iter().map(|it| resolve(it).depth()).max();
    if some_inside {
        databases.sort_by_key(|it| std::cmp::Reverse(depth(it)));
    }
    let mut parts = Vec::new();
    let line = |given: Given, suffixes: &[String]| Part::Line {
        given,
        suffixes: suffixes.to_vec(),
    };
    for Database { suffixes, given } in databases {
        if suffixes.is_empty() {
            parts.extend(given.into_iter().map(|given| Part::Lost { given }));
            continue;
        }
        parts.extend(given.into_iter().map(|it| line(it, &suffixes)));
        if suffixes.iter().any(|it| is_inside(&resolve(it))) {
            parts.extend(everywhere.iter().map(|it| line(it.clone(), &suffixes)));
            parts.push(Part::End { suffixes });
        }
    }
    parts.extend(everywhere.into_iter().map(|it| line(it, &[])));
    parts
}

/// Splits a database with several suffixes, of which each may lie elsewhere.
fn by_suffix(database: Database) -> Vec<Database> {
    let Database { suffixes, given } = database;
    if suffixes.is_empty() {
        return vec![Database { suffixes, given }];
    }
    let one = |suffix| Database {
        suffixes: vec![suffix],
        given: given.clone(),
    };
    suffixes.into_iter().map(one).collect()
}
