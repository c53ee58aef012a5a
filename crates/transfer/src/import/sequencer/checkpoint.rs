//! Writes the sequencer's state to a checkpoint, and reads it.

use super::{ASIDE_FILE, Replacement, Sequencer};
use crate::import::aside::Aside;
use crate::import::checkpoint::FileState;
use crate::import::members::MemberFile;
use crate::import::rejects::Rejects;
use crate::import::table::NameTable;
use state::stop::Failure;
use std::collections::HashMap;
use std::path::PathBuf;
use store::{EntryId, FieldReader, Fields};

impl Sequencer<'_, '_> {
    /// Syncs all files. Returns the states of the sequencer and of the bulk loader.
    pub fn checkpoint(&mut self) -> Result<(Vec<u8>, Vec<u8>), Failure> {
        self.checkpoints += 1;
        let mut fields = Fields::default();
        fields.number(self.checkpoints);
        fields.number(self.last.0);
        fields.number(self.tally.imported);
        fields.number(self.tally.created);
        fields.number(self.replaceable.len() as u64);
        for (name, (id, parent)) in &self.replaceable {
            fields.wide(*name);
            fields.number(id.0);
            fields.number(parent.0);
        }
        fields.number(self.replacements.len() as u64);
        for replacement in &self.replacements {
            fields.number(replacement.id.0);
            fields.string(&replacement.row);
        }
        fields.number(self.broken.len() as u64);
        self.broken
            .iter()
            .for_each(|it| fields.string(it.as_bytes()));
        self.aside.sync()?.encode(&mut fields);
        self.rejects.sync()?.encode(&mut fields);
        fields.number(self.members.sync()?);
        let failed = |error| Failure::file("keeping what names there are", error);
        let (count, checksum) = self.names.save(&self.file("names")).map_err(failed)?;
        fields.number(count);
        fields.number(checksum);
        let holders = self.file("values");
        self.holders.save(&holders, &mut fields).map_err(failed)?;
        Ok((fields.into_bytes(), self.target.checkpoint()?))
    }

    /// Records that the checkpoint is in force.
    pub fn checkpoint_kept(&mut self) {
        self.target.checkpoint_kept();
    }

    /// Restores the state of a checkpoint; the loader was restored already.
    pub fn resume(&mut self, state: &[u8]) -> Result<(), Failure> {
        let mut fields = FieldReader::new(state);
        self.checkpoints = fields.number()?;
        self.last = EntryId(fields.number()?);
        self.tally.imported = fields.number()?;
        self.tally.created = fields.number()?;
        let replaceable = fields.many(|fields| {
            let name = fields.wide()?;
            Ok((name, (EntryId(fields.number()?), EntryId(fields.number()?))))
        })?;
        self.replaceable = HashMap::from_iter(replaceable);
        self.replacements = fields.many(|fields| {
            Ok(Replacement {
                id: EntryId(fields.number()?),
                row: fields.string()?.to_vec(),
            })
        })?;
        self.broken = fields.many(FieldReader::text)?;
        let aside = FileState::decode(&mut fields)?;
        self.aside = Aside::resume(&self.folder.join(ASIDE_FILE), aside)?;
        let rejects = FileState::decode(&mut fields)?;
        self.rejects = Rejects::resume(&self.shared.plan.options.rejects, rejects)?;
        self.members = MemberFile::resume(&self.folder, fields.number()?)?;
        let (count, checksum) = (fields.number()?, fields.number()?);
        let names = NameTable::load(&self.file("names"), count, checksum);
        self.names = names.map_err(|error| Failure::file("reading what names there are", error))?;
        let holders = self.file("values");
        self.holders.resume(&holders, &mut fields)
    }

    /// Path of a file of this checkpoint. The files of the previous checkpoint remain until this
    /// one is in force.
    fn file(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}-{}", self.checkpoints % 2))
    }
}
