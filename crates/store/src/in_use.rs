//! The environment in use; a compacted copy can replace it while readers go on.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::lmdb::Environment;

/// An environment that is in use, or was before a copy replaced it.
#[derive(Debug)]
pub(crate) struct InUse {
    pub environment: Arc<Environment>,
    /// Number of environments in use before it.
    pub number: u64,
    /// Offset of LMDB's transaction ids, which begin anew in a copy, so that versions only grow.
    pub versions_from: u64,
}

/// The environment in use. Detecting a replacement costs one load.
#[derive(Debug)]
pub(crate) struct Current {
    number: AtomicU64,
    in_use: Mutex<Arc<InUse>>,
}

impl Current {
    pub fn new(environment: Arc<Environment>) -> Current {
        let first = InUse {
            environment,
            number: 0,
            versions_from: 0,
        };
        Current {
            number: AtomicU64::new(0),
            in_use: Mutex::new(Arc::new(first)),
        }
    }

    /// Number of the environment in use.
    #[inline]
    pub fn number(&self) -> u64 {
        self.number.load(Ordering::Acquire)
    }

    pub fn get(&self) -> Arc<InUse> {
        Arc::clone(&self.lock())
    }

    /// Puts another environment into use.
    pub fn put(&self, next: InUse) {
        let number = next.number;
        *self.lock() = Arc::new(next);
        self.number.store(number, Ordering::Release);
    }

    fn lock(&self) -> MutexGuard<'_, Arc<InUse>> {
        self.in_use.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
