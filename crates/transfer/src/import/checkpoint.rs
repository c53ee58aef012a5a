//! Checkpoints of an import: data for resuming after an interrupt or crash, in files of the new
//! database's folder. Of files that grow during the import, the bytes up to the checkpoint count;
//! later ones are cut off when the import resumes.

use super::plan::Plan;
use schema::{AttributeNumber, DictionaryRow};
use state::stop::Failure;
use std::fs::File;
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use store::private;
use store::{FieldReader, Fields};
use xxhash_rust::xxh3::xxh3_64;

/// Name of the file that refers to all others.
const FILE: &str = "import-checkpoint";
const MAGIC: &[u8; 8] = b"PandoImp";

/// State of an import at a checkpoint.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Saved {
    /// Description of source, target and options. Only an import with an equal description resumes.
    pub about: String,
    /// Time of the import's plan in microseconds since 1970.
    pub time_us: u64,
    /// Folder for sorting; `None` if it is the new database's folder.
    pub temporary: Option<PathBuf>,
    /// Number of tasks done, over the input and the old database.
    pub pieces: u64,
    /// Number of stamps used.
    pub stamps: u64,
    /// Attribute numbers assigned so far.
    pub dictionary: Vec<DictionaryRow>,
    pub contexts: Vec<SavedContext>,
    /// Whether the database has aliases, referrals, subentries.
    pub flags: [bool; 3],
    /// State of the sequencer.
    pub sequencer: Vec<u8>,
    /// State of the bulk loader.
    pub loader: Vec<u8>,
}

/// State of a naming context.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SavedContext {
    pub spelled: String,
    /// Whether an entry of the context was imported.
    pub opened: bool,
    /// Whether the configuration of the old database lacks the context.
    pub is_new: bool,
}

impl Saved {
    /// The newest checkpoint in a folder; `None` if there is none.
    pub fn read(folder: &Path) -> Result<Option<Saved>, Failure> {
        let bytes = match std::fs::read(folder.join(FILE)) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(Failure::file("reading the import's checkpoint", error)),
        };
        let content = bytes.split_last_chunk::<8>().and_then(|(content, sum)| {
            let is_whole = xxh3_64(content).to_le_bytes() == *sum;
            content.strip_prefix(MAGIC).filter(|_| is_whole)
        });
        let Some(content) = content else {
            return Err(Failure::Input(
                "the checkpoint of the interrupted import is damaged; import without --resume"
                    .to_owned(),
            ));
        };
        Ok(Some(Saved::decode(content)?))
    }

    /// Replaces the checkpoint in a folder.
    pub fn write(&self, folder: &Path) -> Result<(), Failure> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend(self.encode());
        bytes.extend_from_slice(&xxh3_64(&bytes).to_le_bytes());
        let new = folder.join("import-checkpoint.new");
        let written = private::create(&new).and_then(|mut file| {
            file.write_all(&bytes)?;
            file.sync_all()?;
            std::fs::rename(&new, folder.join(FILE))?;
            File::open(folder)?.sync_all()
        });
        written.map_err(|error| Failure::file("writing the import's checkpoint", error))
    }

    pub fn encode(&self) -> Vec<u8> {
        let mut fields = Fields::default();
        fields.string(self.about.as_bytes());
        fields.number(self.time_us);
        let temporary = self.temporary.as_deref().unwrap_or(Path::new(""));
        fields.string(temporary.as_os_str().as_encoded_bytes());
        fields.number(self.pieces);
        fields.number(self.stamps);
        fields.number(self.dictionary.len() as u64);
        for row in &self.dictionary {
            fields.number(row.number.0.into());
            fields.string(row.text.as_bytes());
        }
        fields.number(self.contexts.len() as u64);
        for context in &self.contexts {
            fields.string(context.spelled.as_bytes());
            fields.number(context.opened.into());
            fields.number(context.is_new.into());
        }
        for flag in self.flags {
            fields.number(flag.into());
        }
        fields.string(&self.sequencer);
        fields.string(&self.loader);
        fields.into_bytes()
    }

    pub fn decode(bytes: &[u8]) -> Result<Saved, store::Error> {
        let mut fields = FieldReader::new(bytes);
        Ok(Saved {
            about: fields.text()?,
            time_us: fields.number()?,
            temporary: Some(fields.text()?)
                .filter(|it| !it.is_empty())
                .map(PathBuf::from),
            pieces: fields.number()?,
            stamps: fields.number()?,
            dictionary: fields.many(|fields| {
                Ok(DictionaryRow {
                    number: AttributeNumber(fields.number()? as u16),
                    text: fields.text()?,
                })
            })?,
            contexts: fields.many(|fields| {
                Ok(SavedContext {
                    spelled: fields.text()?,
                    opened: fields.number()? != 0,
                    is_new: fields.number()? != 0,
                })
            })?,
            flags: [
                fields.number()? != 0,
                fields.number()? != 0,
                fields.number()? != 0,
            ],
            sequencer: fields.string()?.to_vec(),
            loader: fields.string()?.to_vec(),
        })
    }
}

/// State of a file of entries at a checkpoint.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct FileState {
    /// Number of entries; if it is 0, there is no file.
    pub entries: u64,
    pub bytes: u64,
}

impl FileState {
    pub fn encode(self, fields: &mut Fields) {
        fields.number(self.entries);
        fields.number(self.bytes);
    }

    pub fn decode(fields: &mut FieldReader<'_>) -> Result<FileState, store::Error> {
        Ok(FileState {
            entries: fields.number()?,
            bytes: fields.number()?,
        })
    }
}

/// Syncs a file, so that it outlives the process; returns its length in bytes.
pub(super) fn sync(file: &mut BufWriter<File>) -> io::Result<u64> {
    file.flush()?;
    let file = file.get_ref();
    file.sync_all()?;
    Ok(file.metadata()?.len())
}

/// Cuts a file off at its length of a checkpoint, and continues there.
pub(super) fn continue_at(mut file: File, bytes: u64) -> io::Result<File> {
    file.set_len(bytes)?;
    file.seek(SeekFrom::End(0))?;
    Ok(file)
}

/// Whether a folder has a checkpoint and its database.
pub(super) fn exists(folder: &Path) -> bool {
    folder.join(FILE).exists() && folder.join(store::DATABASE_FILE).exists()
}

/// Prefix of the rejects path in the first line of [`about`].
const REJECTS: &str = "rejects ";

/// The rejects path in a text made by [`about`]; `None` if it has none.
pub(super) fn rejects_of(about: &str) -> Option<&str> {
    let (_, path) = about.lines().next()?.split_once(REJECTS)?;
    Some(path)
}

/// Text that describes an import, for comparing the interrupted one with the present one.
pub(super) fn about(plan: &Plan<'_>, source: &str) -> String {
    let options = plan.options;
    format!(
        "position {}, last id {}, schema check {}, superiors {}, contexts {}, \
         file URLs {}, hash {:?}, {REJECTS}{}\n{source}",
        plan.position,
        plan.last_id,
        options.check_schema,
        options.create_superiors,
        options.create_contexts,
        options.file_urls,
        options.hash_passwords,
        options.rejects.display(),
    )
}
