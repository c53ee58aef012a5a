//! Kinds of file systems: on some, overwriting a block takes a new one, so that a full disk refuses
//! writes that need no room elsewhere.

use std::ffi::c_long;
use std::fs::File;
use std::io;
use std::path::Path;

use rustix::fs::{IFlags, StatFs, ioctl_getflags, ioctl_setflags, statfs};

use crate::error::Error;

const TMPFS: c_long = 0x0102_1994;
const BTRFS: c_long = 0x9123_683E;
const XFS: c_long = 0x5846_5342;
const BCACHEFS: c_long = 0xCA45_1A4E_u32 as c_long;

/// Bytes left free where overwriting takes blocks: for the pages of a transaction whose record is
/// in the log, LMDB's first pages, a checkpoint, and metadata of the file system.
const RESERVE_BYTES: u64 = 16 << 20;

/// Returns whether files of this folder lie in memory.
pub(crate) fn is_memory(path: &Path) -> bool {
    statfs(path).is_ok_and(|it| kind(&it) == TMPFS)
}

/// Returns whether overwriting may take a new block: always on btrfs and bcachefs, on xfs for
/// blocks shared with a copy.
pub(crate) fn takes_blocks(path: &Path) -> bool {
    statfs(path).is_ok_and(|it| [BTRFS, XFS, BCACHEFS].contains(&kind(&it)))
}

/// Refuses a write of `bytes` bytes that would leave less room than the reserve, where overwriting
/// takes blocks: a transaction that fails after its record was written must be rolled back, and
/// that overwrites, too.
///
/// # Errors
/// [`Error::Full`]
pub(crate) fn require_reserve(folder: &Path, bytes: u64) -> Result<(), Error> {
    let Ok(found) = statfs(folder) else {
        return Ok(());
    };
    let free = found.f_bavail.saturating_mul(found.f_bsize as u64);
    match free < RESERVE_BYTES + bytes {
        true => Err(Error::Full),
        false => Ok(()),
    }
}

/// Makes files created in this folder from now on overwrite blocks in place, where the file system
/// would write new blocks: on a full disk there are none. A file system that refuses stays as it
/// is: writes there fail when the disk is full, as on any other.
pub fn overwrite_in_place(folder: &Path) {
    if !statfs(folder).is_ok_and(|it| kind(&it) == BTRFS) {
        return;
    }
    let set = || -> io::Result<()> {
        let folder = File::open(folder)?;
        let flags = ioctl_getflags(&folder)?;
        if !flags.contains(IFlags::NOCOW) {
            ioctl_setflags(&folder, flags | IFlags::NOCOW)?;
        }
        Ok(())
    };
    set().unwrap_or_default();
}

fn kind(found: &StatFs) -> c_long {
    found.f_type as c_long
}
