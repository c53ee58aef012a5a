//! Extended operations (RFC 4511 §4.12): the values of their requests and responses.
//!
//! Some values need no type, because they are absent or a plain string: StartTLS has no value; the
//! response of *Who am I?* is an authzId; the response of *Start Transaction* and the value of an
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
