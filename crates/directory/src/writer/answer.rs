//! Delivers the results of writes to the serving threads, all those of a group for one thread at
//! once.

use crate::bundle::{Bundle, Submission};
use crate::flow::{Completion, Finished, Mailbox, Settled};
use crate::operation::position;
use protocol::ResultCode;
use protocol::control::Position;
use state::execute::Done;
use std::collections::HashMap;
use std::sync::Arc;

/// Delivers the results, with one call for each mailbox.
pub(super) fn answer(
    group: &[Submission],
    mut results: impl Iterator<Item = Done>,
    at: Option<Position>,
) {
    let mut boxes: HashMap<*const (), (Arc<dyn Mailbox>, Vec<Completion>)> = HashMap::new();
    for submission in group {
        let completion = Completion {
            session: submission.session,
            id: submission.id,
            what: finished(submission, &mut results, at),
        };
        let key = Arc::as_ptr(&submission.mailbox).cast::<()>();
        boxes
            .entry(key)
            .or_insert_with(|| (Arc::clone(&submission.mailbox), Vec::new()))
            .1
            .push(completion);
    }
    for (mailbox, completions) in boxes.into_values() {
        mailbox.deliver(completions);
    }
}

/// The completion of a submission; takes the results of its units.
fn finished(
    submission: &Submission,
    results: &mut impl Iterator<Item = Done>,
    at: Option<Position>,
) -> Finished {
    let mut next = || results.next().expect("every unit has a result");
    let asked = at.filter(|_| submission.reply.position);
    let position = asked.map(|it| position::control(&it));
    match &submission.bundle {
        Bundle::One(_) => {
            let mut outcome = next().outcome;
            if outcome.result.code == ResultCode::SUCCESS {
                outcome.controls.extend(position);
            }
            Finished::Write {
                kind: submission.kind,
                outcome,
                reply: submission.reply.clone(),
            }
        }
        Bundle::Transaction { ids, .. } => {
            let mut done = next();
            if let [_] = ids.as_slice() {
                done.controls
                    .push(std::mem::take(&mut done.outcome.controls));
            }
            let mut own = Vec::new();
            if done.outcome.result.code == ResultCode::SUCCESS {
                own.extend(position);
                own.extend_from_slice(&submission.reply.done);
            }
            Finished::Transaction(Box::new(Settled {
                own,
                result: done.outcome.result,
                failed: done.at.and_then(|at| ids.get(at).copied()),
                controls: ids.iter().copied().zip(done.controls).collect(),
            }))
        }
        Bundle::Sequence {
            numbers, refused, ..
        } => {
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
