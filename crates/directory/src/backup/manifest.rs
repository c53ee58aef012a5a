//! What a backup says of itself.
//!
//! The digest at a position tells the history that led there from others that came as far: what was
//! written after a restore to an earlier moment has the same positions. Backups of earlier releases
//! do not have it.

use super::hashing::Hashed;
use crate::partial::Partial;
use serde::{Deserialize, Serialize};
use state::stop::Failure;
use std::fmt::Display;
use std::io::Write;
use std::path::Path;
use store::Store;

/// The file in a backup's folder.
const FILE: &str = "manifest.toml";
/// The layout of backups that this program makes and reads.
const FORMAT: u32 = 2;

/// What is in a backup.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Manifest {
    /// The version of the program that made it.
    pub pando: String,
    /// When, as a GeneralizedTime. Every write acknowledged before is in it.
    pub made: String,
    /// A position in the order up to which it has everything; it may have some more.
    pub position: u64,
    /// The digest of the state there.
    pub digest: Option<u128>,
    /// The database.
    pub database: Hashed,
    /// The same, compressed.
    pub stored: Hashed,
    /// The settings in a backup that is one file; in a folder they may be changed.
    pub settings: Option<Hashed>,
    /// What changed since, in order.
    pub increments: Vec<Increment>,
}

