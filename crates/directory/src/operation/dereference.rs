//! Dereference (draft-masarati-ldap-deref-00): attributes of the entries that values name, in a
//! control beside the entry that holds the values.

use crate::context::{Context, Place, VisibleEntry};
use crate::stop::Stop;
use policy::Right;
use protocol::ber::{self, put_nested};
use protocol::control::{DereferenceRequest, put_dereference_result};
use protocol::{OwnedControl, ResultCode, oid};
use schema::{AttributeNumber, Schema, TypeId};
use std::borrow::Cow;
use std::ops::ControlFlow;

/// The syntax of names (RFC 4517 §3.3.9).
const NAME_SYNTAX: &str = "1.3.6.1.4.1.1466.115.121.1.12";
/// Values of one entry that are followed. With more the entry comes without the control: the
/// draft (§2.1) wants all or none, and a response must fit into the client's memory. Following
/// them takes some 5 µs for each, 50 ms at most; their groups, if wanted, go on in slices.
const FOLLOWED_MAX: u64 = 10_000;

/// One attribute to follow.
#[derive(Debug)]
pub(crate) struct Follow {
    /// As the client spelled it.
    attribute: String,
    /// `None`: no entry has it.
    number: Option<AttributeNumber>,
    wanted: Vec<Wanted>,
}

/// One attribute wanted of the entry a value names: just this description, no subtypes (§2.1).
#[derive(Debug)]
struct Wanted {
    type_id: TypeId,
    number: Option<AttributeNumber>,
}

impl Follow {
    /// The control's specifications under the schema. What cannot be followed is left out, or
    /// refused when the control is critical.
    pub fn all(
        schema: &Schema,
        asked: &DereferenceRequest<'_>,
        critical: bool,
    ) -> Result<Vec<Follow>, Stop> {
        let mut all = Vec::with_capacity(asked.specifications.len());
        for specification in &asked.specifications {
            let attribute = specification.attribute;
            let Some(number) = followed(schema, attribute) else {
                if critical {
                    return Stop::refuse(
                        ResultCode::UNAVAILABLE_CRITICAL_EXTENSION,
                        format!(
                            "dereference control: expected an attribute whose values are names, \
                             came {attribute}"
                        ),
                    );
                }
                continue;
            };
            let wanted = specification.wanted.iter().filter_map(|text| {
                let description = schema.describe(text).ok()?;
                Some(Wanted {
                    type_id: description.type_id,
                    number: schema.number(&description),
                })
            });
            all.push(Follow {
                attribute: attribute.to_owned(),
                number,
                wanted: wanted.collect(),
            });
        }
        Ok(all)
    }

    /// The control for one entry; `None` when the entry has nothing to follow.
    pub fn response(
        context: &Context<'_>,
        entry: &VisibleEntry<'_, '_>,
        follow: &[Follow],
    ) -> Result<Option<OwnedControl>, Stop> {
        let mut results = Vec::new();
        let mut followed = 0;
        for it in follow {
            let Some(number) = it.number else {
                continue;
            };
            if let Some(set) = entry.linked_set(number)? {
                followed += set.count;
                if followed > FOLLOWED_MAX {
                    return Ok(None);
                }
                let mut done = Ok(());
                entry.linked_values(set.set, &mut |value| {
                    done = it.put(context, value, &mut results);
                    match done {
                        Ok(()) => ControlFlow::Continue(()),
                        Err(_) => ControlFlow::Break(()),
                    }
                })?;
                done?;
            }
            let Some(stored) = entry.attribute(number) else {
                continue;
            };
            for value in stored.values() {
                followed += 1;
                if followed > FOLLOWED_MAX {
                    return Ok(None);
                }
                it.put(context, value, &mut results)?;
            }
        }
        if results.is_empty() {
            return Ok(None);
        }
        let mut value = Vec::with_capacity(results.len() + 8);
        put_nested(&mut value, ber::SEQUENCE, |out| {
            out.extend_from_slice(&results);
        });
        Ok(Some(OwnedControl {
            oid: Cow::Borrowed(oid::DEREFERENCE),
            critical: false,
            value: Some(value),
        }))
    }

    /// Appends what one value leads to. A value that leads nowhere, or where the subject may not
    /// look, is there without attributes: nobody can tell which it was.
    fn put(&self, context: &Context<'_>, value: &[u8], out: &mut Vec<u8>) -> Result<(), Stop> {
        let Ok(text) = std::str::from_utf8(value) else {
            return Ok(());
        };
        let mut attributes = Vec::new();
        if let Ok(name) = context.catalog.schema.resolve_name(text)
            && context.decide(Right::Read, &name, None).allowed
            && let Place::Found(id) = context.find(&name)?
            && let Some(entry) = context.reached(id)?
        {
            for wanted in &self.wanted {
                wanted.put(context, &entry, &mut attributes)?;
            }
        }
        put_dereference_result(out, &self.attribute, text, &attributes);
        Ok(())
    }
}

impl Wanted {
    fn put(
        &self,
        context: &Context<'_>,
        entry: &VisibleEntry<'_, '_>,
        out: &mut Vec<u8>,
    ) -> Result<(), Stop> {
        if let Some(stored) = self.number.and_then(|number| entry.attribute(number)) {
            out.extend_from_slice(stored.encoded);
            return Ok(());
        }
        let values = entry.all_shown_values(self.type_id)?;
        if !values.is_empty() {
            let text = context.catalog.schema.type_of(self.type_id).name();
            ber::put_partial_attribute(out, text, values.iter().map(Vec::as_slice));
        }
        Ok(())
    }
}

/// The number of an attribute that can be followed; `None` when it cannot, `Some(None)` when no
/// entry has it.
fn followed(schema: &Schema, attribute: &str) -> Option<Option<AttributeNumber>> {
    let description = schema.describe(attribute).ok()?;
    let syntax = schema.type_of(description.type_id).syntax;
    (syntax.oid == NAME_SYNTAX).then(|| schema.number(&description))
}
