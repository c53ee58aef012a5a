//! The file of values that become links. A value waits in it until every entry has its id: as an
//! id if the entry was appended already, else as text with the hash of the name. The file has a
//! record for each attribute of a block (`links.rs`).

use super::checkpoint;
use super::table::NameTable;
use super::target::Target;
use schema::{AttributeNumber, Schema};
use state::stop::Failure;
use state::stored_form::member_form;
use std::collections::HashMap;
use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use store::EntryId;
use store::private;

/// The file.
pub(super) struct MemberFile {
    path: PathBuf,
    file: Option<BufWriter<File>>,
}

/// Bytes written or read at once.
const BUFFER_BYTES: usize = 1 << 20;

impl MemberFile {
    /// Uses a file in this folder, which is created with the first value.
    pub fn new(folder: &Path) -> MemberFile {
        MemberFile {
            path: folder.join("links"),
            file: None,
        }
    }

    /// Syncs the file, so that it outlives the process; returns its length in bytes.
    pub fn sync(&mut self) -> Result<u64, Failure> {
        let Some(file) = &mut self.file else {
            return Ok(0);
        };
        checkpoint::sync(file).map_err(failed)
    }

    /// Continues the file of a checkpoint, which had this length.
    pub fn resume(folder: &Path, bytes: u64) -> Result<MemberFile, Failure> {
        let mut members = MemberFile::new(folder);
        if bytes > 0 {
            let mut options = File::options();
            let opened = options.read(true).write(true).open(&members.path);
            let file = opened.and_then(|file| checkpoint::continue_at(file, bytes));
            let file = file.map_err(failed)?;
            members.file = Some(BufWriter::with_capacity(BUFFER_BYTES, file));
        }
        Ok(members)
    }

    /// Appends the block of an entry.
    pub fn add(&mut self, id: EntryId, block: &[u8], names: &NameTable) -> Result<(), Failure> {
        if self.file.is_none() {
            let mut options = private::options();
            let options = options.read(true).write(true).truncate(true);
            let file = options.open(&self.path).map_err(failed)?;
            self.file = Some(BufWriter::with_capacity(BUFFER_BYTES, file));
        }
        let Some(file) = &mut self.file else {
            return Ok(());
        };
        copy_resolved(id, block, names, file).map_err(failed)
    }

    /// Passes all values to the target, now that every entry has its id; stops if `check` fails.
    pub fn finish(
        self,
        target: &mut Target<'_>,
        names: &NameTable,
        schema: &Schema,
        check: &dyn Fn() -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let Some(file) = self.file else { return Ok(()) };
        let mut file = file
            .into_inner()
            .map_err(|error| failed(error.into_error()))?;
        file.seek(SeekFrom::Start(0)).map_err(failed)?;
        let mut input = BufReader::with_capacity(BUFFER_BYTES, file);
        let mut texts: HashMap<u128, EntryId> = HashMap::new();
        let mut members = Vec::new();
        let (mut text, mut form) = (Vec::new(), Vec::new());
        while let Some((id, number, count)) = read_head(&mut input).map_err(failed)? {
            check()?;
            members.clear();
            for _ in 0..count {
                let mut word = [0; 8];
                input.read_exact(&mut word).map_err(failed)?;
                let known = EntryId(u64::from_le_bytes(word));
                if !known.is_root() {
                    members.push(known);
                    continue;
                }
                let hash = read_text(&mut input, &mut text).map_err(failed)?;
                if let Some(named) = names.get(hash) {
                    members.push(named);
                    continue;
                }
                if let Some(known) = schema.known(number) {
                    member_form(schema, known.type_id, &text, &mut form);
                }
                let id = match texts.get(&hash) {
                    Some(id) => *id,
                    None => target.add_text(&text, &form)?,
                };
                texts.insert(hash, id);
                members.push(id);
            }
            target.add_links(id, number, &mut members)?;
        }
        Ok(())
    }
}

/// Writes a block as records, one for each attribute.
fn copy_resolved(
    id: EntryId,
    block: &[u8],
    names: &NameTable,
    out: &mut impl Write,
) -> std::io::Result<()> {
    let mut input = block;
    while !input.is_empty() {
        let (mut number, mut count) = ([0; 2], [0; 8]);
        input.read_exact(&mut number)?;
        input.read_exact(&mut count)?;
        out.write_all(&id.0.to_le_bytes())?;
        out.write_all(&number)?;
        out.write_all(&count)?;
        for _ in 0..u64::from_le_bytes(count) {
            let (mut hash, mut length) = ([0; 16], [0; 4]);
            input.read_exact(&mut hash)?;
            input.read_exact(&mut length)?;
            let (value, rest) = input.split_at(u32::from_le_bytes(length) as usize);
            input = rest;
            let known = names
                .get(u128::from_le_bytes(hash))
                .unwrap_or(EntryId::ROOT);
            out.write_all(&known.0.to_le_bytes())?;
            if known.is_root() {
                out.write_all(&hash)?;
                out.write_all(&length)?;
                out.write_all(value)?;
            }
        }
    }
    Ok(())
}

/// Entry, attribute and number of values of the next record; `None` at the end.
fn read_head(input: &mut impl Read) -> std::io::Result<Option<(EntryId, AttributeNumber, u64)>> {
    let (mut id, mut number, mut count) = ([0; 8], [0; 2], [0; 8]);
    match input.read_exact(&mut id) {
        Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => return Ok(None),
        read => read?,
    }
    input.read_exact(&mut number)?;
    input.read_exact(&mut count)?;
    Ok(Some((
        EntryId(u64::from_le_bytes(id)),
        AttributeNumber(u16::from_le_bytes(number)),
        u64::from_le_bytes(count),
    )))
}

/// Reads a value that was kept as text; returns the hash of the name.
fn read_text(input: &mut impl Read, text: &mut Vec<u8>) -> std::io::Result<u128> {
    let (mut hash, mut length) = ([0; 16], [0; 4]);
    input.read_exact(&mut hash)?;
    input.read_exact(&mut length)?;
    text.resize(u32::from_le_bytes(length) as usize, 0);
    input.read_exact(text)?;
    Ok(u128::from_le_bytes(hash))
}

fn failed(error: std::io::Error) -> Failure {
    Failure::file("keeping the members of groups in a file", error)
}
