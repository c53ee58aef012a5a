//! The manifest of a backup.
//!
//! The digest at a position distinguishes histories: after a restore to an earlier moment, new
//! changes get the positions that other changes had. Manifests of earlier builds have no digest.

use super::hashing::Hashed;
use replica::partial::Partial;
use serde::{Deserialize, Serialize};
use state::stop::Failure;
use std::fmt::Display;
use std::io::Write;
use std::path::Path;
use store::Store;

/// File name in the folder of a backup.
const FILE: &str = "manifest.toml";
/// The version of the layout that this program writes and reads.
const FORMAT: u32 = 2;

/// Description of a backup's contents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Manifest {
    /// Version of the program that made the backup.
    pub pando: String,
    /// Time of making as a GeneralizedTime. The backup has every write acknowledged before this
    /// time.
    pub made: String,
    /// Position up to which the backup has every write; it may have later writes.
    pub position: u64,
    /// Digest of the state at `position`; `None` in backups of earlier builds.
    pub digest: Option<u128>,
    /// Length and hash of the database.
    pub database: Hashed,
    /// Length and hash of the compressed database.
    pub stored: Hashed,
    /// Length and hash of the settings in a backup of one file; `None` for a folder, where the
    /// settings may be edited.
    pub settings: Option<Hashed>,
    /// The increments, in order.
    pub increments: Vec<Increment>,
}

/// Changes added to a backup.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Increment {
    /// Name of the file.
    pub file: String,
    /// Position before the first change.
    pub after: u64,
    /// Position of the last change.
    pub position: u64,
    /// Digest of the state at `position`; `None` in increments of earlier builds.
    pub digest: Option<u128>,
    /// Time of adding, as a GeneralizedTime.
    pub made: String,
    /// Length of the changes in bytes; `None` in increments of earlier builds.
    pub bytes: Option<u64>,
    /// Length and hash of the compressed file.
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

/// A position in the order of changes, and the digest of the state there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    pub position: u64,
    pub digest: u128,
}

impl Place {
    /// Position and digest of the newest state of a store.
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
    /// The manifest of a new backup.
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

    /// Reads the manifest of a backup, which may be a folder or a file.
    ///
    /// # Errors
    /// [`Failure::Input`] if there is no backup, or its format is another.
    pub fn read(backup: &Path) -> Result<Manifest, Failure> {
        if backup.is_file() {
            return super::single::manifest_of(backup);
        }
        let path = backup.join(FILE);
        let text = std::fs::read_to_string(&path).map_err(|error| wrong(&path, &error))?;
        Manifest::parse(&text).map_err(|error| wrong(&path, &error))
    }

    /// Parses the text of a manifest.
    ///
    /// # Errors
    /// A sentence about the first error in the text.
    pub(crate) fn parse(text: &str) -> Result<Manifest, String> {
        // The format is read first, because other formats may have other fields.
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

    /// Compares the database found in a backup with the manifest.
    pub(super) fn require(
        &self,
        path: &Path,
        stored: Hashed,
        database: Hashed,
    ) -> Result<(), Failure> {
        require_same(path, "the file", self.stored, stored)?;
        require_same(path, "the database in it", self.database, database)
    }

    /// Compares the settings with the manifest. Manifests of earlier builds do not have them.
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

    /// Position of the last increment, or else of the backup.
    pub fn last_position(&self) -> u64 {
        let last = self.increments.last();
        last.map_or(self.position, |it| it.position)
    }

    /// Digest of the state at [`last_position`](Manifest::last_position); `None` if not recorded.
    pub fn last_digest(&self) -> Option<u128> {
        let last = self.increments.last();
        last.map_or(self.digest, |it| it.digest)
    }

    /// The manifest as text; `path` appears in errors.
    pub(crate) fn text(&self, path: &Path) -> Result<String, Failure> {
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

    /// Replaces the manifest file of a folder atomically.
    pub(super) fn write(&self, folder: &Path) -> Result<(), Failure> {
        let path = folder.join(FILE);
        let text = self.text(&path)?;
        let partial = Partial::file(&path)?;
        let written = partial.content().write_all(text.as_bytes());
        written.map_err(super::copying::file(partial.path()))?;
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

/// The failure for a file that is no manifest.
pub(super) fn wrong(path: &Path, what: &dyn Display) -> Failure {
    let path = path.display();
    Failure::Input(format!("{path}: expected the manifest of a backup: {what}"))
}

/// A digest or hash as 32 hexadecimal digits, as in manifests and in the output of `pando check`.
pub(super) fn hexadecimal(it: u128) -> String {
    format!("{it:032x}")
}
