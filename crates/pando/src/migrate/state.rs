//! State of a migration, stored in the node's folder as LDIF: one record for each base, with the
//! cookie of the last applied change. It is written after those changes are durable, so continuing
//! from it loses none.

use super::remote::Old;
use crate::report::Problem;
use protocol::ldif::{LdifReader, LdifRecord, LdifWriter};
use std::fs::{File, TryLockError};
use std::io::Write;
use std::path::{Path, PathBuf};
use store::private;

/// Name of the file in the node's folder.
const FILE: &str = "pando-migrate.ldif";
/// File locked against a second migration.
const LOCK_FILE: &str = "pando-migrate.lock";

/// State of a migration.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct State {
    /// The old server's URL.
    pub from: String,
    /// Each base with the old server's cookie up to which it is copied; `None` before the copy.
    pub bases: Vec<(String, Option<Vec<u8>>)>,
}

impl State {
    /// The state of a new migration.
    pub fn new(old: &Old, bases: &[String]) -> State {
        State {
            from: old.url.clone(),
            bases: bases.iter().map(|it| (it.clone(), None)).collect(),
        }
    }

    /// The state in a folder; `None` if no migration has begun.
    pub fn load(dir: &Path) -> Result<Option<State>, Problem> {
        let path = path(dir);
        let text = match std::fs::read(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(Problem::file(&path, error)),
        };
        let state = parse(&text).map_err(|reason| {
            let text = format_args!("{reason}; remove it to begin the migration anew");
            Problem::file(&path, text)
        })?;
        Ok(Some(state))
    }

    /// Writes and syncs the state.
    pub fn save(&self, dir: &Path) -> Result<(), Problem> {
        let path = path(dir);
        let partial = dir.join(format!("{FILE}.partial"));
        let written = private::create(&partial)
            .and_then(|mut file| {
                file.write_all(&self.print())?;
                file.sync_all()
            })
            .and_then(|()| std::fs::rename(&partial, &path))
            .and_then(|()| File::open(dir)?.sync_all());
        written.map_err(|error| Problem::file(&path, error))
    }

    /// Sets the cookie of a base; returns whether that changes anything.
    pub fn set_cookie(&mut self, base: &str, cookie: Option<Vec<u8>>) -> bool {
        match self.bases.iter_mut().find(|(it, _)| it == base) {
            Some((_, known)) if *known == cookie => false,
            Some((_, known)) => {
                *known = cookie;
                true
            }
            None => false,
        }
    }

    fn print(&self) -> Vec<u8> {
        let writer = LdifWriter::new(0);
        let mut out = Vec::new();
        writer.put_comment(
            &mut out,
            "progress of `pando migrate`; see docs/guides/migrate.md",
        );
        for (base, cookie) in &self.bases {
            writer.put_dn(&mut out, base);
            writer.put_value(&mut out, "from", self.from.as_bytes());
            if let Some(cookie) = cookie {
                writer.put_value(&mut out, "cookie", cookie);
            }
            writer.end_record(&mut out);
        }
        out
    }
}

fn parse(text: &[u8]) -> Result<State, String> {
    let mut state = State::default();
    let mut reader = LdifReader::new(text);
    while let Some(record) = reader.next_record() {
        let record = record.map_err(|error| error.to_string())?;
        let LdifRecord::Entry { dn, attributes } = record else {
            return Err("expected entries, got a change".to_owned());
        };
        let mut cookie = None;
        for (name, value) in attributes {
            match name {
                "from" => state.from = String::from_utf8_lossy(&value).into_owned(),
                "cookie" => cookie = Some(value.into_owned()),
                _ => return Err(format!("{dn}: {name} is not known")),
            }
        }
        state.bases.push((dn.to_owned(), cookie));
    }
    Ok(state)
}

/// Path of the file in a node's folder.
pub fn path(dir: &Path) -> PathBuf {
    dir.join(FILE)
}

/// Locks the folder against other migrations until dropped.
pub fn lock(dir: &Path) -> Result<File, Problem> {
    let path = dir.join(LOCK_FILE);
    let file = private::create(&path).map_err(|error| Problem::file(&path, error))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(Problem::failed(format_args!(
            "{}: another `pando migrate` is at work here",
            dir.display()
        ))),
        Err(TryLockError::Error(error)) => Err(Problem::file(&path, error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_is_read_as_it_was_written() {
        let state = State {
            from: "ldap://old".to_owned(),
            bases: vec![
                (
                    "dc=example,dc=com".to_owned(),
                    Some(b"rid=000,csn=\xff".to_vec()),
                ),
                ("o=Größe".to_owned(), None),
            ],
        };
        assert_eq!(parse(&state.print()), Ok(state));
        assert!(parse(b"dn: dc=com\nother: x\n").is_err());
        assert!(parse(b"cookie: x\n").is_err());
    }
}
