//! What a backup says of itself.

use super::hashing::Hashed;
use crate::stop::Failure;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::Write;
use std::path::Path;

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
    /// The database.
    pub database: Hashed,
    /// The same, compressed.
    pub stored: Hashed,
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
    /// When they were added, as a GeneralizedTime.
    pub made: String,
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
    database: Sum,
    stored: Sum,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    increment: Vec<IncrementText>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct IncrementText {
    file: String,
    after: u64,
    position: u64,
    made: String,
    stored: Sum,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Sum {
    bytes: u64,
    xxh3: String,
}

impl Manifest {
    /// The manifest of a backup that is being made.
    pub(super) fn new(made: String, position: u64, database: Hashed, stored: Hashed) -> Manifest {
        Manifest {
            pando: env!("CARGO_PKG_VERSION").to_owned(),
            made,
            position,
            database,
            stored,
            increments: Vec::new(),
        }
    }

    /// Reads the manifest of a backup, a folder or a file.
    ///
    /// # Errors
    /// [`Failure::Input`] when it is no backup, or one of another format.
    pub fn read(backup: &Path) -> Result<Manifest, Failure> {
        let in_folder = backup.join(FILE);
        let is_file = backup.is_file();
        let path = if is_file { backup } else { in_folder.as_path() };
        let wrong = |what: &dyn std::fmt::Display| {
            let path = path.display();
            Failure::Input(format!("{path}: expected the manifest of a backup: {what}"))
        };
        let text = match is_file {
            true => super::single::manifest_of(backup)?,
            false => std::fs::read_to_string(path).map_err(|error| wrong(&error))?,
        };
        // The format first: another one may have other fields.
        let table: toml::Table = text.parse().map_err(|error| wrong(&error))?;
        let format = table.get("format").and_then(toml::Value::as_integer);
        if format != Some(i64::from(FORMAT)) {
            return Err(wrong(&format_args!("format is not {FORMAT}")));
        }
        let text: Text = toml::from_str(&text).map_err(|error| wrong(&error))?;
        let sum = |it: &Sum| -> Result<Hashed, Failure> {
            let xxh3 = u128::from_str_radix(&it.xxh3, 16).map_err(|error| wrong(&error))?;
            Ok(Hashed {
                bytes: it.bytes,
                xxh3,
            })
        };
        let increment = |it: IncrementText| -> Result<Increment, Failure> {
            Ok(Increment {
                stored: sum(&it.stored)?,
                file: it.file,
                after: it.after,
                position: it.position,
                made: it.made,
            })
        };
        Ok(Manifest {
            database: sum(&text.database)?,
            stored: sum(&text.stored)?,
            increments: text
                .increment
                .into_iter()
                .map(increment)
                .collect::<Result<_, _>>()?,
            pando: text.pando,
            made: text.made,
            position: text.position,
        })
    }

    /// The position up to which backup and increments have everything.
    pub fn last_position(&self) -> u64 {
        let last = self.increments.last();
        last.map_or(self.position, |it| it.position)
    }

    /// It as text; `path` is what an error names.
    pub(super) fn text(&self, path: &Path) -> Result<String, Failure> {
        let sum = |it: &Hashed| Sum {
            bytes: it.bytes,
            xxh3: format!("{:032x}", it.xxh3),
        };
        let text = Text {
            format: FORMAT,
            pando: self.pando.clone(),
            made: self.made.clone(),
            position: self.position,
            database: sum(&self.database),
            stored: sum(&self.stored),
            increment: self
                .increments
                .iter()
                .map(|it| IncrementText {
                    file: it.file.clone(),
                    after: it.after,
                    position: it.position,
                    made: it.made.clone(),
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
        let partial = super::partial_name(&path);
        let written = File::create(&partial).and_then(|mut file| {
            file.write_all(text.as_bytes())?;
            file.sync_all()?;
            std::fs::rename(&partial, &path)
        });
        written.map_err(super::file(&path))
    }
}
