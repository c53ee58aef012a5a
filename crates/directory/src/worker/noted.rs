//! Operations that the operations log hears of.

use super::Worker;
use crate::flow::Flow;
use crate::session::Session;
use protocol::{Message, MessageId};

impl Worker {
    /// Executes one message, and keeps a record of it.
    #[cold]
    pub(super) fn execute_noted(
        &mut self,
        session: &mut Session,
        message: &Message<'_>,
        out: &mut Vec<u8>,
    ) -> Flow {
        let catalog = self.shared.catalog.load_full();
        self.operations.begin(&catalog, session, message);
        let before = out.len();
        let flow = self.execute_quietly(session, message, out);
        self.note(session, message.id, &out[before..], &flow);
        flow
    }

    /// `out` was said while an operation was worked on.
    #[inline(always)]
    pub(super) fn note(&mut self, session: &Session, id: MessageId, out: &[u8], flow: &Flow) {
        if !self.operations.is_empty() {
            let is_over = !matches!(flow, Flow::Waiting | Flow::More(_));
            self.operations.heard(session.id, id, out, is_over);
        }
    }
}
