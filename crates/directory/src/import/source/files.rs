//! Files, standard input and FIFOs, plain or compressed.

use super::ber::BerPieces;
use super::{Content, Format, Piece, Source};
use crate::import::Meter;
use crate::stop::Failure;
use flate2::read::MultiGzDecoder;
use protocol::ldif::LdifChunks;
use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes of one piece: large enough that handing it over costs nothing, small enough that all
/// pieces in flight stay in the caches' neighbourhood.
const PIECE_BYTES: usize = 1 << 20;

/// Several files, one after the other. `-` is standard input. What is compressed with gzip or zstd
/// is recognised by its first bytes.
pub struct Files {
    waiting: VecDeque<PathBuf>,
    format: Format,
    open: Option<Open>,
}

/// The file at hand.
struct Open {
    origin: Arc<str>,
    pieces: Pieces,
    /// Bytes taken from it and not told to the meter yet.
    taken: Arc<AtomicU64>,
}

/// A record of more bytes ends the import: it is no LDIF, most likely. A group of ten million
/// members is half of that.
const RECORD_BYTES_MAX: usize = 1 << 30;

type Input = Box<dyn Read + Send>;

enum Pieces {
    Ldif(LdifChunks<Input>),
    Ber(BerPieces<Input>, bool),
}

impl Files {
    /// These files, all of one format.
    pub fn new(paths: Vec<PathBuf>, format: Format) -> Files {
        Files {
            waiting: paths.into(),
            format,
            open: None,
        }
    }

    fn open(&self, path: &Path) -> Result<Open, Failure> {
        let failed = |error| Failure::file(format!("reading {}", path.display()), error);
        let (name, file): (_, Input) = if path == Path::new("-") {
            ("standard input".to_owned(), Box::new(io::stdin()))
        } else {
            let file = File::open(path).map_err(failed)?;
            if file.metadata().is_ok_and(|it| it.is_dir()) {
                return Err(failed(io::Error::from(io::ErrorKind::IsADirectory)));
            }
            (path.display().to_string(), Box::new(file))
        };
        let taken = Arc::new(AtomicU64::new(0));
        let counted = Counted {
            input: file,
            taken: Arc::clone(&taken),
        };
        let input = decompressed(counted).map_err(failed)?;
        let pieces = match self.format {
            Format::Ldif => {
                let chunks = LdifChunks::new(input, PIECE_BYTES);
                Pieces::Ldif(chunks.record_bytes_max(RECORD_BYTES_MAX))
            }
            Format::Ber => Pieces::Ber(BerPieces::new(input, PIECE_BYTES), false),
            Format::BareBer => Pieces::Ber(BerPieces::new(input, PIECE_BYTES), true),
        };
        Ok(Open {
            origin: name.into(),
            pieces,
            taken,
        })
    }
}

impl Source for Files {
    fn next(&mut self, meter: &Meter) -> Result<Option<Piece>, Failure> {
        loop {
            if self.open.is_none() {
                let Some(path) = self.waiting.pop_front() else {
                    return Ok(None);
                };
                self.open = Some(self.open(&path)?);
            }
            let Some(open) = &mut self.open else { continue };
            let content = open.pieces.next(&open.origin)?;
            meter.add_bytes(open.taken.swap(0, Ordering::Relaxed));
            match content {
                Some(content) => {
                    return Ok(Some(Piece {
                        origin: Arc::clone(&open.origin),
                        content,
                    }));
                }
                None => self.open = None,
            }
        }
    }
}

impl Pieces {
    fn next(&mut self, origin: &str) -> Result<Option<Content>, Failure> {
        match self {
            Pieces::Ldif(chunks) => match chunks.next_chunk() {
                Ok(chunk) => Ok(chunk.map(Content::Ldif)),
                Err(error) => Err(Failure::Input(format!("{origin}, {error}"))),
            },
            Pieces::Ber(pieces, bare) => {
                let bare = *bare;
                let piece = pieces.next(origin)?;
                Ok(piece.map(|(requests, first)| Content::Ber {
                    requests,
                    first,
                    bare,
                }))
            }
        }
    }
}

/// Counts what is read.
struct Counted {
    input: Input,
    taken: Arc<AtomicU64>,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.input.read(buffer)?;
        self.taken.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}

/// The input behind a gzip (RFC 1952) or zstd (RFC 8878) header, or the input itself.
fn decompressed(mut input: Counted) -> io::Result<Input> {
    let mut head = Vec::with_capacity(4);
    input.by_ref().take(4).read_to_end(&mut head)?;
    let kind = (
        head.starts_with(&[0x1f, 0x8b]),
        head == [0x28, 0xb5, 0x2f, 0xfd],
    );
    let whole = io::Cursor::new(head).chain(input);
    Ok(match kind {
        (true, _) => Box::new(MultiGzDecoder::new(io::BufReader::with_capacity(
            1 << 16,
            whole,
        ))),
        (_, true) => Box::new(zstd::Decoder::new(whole)?),
        _ => Box::new(whole),
    })
}
