//! The naming contexts of an import: existing ones, ones with a base entry, and new ones.

use super::checkpoint::SavedContext;
use protocol::rdns;
use schema::{Name, Schema};
use state::catalog::{CONFIG_NAME, NamingContext};
use state::stop::Failure;
use std::sync::{Mutex, PoisonError};

/// The naming contexts of the new database, shared by all workers.
#[derive(Debug)]
pub(super) struct Contexts {
    state: Mutex<State>,
}

#[derive(Debug, Clone)]
struct State {
    known: Vec<Context>,
    missing: Vec<MissingContext>,
}

/// Maximum number of missing contexts remembered, because a file may name any number.
const MISSING_MAX: usize = 8;

/// Maximum number of naming contexts listed in a message.
const LISTED_MAX: usize = 8;

/// A naming context that an entry would need and the configuration lacks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingContext {
    /// Name of the naming context.
    pub wanted: String,
    /// Names of the configured contexts, most similar first.
    pub there: Vec<String>,
}

impl std::fmt::Display for MissingContext {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "there is no naming context {}; ", self.wanted)?;
        let Some((nearest, others)) = self.there.split_first() else {
            return write!(f, "there is none at all; --create-suffix makes it");
        };
        write!(f, "the nearest is {nearest}")?;
        if !others.is_empty() {
            let listed = &others[..others.len().min(LISTED_MAX)];
            write!(f, ", others are {}", listed.join(" and "))?;
        }
        if let Some(more @ 1..) = others.len().checked_sub(LISTED_MAX) {
            write!(f, " and {more} more")?;
        }
        write!(f, "; --create-suffix makes it")
    }
}

/// A naming context.
#[derive(Debug, Clone)]
pub(super) struct Context {
    pub name: Name,
    pub spelled: String,
    /// Whether an entry of the context was imported.
    pub opened: bool,
    /// Whether the configuration of the old database lacks the context.
    pub is_new: bool,
}

/// Result of opening the context of an entry.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Opening {
    /// The context has entries already.
    Open,
    /// The entry is the first of its context, whose name has this number of RDNs.
    First(usize),
    /// No context contains the name, and none may be added.
    Outside,
}

impl Contexts {
    pub fn new(configured: &[NamingContext]) -> Contexts {
        let known = configured.iter().map(|it| Context {
            name: it.name.clone(),
            spelled: it.spelled.clone(),
            opened: false,
            is_new: false,
        });
        Contexts {
            state: Mutex::new(State {
                known: known.collect(),
                missing: Vec::new(),
            }),
        }
    }

    /// All contexts, for a checkpoint.
    pub fn save(&self) -> Vec<SavedContext> {
        self.with(|state| {
            let saved = state.known.iter().map(|it| SavedContext {
                spelled: it.spelled.clone(),
                opened: it.opened,
                is_new: it.is_new,
            });
            saved.collect()
        })
    }

    /// The contexts of a checkpoint.
    pub fn resume(schema: &Schema, saved: &[SavedContext]) -> Result<Contexts, Failure> {
        let known = saved.iter().map(|it| {
            let name = schema.resolve_name(&it.spelled);
            let name = name.map_err(|error| {
                Failure::Configuration(format!("naming context {}: {error}", it.spelled))
            });
            Ok(Context {
                name: name?,
                spelled: it.spelled.clone(),
                opened: it.opened,
                is_new: it.is_new,
            })
        });
        let known = known.collect::<Result<_, Failure>>()?;
        Ok(Contexts {
            state: Mutex::new(State {
                known,
                missing: Vec::new(),
            }),
        })
    }

