//! Writes that waited while the schema was changed: in the queue, while a password was hashed, in
//! an open transaction. Handles of attribute types never come to mean anything else, so most go on
//! as they are; those with values of a type that is gone or defined otherwise are refused, because
//! their values were checked, and names compared, by the definition before.

use super::Desk;
use super::answer::answer;
use crate::bundle::Submission;
use protocol::{LdapResult, ResultCode};
use schema::{Schema, TypeId};
use state::execute::Done;

impl Desk {
    /// Orders, executes, commits and answers those of a group whose values mean what they meant;
    /// the others are refused.
    pub(super) fn write_current(&mut self, group: &[Submission]) {
        let schema = self.catalog.load().schema.clone();
        let outdated = |it: &Submission| outdated(it, &schema);
        for part in group.chunk_by(|one, next| outdated(one) == outdated(next)) {
            match part.first().and_then(outdated) {
                None => self.write(part),
                Some(stale) => {
                    let done = stale.refused(&schema);
                    answer(part, std::iter::repeat(done), None);
                }
            }
        }
    }
}

/// The first write of a submission with an attribute type that is not in force any more.
fn outdated(submission: &Submission, schema: &Schema) -> Option<Outdated> {
    let writes = submission.bundle.writes().iter().enumerate();
    let mut outdated = writes.filter_map(|(at, write)| {
        let type_id = write.outdated_type(schema)?;
        Some(Outdated { at, type_id })
    });
    outdated.next()
}

/// A write that waited while the definition of an attribute type in it changed.
#[derive(PartialEq)]
struct Outdated {
    /// The write's place in its submission, from 0.
    at: usize,
    /// The attribute type, under the schema in which the write was resolved.
    type_id: TypeId,
}

impl Outdated {
    /// The answer to the submission: `busy`, since sent again it is resolved under the new schema.
    fn refused(&self, schema: &Schema) -> Done {
        let name = schema.type_of(self.type_id).name();
        let result = LdapResult {
            code: ResultCode::BUSY,
            diagnostic: format!(
                "attribute type {name} was redefined or removed while this waited: send it again"
            ),
            ..LdapResult::default()
        };
        Done {
            at: Some(self.at),
            ..Done::from(result)
        }
    }
}
