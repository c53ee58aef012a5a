//! Records operations in the operations log.

use crate::flow::Flow;
use crate::operations_log;
use crate::session::Session;
use crate::worker::Worker;
use protocol::{Message, MessageId};

impl Worker {
    /// Begins the line of an operation.
    #[cold]
    pub(super) fn begin_note(
        &mut self,
        session: &Session,
        message: &Message<'_>,
        exchanged: Option<String>,
    ) {
        let catalog = self.shared.catalog.load_full();
        self.operations.begin(&catalog, session, message, exchanged);
    }

    /// Records for the audit that a request was refused, if access rules have refused it.
    #[cold]
    pub(super) fn note_denial(&self, session: &Session, message: &Message<'_>, out: &[u8]) {
        if self.shared.recording.is_some() {
            let catalog = self.shared.catalog.load_full();
            self.operations.denied(&catalog, session, message, out);
        }
    }

    /// Records a bind that failed or that waits for a password check, because failed binds are
    /// always logged. A bind that succeeds at once is not recorded.
    #[inline]
    pub(super) fn note_bind(
        &mut self,
        session: &Session,
        message: &Message<'_>,
        exchanged: Option<String>,
        out: &[u8],
        flow: &Flow,
    ) {
        if matches!(flow, Flow::Waiting) || operations_log::says_failure(out) {
            self.note_failed_bind(session, message, exchanged, out, flow);
        }
    }

    #[cold]
    fn note_failed_bind(
        &mut self,
        session: &Session,
        message: &Message<'_>,
        exchanged: Option<String>,
        out: &[u8],
        flow: &Flow,
    ) {
        self.begin_note(session, message, exchanged);
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
