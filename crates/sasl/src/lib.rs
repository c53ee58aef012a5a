//! SASL mechanisms (RFC 4422) as state machines: bytes of a client and facts in, bytes and facts
//! out.
//!
//! Nothing here does I/O, reads a clock or knows a directory. The caller finds accounts and their
//! keys, counts wrong passwords, and decides what an identity may do.
//!
//! - [`anonymous`]: the login as nobody (RFC 4505);
//! - [`mechanism`]: the mechanisms, and which of them a connection is offered;
//! - [`channel`]: bindings to the TLS channel below an exchange;
//! - [`scram`]: exchanges that prove a password without sending it (RFC 5802).

pub mod anonymous;
pub mod channel;
pub mod mechanism;
mod refusal;
pub mod scram;

pub use channel::ChannelBindings;
pub use mechanism::{Circumstances, Mechanism, Variant};
pub use refusal::Refusal;

/// Settings of mechanisms that are offered only where an operator wants them.
#[derive(Debug, Default)]
pub struct Offers {
    /// Whether ANONYMOUS is offered.
    pub anonymous: bool,
}
