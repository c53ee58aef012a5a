//! One input: a file, FIFO, socket or standard input, plain or compressed, in one of the formats.

use super::ber::{ADD_REQUEST, BerPiece, BerPieces};
use super::{Content, Format, Piece};
use flate2::read::MultiGzDecoder;
use protocol::ber::SEQUENCE;
use protocol::ldif::LdifChunks;
use state::stop::Failure;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes of a piece: so many that passing a piece on costs little beside working on it, so few that
/// the pieces in flight fit into the caches.
const PIECE_BYTES: usize = 1 << 20;

/// Maximum length of a record in bytes; a longer one is probably no LDIF and ends the import. A
/// group of ten million members takes half of it.
const RECORD_BYTES_MAX: usize = 1 << 30;

/// Path that means standard input.
pub(super) const STANDARD_INPUT: &str = "-";

type Bytes = Box<dyn Read + Send>;

/// An input that is being read.
pub(super) struct Input {
    origin: Arc<str>,
    pieces: Pieces,
    /// Number of bytes read and not reported yet.
    taken: Arc<AtomicU64>,
}

enum Pieces {
    Ldif(LdifChunks<Bytes>),
    Ber(BerPieces<Bytes>, bool),
}

impl Input {
    /// Opens the input: waits for a writer of a FIFO, connects to a socket.
    pub fn open(path: &Path, format: Format) -> Result<Input, Failure> {
        let failed = |error| Failure::file(format!("reading {}", path.display()), error);
        let (name, file): (_, Bytes) = if path == Path::new(STANDARD_INPUT) {
            ("standard input".to_owned(), Box::new(io::stdin()))
        } else {
            let bytes = open(path).map_err(failed)?;
            (path.display().to_string(), bytes)
        };
        let taken = Arc::new(AtomicU64::new(0));
        let counted = Counted {
            input: file,
            taken: Arc::clone(&taken),
        };
        let input = decompressed(counted).map_err(failed)?;
        let (format, input) = detected(format, input).map_err(failed)?;
        let pieces = match format {
            Format::Ber => Pieces::Ber(BerPieces::new(input, PIECE_BYTES, false), false),
            Format::BareBer => Pieces::Ber(BerPieces::new(input, PIECE_BYTES, true), true),
            Format::Ldif | Format::Detect => {
                let chunks = LdifChunks::new(input, PIECE_BYTES);
                Pieces::Ldif(chunks.record_bytes_max(RECORD_BYTES_MAX))
            }
        };
        Ok(Input {
            origin: name.into(),
            pieces,
            taken,
        })
    }

    /// The next piece, and the number of input bytes read for it; `None` at the end.
    pub fn next(&mut self) -> Result<Option<(Piece, u64)>, Failure> {
        let origin = &self.origin;
        let content = match &mut self.pieces {
            Pieces::Ldif(chunks) => match chunks.next_chunk() {
                Ok(chunk) => chunk.map(Content::Ldif),
                Err(error) => return Err(Failure::Input(format!("{origin}, {error}"))),
            },
            Pieces::Ber(pieces, bare) => {
                let piece = pieces.next(origin)?;
                piece.map(|piece| content(piece, *bare))
            }
        };
        let taken = self.taken.swap(0, Ordering::Relaxed);
        Ok(content.map(|content| {
            let origin = Arc::clone(origin);
            (Piece { origin, content }, taken)
        }))
    }
}

/// Opens a file or FIFO, or connects to a Unix socket, whose listener sends the entries and closes.
fn open(path: &Path) -> io::Result<Bytes> {
    let is_socket = std::fs::metadata(path)?.file_type().is_socket();
    Ok(match is_socket {
        true => Box::new(UnixStream::connect(path)?),
        false => Box::new(File::open(path)?),
    })
}

fn content(piece: BerPiece, bare: bool) -> Content {
    match piece {
        BerPiece::Requests {
            requests,
            first,
            offset,
        } => Content::Ber {
            requests,
            first,
            offset: Some(offset),
            bare,
        },
        BerPiece::Broken {
            number,
            offset,
            reason,
        } => Content::Broken {
            number,
            offset,
            reason,
        },
    }
}

/// A reader that counts its bytes.
struct Counted {
    input: Bytes,
    taken: Arc<AtomicU64>,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.input.read(buffer)?;
        self.taken.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}

/// The decompressed input behind a gzip (RFC 1952) or zstd (RFC 8878) header, or else the input
/// itself.
fn decompressed(mut input: Counted) -> io::Result<Bytes> {
    let head = head(&mut input, 4)?;
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

/// Recognises the format by the first byte: LDIF never begins with the tag of an LDAPMessage (`0`)
/// or AddRequest (`h`), because its first line begins with `dn:`, `version:`, `#` or a byte order
/// mark, or is empty.
fn detected(format: Format, mut input: Bytes) -> io::Result<(Format, Bytes)> {
    if format != Format::Detect {
        return Ok((format, input));
    }
    let head = head(&mut input, 1)?;
    let format = match head.first() {
        Some(&SEQUENCE) => Format::Ber,
        Some(&ADD_REQUEST) => Format::BareBer,
        _ => Format::Ldif,
    };
    Ok((format, Box::new(io::Cursor::new(head).chain(input))))
}

fn head(input: &mut impl Read, count: u64) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    input.take(count).read_to_end(&mut head)?;
    Ok(head)
}
