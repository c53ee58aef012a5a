//! The end of work that other threads of a test repeat.

use std::sync::atomic::{AtomicBool, Ordering};

/// Sets its flag when it is dropped, by a panic too: threads of a scope that work until the flag is
/// set would otherwise keep a failed test waiting for good.
pub struct EnoughAtEnd<'f>(pub &'f AtomicBool);

impl Drop for EnoughAtEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}
