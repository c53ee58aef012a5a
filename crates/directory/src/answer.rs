//! Delivers the results of writes to the serving threads, all those of a group for one thread at
//! once.

use crate::completion::{Completion, Finished, Mailbox, Settled};
use crate::control::position;
use crate::ticket::{Form, Pending, Ticket};
use protocol::control::{AssuredReplicationRequest, LocalLevel, Position};
use protocol::{OwnedControl, ResultCode, oid};
use replica::witnesses::{self, OwnWitnesses, Testimony, WitnessQuestion};
use replica::{Clients, Submission};
use state::execute::Done;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

/// Receiver of the results of writes.
pub(crate) struct Answering {
    /// Identifier of the order of writes, for positions.
    log: [u8; 16],
    witnesses: OwnWitnesses,
}

impl Answering {
    pub fn of(log: [u8; 16], witnesses: &OwnWitnesses) -> Answering {
        let witnesses = Arc::clone(witnesses);
        Answering { log, witnesses }
    }

    /// Adds the response control of assured replication to the end of a successful write that asks
    /// for it. `None` if the answer is held until other nodes have the write, too.
    fn assure(&self, request: &Pending, mut done: Finished, at: Position) -> Option<Finished> {
        let Some(asked) = request.reply.assured.clone() else {
            return Some(done);
        };
        let Some(controls) = done.controls_after_success() else {
            return Some(done);
        };
        let witnesses = match self.witnesses.get() {
            Some(it) if witnesses::level(&asked) != LocalLevel::None => it,
            reached => {
                let testimony = reached.map(|_| Testimony::default());
                controls.push(assurance(&asked, testimony));
                return Some(done);
            }
        };
        let (session, id) = (request.session, request.id);
        let mailbox = Arc::clone(&request.mailbox);
        let until = Instant::now() + witnesses::patience(&asked);
        let all = witnesses::level(&asked) == LocalLevel::ProcessedAllServers;
        let answer = move |testimony| {
            if let Some(controls) = done.controls_after_success() {
                controls.push(assurance(&asked, Some(testimony)));
            }
            let what = done;
            mailbox.deliver(vec![Completion { session, id, what }]);
        };
        witnesses.ask(WitnessQuestion {
            position: at.position,
            all,
            until,
            then: Box::new(answer),
        });
        None
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
            let mut done = Some(finished(ticket, results, at));
            if let (Some(_), Some(at)) = (&ticket.request.reply.assured, at) {
                done = done.and_then(|it| self.assure(&ticket.request, it, at));
            }
            if let Some(done) = done {
                boxes.put(&ticket.request, done);
            }
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

/// The response control of assured replication.
fn assurance(asked: &AssuredReplicationRequest, testimony: Option<Testimony>) -> OwnedControl {
    OwnedControl::with_value(oid::ASSURED_REPLICATION_RESPONSE, false, |out| {
        witnesses::report(asked, testimony, out);
    })
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
