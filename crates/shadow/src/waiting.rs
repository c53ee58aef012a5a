//! Requests that wait to be judged: as many as the share of the thread's time allows.

use policy::Subject;
use policy::access::candidate::Candidate;
use protocol::{Authentication, Message, Request};
use std::rc::Rc;

/// Requests that wait at most.
const KEPT_MAX: usize = 256;
/// Octets of requests that wait at most. A longer request is not judged.
const BYTES_MAX: usize = 1 << 20;

/// The requests of one serving thread that wait.
#[derive(Debug, Default)]
pub struct Waiting {
    kept: Vec<Kept>,
    bytes: usize,
    /// Steady time in microseconds from which on requests are kept again.
    due_us: u64,
    /// Requests that were not kept since the last call of [`Waiting::take`].
    left_out: u64,
}

/// A request that waits.
#[derive(Debug)]
pub struct Kept {
    /// The subject as which it was executed.
    pub subject: Rc<Subject>,
    pub(crate) request: KeptRequest,
}

#[derive(Debug)]
pub(crate) enum KeptRequest {
    /// The name in a simple bind. Passwords are not kept.
    Bind(String),
    /// The encoded message.
    Message(Vec<u8>),
}

impl Waiting {
    /// Keeps a request, unless judging would take more than its share of time: `now_us` is steady
    /// time in microseconds. The administrator is asked nothing; requests that name no entry, and
    /// binds by SASL, are not judged.
    pub fn keep(
        &mut self,
        candidate: &Candidate,
        subject: &Rc<Subject>,
        message: &Message<'_>,
        now_us: u64,
    ) {
        let bytes = match &message.request {
            Request::Unbind | Request::Abandon(_) | Request::Extended(_) => return,
            Request::Bind(it) => match it.authentication {
                Authentication::Simple(_) if !it.name.is_empty() => it.name.len(),
                _ => return,
            },
            _ => message.encoded.len(),
        };
        if subject.is_administrator() {
            return;
        }
        // One tells how long judging takes, before there are more.
        let most = if candidate.share == 100 { KEPT_MAX } else { 1 };
        let has_room = self.kept.len() < most && bytes <= BYTES_MAX - self.bytes;
        if now_us < self.due_us || !has_room {
            self.left_out += 1;
            return;
        }
        self.bytes += bytes;
        let request = match &message.request {
            Request::Bind(it) => KeptRequest::Bind(it.name.to_owned()),
            _ => KeptRequest::Message(message.encoded.to_vec()),
        };
        self.kept.push(Kept {
            subject: Rc::clone(subject),
            request,
        });
    }

    /// Whether no request waits.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }

    /// Takes the requests that wait, and the number of those that were left out before.
    pub fn take(&mut self) -> (Vec<Kept>, u64) {
        self.bytes = 0;
        (
            std::mem::take(&mut self.kept),
            std::mem::take(&mut self.left_out),
        )
    }

    /// Notes for how long the requests were judged, by steady time in microseconds.
    pub fn judged(&mut self, candidate: &Candidate, began_us: u64, ended_us: u64) {
        let took_us = ended_us.saturating_sub(began_us).max(1);
        let share = u64::from(candidate.share);
        self.due_us = ended_us + took_us * (100 - share) / share;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use policy::Secrets;
    use protocol::{DeleteRequest, MessageId};
    use schema::Schema;

    fn candidate(share: &str) -> Candidate {
        let schema = Schema::standard();
        let secrets = Secrets::of(&schema, &[]);
        let text = "rule a\non everything\nlet users read";
        Candidate::read(&schema, &secrets, text, Some(share), None).unwrap()
    }

    fn keep(waiting: &mut Waiting, candidate: &Candidate, octets: usize, now_us: u64) {
        let encoded = vec![0; octets];
        let message = Message {
            id: MessageId::default(),
            request: Request::Delete(DeleteRequest { entry: "dc=a" }),
            controls: Vec::new(),
            encoded: &encoded,
        };
        let subject = Rc::new(Subject::anonymous(None, true));
        waiting.keep(candidate, &subject, &message, now_us);
    }

    #[test]
    fn judging_takes_no_more_than_its_share() {
        let (mut waiting, candidate) = (Waiting::default(), candidate("5"));
        keep(&mut waiting, &candidate, 10, 1_000);
        keep(&mut waiting, &candidate, 10, 1_000);
        assert!(!waiting.is_empty());
        let (kept, left_out) = waiting.take();
        assert_eq!((kept.len(), left_out), (1, 1));
        waiting.judged(&candidate, 1_000, 1_100);
        // 100 us are 5 percent of 2,000 us.
        keep(&mut waiting, &candidate, 10, 2_999);
        assert!(waiting.is_empty());
        keep(&mut waiting, &candidate, 10, 3_000);
        assert_eq!(waiting.take().0.len(), 1);
    }

    #[test]
    fn all_requests_are_kept_until_memory_ends() {
        let (mut waiting, candidate) = (Waiting::default(), candidate("100"));
        for _ in 0..=KEPT_MAX {
            keep(&mut waiting, &candidate, 10, 0);
        }
        let (kept, left_out) = waiting.take();
        assert_eq!((kept.len(), left_out), (KEPT_MAX, 1));
        keep(&mut waiting, &candidate, BYTES_MAX, 0);
        keep(&mut waiting, &candidate, 1, 0);
        let (kept, left_out) = waiting.take();
        assert_eq!((kept.len(), left_out), (1, 1));
    }
}
