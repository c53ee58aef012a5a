//! Dereference control (draft-masarati-ldap-deref-00): for values that are names, attributes of the
//! named entries, returned in a control beside the entry.

use policy::Right;
use protocol::ber::{self, put_nested};
use protocol::control::{DereferenceRequest, put_dereference_result};
use protocol::{OwnedControl, ResultCode, oid};
use schema::{AttributeNumber, Description, Schema, TypeId};
use smallvec::SmallVec;
use state::catalog::Catalog;
use state::done;
use state::progress::Progress;
use state::selected::Selected;
use state::stop::Stop;
use state::view::{Place, View, VisibleEntry};
use std::borrow::Cow;
use std::ops::ControlFlow;
use store::EntryId;

/// Syntax OID of names (RFC 4517 §3.3.9).
const NAME_SYNTAX: &str = "1.3.6.1.4.1.1466.115.121.1.12";
/// Maximum number of values followed for one entry. An entry with more is returned without the
/// control: the draft (§2.1) wants all values or none.
const FOLLOWED_MAX: u64 = 10_000;
/// Maximum length of one entry's control in bytes; an entry that needs more is returned without it,
/// because a control is part of a message built in memory.
const BYTES_MAX: usize = 1 << 20;
/// Cost of following one value, in looks: resolving its name and reading its entry.
const LOOKS_PER_VALUE: u32 = 6;

/// An attribute whose values are followed.
#[derive(Debug)]
pub struct Follow {
    /// The attribute description as the client spelled it.
    attribute: String,
    type_id: TypeId,
    /// `None` if no entry has the attribute.
    number: Option<AttributeNumber>,
    wanted: Wanted,
}

/// Attributes to return of the named entries: exactly these descriptions, no subtypes (§2.1).
#[derive(Debug, Default)]
struct Wanted {
    stored: Selected<AttributeNumber>,
    /// Types whose values are computed, without duplicates.
    computed: SmallVec<[TypeId; 2]>,
}

/// Progress of following the values of one entry, kept between slices.
#[derive(Debug)]
pub struct Dereferencing {
    entry: EntryId,
    /// Index of the attribute being followed.
    at: usize,
    /// The last member of that attribute's set that is done; the root before the first.
    after: EntryId,
    /// Number of that attribute's stored values that are done.
    stored: usize,
    /// Number of values followed, over all attributes.
    followed: u64,
    /// Results so far, encoded.
    results: Vec<u8>,
}

/// Whether the control has room for more results.
enum Room {
    Left,
    /// The values or their results exceed the limits.
    Over,
}

impl Dereferencing {
    fn new(entry: EntryId) -> Dereferencing {
        Dereferencing {
            entry,
            at: 0,
            after: EntryId::ROOT,
            stored: 0,
            followed: 0,
            results: Vec::new(),
        }
    }
}

impl Follow {
    /// The control's specifications resolved under the schema, one for each attribute type.
    /// Attributes that cannot be followed are left out, or refused if the control is critical.
    pub fn all(
        catalog: &Catalog,
        asked: &DereferenceRequest<'_>,
        critical: bool,
    ) -> Result<Vec<Follow>, Stop> {
        let schema = &catalog.schema;
        let mut all: Vec<Follow> = Vec::with_capacity(asked.specifications.len());
        for specification in &asked.specifications {
            let attribute = specification.attribute;
            let Some((type_id, number)) = followed(schema, attribute) else {
                if critical {
                    return Stop::refuse(
                        ResultCode::UNAVAILABLE_CRITICAL_EXTENSION,
                        format!(
                            "dereference control: expected an attribute whose values are names, \
                             got {attribute}"
                        ),
                    );
                }
                continue;
            };
            // The client may name one attribute type by several names.
            let known = (all.iter()).position(|it| it.type_id == type_id && it.number == number);
            let at = known.unwrap_or(all.len());
            if known.is_none() {
                all.push(Follow {
                    attribute: attribute.to_owned(),
                    type_id,
                    number,
                    wanted: Wanted::default(),
                });
            }
            for text in &specification.wanted {
                all[at].wanted.add(catalog, text);
            }
        }
        Ok(all)
    }

    /// The control for one entry; `None` if it has no values to follow, or too many. `progress`
    /// continues from the previous slice, and holds the state if this one is over.
    pub fn response(
        context: &View<'_>,
        entry: &VisibleEntry<'_, '_>,
        follow: &[Follow],
        progress: &mut Option<Box<Dereferencing>>,
    ) -> Result<Progress<Option<OwnedControl>>, Stop> {
        let kept = progress.take().filter(|it| it.entry == entry.id);
        let mut own = kept.unwrap_or_else(|| Box::new(Dereferencing::new(entry.id)));
        while let Some(it) = follow.get(own.at) {
            match it.follow(context, entry, &mut own)? {
                Progress::Done(Room::Left) => {}
                Progress::Done(Room::Over) => return Ok(Progress::Done(None)),
                Progress::Yield => {
                    *progress = Some(own);
                    return Ok(Progress::Yield);
                }
            }
            own.at += 1;
            (own.after, own.stored) = (EntryId::ROOT, 0);
        }
        if own.results.is_empty() {
            return Ok(Progress::Done(None));
        }
        let mut value = Vec::with_capacity(own.results.len() + 8);
        put_nested(&mut value, ber::SEQUENCE, |out| {
            out.extend_from_slice(&own.results);
        });
        Ok(Progress::Done(Some(OwnedControl {
            oid: Cow::Borrowed(oid::DEREFERENCE),
            critical: false,
            value: Some(value),
        })))
    }

