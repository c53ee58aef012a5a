//! Rules for values, applied in the order of the import: holders of values, and numbers.

use super::{Sequencer, Work};
use crate::import::aside::Waiting;
use crate::import::holders::Given;
use crate::import::rulebook::{Claim, Rulebook};
use schema::Schema;
use state::execute::held;
use state::stop::Failure;
use store::{EntryBuilder, EntryId, EntryView, Place};

/// A piece whose entries have places but are not appended yet.
pub(super) type Unappended<'w> = (&'w Work, &'w [Option<Place>]);

impl<'s> Sequencer<'s, '_> {
    pub(super) fn rulebook(&self) -> Rulebook<'s> {
        Rulebook::new(self.shared.plan)
    }

    /// The claims of an entry under these unique rules.
    pub(super) fn claims_of(
        &mut self,
        schema: &Schema,
        unique: &[u16],
        row: &[u8],
    ) -> Result<Vec<Claim>, Failure> {
        let mut claims = Vec::new();
        if self.rulebook().is_empty() {
            return Ok(claims);
        }
        let (view, scratch) = (EntryView::new(row)?, &mut self.scratch);
        let mut add = |claim, _, _: &[u8]| claims.push(claim);
        Rulebook::new(self.shared.plan).each_claim(schema, unique, &view, scratch, &mut add);
        Ok(claims)
    }

    /// The reason for refusing an entry, if another one holds one of its values; else `None`.
    #[cold]
    pub(super) fn reason(
        &mut self,
        unique: &[u16],
        row: &[u8],
        (key, holder): (u128, EntryId),
        piece: Option<Unappended<'_>>,
    ) -> Result<String, Failure> {
        let schema = self.shared.schema.newest();
        let name = self.spelled_name(holder, piece)?;
        let mut reason = None;
        let mut find = |claim: Claim, of, value: &[u8]| {
            if claim.key == key && claim.alone {
                reason = Some(held(schema.type_of(of).name(), value, &name));
            }
        };
        let (view, scratch) = (EntryView::new(row)?, &mut self.scratch);
        Rulebook::new(self.shared.plan).each_claim(&schema, unique, &view, scratch, &mut find);
        Ok(reason.unwrap_or_else(|| format!("a value is held by \"{name}\"")))
    }

    fn spelled_name(
        &mut self,
        id: EntryId,
        piece: Option<Unappended<'_>>,
    ) -> Result<String, Failure> {
        let mut name = String::new();
        let mut next = id;
        while next != EntryId::ROOT {
            let new = piece.and_then(|(work, places)| {
                let at = places
                    .iter()
                    .position(|place| place.is_some_and(|it| it.id == next))?;
                Some((work.prepared.entry(at), places[at]?.parent))
            });
            let (row, parent) = match new {
                Some((row, parent)) => (row.to_vec(), parent),
                None => {
                    let Some(row) = self.target.entry(next)? else {
                        break;
                    };
                    let parent = EntryView::new(&row)?.parent();
                    (row, parent)
                }
            };
            if !name.is_empty() {
                name.push(',');
            }
            name.push_str(EntryView::new(&row)?.rdn());
            next = parent;
        }
        Ok(name)
    }

    /// Writes the numbers that an entry requests into its row. The caller records them with the
    /// entry. An error says why there is no number.
    pub(super) fn give_numbers(
        &mut self,
        schema: &Schema,
        waiting: &mut Waiting,
    ) -> Result<Result<Vec<Given>, String>, Failure> {
        let mut given = Vec::new();
        for rule in waiting.ruled.numbers.clone() {
            let rulebook = self.rulebook();
            let of = (rule, waiting.ruled.unique.as_slice());
            let next = self
                .holders
                .next_number(rulebook, schema, of, &mut self.scratch);
            let next = match next {
                Ok(next) => next,
                Err(reason) => return Ok(Err(reason)),
            };
            let attribute = schema.type_of(rulebook.numbers(rule).type_id).name();
            waiting.row = with_value(schema, &waiting.row, attribute, next.number)?;
            given.push(next);
        }
        Ok(Ok(given))
    }
}

/// The row with an attribute set to this single value.
fn with_value(
    schema: &Schema,
    row: &[u8],
    attribute: &str,
    number: u128,
) -> Result<Vec<u8>, Failure> {
    let view = EntryView::new(row)?;
    let mut builder = EntryBuilder::new(view.parent(), view.rdn(), view.position());
    builder.set_links(view.has_links());
    let user = view.user_attributes().as_ptr_range();
    let own = schema
        .describe(attribute)
        .ok()
        .and_then(|it| schema.number(&it));
    let text = number.to_string();
    for stored in view.attributes() {
        let is_user = user.contains(&stored.encoded.as_ptr());
        if Some(stored.number) != own {
            builder.copy(&stored, !is_user);
        } else if is_user {
            builder.user(stored.number, attribute, std::iter::once(text.as_bytes()));
        } else {
            builder.operational(stored.number, attribute, std::iter::once(text.as_bytes()));
        }
    }
    let mut out = Vec::with_capacity(row.len() + text.len());
    builder.finish(&mut out);
    Ok(out)
}
