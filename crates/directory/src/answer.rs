//! Delivers the results of writes to the serving threads, all those of a group for one thread at
//! once.

use crate::completion::{Completion, Finished, Mailbox, Settled};
use crate::control::position;
use crate::ticket::{Form, Pending, Ticket};
use protocol::ResultCode;
use protocol::control::Position;
use replica::{Clients, Submission};
use state::execute::Done;
use std::collections::HashMap;
use std::sync::Arc;

/// Receiver of the results of writes.
#[derive(Debug)]
pub(crate) struct Answering {
    /// Identifier of the order of writes, for positions.
    log: [u8; 16],
}

impl Answering {
    pub fn of(log: [u8; 16]) -> Answering {
        Answering { log }
    }
}

impl Clients for Answering {
    type Ticket = Ticket;

    /// Delivers the results, with one call for each mailbox.
    fn answer(
        &self,
        group: &[Submission<Ticket>],
        results: &mut dyn Iterator<Item = Done>,
        position: Option<u64>,
    ) {
        let log = self.log;
        let at = position.map(|position| Position { log, position });
        let mut boxes = Boxes::default();
        for submission in group {
            let Some(ticket) = &submission.ticket else {
                // A write of the node itself, whose result nobody waits for.
                submission.writes.units().for_each(|_| drop(results.next()));
                continue;
            };
            boxes.put(&ticket.request, finished(ticket, results, at));
        }
        boxes.deliver();
    }

    fn undecided(&self, group: &[Submission<Ticket>], reason: &str) {
        let mut boxes = Boxes::default();
        for Ticket { request, .. } in group.iter().filter_map(|it| it.ticket.as_ref()) {
            let kind = request.kind;
            let reason = reason.to_owned();
            boxes.put(request, Finished::Undecided { kind, reason });
        }
        boxes.deliver();
    }
}

/// Completions, by mailbox.
#[derive(Default)]
struct Boxes(HashMap<*const (), Parcel>);

/// Completions for one mailbox.
struct Parcel {
    mailbox: Arc<dyn Mailbox>,
    completions: Vec<Completion>,
}

impl Boxes {
    fn put(&mut self, request: &Pending, what: Finished) {
        let mailbox = &request.mailbox;
        let parcel = self.0.entry(Arc::as_ptr(mailbox).cast());
        let parcel = parcel.or_insert_with(|| Parcel {
            mailbox: Arc::clone(mailbox),
            completions: Vec::new(),
        });
        parcel.completions.push(Completion {
            session: request.session,
            id: request.id,
            what,
        });
    }

    fn deliver(self) {
        for parcel in self.0.into_values() {
            parcel.mailbox.deliver(parcel.completions);
        }
    }
}

/// How a submission ended; takes the results of its units.
fn finished(
    ticket: &Ticket,
    results: &mut dyn Iterator<Item = Done>,
    at: Option<Position>,
) -> Finished {
    let mut next = || results.next().expect("every unit has a result");
    let asked = at.filter(|_| ticket.request.reply.position);
    let position = asked.map(|it| position::control(&it));
    match &ticket.form {
        Form::One => {
            let mut outcome = next().outcome;
            if outcome.result.code == ResultCode::SUCCESS {
                outcome.controls.extend(position);
            }
            Finished::Write {
                kind: ticket.request.kind,
                outcome,
                reply: ticket.request.reply.clone(),
            }
        }
        Form::Transaction(ids) => {
            let mut done = next();
            if let [_] = ids.as_slice() {
                done.controls
                    .push(std::mem::take(&mut done.outcome.controls));
            }
            let mut own = Vec::new();
            if done.outcome.result.code == ResultCode::SUCCESS {
                own.extend(position);
                own.extend_from_slice(&ticket.request.reply.done);
            }
            Finished::Transaction(Box::new(Settled {
                own,
                result: done.outcome.result,
                failed: done.at.and_then(|at| ids.get(at).copied()),
                controls: ids.iter().copied().zip(done.controls).collect(),
            }))
        }
        Form::Sequence { numbers, refused } => {
            let mut failed = refused.clone();
            for number in numbers {
                let result = next().outcome.result;
                if result.code != ResultCode::SUCCESS {
                    failed.push((*number, result));
                }
            }
            failed.sort_by_key(|(number, _)| *number);
            Finished::Sequence(failed)
        }
    }
}
