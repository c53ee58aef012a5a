//! Records operations in the operations log.

use crate::flow::Flow;
use crate::operations_log;
use crate::session::Session;
use crate::worker::Worker;
use protocol::{Message, MessageId};

impl Worker {
    /// Begins the line of an operation.
    #[cold]
    pub(super) fn begin_note(&mut self, session: &Session, message: &Message<'_>) {
        let catalog = self.shared.catalog.load_full();
        self.operations.begin(&catalog, session, message);
    }

    /// Records a bind that failed or that waits for a password check, because failed binds are
    /// always logged. A bind that succeeds at once is not recorded.
    #[inline]
    pub(super) fn note_bind(
        &mut self,
        session: &Session,
        message: &Message<'_>,
        out: &[u8],
        flow: &Flow,
    ) {
        if matches!(flow, Flow::Waiting) || operations_log::says_failure(out) {
            self.note_failed_bind(session, message, out, flow);
        }
    }

    #[cold]
    fn note_failed_bind(
        &mut self,
        session: &Session,
        message: &Message<'_>,
        out: &[u8],
        flow: &Flow,
    ) {
        self.begin_note(session, message);
        self.note(session, message.id, out, flow);
    }

    /// Records the responses in `out` of an operation.
    #[inline(always)]
    pub(super) fn note(&mut self, session: &Session, id: MessageId, out: &[u8], flow: &Flow) {
        if !self.operations.is_empty() {
            let is_over = !matches!(flow, Flow::Waiting | Flow::More(_));
            self.operations.heard(session.id, id, out, is_over);
        }
    }
}
