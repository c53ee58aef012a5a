//! Entries whose superior has not come yet, in a file: a whole input may stand upside down.

use crate::stop::Failure;
use std::collections::HashMap;
use std::fs::File;
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// Bytes collected before they are written.
const BUFFER_BYTES: usize = 1 << 20;

/// Entries kept aside.
#[derive(Debug)]
pub(super) struct Aside {
    path: PathBuf,
    file: Option<File>,
    written: u64,
    buffer: Vec<u8>,
    /// By superior, those waiting for it.
    waiting: HashMap<u128, Vec<Waiting>>,
    count: u64,
}

/// One of them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Waiting {
    /// Stands for its name.
    pub name: u128,
    pub superior: u128,
    /// The input has it, rather than the old database.
    pub imported: bool,
    offset: u64,
    lengths: [u32; 4],
}

/// What is kept of an entry.
#[derive(Debug, Default)]
pub(super) struct Parts {
    pub row_name: Vec<u8>,
    pub row: Vec<u8>,
    /// As LDIF, in case it is rejected.
    pub text: Vec<u8>,
    /// Where it stands in the input, in words.
    pub place: Vec<u8>,
}

impl Aside {
    /// Keeps entries in a file in this folder, should there be any.
    pub fn new(folder: &Path) -> Aside {
        Aside {
            path: folder.join("aside"),
            file: None,
            written: 0,
            buffer: Vec::new(),
            waiting: HashMap::new(),
            count: 0,
        }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Keeps an entry: its row name, row, text and place.
    pub fn put(
        &mut self,
        (name, superior): (u128, u128),
        imported: bool,
        parts: [&[u8]; 4],
    ) -> Result<(), Failure> {
        let offset = self.written + self.buffer.len() as u64;
        parts
            .iter()
            .for_each(|part| self.buffer.extend_from_slice(part));
        let lengths = parts.map(|part| part.len() as u32);
        let waiting = Waiting {
            name,
            superior,
            imported,
            offset,
            lengths,
        };
        self.waiting.entry(superior).or_default().push(waiting);
        self.count += 1;
        if self.buffer.len() >= BUFFER_BYTES {
            self.write()
        } else {
            Ok(())
        }
    }

    /// Those that wait for this superior, in the order of the input. They wait no more.
    pub fn take(&mut self, superior: u128) -> Vec<Waiting> {
        if self.count == 0 {
            return Vec::new();
        }
        let taken = self.waiting.remove(&superior).unwrap_or_default();
        self.count -= taken.len() as u64;
        taken
    }

    /// All that wait, in the order of the input.
    pub fn take_all(&mut self) -> Vec<Waiting> {
        let mut all: Vec<Waiting> = self
            .waiting
            .drain()
            .flat_map(|(_, waiting)| waiting)
            .collect();
        all.sort_unstable_by_key(|it| it.offset);
        self.count = 0;
        all
    }

    /// What is kept of an entry.
    pub fn read(&mut self, waiting: &Waiting) -> Result<Parts, Failure> {
        self.write()?;
        let [row_name, row, text, place] = waiting.lengths.map(|it| it as usize);
        let mut bytes = vec![0; row_name + row + text + place];
        if let Some(file) = &self.file {
            let read = file.read_exact_at(&mut bytes, waiting.offset);
            read.map_err(|error| failed("reading", error))?;
        }
        let place = bytes.split_off(row_name + row + text);
        let text = bytes.split_off(row_name + row);
        let row = bytes.split_off(row_name);
        Ok(Parts {
            row_name: bytes,
            row,
            text,
            place,
        })
    }

    fn write(&mut self) -> Result<(), Failure> {
        if self.buffer.is_empty() {
            return Ok(());
        }
        let file = match &mut self.file {
            Some(file) => file,
            None => {
                let mut options = File::options();
                let opened = options
                    .read(true)
                    .write(true)
                    .create_new(true)
                    .open(&self.path);
                self.file
                    .insert(opened.map_err(|error| failed("making", error))?)
            }
        };
        file.write_all(&self.buffer)
            .map_err(|error| failed("writing", error))?;
        self.written += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }
}

fn failed(doing: &str, error: std::io::Error) -> Failure {
    Failure::file(
        format!("{doing} the file of entries whose superior comes later"),
        error,
    )
}
