//! The layout of LMDB's data version 1, as far as this crate reads pages itself (`mdb.c`: MDB_page,
//! MDB_node, MDB_db, MDB_meta; 64 bits).

/// Bytes of the header of a page, also of a page inside a row.
pub(crate) const HEADER_BYTES: usize = 16;
/// Bytes of a node before its key.
pub(crate) const NODE_BYTES: usize = 8;
/// Number of levels of a tree at most (`CURSOR_STACK`).
pub(crate) const DEPTH_MAX: usize = 32;
/// The root of an empty tree (`P_INVALID`).
pub(crate) const NO_PAGE: u64 = u64::MAX;

pub(crate) const PAGE_BRANCH: u16 = 0x01;
pub(crate) const PAGE_LEAF: u16 = 0x02;
pub(crate) const PAGE_OVERFLOW: u16 = 0x04;
/// Flag of a page that has only items of one length.
pub(crate) const PAGE_FIXED_ITEMS: u16 = 0x20;
/// Flag of a page inside a row, with several items of one key.
pub(crate) const PAGE_INNER: u16 = 0x40;

pub(crate) const NODE_OVERFLOW: u16 = 0x01;
pub(crate) const NODE_TREE: u16 = 0x02;
pub(crate) const NODE_ITEMS: u16 = 0x04;

/// Offset of the meta record in each of the first two pages.
pub(crate) const META_AT: u64 = 16;
/// Bytes of the meta record.
pub(crate) const META_BYTES: usize = 136;
/// The number at the start of the meta record.
pub(crate) const META_MAGIC: u32 = 0xBEEF_C0DE;
/// Offsets in the meta record: page size, the two trees, the last page, the transaction.
pub(crate) const META_PAGE_SIZE_AT: usize = 24;
pub(crate) const META_FREE_TREE_AT: usize = 24;
pub(crate) const META_MAIN_TREE_AT: usize = 72;
pub(crate) const META_LAST_PAGE_AT: usize = 120;
pub(crate) const META_TRANSACTION_AT: usize = 128;
/// Bytes of a tree's record.
pub(crate) const TREE_BYTES: usize = 48;

pub(crate) fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

pub(crate) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

pub(crate) fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}
