//! Options and result of an export, and the compression of its output.

use flate2::write::GzEncoder;
use state::stop::Failure;
use std::io::Write;

/// zstd's level, chosen to keep up with rendering.
const ZSTD_LEVEL: i32 = 1;

/// Compression of the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    /// No compression.
    Plain,
    /// Gzip (RFC 1952), in many members.
    Gzip,
    /// Zstandard (RFC 8878), in many frames.
    Zstd,
}

impl Compression {
    /// The text as one gzip member or zstd frame; `None` without compression.
    pub(super) fn pack(self, text: &[u8]) -> Result<Option<Vec<u8>>, Failure> {
        let compressed = match self {
            Compression::Plain => return Ok(None),
            Compression::Zstd => zstd::encode_all(text, ZSTD_LEVEL),
            Compression::Gzip => {
                let out = Vec::with_capacity(text.len());
                let mut encoder = GzEncoder::new(out, flate2::Compression::default());
                encoder.write_all(text).and_then(|()| encoder.finish())
            }
        };
        let compressed = compressed.map_err(|error| Failure::file("compressing", error))?;
        Ok(Some(compressed))
    }
}

/// Format of the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExportFormat {
    /// LDIF content records (RFC 2849).
    Ldif,
    /// Concatenated LDAPMessages with add requests (RFC 4511 §4.7).
    Ber,
    /// Concatenated bare AddRequests.
    BareBer,
}

/// Selection of an export, and its output.
#[derive(Debug, Clone)]
pub struct ExportOptions {
    /// The base of the subtree to export; `None` for all naming contexts except `cn=config`.
    pub base: Option<String>,
    /// A filter that entries must match (RFC 4515); `None` for all entries.
    pub filter: Option<String>,
    /// Attributes to export, as in a search (RFC 4511 §4.5.1.8); empty for all.
    pub attributes: Vec<String>,
    /// Whether operational attributes are included.
    pub operational: bool,
    /// Format of the output.
    pub format: ExportFormat,
    /// Columns at which lines are folded; 0 for no folding.
    pub fold_columns: usize,
    /// Compression of the output.
    pub compression: Compression,
    /// Number of threads; 0 for one per core.
    pub threads: usize,
    /// Whether a server has the database open, so that the export reads beside it.
    pub served: bool,
    /// Whether damaged entries are skipped, with the entries below them, instead of ending the
    /// export.
    pub salvage: bool,
}

impl Default for ExportOptions {
    /// All entries and attributes, so that an import of the export makes an equal directory.
    fn default() -> ExportOptions {
        ExportOptions {
            base: None,
            filter: None,
            attributes: Vec::new(),
            operational: true,
            format: ExportFormat::Ldif,
            fold_columns: 76,
            compression: Compression::Plain,
            served: false,
            salvage: false,
            threads: 0,
        }
    }
}

/// Result of an export.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Exported {
    /// Number of entries.
    pub entries: u64,
    /// Number of bytes written, after compression.
    pub bytes: u64,
    /// Entries that could not be read, each with its name and the reason; empty unless `salvage`.
    pub lost: Vec<String>,
}
