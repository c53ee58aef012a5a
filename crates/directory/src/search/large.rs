//! Entries with too many members for the output buffer: their values are gathered in slices, then
//! sent as the client takes them.
//!
//! Dynamic groups are sent this way however few their members are, because the number is unknown
//! beforehand.
//!
//! A message begins with its length, so all values must be known before the first byte is sent.
//! They are gathered in a [`Spool`], and no snapshot is kept longer than a slice. Members added or
//! deleted meanwhile may or may not be in the answer. If all members are replaced, gathering begins
//! again, so that the answer never mixes old and new ones.

use crate::context::{Context, Described, EachMember, VisibleEntry};
use protocol::{MessageId, OwnedControl, ber, response};
use schema::{AttributeNumber, KnownAttribute, TypeId};
use spool::{Spool, Spools};
use state::done;
use state::matched_values::{MatchedAttribute, MatchedValues};
use state::progress::Progress;
use state::projection::Projection;
use state::stop::{Failure, Stop};
use std::ops::ControlFlow;
use std::sync::Arc;
use store::{EntryId, LinkedSet, SetId};

/// Number of members from which on an entry is sent this way; they take a quarter of a slice.
pub(crate) const LARGE_FROM: u64 = 1_000;
/// Members gathered in one slice, which takes a millisecond or two.
const GATHERED: u32 = 2_048;
/// Bytes sent in one slice.
const SENT_BYTES: usize = 256 * 1024;

/// An entry being gathered or sent.
#[derive(Debug)]
pub(crate) struct Large {
    /// Id of the entry.
    entry: EntryId,
    message: MessageId,
    /// Name and the other attributes, encoded.
    name: Vec<u8>,
    pub attributes: Vec<u8>,
    pub controls: Vec<OwnedControl>,
    sets: Vec<LargeSet>,
    spool: Spool,
    phase: Phase,
}

/// One large attribute of the entry.
#[derive(Debug)]
pub(crate) struct LargeSet {
    type_id: TypeId,
    /// `None` for values that are not stored.
    number: Option<AttributeNumber>,
    source: Source,
    /// The attribute description to send.
    pub text: String,
    /// Length of its values in the spool, in bytes.
    bytes: u64,
    /// Whether the attribute has values, wanted or not.
    some: bool,
    /// Whether the attribute is sent even without a matching value (RFC 3876 §2).
    even_empty: bool,
    /// Whether the attribute is sent without values (typesOnly).
    type_only: bool,
}

/// Source of an attribute's values.
#[derive(Debug)]
enum Source {
    Links(SetId),
    /// The entries that the searches of a dynamic group find.
    Searches(Box<Described>),
}

#[derive(Debug)]
enum Phase {
    /// Index of the set being gathered, and its last member done.
    Gathering { at: usize, after: EntryId },
    /// Pieces still to be sent, in reverse order.
    Sending { pieces: Vec<Piece> },
}

/// A piece of the message.
#[derive(Debug)]
enum Piece {
    Bytes(Vec<u8>),
    /// A range of the spool, from its start to its end in bytes.
    Spool(u64, u64),
}

/// Result of a step.
pub(crate) enum Gone {
    /// More steps are needed.
    NotYet,
    /// The whole message is in the output.
    Sent,
    /// The entry was deleted before any of it was sent.
    Vanished,
}

/// The entry with its selected large attributes; `None` if it has none. Yields when walks over
/// groups, for its other attributes, use up the slice.
pub(crate) fn selected(
    spools: Option<&Arc<Spools>>,
    entry: &VisibleEntry<'_, '_>,
    message: MessageId,
    projection: &Projection,
    matched: Option<&MatchedValues>,
) -> Result<Progress<Option<Box<Large>>>, Stop> {
    let Some(spools) = spools else {
        return Ok(Progress::Done(None));
    };
    let catalog = entry.catalog();
    let stored = projection.large_sets(catalog, entry, LARGE_FROM)?;
    let mut sets: Vec<LargeSet> = (stored.into_iter())
        .map(|(known, set)| LargeSet::new(known, set))
        .collect();
    if let Some(described) = projection.described(catalog, entry)? {
        let member = catalog.computed.member;
        let text = catalog.schema.type_of(member).name();
        let searches = LargeSet::of_searches(member, text, described, projection.is_types_only());
        sets.push(searches);
    }
    if let Some(matched) = matched {
        // Few values that a filter names are looked up instead of being gathered.
        sets.retain(|it| {
            let looked_up = it.number.and_then(|number| matched.equal_to(number));
            looked_up.is_none()
        });
        sets.iter_mut().for_each(|it| it.even_empty = true);
    }
    if sets.is_empty() {
        return Ok(Progress::Done(None));
    }
    let mut attributes = Vec::new();
    done!(projection.write_some(catalog, entry, matched, LARGE_FROM, &mut attributes)?);
    let large = Large::new(entry, message, attributes, sets, spools)?;
    Ok(Progress::Done(Some(Box::new(large))))
}