    fn with<T>(&self, act: impl FnOnce(&mut State) -> T) -> T {
        act(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Names of all contexts.
    pub fn names(&self) -> Vec<Name> {
        self.with(|state| state.known.iter().map(|it| it.name.clone()).collect())
    }

    /// Whether a name is in a naming context that has entries.
    pub fn is_open(&self, name: &Name) -> bool {
        self.with(|state| {
            state
                .known
                .iter()
                .any(|it| it.opened && name.is_within(&it.name))
        })
    }

    /// Opens the context of the next entry; all earlier entries have been opened. Adds a context if
    /// there is none and `create` is true.
    pub fn open(&self, schema: &Schema, name: &Name, dn: &str, create: bool) -> Opening {
        self.with(|state| {
            let within = |it: &&mut Context| name.is_within(&it.name);
            // Contexts may be nested; the innermost one counts.
            let found = state
                .known
                .iter_mut()
                .filter(within)
                .max_by_key(|it| it.name.depth());
            if let Some(context) = found {
                let depth = context.name.depth();
                let was_open = std::mem::replace(&mut context.opened, true);
                return if was_open {
                    Opening::Open
                } else {
                    Opening::First(depth)
                };
            }
            if !create {
                return Opening::Outside;
            }
            let spelled = suffix_of(dn);
            let Ok(name) = schema.resolve_name(&spelled) else {
                return Opening::Outside;
            };
            let depth = name.depth();
            state.known.push(Context {
                name,
                spelled,
                opened: true,
                is_new: true,
            });
            Opening::First(depth)
        })
    }

    /// The reason for rejecting an entry of this name, which is in no naming context.
    pub fn missing(&self, dn: &str) -> String {
        let wanted = suffix_of(dn);
        self.with(|state| {
            if let Some(known) = state.missing.iter().find(|it| it.wanted == wanted) {
                return known.to_string();
            }
            let known = state.known.iter().map(|it| &it.spelled);
            let mut there: Vec<_> = known.filter(|it| *it != CONFIG_NAME).cloned().collect();
            there.sort_by_cached_key(|it| distance(it, &wanted));
            let missing = MissingContext { wanted, there };
            let reason = missing.to_string();
            if state.missing.len() < MISSING_MAX {
                state.missing.push(missing);
            }
            reason
        })
    }

    /// The contexts that rejected entries would need.
    pub fn missing_ones(&self) -> Vec<MissingContext> {
        self.with(|state| state.missing.clone())
    }

    /// The contexts that the configuration does not have yet.
    pub fn new_ones(&self) -> Vec<Context> {
        self.with(|state| state.known.iter().filter(|it| it.is_new).cloned().collect())
    }
}

/// The naming context for a name outside all contexts: the nearest superior whose RDN is usual for
/// suffixes (RFC 2247 `dc`, else `o` or `c`), or else the topmost name.
fn suffix_of(dn: &str) -> String {
    let parts: Vec<_> = rdns(dn).filter_map(Result::ok).collect();
    let is_suffix = |attribute: &str| {
        ["dc", "o", "c"]
            .iter()
            .any(|it| it.eq_ignore_ascii_case(attribute))
    };
    let at = parts
        .iter()
        .position(|it| is_suffix(it.values.first().attribute));
    let at = at.unwrap_or(parts.len().saturating_sub(1));
    spelled(&parts[at.min(parts.len())..])
}

/// Number of octets to insert, remove or replace to make one name from the other, ignoring case
/// (Levenshtein).
fn distance(one: &str, other: &str) -> usize {
    let other = other.as_bytes();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (at, octet) in one.bytes().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], at + 1);
        for (column, it) in other.iter().enumerate() {
            let replaced = diagonal + usize::from(!octet.eq_ignore_ascii_case(it));
            diagonal = row[column + 1];
            row[column + 1] = replaced.min(diagonal + 1).min(row[column] + 1);
        }
    }
    row[other.len()]
}

/// The superiors of a name from the top down, beginning with the one of `from` RDNs.
pub(super) fn superiors(dn: &str, from: usize) -> Vec<String> {
    let parts: Vec<_> = rdns(dn).filter_map(Result::ok).collect();
    (from..parts.len())
        .map(|depth| spelled(&parts[parts.len() - depth..]))
        .collect()
}

fn spelled(parts: &[protocol::Rdn<'_>]) -> String {
    parts
        .iter()
        .map(|it| it.spelled)
        .collect::<Vec<_>>()
        .join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suffixes_are_told_by_their_types() {
        for (dn, suffix) in [
            ("ou=oracle,dc=com", "dc=com"),
            ("dc=example,dc=com", "dc=example,dc=com"),
            ("uid=1, ou=people, DC=example, dc=com", "DC=example,dc=com"),
            ("cn=x,o=acme,c=us", "o=acme,c=us"),
            ("cn=x,cn=y", "cn=y"),
        ] {
            assert_eq!(suffix_of(dn), suffix, "{dn}");
        }
    }

    #[test]
    fn distances_count_octets() {
        for (one, other, octets) in [
            ("", "", 0),
            ("dc=com", "", 6),
            ("dc=acme,dc=example", "DC=acem,dc=example", 2),
            ("o=a", "o=ab", 1),
        ] {
            assert_eq!(distance(one, other), octets, "{one} and {other}");
            assert_eq!(distance(other, one), octets, "{other} and {one}");
        }
    }

    #[test]
    fn superiors_stand_from_the_top_down() {
        let names = superiors("uid=1,ou=people,dc=example,dc=com", 2);
        assert_eq!(names, ["dc=example,dc=com", "ou=people,dc=example,dc=com"]);
        assert!(superiors("dc=com", 1).is_empty());
    }
}
