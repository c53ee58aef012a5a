//! Compares the old server with the node, by name.
//!
//! Three passes keep memory independent of the size of values: the old server's entries are reduced
//! to digests of 16 + 16 octets; the node's entries are compared with them, which yields names that
//! may differ; and these are read from the old server again and compared in full, so that changes
//! made in between do not count as differences.

use super::edits::same_passwords;
use super::entry::Entry;
use super::here::Here;
use super::pull::{self, Event, Way};
use super::remote::Remote;
use super::selection::{Attributes, Selection};
use super::stop::Stop;
use super::trouble::{Trouble, explain};
use protocol::counted;
use protocol::ldif::LdifWriter;
use protocol::{ResponseMessage, ResultCode};
use std::collections::{BTreeSet, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Write;
use std::time::Duration;

/// Interval between checks for an interrupt while no message arrives.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// Result of a comparison.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Differences {
    /// Entries on both servers.
    pub both: u64,
    /// Entries only on the old server.
    pub only_there: u64,
    /// Entries only on the node.
    pub only_here: u64,
    /// Entries that differ.
    pub differing: u64,
}

impl Differences {
    /// Number of entries that differ or are missing on one side.
    pub fn count(&self) -> u64 {
        self.only_there + self.only_here + self.differing
    }
}

/// The two servers and how to compare them.
pub struct Compare<'c> {
    /// The old server.
    pub remote: &'c mut Remote,
    /// The node.
    pub here: &'c mut Here,
    /// Selects the attributes to compare.
    pub selection: &'c mut Selection,
    /// Output for differences.
    pub out: &'c mut dyn Write,
    /// Set by an interrupt.
    pub stop: &'c Stop,
    /// Whether the old server supports the subentries control.
    pub subentries: bool,
}

impl Compare<'_> {
    /// Compares the entries below the bases and writes the differences.
    pub fn run(&mut self, bases: &[String]) -> Result<Differences, Trouble> {
        let mut sum = Differences::default();
        for base in bases {
            self.base(base, &Way::Plain, &mut sum)?;
            if self.subentries {
                self.base(base, &Way::Subentries, &mut sum)?;
            }
        }
        let line = format!(
            "# {} on both sides, {} of them different; {} only on the old server, {} only here\n",
            counted(sum.both, "entry"),
            sum.differing,
            sum.only_there,
            sum.only_here
        );
        self.write(line.as_bytes())?;
        Ok(sum)
    }

    fn base(&mut self, base: &str, way: &Way, sum: &mut Differences) -> Result<(), Trouble> {
        let mut there: HashMap<u128, u128> = HashMap::new();
        let selection = &mut *self.selection;
        each_there(self.remote, base, way, self.stop, |entry| {
            there.insert(key(selection, &entry.dn), digest(&selection.wanted(&entry)));
            Ok(())
        })?;
        let mut suspects: HashMap<u128, bool> = HashMap::new();
        let mut only_here = Vec::new();
        let selection = &mut *self.selection;
        self.here
            .each(base, *way == Way::Subentries, &["*", "+"], |entry| {
                let key = key(selection, &entry.dn);
                match there.remove(&key) {
                    Some(other) if other == digest(&selection.writable(&entry)) => sum.both += 1,
                    Some(_) => {
                        suspects.insert(key, true);
                    }
                    None => only_here.push(entry.dn),
                }
                Ok(())
            })?;
        suspects.extend(there.into_keys().map(|key| (key, false)));
        for dn in &only_here {
            suspects.insert(key(self.selection, dn), true);
        }
        if suspects.is_empty() {
            return Ok(());
        }
        self.look_again(base, way, &mut suspects, sum)?;
        for dn in only_here {
            let still = suspects.contains_key(&key(self.selection, &dn));
            if still && let Some(entry) = self.here.read(&dn)? {
                sum.only_here += 1;
                self.only("only here", &entry)?;
            }
        }
        Ok(())
    }

    /// Reads the old server again and compares the suspects in full. Entries that still exist are
    /// removed from the suspects.
    fn look_again(
        &mut self,
        base: &str,
        way: &Way,
        suspects: &mut HashMap<u128, bool>,
        sum: &mut Differences,
    ) -> Result<(), Trouble> {
        let (selection, here, out) = (&mut *self.selection, &mut *self.here, &mut *self.out);
        each_there(self.remote, base, way, self.stop, |entry| {
            if suspects.remove(&key(selection, &entry.dn)).is_none() {
                return Ok(());
            }
            let Some(own) = here.read(&entry.dn)? else {
                sum.only_there += 1;
                return put_only(out, "only on the old server", &entry);
            };
            sum.both += 1;
            let (own, wanted) = (selection.writable(&own), selection.wanted(&entry));
            let text = difference(&entry.dn, &own, &wanted);
            if text.is_empty() {
                return Ok(());
            }
            sum.differing += 1;
            out.write_all(&text).map_err(failed)
        })
    }

    fn only(&mut self, where_: &str, entry: &Entry) -> Result<(), Trouble> {
        put_only(self.out, where_, entry)
    }

    fn write(&mut self, text: &[u8]) -> Result<(), Trouble> {
        self.out.write_all(text).map_err(failed)
    }
}

