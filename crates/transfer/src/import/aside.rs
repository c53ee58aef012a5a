//! A file for entries that come before their superiors, which may be a whole input. Waiting entries
//! take no memory; after the input the file is read until no more of them find their superiors.

use super::checkpoint::{self, FileState};
use super::rulebook::Ruled;
use state::stop::Failure;
use std::fs::File;
use std::io::{BufReader, BufWriter, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use store::private;

/// Bytes read or written at once.
const BUFFER_BYTES: usize = 1 << 20;

/// The file of waiting entries.
#[derive(Debug)]
pub(super) struct Aside {
    path: PathBuf,
    file: Option<BufWriter<File>>,
    count: u64,
}

/// Data of a waiting entry.
#[derive(Debug, Default, PartialEq, Eq, Clone)]
pub(super) struct Waiting {
    /// Hash of the entry's name.
    pub name: u128,
    /// Hash of the superior's name.
    pub superior: u128,
    /// Whether the entry comes from the input rather than from the old database.
    pub imported: bool,
    /// Rules for values that apply to the entry.
    pub ruled: Ruled,
    /// Key of the entry in the table of names.
    pub row_name: Vec<u8>,
    pub row: Vec<u8>,
    /// Block of the entry's links; empty if it has none.
    pub links: Vec<u8>,
    /// The entry as LDIF, for the rejects file.
    pub text: Vec<u8>,
    /// Place of the entry in the input, for the rejects file.
    pub place: Vec<u8>,
}

impl Aside {
    /// A file at this path, created with the first entry.
    pub fn new(path: &Path) -> Aside {
        Aside {
            path: path.to_owned(),
            file: None,
            count: 0,
        }
    }

    /// Syncs the file, so that it outlives the process.
    pub fn sync(&mut self) -> Result<FileState, Failure> {
        let Some(file) = &mut self.file else {
            return Ok(FileState::default());
        };
        let bytes = checkpoint::sync(file).map_err(|error| failed("syncing", error))?;
        Ok(FileState {
            entries: self.count,
            bytes,
        })
    }

    /// Continues the file of a checkpoint.
    pub fn resume(path: &Path, state: FileState) -> Result<Aside, Failure> {
        let mut aside = Aside::new(path);
        if state.entries > 0 {
            let opened = File::options().write(true).open(path);
            let file = opened.and_then(|file| checkpoint::continue_at(file, state.bytes));
            let file = file.map_err(|error| failed("reading", error))?;
            aside.file = Some(BufWriter::with_capacity(BUFFER_BYTES, file));
            aside.count = state.entries;
        }
        Ok(aside)
    }

    /// Number of entries.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Appends an entry.
    pub fn put(&mut self, waiting: &Waiting) -> Result<(), Failure> {
        self.count += 1;
        let file = match &mut self.file {
            Some(file) => file,
            None => {
                let file = private::create(&self.path).map_err(|error| failed("making", error))?;
                let file = BufWriter::with_capacity(BUFFER_BYTES, file);
                self.file.insert(file)
            }
        };
        write(file, waiting).map_err(|error| failed("writing", error))
    }

    /// Reads all entries in order. The file is removed unless `keep` is true.
    pub fn read(self, keep: bool) -> Result<Reading, Failure> {
        let Some(mut file) = self.file else {
            return Ok(Reading(None));
        };
        let read = file.flush().and_then(|()| File::open(&self.path));
        let read = read.map_err(|error| failed("reading", error))?;
        if !keep {
            // The open file remains readable after removal.
            std::fs::remove_file(&self.path).map_err(|error| failed("removing", error))?;
        }
        Ok(Reading(Some(BufReader::with_capacity(BUFFER_BYTES, read))))
    }
}

/// Iterator over waiting entries.
#[derive(Debug)]
pub(super) struct Reading(Option<BufReader<File>>);

impl Iterator for Reading {
    type Item = Result<Waiting, Failure>;

    fn next(&mut self) -> Option<Self::Item> {
        let file = self.0.as_mut()?;
        match read(file) {
            Ok(waiting) => waiting.map(Ok),
            Err(error) => Some(Err(failed("reading", error))),
        }
    }
}

fn write(file: &mut impl Write, waiting: &Waiting) -> std::io::Result<()> {
    file.write_all(&waiting.name.to_le_bytes())?;
    file.write_all(&waiting.superior.to_le_bytes())?;
    file.write_all(&[u8::from(waiting.imported)])?;
    let Waiting {
        row_name,
        row,
        links,
        text,
        place,
        ..
    } = waiting;
    let [unique, numbers] = [&waiting.ruled.unique, &waiting.ruled.numbers].map(|rules| {
        let bytes = rules.iter().flat_map(|it| it.to_le_bytes());
        bytes.collect::<Vec<u8>>()
    });
    for part in [row_name, row, links, text, place, &unique, &numbers] {
        file.write_all(&(part.len() as u64).to_le_bytes())?;
        file.write_all(part)?;
    }
    Ok(())
}

fn read(file: &mut impl Read) -> std::io::Result<Option<Waiting>> {
    let mut name = [0; 16];
    match file.read_exact(&mut name[..1]) {
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(None),
        other => other?,
    }
    file.read_exact(&mut name[1..])?;
    let mut superior = [0; 16];
    file.read_exact(&mut superior)?;
    let mut imported = [0];
    file.read_exact(&mut imported)?;
    let mut part = || -> std::io::Result<Vec<u8>> {
        let mut length = [0; 8];
        file.read_exact(&mut length)?;
        let mut bytes = vec![0; u64::from_le_bytes(length) as usize];
        file.read_exact(&mut bytes)?;
        Ok(bytes)
    };
    let (row_name, row, links) = (part()?, part()?, part()?);
    let (text, place) = (part()?, part()?);
    let mut rules = || -> std::io::Result<Vec<u16>> {
        let bytes = part()?;
        let pairs = bytes.chunks_exact(2);
        Ok(pairs.map(|it| u16::from_le_bytes([it[0], it[1]])).collect())
    };
    Ok(Some(Waiting {
        name: u128::from_le_bytes(name),
        superior: u128::from_le_bytes(superior),
        imported: imported != [0],
        ruled: Ruled {
            unique: rules()?,
            numbers: rules()?,
        },
        row_name,
        row,
        links,
        text,
        place,
    }))
}

fn failed(doing: &str, error: std::io::Error) -> Failure {
    Failure::file(
        format!("{doing} the file of entries whose superior comes later"),
        error,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_put_is_read() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("aside");
        let mut aside = Aside::new(&path);
        let entry = |number: u8| Waiting {
            name: u128::MAX - u128::from(number),
            superior: u128::from(number),
            imported: number.is_multiple_of(2),
            ruled: Ruled {
                unique: vec![u16::from(number); 2],
                numbers: vec![],
            },
            row_name: vec![number; 3],
            row: vec![number; 5000],
            links: vec![number; 7],
            text: Vec::new(),
            place: b"here".to_vec(),
        };
        for number in 0..=255 {
            aside.put(&entry(number)).expect("written");
        }
        assert_eq!(aside.count(), 256);
        // Entries appended after a checkpoint are appended again.
        let kept = aside.sync().expect("synced");
        aside.put(&entry(7)).expect("written");
        drop(aside);
        let aside = Aside::resume(&path, kept).expect("opened");
        let read = aside
            .read(false)
            .expect("opened")
            .map(|it| it.expect("read"));
        assert!(read.eq((0..=255).map(entry)));
        assert!(!path.exists());
        let none = Aside::new(&path).read(false).expect("nothing to open");
        assert_eq!(none.count(), 0);
    }
}
