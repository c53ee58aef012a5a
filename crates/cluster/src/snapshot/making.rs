//! Makes a copy: the database is written into a pipe, and from there piece by piece into the file.

use super::{Copy, PIECE_BYTES};
use crate::peer::PeerNode;
use std::io::{self, PipeReader, Read, Write};
use xxhash_rust::xxh3::xxh3_128;

/// Bytes between two syncs: more would stay in memory and delay the database's own syncs.
const SYNC_BYTES: u64 = 64 << 20;

/// Makes a copy to its end, or says in it why not.
pub(super) fn make(copy: &Copy, node: &dyn PeerNode) {
    let (from, into) = match io::pipe() {
        Ok(both) => both,
        Err(error) => return copy.fail(format!("the copy has no pipe: {error}")),
    };
    let made = std::thread::scope(|scope| {
        let writing = scope.spawn(|| node.write_copy(into));
        let pumped = pump(from, copy);
        // The pipe is closed at this end by now, so the other thread ends too.
        let written = writing.join();
        let written = written.unwrap_or_else(|_| Err("the copying thread ended early".to_owned()));
        // A broken pipe there only follows from an error here.
        let bytes = pumped.and_then(|bytes| written.map(|()| bytes))?;
        match bytes {
            0 => Err("the copy of the database is empty".to_owned()),
            bytes => Ok(bytes),
        }
    });
    let made = made.and_then(|bytes| copy.complete(bytes).map_err(|error| error.to_string()));
    if let Err(why) = made {
        if !copy.is_cancelled() {
            tracing::error!(why, "the copy for joining nodes failed");
        }
        copy.remove();
        copy.fail(why);
    }
}

/// Writes the pipe's bytes to the file and tells the checksums. Returns the number of bytes.
fn pump(mut from: PipeReader, copy: &Copy) -> Result<u64, String> {
    let failed = |error: io::Error| format!("the copy of the database failed: {error}");
    let (mut bytes, mut unsynced) = (0, 0);
    let mut piece = Vec::with_capacity(PIECE_BYTES as usize);
    let mut file = copy.file();
    loop {
        piece.clear();
        let read = from.by_ref().take(PIECE_BYTES).read_to_end(&mut piece);
        let count = read.map_err(failed)? as u64;
        if copy.is_cancelled() {
            return Err("the copy was given up".to_owned());
        }
        if count == 0 {
            break;
        }
        file.write_all(&piece).map_err(failed)?;
        copy.add_sum(xxh3_128(&piece));
        (bytes, unsynced) = (bytes + count, unsynced + count);
        if unsynced >= SYNC_BYTES {
            file.sync_data().map_err(failed)?;
            unsynced = 0;
        }
        if count < PIECE_BYTES {
            break;
        }
    }
    file.sync_all().map_err(failed)?;
    Ok(bytes)
}