    /// Follows the values of one attribute of an entry.
    fn follow(
        &self,
        context: &View<'_>,
        entry: &VisibleEntry<'_, '_>,
        own: &mut Dereferencing,
    ) -> Result<Progress<Room>, Stop> {
        let Some(number) = self.number else {
            return Ok(Progress::Done(Room::Left));
        };
        if let Some(set) = entry.linked_set(number)? {
            if own.followed + set.count > FOLLOWED_MAX && own.after == EntryId::ROOT {
                return Ok(Progress::Done(Room::Over));
            }
            let mut put = Ok(Progress::Done(Room::Left));
            context.members_after(set.set, own.after, &mut |member, value| {
                if let Some(value) = value {
                    put = self.put(context, value, own);
                }
                match put {
                    Ok(Progress::Done(Room::Left)) => {
                        own.after = member;
                        ControlFlow::Continue(())
                    }
                    _ => ControlFlow::Break(()),
                }
            })?;
            if let Room::Over = done!(put?) {
                return Ok(Progress::Done(Room::Over));
            }
        }
        let Some(stored) = entry.attribute(number) else {
            return Ok(Progress::Done(Room::Left));
        };
        for value in stored.values().into_iter().skip(own.stored) {
            if let Room::Over = done!(self.put(context, value, own)?) {
                return Ok(Progress::Done(Room::Over));
            }
            own.stored += 1;
        }
        Ok(Progress::Done(Room::Left))
    }

    /// Appends the result for one value. A value that names no entry, or one hidden from the
    /// subject, is listed without attributes, so that the two cannot be told apart.
    fn put(
        &self,
        context: &View<'_>,
        value: &[u8],
        own: &mut Dereferencing,
    ) -> Result<Progress<Room>, Stop> {
        let Ok(text) = std::str::from_utf8(value) else {
            return Ok(Progress::Done(Room::Left));
        };
        done!(context.look(LOOKS_PER_VALUE));
        let mut attributes = Vec::new();
        if let Ok(name) = context.catalog.schema.resolve_name(text)
            && context.decide(Right::Read, &name, None).allowed
            && let Place::Found(id) = context.find(&name)?
            && let Some(entry) = context.reached(id)?
        {
            let room = BYTES_MAX.saturating_sub(own.results.len());
            let wanted = self.wanted.put(context, &entry, room, &mut attributes)?;
            if let Room::Over = done!(wanted) {
                return Ok(Progress::Done(Room::Over));
            }
        }
        put_dereference_result(&mut own.results, &self.attribute, text, &attributes);
        own.followed += 1;
        let is_over = own.followed > FOLLOWED_MAX || own.results.len() > BYTES_MAX;
        Ok(Progress::Done(match is_over {
            true => Room::Over,
            false => Room::Left,
        }))
    }
}

impl Wanted {
    /// Adds the attribute of a description, unless no entry can have it.
    fn add(&mut self, catalog: &Catalog, text: &str) {
        let Ok(description) = catalog.schema.describe(text) else {
            return;
        };
        self.stored.extend(catalog.schema.number(&description));
        let (computed, type_id) = (&catalog.computed, description.type_id);
        let shown = computed.is_computed(type_id)
            || [computed.context_csn, computed.member].contains(&type_id);
        if shown && !self.computed.contains(&type_id) {
            self.computed.push(type_id);
        }
    }

    /// Appends the wanted attributes of an entry, if they take at most `room` bytes.
    fn put(
        &self,
        context: &View<'_>,
        entry: &VisibleEntry<'_, '_>,
        room: usize,
        out: &mut Vec<u8>,
    ) -> Result<Progress<Room>, Stop> {
        let schema = &context.catalog.schema;
        for stored in entry.attributes() {
            if !self.stored.contains(stored.number) {
                continue;
            }
            if out.len() + stored.encoded.len() > room {
                return Ok(Progress::Done(Room::Over));
            }
            out.extend_from_slice(stored.encoded);
        }
        for type_id in &self.computed {
            let number = schema.number(&Description::of_type(*type_id));
            if number.is_some_and(|it| entry.attribute(it).is_some()) {
                continue;
            }
            let (mut values, mut bytes) = (Vec::new(), out.len());
            done!(entry.shown_values(*type_id, &mut |value| {
                bytes += value.len();
                values.push(value.to_vec());
                bytes > room
            })?);
            if bytes > room {
                return Ok(Progress::Done(Room::Over));
            }
            if !values.is_empty() {
                let text = schema.type_of(*type_id).name();
                ber::put_partial_attribute(out, text, values.iter().map(Vec::as_slice));
            }
        }
        Ok(Progress::Done(Room::Left))
    }
}

/// Type and number of an attribute that can be followed; `None` if it cannot. The number is `None`
/// if no entry has the attribute.
fn followed(schema: &Schema, attribute: &str) -> Option<(TypeId, Option<AttributeNumber>)> {
    let description = schema.describe(attribute).ok()?;
    let syntax = schema.type_of(description.type_id).syntax;
    (syntax.oid == NAME_SYNTAX).then(|| (description.type_id, schema.number(&description)))
}
