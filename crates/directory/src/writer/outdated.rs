//! Writes that waited while the schema was changed: in the queue, while a password was hashed, in
//! an open transaction. Handles of attribute types never come to mean anything else, so most go on
//! as they are; those with values of a type that is gone or defined otherwise are refused, because
//! their values were checked, and names compared, by the definition before.

use super::Desk;
use super::answer::answer;
use crate::execute::Done;
use crate::write::Submission;
use protocol::{LdapResult, ResultCode};
use schema::{Schema, TypeId};

impl Desk {
    /// Orders, executes, commits and answers those of a group whose values mean what they meant;
    /// the others are refused.
    pub(super) fn write_current(&mut self, group: &[Submission]) {
        let schema = self.catalog.load().schema.clone();
        let outdated = |it: &Submission| outdated(it, &schema);
        for part in group.chunk_by(|one, next| outdated(one) == outdated(next)) {
            match part.first().and_then(outdated) {
                None => self.write(part),
                Some(which) => {
                    let done = refused(&schema, which);
                    answer(part, std::iter::repeat(done), None);
                }
            }
        }
    }
}

/// The first write of a submission with a type that is not in force any more, by its place.
fn outdated(submission: &Submission, schema: &Schema) -> Option<(usize, TypeId)> {
    let writes = submission.bundle.writes().iter().enumerate();
    let mut outdated = writes.filter_map(|(at, it)| Some((at, it.outdated_type(schema)?)));
    outdated.next()
}

fn refused(schema: &Schema, (at, type_id): (usize, TypeId)) -> Done {
    let name = schema.type_of(type_id).name();
    let result = LdapResult {
        code: ResultCode::BUSY,
        diagnostic: format!(
            "attribute type {name} was redefined or removed while this waited: send it again"
        ),
        ..LdapResult::default()
    };
    Done {
        at: Some(at),
        ..Done::from(result)
    }
}
