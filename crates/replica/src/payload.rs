//! The payload of a bundle: writes on their way through a cluster's log.
//!
//! ```text
//! version (1) │ configuration (8) │ time (8) │ part (4) │ parts (4) │ writes or a part of them
//! ```
//!
//! Numbers are little-endian. The writes are those of [`state::record::encode_writes`], as one zstd
//! frame.

use crate::commit_log::PAYLOAD_BYTES_MAX;
use store::bytes::Bytes;

const VERSION: u8 = 1;
const HEAD_BYTES: usize = 1 + 8 + 8 + 4 + 4;
/// Bytes of the writes in one payload at most.
const CHUNK_BYTES_MAX: usize = PAYLOAD_BYTES_MAX - HEAD_BYTES;
/// zstd's level: the log is not the bottleneck, the processor is.
const LEVEL: i32 = 1;
/// Bytes of one bundle's writes at most, before compression: a limit against damaged input.
const WRITES_BYTES_MAX: usize = 2 << 30;

/// What a payload says before its writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Head {
    /// Position of the newest change of the configuration under which the writes were resolved.
    pub configuration: u64,
    /// Time at the node of origin, in microseconds since 1970.
    pub time_us: u64,
    /// Number of this part, from 0.
    pub part: u32,
    /// Number of parts, at least 1.
    pub parts: u32,
}

impl Head {
    /// Whether nothing follows that belongs to these writes.
    pub fn is_last(&self) -> bool {
        self.part + 1 == self.parts
    }
}

/// Encodes writes as one payload, or as several if they are too long.
///
/// # Errors
/// The compression failed for want of memory.
pub(crate) fn encode(
    configuration: u64,
    time_us: u64,
    writes: &[u8],
) -> std::io::Result<Vec<Vec<u8>>> {
    let compressed = zstd::bulk::compress(writes, LEVEL)?;
    let parts = compressed.len().div_ceil(CHUNK_BYTES_MAX).max(1) as u32;
    let chunks = compressed.chunks(CHUNK_BYTES_MAX).zip(0..parts);
    let payload = |(chunk, part): (&[u8], u32)| {
        let mut out = Vec::with_capacity(HEAD_BYTES + chunk.len());
        out.push(VERSION);
        out.extend_from_slice(&configuration.to_le_bytes());
        out.extend_from_slice(&time_us.to_le_bytes());
        out.extend_from_slice(&part.to_le_bytes());
        out.extend_from_slice(&parts.to_le_bytes());
        out.extend_from_slice(chunk);
        out
    };
    Ok(chunks.map(payload).collect())
}

/// Splits a payload into its head and its part of the compressed writes.
///
/// # Errors
/// A text that describes the error.
pub(crate) fn decode(payload: &[u8]) -> Result<(Head, &[u8]), String> {
    let mut input = Bytes::new(payload);
    let [version] = input.take()?;
    if version != VERSION {
        return Err(format!(
            "the payload has version {version}, this build reads version {VERSION}"
        ));
    }
    let head = Head {
        configuration: input.u64()?,
        time_us: input.u64()?,
        part: input.u32()?,
        parts: input.u32()?,
    };
    if head.part >= head.parts {
        let Head { part, parts, .. } = head;
        return Err(format!("expected a part below {parts}, got {part}"));
    }
    Ok((head, input.rest()))
}

/// Decompresses the writes of a bundle.
///
/// # Errors
/// A text that describes the error.
pub(crate) fn decompress(compressed: &[u8]) -> Result<Vec<u8>, String> {
    let length = zstd::bulk::Decompressor::upper_bound(compressed);
    let length = length.filter(|it| (1..=WRITES_BYTES_MAX).contains(it));
    let length =
        length.ok_or_else(|| "the writes are not a zstd frame of known length".to_owned())?;
    zstd::bulk::decompress(compressed, length).map_err(|error| format!("the writes: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_writes_travel_in_parts() {
        // Bytes that cannot be compressed.
        let mut state = 1_u64;
        let mut next = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 33) as u8
        };
        let writes: Vec<u8> = (0..2_500_000).map(|_| next()).collect();
        let payloads = encode(7, 9, &writes).expect("compressed");
        assert_eq!(payloads.len(), 3);
        let mut compressed = Vec::new();
        for (part, payload) in payloads.iter().enumerate() {
            assert!(payload.len() <= PAYLOAD_BYTES_MAX);
            let (head, chunk) = decode(payload).expect("a payload");
            let expected = Head {
                configuration: 7,
                time_us: 9,
                part: part as u32,
                parts: 3,
            };
            assert_eq!(head, expected);
            assert_eq!(head.is_last(), part == 2);
            compressed.extend_from_slice(chunk);
        }
        assert_eq!(decompress(&compressed), Ok(writes));
    }

    #[test]
    fn damaged_payloads_are_refused() {
        let payload = encode(1, 2, b"writes").expect("compressed").remove(0);
        for end in 0..HEAD_BYTES {
            assert!(decode(&payload[..end]).is_err());
        }
        let mut later = payload.clone();
        later[0] = 9;
        assert!(decode(&later).is_err_and(|it| it.contains("version 9")));
        let mut beyond = payload.clone();
        beyond[17] = 1;
        assert!(decode(&beyond).is_err());
        assert!(decompress(b"").is_err());
        assert!(decompress(b"no frame").is_err());
    }
}
