//! A flag that ends threads of a test which repeat their work.

use std::sync::atomic::{AtomicBool, Ordering};

/// Sets its flag when dropped, also by a panic: threads of a scope that work until the flag is set
/// would otherwise keep a failed test waiting forever.
pub struct EnoughAtEnd<'f>(pub &'f AtomicBool);

impl Drop for EnoughAtEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}
