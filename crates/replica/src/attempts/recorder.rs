//! Writes lines about attempts: finds the entries that were named, and puts keyed hashes in the
//! place of names that no entry has.

use super::{Attempt, Attempts, Taken, Tally, Tried};
use crate::audit_files::AttemptFiles;
use crate::clock::Clock;
use arc_swap::ArcSwap;
use audit::{AttemptKind, Attempts as Line, EntryName};
use policy::Subject;
use state::catalog::Catalog;
use state::stop::Stop;
use state::time::exact_time;
use state::view::{Place, View};
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use store::{EntryId, Reader};

/// The meaning of names that clients give in binds.
pub trait Naming: Send {
    /// The DN of the account of a SASL identity; `None` if there is none.
    ///
    /// # Errors
    /// The store cannot be read.
    fn account(&self, view: &View<'_>, identity: &str) -> Result<Option<String>, Stop>;

    /// A keyed hash of a name, equal on all nodes.
    fn hash(&self, name: &[u8]) -> [u8; 16];
}

/// Sources of a line, and the files.
pub struct Sources {
    /// The catalog in force.
    pub catalog: Arc<ArcSwap<Catalog>>,
    /// Reads the directory.
    pub reader: Reader,
    /// The node's time.
    pub clock: Arc<dyn Clock>,
    /// The meaning of names.
    pub naming: Box<dyn Naming>,
    /// The files that lines are written to.
    pub files: AttemptFiles,
}

/// The thread's state.
pub(super) struct Recorder {
    attempts: Arc<Attempts>,
    sources: Sources,
}

/// An attempt with the entries that it names.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Told {
    attempt: Attempt,
    /// The account of a bind, or the entry of an operation.
    entry: Known,
    /// Hash of the name of no account.
    name_hash: Option<[u8; 16]>,
    /// entryUUIDs of the subject of an operation, and of the one that authenticated.
    by: String,
    real: String,
}

/// An entry that was looked for.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
struct Known {
    dn: String,
    uuid: String,
}

impl Recorder {
    pub fn new(attempts: Arc<Attempts>, sources: Sources) -> Recorder {
        Recorder { attempts, sources }
    }

    /// Writes lines until the attempts are stopped.
    pub fn run(mut self) {
        loop {
            // A snapshot that is kept meanwhile would keep the database from reusing pages.
            self.sources.reader.reset();
            let taken = self.attempts.take();
            let is_last = taken.is_last;
            if !taken.kinds.is_empty()
                && let Err(stop) = self.record(taken)
            {
                tracing::error!(?stop, "lines about failed binds and denials are lost");
            }
            if is_last {
                return;
            }
        }
    }

    fn record(&mut self, taken: Taken) -> Result<(), Stop> {
        let Sources {
            catalog,
            reader,
            clock,
            naming,
            files,
        } = &mut self.sources;
        let snapshot = reader.snapshot()?;
        let (catalog, server) = (catalog.load_full(), Subject::server());
        let view = View::new(&snapshot, &catalog, &server);
        let mut all: HashMap<Told, Tally> = HashMap::new();
        for (attempt, tally) in taken.kinds {
            let told = told(&view, &**naming, attempt)?;
            all.entry(told)
                .and_modify(|it| it.add(&tally))
                .or_insert(tally);
        }
        let mut all: Vec<(Told, Tally)> = all.into_iter().collect();
        all.sort_by_key(|(_, tally)| (tally.first_us, tally.last_us));
        let texts = Vec::from_iter(all.iter().map(|(told, tally)| Texts::of(told, tally)));
        let (time, position) = (exact_time(clock.now_us()), snapshot.position()?);
        let mut lines = Vec::from_iter(texts.iter().map(|it| it.line(position, &time)));
        let others = taken.others.map(|it| (it.count, times(&it)));
        if let Some((count, [first, last])) = &others {
            lines.push(Line {
                position,
                time: &time,
                kind: AttemptKind::Others,
                from: "",
                result: "",
                count: *count,
                first,
                last,
            });
        }
        files.write(&lines);
        Ok(())
    }
}

/// The texts of one line.
struct Texts<'t> {
    told: &'t Told,
    from: String,
    times: [String; 2],
    count: u64,
}

