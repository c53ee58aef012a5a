//! Walks down: from a group to its members, and on to their members. Each entry is visited once.

use super::dynamic::Described;
use super::membership::{Followed, Reach, refuse_too_many};
use super::pace::MET_MAX;
use super::plain::PlainView;
use crate::done;
use crate::progress::Progress;
use crate::stop::Stop;
use roaring::RoaringTreemap;
use schema::Name;
use smallvec::SmallVec;
use std::ops::ControlFlow;
use store::{EntryId, EntryView, Lookup, SetId};

/// Progress of a walk down.
#[derive(Debug)]
pub(super) struct Descent {
    top: EntryId,
    reach: Reach,
    followed: Followed,
    found: RoaringTreemap,
    /// Members found that may have members themselves and are not expanded yet.
    groups: Vec<EntryId>,
    /// The group being expanded.
    asked: Option<Box<Expansion>>,
    looked: u64,
}

/// A group being expanded, and the progress of that.
#[derive(Debug)]
struct Expansion {
    group: EntryId,
    /// Whether the subject may know the group's members; `None` until that is computed.
    known: Option<bool>,
    /// Number of values in the entry's row already looked at.
    values: usize,
    /// The sets already read.
    sets: SmallVec<[SetId; 2]>,
    /// The set being read, and the last member read.
    set: Option<(SetId, EntryId)>,
    described: Option<Box<Described>>,
}

/// Result of expanding a group.
enum Answer {
    All,
    /// All members were replaced between two slices.
    Exchanged,
}

impl Descent {
    pub fn new(top: EntryId, reach: Reach, followed: Followed) -> Descent {
        Descent {
            top,
            reach,
            followed,
            found: RoaringTreemap::new(),
            groups: Vec::new(),
            asked: Some(Box::new(Expansion::new(top))),
            looked: 0,
        }
    }

    /// Takes the ids of all members found.
    pub fn found(&mut self) -> RoaringTreemap {
        std::mem::take(&mut self.found)
    }
}

impl Expansion {
    fn new(group: EntryId) -> Expansion {
        Expansion {
            group,
            known: None,
            values: 0,
            sets: SmallVec::new(),
            set: None,
            described: None,
        }
    }
}