/// Begins a large entry of a following search; `None` if the entry is not large.
pub(crate) fn followed(
    spools: Option<&Arc<Spools>>,
    entry: &VisibleEntry<'_, '_>,
    message: MessageId,
    projection: &Projection,
    controls: &[OwnedControl],
) -> Result<Option<Box<Large>>, Stop> {
    let mut large = entry.whole(|| selected(spools, entry, message, projection, None))?;
    if let Some(large) = &mut large {
        large.controls = controls.to_vec();
    }
    Ok(large)
}

impl LargeSet {
    /// A set of links to gather.
    pub fn new(known: &KnownAttribute, set: SetId) -> LargeSet {
        LargeSet {
            type_id: known.type_id,
            number: Some(known.number),
            source: Source::Links(set),
            text: known.text.clone(),
            bytes: 0,
            some: true,
            even_empty: false,
            type_only: false,
        }
    }

    /// The members of a dynamic group to gather.
    pub fn of_searches(
        type_id: TypeId,
        text: &str,
        described: Described,
        type_only: bool,
    ) -> LargeSet {
        LargeSet {
            type_id,
            number: None,
            source: Source::Searches(Box::new(described)),
            text: text.to_owned(),
            bytes: 0,
            some: false,
            even_empty: type_only,
            type_only,
        }
    }

    fn is_shown(&self) -> bool {
        self.bytes > 0 || self.even_empty && self.some
    }

    /// Whether the set is no longer one of the entry's sets.
    fn is_gone(&self, sets: &[LinkedSet]) -> bool {
        match self.source {
            Source::Links(set) => !sets.iter().any(|it| it.set == set),
            Source::Searches(_) => false,
        }
    }

    /// Starts again, with the present set of the attribute; false if it has none.
    fn begin_anew(&mut self, sets: &[LinkedSet]) -> bool {
        self.bytes = 0;
        match &mut self.source {
            Source::Links(set) => {
                let now = sets.iter().find(|it| Some(it.number) == self.number);
                *set = now.map_or(*set, |it| it.set);
                now.is_some()
            }
            Source::Searches(described) => {
                described.begin_anew();
                self.some = false;
                true
            }
        }
    }

    /// Calls `each` for the candidates behind the last member, with their values (`None` if a
    /// candidate has no value), until it breaks. True when all are done.
    fn walk(
        &mut self,
        context: &Context<'_>,
        after: EntryId,
        each: &mut EachMember<'_>,
    ) -> Result<bool, Stop> {
        match &mut self.source {
            Source::Links(set) => {
                let mut all = true;
                context.members_after(*set, after, &mut |member, value| {
                    let flow = each(member, value);
                    all = flow.is_continue();
                    flow
                })?;
                Ok(all)
            }
            Source::Searches(described) => context.walk_described(described, &mut |found| {
                Ok(Progress::Done(match found {
                    Some(id) => each(id, Some(context.spelled_name(id)?.as_bytes())),
                    None => each(EntryId::ROOT, None),
                }))
            }),
        }
    }
}

impl Large {
    /// Begins an entry. `attributes` are the other attributes, encoded.
    fn new(
        entry: &VisibleEntry<'_, '_>,
        message: MessageId,
        attributes: Vec<u8>,
        sets: Vec<LargeSet>,
        spools: &Arc<Spools>,
    ) -> Result<Large, Stop> {
        let mut name = Vec::new();
        entry.write_name(&mut name)?;
        Ok(Large {
            entry: entry.id,
            message,
            name,
            attributes,
            controls: Vec::new(),
            sets,
            spool: Spool::new(spools),
            phase: Phase::Gathering {
                at: 0,
                after: EntryId::ROOT,
            },
        })
    }

    /// Whether a part of the message may be in the output, so that no other bytes may follow before
    /// the rest.
    pub fn is_inside(&self) -> bool {
        matches!(self.phase, Phase::Sending { .. })
    }

    /// Gathers or sends for one slice.
    pub fn step(
        &mut self,
        context: &Context<'_>,
        matched: Option<&MatchedValues>,
        out: &mut Vec<u8>,
    ) -> Result<Gone, Stop> {
        if let Phase::Gathering { .. } = self.phase {
            match self.gather(context, matched)? {
                Gone::Sent => {
                    let pieces = self.pieces();
                    self.phase = Phase::Sending { pieces };
                    return Ok(Gone::NotYet);
                }
                other => return Ok(other),
            }
        }
        Ok(self.send(out)?)
    }

