//! A copy of a database in a file, complete or being made, with the checksums of its pieces.
//!
//! The file holds the pieces one behind another, each compressed by itself: a database compresses
//! well, and what is not written, read and sent costs nothing.

use super::{PIECE_BYTES, remove_others};
use crate::peer::{Offer, Sums};
use crate::trouble::Trouble;
use replica::partial::Partial;
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use store::private;
use tokio::sync::watch;

/// The copy.
const COPY_FILE: &str = "copy.zst";
/// Facts about a complete copy.
const ABOUT_FILE: &str = "copy.json";
/// Checksums told at once.
const SUMS_MAX: usize = 4_096;
/// How long a question for checksums waits for new ones.
const SUMS_WAIT: Duration = Duration::from_secs(10);

/// A copy of a database.
pub struct Copy {
    /// The part of them that is told.
    pub offer: Offer,
    folder: PathBuf,
    file: File,
    progress: watch::Sender<Progress>,
    used: Mutex<Instant>,
    cancelled: AtomicBool,
}

/// How far a copy is.
#[derive(Debug, Default)]
struct Progress {
    pieces: Vec<Piece>,
    /// Bytes of the whole before compression, once it is complete.
    bytes: Option<u64>,
    failed: Option<String>,
}

/// A piece that is in the file.
#[derive(Debug, Clone, Copy)]
pub(super) struct Piece {
    /// Checksum of the piece before compression.
    pub sum: u128,
    /// Place of its first byte in the file.
    pub begin: u64,
    /// Bytes that it has there.
    pub bytes: u64,
}

/// Facts about a complete copy, as a file.
#[derive(Serialize, Deserialize)]
struct About {
    offer: Offer,
    sums: Sums,
    /// Bytes of each compressed piece.
    lengths: Vec<u64>,
}

impl Copy {
    /// Begins an empty copy in a folder.
    pub(super) fn begin(folder: &Path, offer: Offer) -> io::Result<Copy> {
        remove_others(folder, &[])?;
        let mut options = private::options();
        let file = options.read(true).write(true).truncate(true);
        let file = file.open(folder.join(COPY_FILE))?;
        Ok(Copy::new(folder, offer, file, Progress::default()))
    }

    /// The complete copy that an earlier process has left in a folder. Anything else there is
    /// removed.
    pub(super) fn kept_in(folder: &Path) -> Result<Option<Copy>, Trouble> {
        let found = Copy::complete_in(folder);
        let names: &[&str] = match found {
            Some(_) => &[COPY_FILE, ABOUT_FILE],
            None => &[],
        };
        remove_others(folder, names).map_err(Trouble::file(folder))?;
        Ok(found)
    }

    fn complete_in(folder: &Path) -> Option<Copy> {
        let about = fs::read(folder.join(ABOUT_FILE)).ok()?;
        let about: About = serde_json::from_slice(&about).ok()?;
        let file = File::open(folder.join(COPY_FILE)).ok()?;
        let mut end = 0_u64;
        let mut pieces = Vec::new();
        for (sum, bytes) in about.sums.numbers()?.into_iter().zip(&about.lengths) {
            let (begin, bytes) = (end, *bytes);
            end = end.checked_add(bytes)?;
            pieces.push(Piece { sum, begin, bytes });
        }
        let told = about.sums.bytes?.div_ceil(PIECE_BYTES);
        let fits = about.offer.piece_bytes == PIECE_BYTES
            && told == pieces.len() as u64
            && file.metadata().ok()?.len() == end;
        let progress = Progress {
            pieces,
            bytes: about.sums.bytes,
            failed: None,
        };
        fits.then(|| Copy::new(folder, about.offer, file, progress))
    }

    fn new(folder: &Path, offer: Offer, file: File, progress: Progress) -> Copy {
        Copy {
            offer,
            folder: folder.to_path_buf(),
            file,
            progress: watch::Sender::new(progress),
            used: Mutex::new(Instant::now()),
            cancelled: AtomicBool::new(false),
        }
    }

    /// The file, for the thread that makes the copy.
    pub(super) fn file(&self) -> &File {
        &self.file
    }

