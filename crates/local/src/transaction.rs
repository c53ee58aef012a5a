//! Transactions (RFC 5805) of a local client.

use crate::{Answer, LocalClient, LocalError};
use protocol::control::Control;
use protocol::extended::{EndTransactionRequest, EndTransactionResponse};
use protocol::{ExtendedRequest, MessageId, OwnedControl, Request, ResultCode, oid};

/// The open transaction of a client.
pub struct Transaction<'c> {
    client: &'c mut LocalClient,
    specification: OwnedControl,
    /// Message ids of the updates, in their order.
    updates: Vec<MessageId>,
}

impl Transaction<'_> {
    /// Adds an update, which is executed with the others when the transaction is committed.
    ///
    /// # Errors
    /// The errors of [`LocalClient::request`]; `Refused` if the update is refused, which aborts the
    /// transaction.
    pub fn update(
        &mut self,
        request: &Request<'_>,
        controls: &[OwnedControl],
    ) -> Result<(), LocalError> {
        let mut all = controls.to_vec();
        all.push(self.specification.clone());
        self.client.succeed(request, &all)?;
        self.updates.push(self.client.last_id);
        Ok(())
    }
}

impl LocalClient {
    /// Executes the updates that `updates` adds, all or none, and returns the response controls of
    /// each, in their order. The transaction is aborted if `updates` returns an error.
    ///
    /// # Errors
    /// The errors of [`request`](Self::request) and of `updates`; `Refused` if no transaction
    /// begins; `NotCommitted` if it is refused at its end.
    pub fn transaction(
        &mut self,
        updates: impl FnOnce(&mut Transaction<'_>) -> Result<(), LocalError>,
    ) -> Result<Vec<Vec<OwnedControl>>, LocalError> {
        let start = ExtendedRequest {
            name: oid::START_TRANSACTION,
            value: None,
        };
        let identifier = self.extended(start, &[])?.value.unwrap_or_default();
        let specification = OwnedControl {
            oid: oid::TRANSACTION_SPECIFICATION.into(),
            critical: true,
            value: Some(identifier.clone()),
        };
        let mut transaction = Transaction {
            client: self,
            specification,
            updates: Vec::new(),
        };
        let added = updates(&mut transaction);
        let ids = transaction.updates;
        if let Err(error) = added {
            // The directory refuses to end a transaction that it has aborted already.
            let _ = self.end_transaction(&identifier, false);
            return Err(error);
        }
        let answer = self.end_transaction(&identifier, true)?;
        let value = answer.value.as_deref();
        let response = value.map(EndTransactionResponse::decode).transpose();
        let response = response.map_err(LocalError::Response)?.unwrap_or_default();
        if answer.result.code != ResultCode::SUCCESS {
            let failed = response.message_id;
            return Err(LocalError::NotCommitted {
                result: answer.result,
                update: failed.and_then(|it| ids.iter().position(|id| *id == it)),
            });
        }
        let mut controls = vec![Vec::new(); ids.len()];
        for update in &response.updates_controls {
            if let Some(at) = ids.iter().position(|id| *id == update.message_id) {
                controls[at] = update.controls.iter().map(Control::to_owned).collect();
            }
        }
        Ok(controls)
    }

    fn end_transaction(&mut self, identifier: &[u8], commit: bool) -> Result<Answer, LocalError> {
        let mut value = Vec::new();
        EndTransactionRequest { commit, identifier }.encode(&mut value);
        let end = ExtendedRequest {
            name: oid::END_TRANSACTION,
            value: Some(&value),
        };
        self.request(&Request::Extended(end), &[])
    }
}
