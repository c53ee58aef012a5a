//! The time and a runtime, for commands.

use crate::trouble::Trouble;
use replica::clock::{Clock, SystemClock};
use std::time::Duration;

/// Time since 1970.
pub fn now() -> Duration {
    Duration::from_micros(SystemClock.now_us())
}

/// A runtime for one command.
pub fn runtime() -> Result<tokio::runtime::Runtime, Trouble> {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_all().build();
    runtime.map_err(|error| Trouble::internal("starting a runtime", error))
}
