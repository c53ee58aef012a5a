//! Naming contexts: which there are, which have their base entry, which are new.

use super::checkpoint::SavedContext;
use crate::catalog::NamingContext;
use crate::stop::Failure;
use protocol::rdns;
use schema::{Name, Schema};
use std::sync::{Mutex, PoisonError};

/// The naming contexts of the new database, shared by all workers.
#[derive(Debug)]
pub(super) struct Contexts {
    state: Mutex<State>,
}

#[derive(Debug, Clone)]
struct State {
    known: Vec<Context>,
}

/// A naming context.
#[derive(Debug, Clone)]
pub(super) struct Context {
    pub name: Name,
    pub spelled: String,
    /// An entry in it has come.
    pub opened: bool,
    /// The configuration does not list it yet.
    pub is_new: bool,
}

/// What the first entry in a context finds.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Opening {
    /// The context had entries before.
    Open,
    /// This is the first one. The context's name has so many RDNs.
    First(usize),
    /// No context holds the name, and none is to be made for it.
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
            }),
        }
    }

    /// All of them, to go on with later.
    pub fn keep(&self) -> Vec<SavedContext> {
        self.with(|state| {
            let saved = state.known.iter().map(|it| SavedContext {
                spelled: it.spelled.clone(),
                opened: it.opened,
                is_new: it.is_new,
            });
            saved.collect()
        })
    }

    /// Those that were kept.
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
            state: Mutex::new(State { known }),
        })
    }

    fn with<T>(&self, act: impl FnOnce(&mut State) -> T) -> T {
        act(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The names of all contexts.
    pub fn names(&self) -> Vec<Name> {
        self.with(|state| state.known.iter().map(|it| it.name.clone()).collect())
    }

    /// Whether the name lies in a context that has entries.
    pub fn is_open(&self, name: &Name) -> bool {
        self.with(|state| {
            state
                .known
                .iter()
                .any(|it| it.opened && name.is_within(&it.name))
        })
    }

    /// An entry of this name comes, and all before it have. A context is made for it if there is
    /// none and `create` allows it.
    pub fn open(&self, schema: &Schema, name: &Name, dn: &str, create: bool) -> Opening {
        self.with(|state| {
            let within = |it: &&mut Context| name.is_within(&it.name);
            // Contexts may lie in each other: the innermost counts.
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

    /// Contexts that the configuration does not list.
    pub fn new_ones(&self) -> Vec<Context> {
        self.with(|state| state.known.iter().filter(|it| it.is_new).cloned().collect())
    }
}

/// The naming context that a name outside all contexts asks for: the nearest name from it upwards
/// whose RDN is of the kind suffixes are made of (RFC 2247 `dc`, else `o` or `c`), or the topmost.
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

/// The names of the topmost `from` RDNs of a name, of `from + 1`, … up to the superior's.
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
    fn superiors_stand_from_the_top_down() {
        let names = superiors("uid=1,ou=people,dc=example,dc=com", 2);
        assert_eq!(names, ["dc=example,dc=com", "ou=people,dc=example,dc=com"]);
        assert!(superiors("dc=com", 1).is_empty());
    }
}