    /// Tells the next piece, which is in the file.
    pub(super) fn add(&self, piece: Piece) {
        self.progress.send_modify(|it| it.pieces.push(piece));
    }

    /// Tells that all pieces are there, and how many bytes they have before compression.
    pub(super) fn complete(&self, bytes: u64) {
        self.progress.send_modify(|it| it.bytes = Some(bytes));
    }

    /// Keeps the complete copy for the next process. Its file has reached the disk.
    pub(super) fn keep(&self) -> Result<(), Trouble> {
        let about = {
            let progress = self.progress.borrow();
            About {
                offer: self.offer.clone(),
                sums: Sums {
                    sums: progress.pieces.iter().map(sum_text).collect(),
                    bytes: progress.bytes,
                },
                lengths: progress.pieces.iter().map(|it| it.bytes).collect(),
            }
        };
        let text = serde_json::to_vec(&about)
            .map_err(|error| Trouble::internal("describing a copy", error))?;
        let partial = Partial::file(&self.folder.join(ABOUT_FILE)).map_err(Trouble::of)?;
        let written = partial.content().write_all(&text);
        written.map_err(Trouble::file(partial.path()))?;
        partial.take_name().map_err(Trouble::of)
    }

    /// Notes that the copy will not be complete.
    pub(super) fn fail(&self, why: String) {
        self.progress.send_modify(|it| it.failed = Some(why));
    }

    /// Checksums from the piece `first` on. Waits some seconds until there are some.
    ///
    /// # Errors
    /// The copy will not be complete, for this reason.
    pub async fn sums(&self, first: usize) -> Result<Sums, String> {
        let mut progress = self.progress.subscribe();
        let news = progress
            .wait_for(|it| it.pieces.len() > first || it.bytes.is_some() || it.failed.is_some());
        // Without news the answer has no checksums, and the joiner asks again.
        let _ = tokio::time::timeout(SUMS_WAIT, news).await;
        self.touch();
        let progress = self.progress.borrow();
        if let Some(why) = &progress.failed {
            return Err(why.clone());
        }
        let sums = progress.pieces.iter().skip(first).take(SUMS_MAX);
        Ok(Sums {
            sums: sums.map(sum_text).collect(),
            bytes: progress.bytes,
        })
    }

    /// Reads a piece as it is sent, compressed; `None` if there is no piece of this number yet.
    /// Waits for the disk.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn piece(&self, number: usize) -> io::Result<Option<Vec<u8>>> {
        let piece = self.progress.borrow().pieces.get(number).copied();
        let Some(Piece { begin, bytes, .. }) = piece else {
            return Ok(None);
        };
        let mut piece = vec![0; bytes as usize];
        self.file.read_exact_at(&mut piece, begin)?;
        Ok(Some(piece))
    }

    /// Notes that somebody uses the copy.
    pub(super) fn touch(&self) {
        *self.used.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    /// Whether the copy has failed, or nobody has used it for this long.
    pub(super) fn is_idle(&self, kept: Duration) -> bool {
        let used = *self.used.lock().unwrap_or_else(PoisonError::into_inner);
        self.has_failed() || used.elapsed() >= kept
    }

    pub(super) fn has_failed(&self) -> bool {
        self.progress.borrow().failed.is_some()
    }

    pub(super) fn is_complete(&self) -> bool {
        let progress = self.progress.borrow();
        progress.bytes.is_some() && progress.failed.is_none()
    }

    /// Has the thread that makes the copy end soon.
    pub(super) fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }

    /// Removes the files. Pieces that are being read are read to the end.
    pub(super) fn remove(&self) {
        for name in [ABOUT_FILE, COPY_FILE] {
            let path = self.folder.join(name);
            match fs::remove_file(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    tracing::warn!(%error, path = %path.display(), "a copy cannot be removed");
                }
                _ => {}
            }
        }
    }
}

impl Sums {
    /// The checksums as numbers; `None` if one of them is none.
    pub(super) fn numbers(&self) -> Option<Vec<u128>> {
        let number = |it: &String| u128::from_str_radix(it, 16).ok();
        self.sums.iter().map(number).collect()
    }
}

fn sum_text(piece: &Piece) -> String {
    format!("{:032x}", piece.sum)
}
