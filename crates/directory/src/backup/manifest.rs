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
const FORMAT: u32 = 1;

/// What is in a backup.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Manifest {
    /// The version of the program that made it.
    pub pando: String,
    /// When, as a GeneralizedTime. Every write acknowledged before is in it.
    pub made: String,
    /// The database.
    pub database: Hashed,
    /// The same, compressed.
    pub stored: Hashed,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Text {
    format: u32,
    pando: String,
    made: String,
    database: Sum,
    stored: Sum,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Sum {
    bytes: u64,
    xxh3: String,
}

impl Manifest {
    /// Reads the manifest of a backup.
    ///
    /// # Errors
    /// [`Failure::Input`] when the folder is no backup, or one of another format.
    pub fn read(backup: &Path) -> Result<Manifest, Failure> {
        let path = backup.join(FILE);
        let wrong = |what: &dyn std::fmt::Display| {
            let path = path.display();
            Failure::Input(format!("{path}: expected the manifest of a backup: {what}"))
        };
        let text = std::fs::read_to_string(&path).map_err(|error| wrong(&error))?;
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
        Ok(Manifest {
            database: sum(&text.database)?,
            stored: sum(&text.stored)?,
            pando: text.pando,
            made: text.made,
        })
    }

    pub(super) fn write(&self, folder: &Path) -> Result<(), Failure> {
        let path = folder.join(FILE);
        let sum = |it: &Hashed| Sum {
            bytes: it.bytes,
            xxh3: format!("{:032x}", it.xxh3),
        };
        let text = Text {
            format: FORMAT,
            pando: self.pando.clone(),
            made: self.made.clone(),
            database: sum(&self.database),
            stored: sum(&self.stored),
        };
        let text = toml::to_string(&text)
            .map_err(|error| Failure::Input(format!("{}: {error}", path.display())))?;
        let written = File::create(&path).and_then(|mut file| {
            file.write_all(text.as_bytes())?;
            file.sync_all()
        });
        written.map_err(super::file(&path))
    }
}