impl<'t> Texts<'t> {
    fn of(told: &'t Told, tally: &Tally) -> Texts<'t> {
        let from = match told.attempt.address {
            None => String::new(),
            Some(address @ IpAddr::V4(_)) => address.to_string(),
            Some(network @ IpAddr::V6(_)) => format!("{network}/64"),
        };
        Texts {
            told,
            from,
            times: times(tally),
            count: tally.count,
        }
    }

    fn line<'l>(&'l self, position: u64, time: &'l str) -> Line<'l> {
        let told = self.told;
        let entry = EntryName {
            dn: &told.entry.dn,
            uuid: &told.entry.uuid,
        };
        let kind = match &told.attempt.tried {
            Tried::Bind { mechanism, .. } => AttemptKind::Bind {
                account: entry,
                name_hash: told.name_hash,
                mechanism: mechanism.as_deref().unwrap_or_default(),
            },
            Tried::Operation {
                by,
                real,
                place,
                request,
                ..
            } => {
                let (rule, clause) = parts_of(place);
                AttemptKind::Denied {
                    by: EntryName {
                        dn: by,
                        uuid: &told.by,
                    },
                    real: EntryName {
                        dn: real.as_deref().unwrap_or_default(),
                        uuid: &told.real,
                    },
                    rule,
                    clause,
                    request,
                    entry,
                }
            }
        };
        Line {
            position,
            time,
            kind,
            from: &self.from,
            result: told.attempt.code.name(),
            count: self.count,
            first: &self.times[0],
            last: &self.times[1],
        }
    }
}

/// Times of the first and the last attempt.
fn times(tally: &Tally) -> [String; 2] {
    [exact_time(tally.first_us), exact_time(tally.last_us)]
}

/// Name and clause of a rule, from `rule "name" clause 2`.
fn parts_of(place: &str) -> (&str, &str) {
    let quoted = place
        .strip_prefix("rule \"")
        .and_then(|it| it.rsplit_once('"'));
    let (rule, rest) = quoted.unwrap_or_default();
    (rule, rest.strip_prefix(" clause ").unwrap_or_default())
}

fn told(view: &View<'_>, naming: &dyn Naming, mut attempt: Attempt) -> Result<Told, Stop> {
    let mut told = Told {
        entry: Known::default(),
        name_hash: None,
        by: String::new(),
        real: String::new(),
        attempt: attempt.clone(),
    };
    match &mut attempt.tried {
        Tried::Bind { name, mechanism } => {
            let is_simple = mechanism.as_deref() == Some("simple");
            // From here on, spellings of one account are one.
            let name = name.take().filter(|it| !it.is_empty());
            let found = match &name {
                Some(name) if is_simple => known(view, name)?,
                Some(user) => match naming.account(view, user)? {
                    Some(dn) => known(view, &dn)?,
                    None => None,
                },
                None => None,
            };
            told.name_hash = match (&name, &found) {
                (Some(name), None) => Some(name_hash(view, naming, name)),
                _ => None,
            };
            told.entry = found.unwrap_or_default();
            told.attempt = attempt;
        }
        Tried::Operation {
            by, real, entry, ..
        } => {
            let uuid = |dn: &str| Ok::<_, Stop>(known(view, dn)?.unwrap_or_default().uuid);
            told.by = uuid(by)?;
            told.real = real.as_deref().map_or(Ok(String::new()), uuid)?;
            told.entry = known(view, entry)?.unwrap_or_else(|| Known {
                dn: entry.clone(),
                uuid: String::new(),
            });
        }
    }
    Ok(told)
}

/// The entry with a DN; `None` if there is none.
fn known(view: &View<'_>, dn: &str) -> Result<Option<Known>, Stop> {
    let Ok(name) = view.catalog.schema.resolve_name(dn) else {
        return Ok(None);
    };
    let administrator = view.catalog.administrator.as_ref();
    if let Some(administrator) = administrator.filter(|it| it.name == name) {
        return Ok(Some(Known {
            dn: administrator.spelled.clone(),
            uuid: view.uuid_text(administrator.entry),
        }));
    }
    match view.find_any(&name)? {
        Place::Found(id) if id != EntryId::ROOT => Ok(Some(Known {
            dn: view.spelled_name(id)?,
            uuid: view.uuid_text(id),
        })),
        Place::Found(_) | Place::Missing { .. } => Ok(None),
    }
}

fn name_hash(view: &View<'_>, naming: &dyn Naming, name: &str) -> [u8; 16] {
    match view.catalog.schema.resolve_name(name) {
        Ok(resolved) => naming.hash(resolved.bytes()),
        Err(_) => naming.hash(name.as_bytes()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_and_its_clause_are_told_apart() {
        assert_eq!(parts_of("rule \"staff\" clause 2"), ("staff", "2"));
        assert_eq!(parts_of("rule \"a \" b\""), ("a \" b", ""));
        assert_eq!(parts_of(""), ("", ""));
        assert_eq!(exact_time(1_500_000), "19700101000001.500000Z");
    }
}
