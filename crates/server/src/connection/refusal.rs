//! Requests that a connection refuses itself, before the directory sees them.

use directory::Worker;
use policy::Limit;
use protocol::{
    Authentication, DecodeError, LdapResult, Message, Request, ResultCode, ResultKind,
    decode_header, oid, write_result,
};

use super::{Connection, Rules};

impl Connection {
    /// The refusal of a request that the connection itself refuses; `None` for others.
    pub(super) fn refusal(&self, rules: &Rules, message: &Message<'_>) -> Option<LdapResult> {
        // RFC 4511 §4.1.1.1: responses could not be assigned to their requests.
        let is_answered = ResultKind::of(message.request.tag()).is_some();
        if is_answered && self.followers.has(message.id) {
            let text = "the message id is that of a search that has not ended";
            return Some(LdapResult::new(ResultCode::PROTOCOL_ERROR, text));
        }
        if !self.unfinished.is_empty() && self.session.may_overlap(&message.request) && is_answered
        {
            let limit = self.session.pending_operations_max();
            if limit > 0 && self.unfinished.len() >= limit as usize {
                Limit::PendingOperations.count();
                let diagnostic = format!(
                    "limit of {limit} operations waiting on one connection: read responses first"
                );
                return Some(LdapResult::new(ResultCode::BUSY, diagnostic));
            }
        }
        match &message.request {
            Request::Bind(bind) if !self.confidential && !rules.allow_cleartext_binds => match bind
                .authentication
            {
                Authentication::Simple(password) if !password.is_empty() => Some(LdapResult::new(
                    ResultCode::CONFIDENTIALITY_REQUIRED,
                    "expected TLS before a password; use StartTLS or ldaps://",
                )),
                _ => None,
            },
            // RFC 4511 §4.14.1: no operation may be unfinished.
            Request::Extended(it) if it.name == oid::START_TLS && !self.followers.is_empty() => {
                let text = "a search of this connection has not ended";
                Some(LdapResult::new(ResultCode::OPERATIONS_ERROR, text))
            }
            _ => None,
        }
    }

    /// Answers a whole frame that is no request: as a response if its message id is readable, else
    /// as a notice. Wrong lengths end the session, because later bytes cannot be trusted (RFC 4511
    /// §4.1.1).
    pub(super) fn refuse_malformed(
        &mut self,
        worker: &mut Worker,
        bytes: &[u8],
        error: &DecodeError,
        out: &mut Vec<u8>,
    ) {
        let diagnostic = error.to_string();
        let known = decode_header(bytes).and_then(|(id, tag)| Some((id, ResultKind::of(tag)?)));
        match known {
            Some((id, kind)) if id > 0 && !lengths_are_wrong(error) => {
                self.heard = self.heard.wrapping_add(1).max(1);
                let result = LdapResult::new(ResultCode::PROTOCOL_ERROR, diagnostic);
                write_result(out, id, kind, &result, &[]);
                worker.refused(&mut self.session, bytes, &result, out);
                self.bundle.answered();
            }
            _ => self.disconnect(ResultCode::PROTOCOL_ERROR, &diagnostic, out),
        }
    }
}

/// Whether the decoding error is a wrong length.
fn lengths_are_wrong(error: &DecodeError) -> bool {
    matches!(
        error,
        DecodeError::Truncated
            | DecodeError::IndefiniteLength
            | DecodeError::LengthBeyondLimit { .. }
    )
}
