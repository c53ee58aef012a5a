//! Extended operations (RFC 4511 §4.12): the values of their requests and responses.
//!
//! Some need no type, because the value is absent or is the thing itself: StartTLS has no value;
//! the answer to *Who am I?* is an authzId; the answer to *Start Transaction* and the value of an
//! *Aborted Transaction* notice are the transaction's identifier.

mod bulk_update;
mod cancel;
mod password_modify;
mod refresh;
mod transaction;

pub use bulk_update::{
    BULK_OPERATIONS_MAX, BulkOperation, BulkUpdateRequest, BulkUpdateResponse,
    EndBulkUpdateRequest, StartBulkUpdateRequest, StartBulkUpdateResponse,
};
pub use cancel::CancelRequest;
pub use password_modify::{PasswordModifyRequest, PasswordModifyResponse};
pub use refresh::{RefreshRequest, RefreshResponse};
pub use transaction::{EndTransactionRequest, EndTransactionResponse, UpdateControls};

pub use crate::oid;

#[cfg(test)]
mod tests;
