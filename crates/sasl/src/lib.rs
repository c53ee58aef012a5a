//! SASL mechanisms (RFC 4422) as state machines: bytes of a client and facts in, bytes and facts
//! out.
//!
//! Nothing here does I/O, reads a clock or knows a directory. The caller finds accounts and their
//! keys, counts wrong passwords, and decides what an identity may do.
//!
//! - [`anonymous`]: the login as nobody (RFC 4505);
//! - [`bearer`]: the login by a token (RFC 7628), and [`token`], which verifies tokens;
//! - [`mechanism`]: the mechanisms, and which of them a connection is offered;
//! - [`channel`]: bindings to the TLS channel below an exchange;
//! - [`scram`]: exchanges that prove a password without sending it (RFC 5802).

pub mod anonymous;
pub mod bearer;
pub mod channel;
pub mod fuzz;
pub mod mechanism;
mod refusal;
pub mod scram;
pub mod token;

pub use channel::ChannelBindings;
pub use mechanism::{Circumstances, Mechanism, Variant};
pub use refusal::Refusal;

use std::sync::Arc;
use token::Issuers;

/// Settings of mechanisms that are offered only where an operator wants them.
#[derive(Debug, Default)]
pub struct Offers {
    /// Whether ANONYMOUS is offered.
    pub anonymous: bool,
    /// Issuers whose tokens are accepted; OAUTHBEARER is offered if there is one.
    pub issuers: Arc<Issuers>,
}