impl PlainView<'_> {
    /// Continues a walk until it or the slice ends.
    pub(super) fn descend(&self, descent: &mut Descent) -> Result<Progress<()>, Stop> {
        loop {
            if let Some(mut asked) = descent.asked.take() {
                match self.ask_members(descent, &mut asked)? {
                    Progress::Done(Answer::All) => {}
                    Progress::Done(Answer::Exchanged) => {
                        // Starts again, so that the result never mixes old and new members.
                        let followed = std::mem::take(&mut descent.followed);
                        *descent = Descent::new(descent.top, descent.reach, followed);
                        continue;
                    }
                    Progress::Yield => {
                        descent.asked = Some(asked);
                        return Ok(Progress::Yield);
                    }
                }
            }
            let Some(group) = descent.groups.pop() else {
                return Ok(Progress::Done(()));
            };
            descent.asked = Some(Box::new(Expansion::new(group)));
        }
    }

    fn ask_members(
        &self,
        descent: &mut Descent,
        asked: &mut Expansion,
    ) -> Result<Progress<Answer>, Stop> {
        let Some(view) = self.snapshot.entry(asked.group)? else {
            return Ok(Progress::Done(Answer::All));
        };
        if !done!(self.ask_row(descent, asked, &view)?) {
            return Ok(Progress::Done(Answer::All));
        }
        if view.has_links() {
            match done!(self.ask_sets(descent, asked)?) {
                None => return Ok(Progress::Done(Answer::All)),
                Some(Answer::Exchanged) => return Ok(Progress::Done(Answer::Exchanged)),
                Some(Answer::All) => {}
            }
        }
        if descent.reach == Reach::Everything && self.catalog.has_dynamic_groups {
            done!(self.ask_description(descent, asked)?);
        }
        Ok(Progress::Done(Answer::All))
    }

    /// Adds the members stored in the entry's row; false if the subject may not know them.
    fn ask_row(
        &self,
        descent: &mut Descent,
        asked: &mut Expansion,
        view: &EntryView<'_>,
    ) -> Result<Progress<bool>, Stop> {
        let schema = &self.catalog.schema;
        let (mut at, mut normal) = (0, Vec::new());
        let followed = descent.followed.clone();
        let stored = followed.iter().flat_map(|it| {
            let numbers = it.numbers.iter();
            numbers.filter_map(|number| Some((it.type_id, view.attribute(*number)?)))
        });
        for (type_id, attribute) in stored {
            if !self.knows_members_of(asked.group, &mut asked.known)? {
                return Ok(Progress::Done(false));
            }
            for value in attribute.values() {
                at += 1;
                if at <= asked.values {
                    continue;
                }
                done!(self.take_look(descent)?);
                normal.clear();
                let done = schema.normalise_equality(type_id, value, &mut normal);
                let name = done.is_ok().then(|| Name::from_bytes(without_uid(&normal)));
                if let Some(name) = name
                    && let Lookup::Found(id) = self.snapshot.find(&name)?
                    && id != EntryId::ROOT
                {
                    self.add_member(descent, id)?;
                }
                asked.values = at;
            }
        }
        Ok(Progress::Done(true))
    }

    /// Adds the members that are links; `None` if the subject may not know them.
    fn ask_sets(
        &self,
        descent: &mut Descent,
        asked: &mut Expansion,
    ) -> Result<Progress<Option<Answer>>, Stop> {
        let followed = descent.followed.clone();
        let mut sets = self.snapshot.linked_sets(asked.group)?;
        sets.retain(|set| followed.iter().any(|it| it.numbers.contains(&set.number)));
        let is_gone = |set: &SetId| !sets.iter().any(|it| it.set == *set);
        if asked.set.is_some_and(|(set, _)| is_gone(&set)) || asked.sets.iter().any(is_gone) {
            return Ok(Progress::Done(Some(Answer::Exchanged)));
        }
        for set in sets.iter().map(|it| it.set) {
            if asked.sets.contains(&set) {
                continue;
            }
            if !self.knows_members_of(asked.group, &mut asked.known)? {
                return Ok(Progress::Done(None));
            }
            let at = asked.set.filter(|(of, _)| *of == set);
            let after = at.map_or(EntryId::ROOT, |(_, last)| last);
            asked.set = Some((set, after));
            for member in self.snapshot.members_after(set, after)? {
                let member = member?;
                done!(self.take_look(descent)?);
                let id = match self.snapshot.entry(member)? {
                    Some(_) => Some(member),
                    None => self.snapshot.named_by(member)?,
                };
                if let Some(id) = id {
                    self.add_member(descent, id)?;
                }
                asked.set = Some((set, member));
            }
            asked.sets.push(set);
            asked.set = None;
        }
        Ok(Progress::Done(Some(Answer::All)))
    }

    /// Adds the entries that the searches of a dynamic group find.
    fn ask_description(
        &self,
        descent: &mut Descent,
        asked: &mut Expansion,
    ) -> Result<Progress<()>, Stop> {
        let mut described = match asked.described.take() {
            Some(described) => described,
            None => match self.described_by(asked.group)? {
                Some(described) => Box::new(described),
                None => return Ok(Progress::Done(())),
            },
        };
        if !self.knows_members_of(asked.group, &mut asked.known)? {
            return Ok(Progress::Done(()));
        }
        loop {
            let each = &mut |found: Option<EntryId>| {
                done!(self.take_look(descent)?);
                if let Some(id) = found {
                    self.add_member(descent, id)?;
                }
                Ok(Progress::Done(ControlFlow::Continue(())))
            };
            if self.walk_described(&mut described, each)? {
                return Ok(Progress::Done(()));
            }
            // No looks are left, or a slice of candidates was collected.
            if self.pace.is_divided() {
                asked.described = Some(described);
                return Ok(Progress::Yield);
            }
        }
    }

    fn take_look(&self, descent: &mut Descent) -> Result<Progress<()>, Stop> {
        done!(self.pace.look(1));
        descent.looked += 1;
        self.pace.require_short(descent.looked)?;
        Ok(Progress::Done(()))
    }

    fn add_member(&self, descent: &mut Descent, id: EntryId) -> Result<(), Stop> {
        if !descent.found.insert(id.0) {
            return Ok(());
        }
        refuse_too_many(descent.found.len(), MET_MAX)?;
        if descent.reach != Reach::Direct && self.may_have_members(descent, id)? {
            descent.groups.push(id);
        }
        Ok(())
    }

    fn may_have_members(&self, descent: &Descent, id: EntryId) -> Result<bool, Stop> {
        let Some(view) = self.snapshot.entry(id)? else {
            return Ok(false);
        };
        let mut numbers = descent.followed.iter().flat_map(|it| it.numbers.iter());
        Ok(view.has_links()
            || numbers.any(|it| view.attribute(*it).is_some())
            || (descent.reach == Reach::Everything && self.has_description(&view)))
    }

    /// Like [`PlainView::may_know_members`], computed once for each group.
    fn knows_members_of(&self, group: EntryId, known: &mut Option<bool>) -> Result<bool, Stop> {
        if let Some(known) = known {
            return Ok(*known);
        }
        let knows = self.known_group(group)?.is_some();
        *known = Some(knows);
        Ok(knows)
    }
}

/// Cuts the bit string off the normal form of a name with optional UID (RFC 4517 §3.3.21), where it
/// follows the octets `00 03`.
fn without_uid(normal: &[u8]) -> &[u8] {
    let mut at = 0;
    while at + 1 < normal.len() {
        match normal[at..at + 2] {
            [0, 3] => return &normal[..at],
            [0, _] => at += 2,
            _ => at += 1,
        }
    }
    normal
}