/// Changes that were added to a backup later.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Increment {
    /// The name of the file.
    pub file: String,
    /// The changes after this position,
    pub after: u64,
    /// up to this one.
    pub position: u64,
    /// The digest of the state there.
    pub digest: Option<u128>,
    /// When they were added, as a GeneralizedTime.
    pub made: String,
    /// Their length; earlier releases did not say.
    pub bytes: Option<u64>,
    /// The file, compressed.
    pub stored: Hashed,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Text {
    format: u32,
    pando: String,
    made: String,
    position: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    digest: Option<String>,
    database: Sum,
    stored: Sum,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    settings: Option<Sum>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    increment: Vec<IncrementText>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct IncrementText {
    file: String,
    after: u64,
    position: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    digest: Option<String>,
    made: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    bytes: Option<u64>,
    stored: Sum,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Sum {
    bytes: u64,
    xxh3: String,
}

/// A state in the order of changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    pub position: u64,
    pub digest: u128,
}

impl Place {
    /// That of the newest state of a store.
    pub fn newest(store: &Store) -> Result<Place, Failure> {
        let mut reader = store.reader()?;
        let snapshot = reader.snapshot()?;
        Ok(Place {
            position: snapshot.position()?,
            digest: snapshot.digest()?,
        })
    }
}

impl Manifest {
    /// The manifest of a backup that is being made.
    pub(super) fn new(made: String, place: Place, database: Hashed, stored: Hashed) -> Manifest {
        Manifest {
            pando: env!("CARGO_PKG_VERSION").to_owned(),
            made,
            position: place.position,
            digest: Some(place.digest),
            database,
            stored,
            settings: None,
            increments: Vec::new(),
        }
    }

    /// Reads the manifest of a backup, a folder or a file.
    ///
    /// # Errors
    /// [`Failure::Input`] when it is no backup, or one of another format.
    pub fn read(backup: &Path) -> Result<Manifest, Failure> {
        if backup.is_file() {
            return super::single::manifest_of(backup);
        }
        let path = backup.join(FILE);
        let text = std::fs::read_to_string(&path).map_err(|error| wrong(&path, &error))?;
        Manifest::parse(&text).map_err(|error| wrong(&path, &error))
    }

    /// What the text of a manifest says.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(super) fn parse(text: &str) -> Result<Manifest, String> {
        // The format first: another one may have other fields.
        let table: toml::Table = text.parse().map_err(|error| format!("{error}"))?;
        let format = table.get("format").and_then(toml::Value::as_integer);
        if format != Some(i64::from(FORMAT)) {
            return Err(format!("format is not {FORMAT}"));
        }
        let text: Text = toml::from_str(text).map_err(|error| error.to_string())?;
        let number = |it: &String| {
            let parsed = u128::from_str_radix(it, 16);
            parsed.map_err(|error| format!("expected a number of hexadecimal digits: {error}"))
        };
        let sum = |it: &Sum| -> Result<Hashed, String> {
            Ok(Hashed {
                bytes: it.bytes,
                xxh3: number(&it.xxh3)?,
            })
        };
        let increment = |it: IncrementText| -> Result<Increment, String> {
            Ok(Increment {
                stored: sum(&it.stored)?,
                file: it.file,
                after: it.after,
                position: it.position,
                digest: it.digest.as_ref().map(number).transpose()?,
                made: it.made,
                bytes: it.bytes,
            })
        };
        Ok(Manifest {
            database: sum(&text.database)?,
            stored: sum(&text.stored)?,
            settings: text.settings.as_ref().map(sum).transpose()?,
            increments: text
                .increment
                .into_iter()
                .map(increment)
                .collect::<Result<_, _>>()?,
            pando: text.pando,
            made: text.made,
            position: text.position,
            digest: text.digest.as_ref().map(number).transpose()?,
        })
    }

    /// Compares the database that was found in a backup with what it must be.
    pub(super) fn require(
        &self,
        path: &Path,
        stored: Hashed,
        database: Hashed,
    ) -> Result<(), Failure> {
        require_same(path, "the file", self.stored, stored)?;
        require_same(path, "the database in it", self.database, database)
    }

    /// Compares the settings; earlier releases did not say what they must be.
    pub(super) fn require_settings(&self, path: &Path, settings: &[u8]) -> Result<(), Failure> {
        self.settings.map_or(Ok(()), |expected| {
            require_same(
                path,
                "the settings file in it",
                expected,
                Hashed::of(settings),
            )
        })
    }

    /// The position up to which backup and increments have everything.
    pub fn last_position(&self) -> u64 {
        let last = self.increments.last();
        last.map_or(self.position, |it| it.position)
    }

    /// The digest of the state there, if it is known.
    pub fn last_digest(&self) -> Option<u128> {
        let last = self.increments.last();
        last.map_or(self.digest, |it| it.digest)
    }

    /// It as text; `path` is what an error names.
    pub(super) fn text(&self, path: &Path) -> Result<String, Failure> {
        let sum = |it: &Hashed| Sum {
            bytes: it.bytes,
            xxh3: hexadecimal(it.xxh3),
        };
        let text = Text {
            format: FORMAT,
            pando: self.pando.clone(),
            made: self.made.clone(),
            position: self.position,
            digest: self.digest.map(hexadecimal),
            database: sum(&self.database),
            stored: sum(&self.stored),
            settings: self.settings.as_ref().map(sum),
            increment: self
                .increments
                .iter()
                .map(|it| IncrementText {
                    file: it.file.clone(),
                    after: it.after,
                    position: it.position,
                    digest: it.digest.map(hexadecimal),
                    made: it.made.clone(),
                    bytes: it.bytes,
                    stored: sum(&it.stored),
                })
                .collect(),
        };
        toml::to_string(&text)
            .map_err(|error| Failure::Input(format!("{}: {error}", path.display())))
    }

    /// Writes it under its name, as a whole.
    pub(super) fn write(&self, folder: &Path) -> Result<(), Failure> {
        let path = folder.join(FILE);
        let text = self.text(&path)?;
        let partial = Partial::file(&path)?;
        let written = partial.content().write_all(text.as_bytes());
        written.map_err(super::file(partial.path()))?;
        partial.take_name()
    }
}

fn require_same(path: &Path, what: &str, expected: Hashed, found: Hashed) -> Result<(), Failure> {
    match found == expected {
        true => Ok(()),
        false => Err(Failure::Input(format!(
            "{}: {what} is damaged: expected {expected}, found {found}",
            path.display()
        ))),
    }
}

/// What stands there is no manifest of a backup.
pub(super) fn wrong(path: &Path, what: &dyn Display) -> Failure {
    let path = path.display();
    Failure::Input(format!("{path}: expected the manifest of a backup: {what}"))
}

/// Digests and hashes as the manifest has them, and `pando check` prints them.
pub(super) fn hexadecimal(it: u128) -> String {
    format!("{it:032x}")
}
