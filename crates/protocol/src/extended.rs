//! Extended operations (RFC 4511 §4.12): the values of their requests and responses.
//!
//! Some need no type, because the value is absent or is the thing itself: StartTLS has no value;
//! the answer to *Who am I?* is an authzId; the answer to *Start Transaction* and the value of an
//! *Aborted Transaction* notice are the transaction's identifier.

mod cancel;
mod password_modify;
mod transaction;

pub use cancel::CancelRequest;
pub use password_modify::{PasswordModifyRequest, PasswordModifyResponse};
pub use transaction::{EndTransactionRequest, EndTransactionResponse, UpdateControls};

pub use crate::oid;

#[cfg(test)]
mod tests;