    /// Gathers for one slice; `Sent` when all values are gathered.
    fn gather(
        &mut self,
        context: &Context<'_>,
        matched: Option<&MatchedValues>,
    ) -> Result<Gone, Stop> {
        let schema = &context.catalog.schema;
        let mut turns = GATHERED;
        let Some(entry) = context.entry(self.entry)? else {
            return Ok(Gone::Vanished);
        };
        let now = entry.linked_sets()?;
        if self.sets.iter().any(|it| it.is_gone(&now)) {
            // All values were replaced: start again with the new ones.
            self.sets.retain_mut(|it| it.begin_anew(&now));
            self.spool.clear();
            self.phase = Phase::Gathering {
                at: 0,
                after: EntryId::ROOT,
            };
        }
        let Phase::Gathering { at, after } = &mut self.phase else {
            return Ok(Gone::NotYet);
        };
        while let Some(set) = self.sets.get_mut(*at) {
            let start = self.spool.length();
            let (mut failed, mut some) = (None, set.some);
            let spool = &mut self.spool;
            let (type_id, number, type_only) = (set.type_id, set.number, set.type_only);
            let which = MatchedAttribute { type_id, number };
            let is_wanted =
                |value: &[u8]| matched.is_none_or(|it| it.matches(schema, which, value));
            let all = set.walk(context, *after, &mut |member, value| {
                *after = member;
                some |= value.is_some();
                if let Some(value) = value.filter(|&it| !type_only && is_wanted(it)) {
                    let put = |out: &mut Vec<u8>| ber::put_octets(out, ber::OCTET_STRING, value);
                    failed = spool.append(put).err();
                }
                turns = turns.saturating_sub(1);
                match failed.is_some() || turns == 0 || type_only && some {
                    true => ControlFlow::Break(()),
                    false => ControlFlow::Continue(()),
                }
            })?;
            set.bytes += self.spool.length() - start;
            set.some = some;
            if let Some(stop) = failed {
                return Err(stop);
            }
            let enough = all || type_only && some;
            if !enough {
                return Ok(Gone::NotYet);
            }
            *at += 1;
            *after = EntryId::ROOT;
        }
        Ok(Gone::Sent)
    }

    /// The pieces of the message, in reverse order.
    fn pieces(&mut self) -> Vec<Piece> {
        let mut attributes = self.attributes.len() as u64;
        let mut heads = Vec::new();
        for it in self.sets.iter().filter(|it| it.is_shown()) {
            let mut head = Vec::new();
            let mut description = Vec::new();
            ber::put_octets(&mut description, ber::OCTET_STRING, it.text.as_bytes());
            ber::put_header(&mut description, ber::SET, it.bytes as usize);
            let content = description.len() + it.bytes as usize;
            ber::put_header(&mut head, ber::SEQUENCE, content);
            head.extend_from_slice(&description);
            attributes += head.len() as u64 + it.bytes;
            heads.push(head);
        }
        let (begin, end) = response::large_search_entry(
            self.message,
            &self.name,
            attributes as usize,
            &self.controls,
        );
        let mut pieces = vec![Piece::Bytes(
            [begin, std::mem::take(&mut self.attributes)].concat(),
        )];
        let mut from = 0;
        let sets = self.sets.iter().filter(|it| it.is_shown());
        for (it, head) in sets.zip(heads) {
            pieces.push(Piece::Bytes(head));
            pieces.push(Piece::Spool(from, from + it.bytes));
            from += it.bytes;
        }
        pieces.push(Piece::Bytes(end));
        pieces.reverse();
        pieces
    }

    fn send(&mut self, out: &mut Vec<u8>) -> Result<Gone, Failure> {
        let Phase::Sending { pieces } = &mut self.phase else {
            return Ok(Gone::NotYet);
        };
        let full = out.len() + SENT_BYTES;
        while let Some(piece) = pieces.last_mut() {
            if out.len() >= full {
                return Ok(Gone::NotYet);
            }
            match piece {
                Piece::Bytes(bytes) => out.extend_from_slice(bytes),
                Piece::Spool(from, to) => {
                    let most = (full - out.len()).min((*to - *from) as usize);
                    *from += self.spool.read(*from, most, out)? as u64;
                    if from < to {
                        continue;
                    }
                }
            }
            pieces.pop();
        }
        Ok(Gone::Sent)
    }
}
