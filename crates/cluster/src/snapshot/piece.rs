//! A piece on its way from a donor into the file of a joiner.

use xxhash_rust::xxh3::xxh3_128;

/// A piece to get.
#[derive(Clone, Copy)]
pub(super) struct Piece {
    /// Number of the piece, from 0.
    pub number: usize,
    /// Place of its first byte in the database.
    pub begin: u64,
    /// Checksum of its bytes.
    pub sum: u128,
}

/// Memory for one piece at a time.
#[derive(Default)]
pub(super) struct Buffers {
    /// The piece as it is sent, compressed.
    pub sent: Vec<u8>,
    /// The piece.
    pub plain: Vec<u8>,
}

impl Buffers {
    /// Decompresses what was sent, to so many bytes at most. Returns whether it is the piece.
    pub fn unpack(&mut self, piece: Piece, bytes_max: u64) -> bool {
        self.plain.clear();
        self.plain.reserve_exact(bytes_max as usize);
        let mut decompressor = match zstd::bulk::Decompressor::new() {
            Ok(it) => it,
            Err(_) => return false,
        };
        let unpacked = decompressor.decompress_to_buffer(&self.sent, &mut self.plain);
        unpacked.is_ok_and(|it| it as u64 <= bytes_max) && xxh3_128(&self.plain) == piece.sum
    }
}

/// Most bytes that a piece of so many can have when it is sent.
pub(super) fn sent_bytes_max(bytes: u64) -> u64 {
    zstd::zstd_safe::compress_bound(bytes as usize) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_piece_is_refused() {
        let plain = [7; 1_000];
        let piece = Piece {
            number: 0,
            begin: 0,
            sum: xxh3_128(&plain),
        };
        let mut buffers = Buffers {
            sent: zstd::bulk::compress(&plain, 1).unwrap(),
            plain: vec![1],
        };
        assert!(buffers.unpack(piece, 1_000));
        assert_eq!(buffers.plain, plain);
        // Longer than a piece, although it would decompress.
        assert!(!buffers.unpack(piece, 999));
        let other = Piece { sum: 1, ..piece };
        assert!(!buffers.unpack(other, 1_000));
        buffers.sent.truncate(9);
        assert!(!buffers.unpack(piece, 1_000));
        buffers.sent = plain.to_vec();
        assert!(!buffers.unpack(piece, 1_000));
    }
}
