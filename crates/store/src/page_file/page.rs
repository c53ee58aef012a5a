//! One page of the database file in memory: every offset in it is compared with its bounds.

use crate::page_layout::{
    HEADER_BYTES, NODE_BYTES, NODE_OVERFLOW, PAGE_FIXED_ITEMS, u16_at, u64_at,
};

/// A page read into memory.
pub(super) struct Page {
    pub number: u64,
    pub bytes: Vec<u8>,
}

/// A row of a leaf.
pub(super) struct Node<'p> {
    pub flags: u16,
    pub key: &'p [u8],
    /// The bytes in the page: the value, or the number of the page that has it.
    pub data: &'p [u8],
    /// Length of the value in bytes.
    pub length: usize,
}

impl Page {
    fn u16(&self, at: usize) -> usize {
        u16_at(&self.bytes, at).map_or(0, usize::from)
    }

    pub fn flags(&self) -> u16 {
        self.u16(10) as u16
    }

    pub fn bounds_hold(&self) -> bool {
        let (lower, upper) = (self.u16(12), self.u16(14));
        lower >= HEADER_BYTES && lower <= upper && upper <= self.bytes.len()
    }

    pub fn count(&self) -> usize {
        self.u16(12).saturating_sub(HEADER_BYTES) / 2
    }

    /// Returns offset and key of a node, if both lie within the nodes' part of the page.
    pub fn node(&self, at: usize) -> Option<(usize, &[u8])> {
        let node = self.u16(HEADER_BYTES + 2 * at);
        let key = node + NODE_BYTES;
        let sound = node >= self.u16(14) && node.is_multiple_of(2);
        let length = usize::from(u16_at(&self.bytes, node + 6)?);
        sound.then_some((node, self.bytes.get(key..key + length)?))
    }

    /// Returns the pages that a branch page leads to, at least two.
    pub fn children(&self) -> Option<Vec<u64>> {
        let child = |at| {
            let (node, _) = self.node(at)?;
            Some(u64_at(&self.bytes, node)? & 0xFFFF_FFFF_FFFF)
        };
        let children: Option<Vec<u64>> = (0..self.count()).map(child).collect();
        children.filter(|it| it.len() >= 2)
    }

    pub fn leaf_node(&self, at: usize) -> Option<Node<'_>> {
        let (node, key) = self.node(at)?;
        let length = usize::from(u16_at(&self.bytes, node)?)
            | usize::from(u16_at(&self.bytes, node + 2)?) << 16;
        let flags = u16_at(&self.bytes, node + 4)?;
        let data = node + NODE_BYTES + key.len();
        let here = match flags & NODE_OVERFLOW {
            0 => length,
            _ => 8,
        };
        Some(Node {
            flags,
            key,
            data: self.bytes.get(data..data + here)?,
            length,
        })
    }

    /// Returns the items of a page that has only items of one length.
    pub fn fixed_items(&self) -> Option<&[u8]> {
        let length = self.u16(8);
        let end = HEADER_BYTES + length * self.count();
        self.bytes.get(HEADER_BYTES..end).filter(|_| length > 0)
    }
}

/// Returns whether a page inside a row, with several items of one length, lies within the row.
pub(super) fn inner_is_sound(inner: &[u8]) -> bool {
    let u16 = |at| u16_at(inner, at).map_or(0, usize::from);
    let (lower, upper) = (u16(12), u16(14));
    let items = lower.saturating_sub(HEADER_BYTES) / 2;
    u16(10) as u16 & PAGE_FIXED_ITEMS != 0
        && lower <= upper
        && upper <= inner.len()
        && HEADER_BYTES + items * u16(8) <= inner.len()
}
