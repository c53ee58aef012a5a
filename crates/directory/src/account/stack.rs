//! Wiping of the stack of a thread that has worked on passwords.

use std::hint::black_box;

/// Bytes of the stack that are overwritten. The largest state of a hash function there, of bcrypt,
/// has 4 KiB.
const BYTES: usize = 16 << 10;

/// Overwrites the part of the thread's stack where hash functions have kept pieces of passwords. No
/// later work may come for hours that would do it.
#[inline(never)]
pub(crate) fn wipe_stack() {
    let mut used = [0_u8; BYTES];
    // The compiler must suppose that the bytes are read here.
    black_box(&mut used);
}
