//! Transactions (RFC 5805): updates that a node executes together or not at all.

use super::{Channel, refused, subject};
use crate::report::Problem;
use protocol::extended::{EndTransactionRequest, EndTransactionResponse};
use protocol::{
    ExtendedRequest, LdapResult, MessageId, OwnedControl, Request, Response, ResponseMessage,
    ResultCode, oid,
};

/// The final response to a request of a transaction.
struct Answered {
    id: MessageId,
    result: LdapResult,
    /// Value of an extended response.
    value: Option<Vec<u8>>,
}

impl Channel {
    /// Executes updates together; if one is refused, none is executed.
    ///
    /// # Errors
    /// The refusal, after the name of the entry that it is about where the server tells that.
    pub fn transaction(&mut self, updates: &[Request<'_>]) -> Result<(), Problem> {
        let start = Request::Extended(ExtendedRequest {
            name: oid::START_TRANSACTION,
            value: None,
        });
        let started = self.answered(&start, &[])?;
        let (ResultCode::SUCCESS, Some(identifier)) = (started.result.code, &started.value) else {
            return Err(refused(&started.result).about("a transaction"));
        };
        let specification = OwnedControl {
            oid: oid::TRANSACTION_SPECIFICATION.into(),
            critical: true,
            value: Some(identifier.clone()),
        };
        let mut ids = Vec::with_capacity(updates.len());
        for update in updates {
            // A refusal aborts the transaction.
            let waits = self.answered(update, std::slice::from_ref(&specification))?;
            if waits.result.code != ResultCode::SUCCESS {
                return Err(refused(&waits.result).about(subject(update)));
            }
            ids.push(waits.id);
        }
        let mut value = Vec::new();
        EndTransactionRequest {
            commit: true,
            identifier,
        }
        .encode(&mut value);
        let end = Request::Extended(ExtendedRequest {
            name: oid::END_TRANSACTION,
            value: Some(&value),
        });
        let ended = self.answered(&end, &[])?;
        if ended.result.code == ResultCode::SUCCESS {
            return Ok(());
        }
        let told = ended.value.as_deref().map(EndTransactionResponse::decode);
        let told = told.transpose().map_err(Problem::failed)?;
        let failed = told.and_then(|it| it.message_id);
        let at = failed.and_then(|it| ids.iter().position(|id| *id == it));
        Err(match at {
            Some(at) => refused(&ended.result).about(subject(&updates[at])),
            None => refused(&ended.result),
        })
    }

    fn answered(
        &mut self,
        request: &Request<'_>,
        controls: &[OwnedControl],
    ) -> Result<Answered, Problem> {
        for answer in self.call_with(request, controls)? {
            let message = ResponseMessage::decode(&answer).map_err(Problem::failed)?;
            // A notice, which may come with the response, has no message id.
            if message.id == 0 {
                continue;
            }
            if let Some(result) = message.response.result() {
                let value = match &message.response {
                    Response::Extended { value, .. } => value.map(<[u8]>::to_vec),
                    _ => None,
                };
                return Ok(Answered {
                    id: message.id,
                    result: result.clone(),
                    value,
                });
            }
        }
        Err(Problem::failed(
            "the server's last response has no result code",
        ))
    }
}
