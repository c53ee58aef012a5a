//! Writes that waited during a change of the schema: in the queue, for a hash, or in an open
//! transaction. Handles of attribute types never change their meaning, so most continue; writes
//! with values of a removed or redefined type are refused, because their values were checked under
//! the old definition.

use super::Thread;
use crate::clients::{Clients, Submission};
use protocol::{LdapResult, ResultCode};
use schema::{Schema, TypeId};
use state::execute::Done;

impl<C: Clients> Thread<C> {
    /// Executes and answers the writes of a group whose attribute types are unchanged, and refuses
    /// the others.
    pub(super) fn write_current(&mut self, group: &[Submission<C::Ticket>]) {
        let schema = self.executor.parts.catalog.load().schema.clone();
        let outdated = |it: &Submission<C::Ticket>| Outdated::first_of(it, &schema);
        for part in group.chunk_by(|one, next| outdated(one) == outdated(next)) {
            match part.first().and_then(outdated) {
                None => self.write(part),
                Some(stale) => {
                    let done = stale.refused(&schema);
                    self.clients
                        .answer(part, &mut std::iter::repeat(done), None);
                }
            }
        }
    }
}

/// A write with an attribute type whose definition changed while it waited.
#[derive(PartialEq)]
pub(crate) struct Outdated {
    /// Index of the write in its submission.
    at: usize,
    /// The attribute type, under the schema that resolved the write.
    type_id: TypeId,
}

impl Outdated {
    /// The first write of a submission with a removed or redefined attribute type; `None` if there is
    /// none.
    pub fn first_of<T>(submission: &Submission<T>, schema: &Schema) -> Option<Outdated> {
        let writes = submission.writes.all().iter().enumerate();
        let mut outdated = writes.filter_map(|(at, write)| {
            let type_id = write.outdated_type(schema)?;
            Some(Outdated { at, type_id })
        });
        outdated.next()
    }

    /// The response `busy`: when sent again, the request is resolved under the new schema.
    pub fn refused(&self, schema: &Schema) -> Done {
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