fn put_only(out: &mut dyn Write, what: &str, entry: &Entry) -> Result<(), Trouble> {
    let mut text = Vec::new();
    let writer = LdifWriter::new(0);
    writer.put_comment(&mut text, what);
    writer.put_dn(&mut text, &entry.dn);
    text.push(b'\n');
    out.write_all(&text).map_err(failed)
}

fn failed(error: std::io::Error) -> Trouble {
    Trouble::refused(format!("the report: {error}"))
}

/// Lines for values on one side only: `-` the old server, `+` the node.
fn difference(dn: &str, own: &Attributes, wanted: &Attributes) -> Vec<u8> {
    let writer = LdifWriter::new(0);
    let mut lines = Vec::new();
    let names: BTreeSet<_> = own.keys().chain(wanted.keys()).collect();
    for name in names {
        let none = Vec::new();
        let own = own.get(name).unwrap_or(&none);
        let wanted = wanted.get(name).unwrap_or(&none);
        if own == wanted || same_passwords(name, own, wanted) {
            continue;
        }
        if is_secret(name) {
            lines.extend_from_slice(format!("# {name} differs\n").as_bytes());
            continue;
        }
        for (mark, these, others) in [(b'-', wanted, own), (b'+', own, wanted)] {
            for value in these.iter().filter(|it| others.binary_search(it).is_err()) {
                lines.push(mark);
                writer.put_value(&mut lines, name, value);
            }
        }
    }
    if lines.is_empty() {
        return lines;
    }
    let mut text = Vec::new();
    writer.put_dn(&mut text, dn);
    text.extend_from_slice(&lines);
    text.push(b'\n');
    text
}

/// Whether values of an attribute must not be printed.
fn is_secret(name: &str) -> bool {
    let name = name.to_lowercase();
    [
        "password",
        "secret",
        "krbprincipalkey",
        "pwdhistory",
        "authpassword",
    ]
    .iter()
    .any(|it| name.contains(it))
}

/// Calls back for every entry, or every subentry, below a base of the old server.
fn each_there(
    remote: &mut Remote,
    base: &str,
    way: &Way,
    stop: &Stop,
    mut take: impl FnMut(Entry) -> Result<(), Trouble>,
) -> Result<(), Trouble> {
    let mut id = pull::begin(remote, base, way)?;
    loop {
        if stop.is_wished() {
            return Err(Trouble::Stopped);
        }
        let Some(bytes) = remote.next(LOOK_EVERY)? else {
            continue;
        };
        let message = match ResponseMessage::decode(bytes) {
            Ok(message) => message,
            Err(error) => return Err(Trouble::refused(format!("{base}: no response: {error}"))),
        };
        if message.id != id {
            continue;
        }
        let page = pull::next_page(&message);
        let event = pull::read(&message).map(|(event, _)| event);
        match event.map_err(|error| Trouble::refused(format!("{base}: {error}")))? {
            Event::Put(_, entry) => take(entry)?,
            Event::End { result, .. } if result.code == ResultCode::SUCCESS => match page {
                Some(page) => id = pull::page(remote, base, &page)?,
                None => return Ok(()),
            },
            Event::End { result, .. } => return Err(explain(&result, base, &remote.who)),
            _ => {}
        }
    }
}

/// Hash of a name, independent of its spelling.
fn key(selection: &Selection, dn: &str) -> u128 {
    match selection.schema().resolve_name(dn) {
        Ok(name) => both_halves(&name.bytes()),
        Err(_) => both_halves(&dn),
    }
}

/// Digest of all values.
fn digest(attributes: &Attributes) -> u128 {
    both_halves(attributes)
}

fn both_halves(of: &impl Hash) -> u128 {
    let half = |salt: u64| {
        let mut hasher = DefaultHasher::new();
        salt.hash(&mut hasher);
        of.hash(&mut hasher);
        u128::from(hasher.finish())
    };
    half(1) << 64 | half(2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::migrate::selection::attributes;

    #[test]
    fn differences_are_lines_and_passwords_stay_secret() {
        let own = attributes(&[("cn", &["a", "b"]), ("userPassword", &["{SSHA}x"])]);
        let wanted = attributes(&[("cn", &["a", "c"]), ("userPassword", &["{SSHA}y"])]);
        let text = String::from_utf8(difference("cn=a", &own, &wanted)).expect("it is text");
        assert_eq!(text, "dn: cn=a\n-cn: c\n+cn: b\n# userPassword differs\n\n");
        assert!(difference("cn=a", &own, &own).is_empty());
        assert_eq!(digest(&own), digest(&own.clone()));
        assert_ne!(digest(&own), digest(&wanted));
    }
}
