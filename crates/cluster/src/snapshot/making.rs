//! Makes a copy: the database is written into a pipe, and from there piece by piece, compressed,
//! into the file. Another thread has the file reach the disk meanwhile.

use super::copy::Piece;
use super::{Copy, PIECE_BYTES, SYNC_BYTES};
use crate::peer::PeerNode;
use std::io::{self, PipeReader, Read, Write};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use xxhash_rust::xxh3::xxh3_128;
use zstd::bulk::Compressor;

/// Bytes that the pipe holds: as many as LMDB writes at once.
const PIPE_BYTES: usize = 1 << 20;
/// Level of compression: the fastest of the usual ones.
const LEVEL: i32 = 1;

/// Makes a copy to its end, or says in it why not.
pub(super) fn make(copy: &Copy, node: &dyn PeerNode) {
    let (from, into) = match io::pipe() {
        Ok(both) => both,
        Err(error) => return copy.fail(format!("the copy has no pipe: {error}")),
    };
    // A smaller pipe does as well, more slowly.
    let _ = rustix::pipe::fcntl_setpipe_size(&into, PIPE_BYTES);
    let made = std::thread::scope(|scope| {
        let writing = scope.spawn(|| node.write_copy(into));
        // One sync waits at most, behind the one that is done.
        let (due, syncs) = sync_channel(1);
        let syncing = scope.spawn(|| sync(copy, syncs));
        let pumped = pump(from, copy, due);
        // The pipe is closed at this end by now, so the other threads end too.
        let written = writing.join();
        let written = written.unwrap_or_else(|_| Err("the copying thread ended early".to_owned()));
        // A broken pipe there only follows from an error here.
        let bytes = pumped.and_then(|bytes| written.map(|()| bytes))?;
        if bytes == 0 {
            return Err("the copy of the database is empty".to_owned());
        }
        // Joiners need not wait until the file has reached this disk.
        copy.complete(bytes);
        let synced = syncing.join();
        synced.unwrap_or_else(|_| Err("the syncing thread ended early".to_owned()))
    });
    let kept = made.and_then(|()| {
        copy.file().sync_all().map_err(|error| failed(&error))?;
        copy.keep().map_err(|error| error.to_string())
    });
    if let Err(why) = kept {
        if !copy.is_cancelled() {
            tracing::error!(why, "the copy for joining nodes failed");
        }
        copy.remove();
        copy.fail(why);
    }
}

/// Writes the pipe's bytes to the file and tells the pieces; sends on `due` when so many bytes were
/// written that a sync is due. Returns the number of bytes before compression.
fn pump(mut from: PipeReader, copy: &Copy, due: SyncSender<()>) -> Result<u64, String> {
    let mut compressor = Compressor::new(LEVEL).map_err(|error| failed(&error))?;
    let (mut bytes, mut begin, mut unsynced) = (0, 0, 0);
    let mut piece = Vec::with_capacity(PIECE_BYTES as usize);
    let mut compressed = Vec::with_capacity(zstd::zstd_safe::compress_bound(PIECE_BYTES as usize));
    let mut file = copy.file();
    loop {
        piece.clear();
        let read = from.by_ref().take(PIECE_BYTES).read_to_end(&mut piece);
        let count = read.map_err(|error| failed(&error))? as u64;
        if copy.is_cancelled() {
            return Err("the copy was given up".to_owned());
        }
        if count == 0 {
            return Ok(bytes);
        }
        let length = compressor.compress_to_buffer(&piece, &mut compressed);
        let length = length.map_err(|error| failed(&error))? as u64;
        file.write_all(&compressed)
            .map_err(|error| failed(&error))?;
        copy.add(Piece {
            sum: xxh3_128(&piece),
            begin,
            bytes: length,
        });
        (bytes, begin, unsynced) = (bytes + count, begin + length, unsynced + length);
        if unsynced >= SYNC_BYTES {
            // Waits if the disk is too far behind. Nobody receives after a failed sync.
            due.send(())
                .map_err(|_| "the copy could not be synced".to_owned())?;
            unsynced = 0;
        }
    }
}

/// Has the file reach the disk each time that it is due.
fn sync(copy: &Copy, due: Receiver<()>) -> Result<(), String> {
    for () in due {
        copy.file().sync_data().map_err(|error| failed(&error))?;
    }
    Ok(())
}

fn failed(error: &io::Error) -> String {
    format!("the copy of the database failed: {error}")
}
