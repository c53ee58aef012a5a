//! Time and random identifiers, passed in so that tests and replays control them.

use std::cell::RefCell;
use std::time::{SystemTime, UNIX_EPOCH};

/// Random bytes taken from the system at once: a system call costs more than making a UUID.
const POOL_BYTES: usize = 1024;

thread_local! {
    /// Random bytes of this thread, and the number already used.
    static POOL: RefCell<([u8; POOL_BYTES], usize)> =
        const { RefCell::new(([0; POOL_BYTES], POOL_BYTES)) };
}

/// Source of a node's time and unique identifiers. Execution never uses it: both are filled in
/// before a write gets its place in the order.
pub trait Clock: Send + Sync {
    /// Microseconds since 1970-01-01T00:00:00Z.
    fn now_us(&self) -> u64;
    /// A random (version 4) UUID, RFC 9562 §5.4.
    fn uuid(&self) -> [u8; 16];
}

/// The machine's clock and random source.
#[derive(Debug, Default, Clone, Copy)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now_us(&self) -> u64 {
        let since = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
    }

    fn uuid(&self) -> [u8; 16] {
        let mut bytes: [u8; 16] = POOL.with_borrow_mut(|(pool, used)| {
            if *used == POOL_BYTES {
                getrandom::fill(pool).expect("the operating system always has random bytes");
                *used = 0;
            }
            let mut bytes = [0; 16];
            bytes.copy_from_slice(&pool[*used..*used + 16]);
            *used += 16;
            bytes
        });
        bytes[6] = (bytes[6] & 0x0f) | 0x40;
        bytes[8] = (bytes[8] & 0x3f) | 0x80;
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use state::time::{parse_uuid, uuid_text};

    #[test]
    fn uuids_are_of_version_4() {
        let text = uuid_text(&SystemClock.uuid());
        assert_eq!(text.len(), 36);
        let read = parse_uuid(text.as_bytes()).expect("a UUID");
        assert_eq!(uuid_text(&read), text);
        assert!(parse_uuid(b"not a UUID").is_none());
        assert_eq!(&text[14..15], "4");
    }
}
