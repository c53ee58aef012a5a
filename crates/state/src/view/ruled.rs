//! Access rules of the directory, judged for the subject of a view.
//!
//! The rules replace the built-in ones for every entry but those of the configuration and the
//! monitor, which stay the administrator's; `rule_entries` has the exception. Questions about an
//! entry are answered from the entry as stored, whatever the subject may see of it.

use super::below::Below;
use super::facts::{OfEntry, OfSubject, Place};
use super::plain::PlainView;
use super::remembered::{Ruled, Version};
use super::served::Served;
use super::sights::Sight;
use crate::stop::Stop;
use policy::Subject;
use policy::access::compile::RuleSet;
use policy::access::decide::{Question, Ruling, SubjectRules};
use policy::access::facts::EntryFacts;
use policy::access::hours::WeekMinute;
use policy::access::objects::Object;
use policy::access::outlook::{Found, Outlook, Seen};
use policy::access::right::Right;
use protocol::Scope;
use schema::{Membership, Name};
use std::rc::Rc;
#[cfg(debug_assertions)]
use std::sync::atomic::{AtomicBool, Ordering};
use store::{EntryId, EntryView};

/// Whether kept decisions are compared with decisions made anew.
#[cfg(debug_assertions)]
static COMPARES: AtomicBool = AtomicBool::new(false);

/// Makes this process compare each decision by kept rules with one made anew, and panic where they
/// differ. For tests: a release does not have it.
#[cfg(debug_assertions)]
pub fn compare_kept_rules() {
    COMPARES.store(true, Ordering::Relaxed);
}

/// Panics unless what is kept is equal to what was made anew, where a test asks for that.
#[inline]
fn compared(is_equal: impl FnOnce() -> bool) {
    #[cfg(debug_assertions)]
    if COMPARES.load(Ordering::Relaxed) {
        assert!(is_equal(), "kept access rules decide as rules judged anew");
    }
    #[cfg(not(debug_assertions))]
    let _ = is_equal;
}

/// The id of an entry that is not stored yet.
const UNSTORED: EntryId = EntryId(u64::MAX);

/// A right that an operation needs, and the thing that it is a right to.
#[derive(Debug, Clone, Copy)]
pub struct Claim<'v> {
    /// The right.
    pub right: Right,
    /// The thing.
    pub object: Object,
    /// The value of the attribute; `None` for all values, or where there is none.
    pub value: Option<&'v [u8]>,
}

impl Claim<'_> {
    /// A right to an entry itself.
    pub fn entry(right: Right) -> Claim<'static> {
        Claim::of(right, Object::Entry)
    }

    /// A right to a thing with all its values.
    pub fn of(right: Right, object: Object) -> Claim<'static> {
        Claim {
            right,
            object,
            value: None,
        }
    }
}

impl PlainView<'_> {
    /// Whether the subject is judged by rules of the directory.
    #[inline]
    pub fn is_ruled(&self) -> bool {
        self.has_rules
    }

    /// The rules for the subject; `None` if the built-in ones hold.
    pub(super) fn ruled(&self) -> Option<&Ruled> {
        if !self.has_rules {
            return None;
        }
        let set = self.catalog.access_rules.as_ref()?;
        Some(self.ruled.get_or_init(|| self.judged(set)))
    }

    /// The rules for the subject: those that the serving thread has kept, if they still hold.
    fn judged(&self, set: &RuleSet) -> Rc<Ruled> {
        let second = match set.tells_time() {
            true => i64::try_from(self.now_us() / 1_000_000).unwrap_or_default(),
            false => 0,
        };
        let minute = (second > 0).then_some(second as u64 / 60);
        let kept = self.pace.served.map(Served::judged);
        let known = kept.and_then(|it| it.find(set, self.subject));
        if let Some(known) = known.filter(|it| self.still_holds(it, minute)) {
            return known;
        }
        let facts = OfSubject::new(self);
        let asker = self.subject.asker(minute.map(|_| WeekMinute::at(second)));
        let ruled = Ruled::new(set.of_subject(asker, &facts), self.subject, minute);
        ruled.begin(self.moment());
        match kept {
            Some(kept) => kept.keep(ruled),
            None => Rc::new(ruled),
        }
    }

    /// Whether rules that were judged at an earlier operation hold for this one. In another version
    /// of the directory the subject's groups and its entry are asked about again.
    #[inline]
    fn still_holds(&self, ruled: &Ruled, minute: Option<u64>) -> bool {
        let moment = self.moment();
        if !ruled.holds_at(minute) {
            return false;
        }
        if ruled.is_at(moment) {
            return true;
        }
        let holds = ruled.rules.still_hold(&OfSubject::new(self));
        compared(|| {
            !holds || {
                let (set, asker) = (ruled.rules.set(), ruled.rules.asker().clone());
                let anew = set.of_subject(asker, &OfSubject::new(self));
                anew.is_equal(&ruled.rules)
            }
        });
        if holds {
            ruled.begin(moment);
        }
        holds
    }

    fn moment(&self) -> Version {
        Version {
            snapshot: self.snapshot.version(),
            indexes: self.catalog.least_version,
        }
    }

    /// A set of rules, judged for the subject.
    pub(super) fn judged_under(&self, set: &RuleSet) -> SubjectRules {
        let minute = match self.now_us() {
            0 => None,
            now_us => i64::try_from(now_us / 1_000_000).ok().map(WeekMinute::at),
        };
        let facts = OfSubject::new(self);
        set.of_subject(self.subject.asker(minute), &facts)
    }

    /// The subject's rights to see an entry; `None` if the built-in rules hold.
    #[inline]
    pub(super) fn sight(&self, id: EntryId, row: &EntryView<'_>) -> Result<Option<&Sight>, Stop> {
        match self.has_rules {
            false => Ok(None),
            true => self.judged_sight(id, row),
        }
    }

    /// The subject's rights to see an entry that was judged lately.
    #[inline]
    pub(super) fn recent_sight(&self, id: EntryId) -> Option<&Sight> {
        let ruled = self.ruled().filter(|it| it.is_kept())?;
        ruled.sight(ruled.recent(id)?)
    }

    fn judged_sight(&self, id: EntryId, row: &EntryView<'_>) -> Result<Option<&Sight>, Stop> {
        let Some(ruled) = self.ruled() else {
            return Ok(None);
        };
        if let Some(outlook) = self.outlook_on(ruled, id, row)? {
            self.note_judged(id, &outlook);
            let facts = OfEntry::stored(self, Place { id, row }, Some(ruled));
            let number = match outlook.seen(&facts) {
                Found::Known(number) if !facts.is_cut() => number,
                Found::Walked(seen, trail) if !facts.is_cut() => {
                    let number = ruled.sight_of(self.catalog, seen);
                    if let Some(trail) = trail {
                        ruled.learn_walk(&outlook, &trail, number);
                    }
                    number
                }
                // What cannot be read gives no right.
                _ => ruled.sight_of(self.catalog, Seen::default()),
            };
            if !facts.is_cut() {
                ruled.remember(id, number);
            }
            let sight = ruled.sight(number);
            compared(|| facts.is_cut() || self.is_sight_alone(ruled, id, row, sight));
            return Ok(sight);
        }
        let number = match ruled.recent(id).filter(|_| ruled.is_kept()) {
            Some(known) if id != UNSTORED => known,
            _ => {
                let seen = self.seen_alone(ruled, id, row).unwrap_or_default();
                let number = ruled.sight_of(self.catalog, seen);
                if id != UNSTORED {
                    ruled.remember(id, number);
                }
                number
            }
        };
        Ok(ruled.sight(number))
    }

    /// Judges one entry by itself; `None` if it cannot be read, or its name means nothing.
    fn seen_alone(&self, ruled: &Ruled, id: EntryId, row: &EntryView<'_>) -> Option<Seen> {
        let facts = OfEntry::stored(self, Place { id, row }, None);
        if facts.name().is_within(&self.catalog.config) {
            let sight = self.config_sight(&ruled.rules, facts.name(), Some((id, row)));
            return Some(Seen {
                read: sight.shown.clone(),
                search: sight.shown,
                discloses: sight.discloses,
            });
        }
        let question = Question::about(Object::Entry);
        let seen = Seen {
            read: ruled.rules.objects_of(&facts, Right::Read),
            search: ruled.rules.objects_of(&facts, Right::Search),
            discloses: (ruled.rules.decide(&facts, question, Right::Disclose)).allowed,
        };
        (!facts.is_cut()).then_some(seen)
    }

    /// Whether an entry judged by itself has this sight; true if it cannot be judged.
    fn is_sight_alone(
        &self,
        ruled: &Ruled,
        id: EntryId,
        row: &EntryView<'_>,
        sight: Option<&Sight>,
    ) -> bool {
        let alone = self.seen_alone(ruled, id, row);
        alone.is_none_or(|it| sight.is_some_and(|sight| sight.is_of_entry(&it)))
    }

    /// The decisions about the entries directly below an entry's superior, or about the entry alone
    /// if it is a naming context or the target of a rule names it. `None` if nothing is kept about
    /// it: it is new or of the configuration, or others of its name may wait to be removed.
    #[inline]
    fn outlook_on(
        &self,
        ruled: &Ruled,
        id: EntryId,
        row: &EntryView<'_>,
    ) -> Result<Option<Rc<Outlook>>, Stop> {
        if !ruled.is_kept() || id == UNSTORED || self.snapshot.hides_some()? {
            return Ok(None);
        }
        let superior = row.parent();
        if superior.is_entry() {
            let below = match ruled.below(superior) {
                Some(known) => known,
                None => self.judge_below(ruled, superior)?,
            };
            let Some(below) = below else {
                return Ok(None);
            };
            if let Some(others) = below.others(&self.catalog.schema, row) {
                return Ok(Some(Rc::clone(others)));
            }
        }
        match ruled.alone(id) {
            Some(known) => Ok(known),
            None => Ok(ruled.learn_alone(id, self.ruled_name(row)?)),
        }
    }

    /// The decisions about an entry, as [`PlainView::outlook_on`] finds them.
    fn outlook_of(&self, ruled: &Ruled, id: EntryId) -> Result<Option<Rc<Outlook>>, Stop> {
        if let Some(known) = self.judged_last(id) {
            return Ok(Some(known));
        }
        let Some(row) = self.snapshot.entry(id)? else {
            return Ok(None);
        };
        let outlook = self.outlook_on(ruled, id, &row)?;
        if let Some(outlook) = &outlook {
            self.note_judged(id, outlook);
        }
        Ok(outlook)
    }

    #[cold]
    fn judge_below(&self, ruled: &Ruled, superior: EntryId) -> Result<Option<Rc<Below>>, Stop> {
        let Some(row) = self.snapshot.entry(superior)? else {
            return Ok(None);
        };
        let name = self.ruled_name(&row)?;
        Ok(ruled.learn_superior(superior, name.as_ref(), &self.catalog.schema))
    }

    /// The name of an entry; `None` if it means nothing, or is one of the configuration.
    #[cold]
    fn ruled_name(&self, row: &EntryView<'_>) -> Result<Option<Name>, Stop> {
        let mut spelled = Vec::with_capacity(64);
        self.snapshot.write_name(row, &mut spelled)?;
        let name = std::str::from_utf8(&spelled).ok();
        let name = name.and_then(|it| self.catalog.schema.resolve_name(it).ok());
        Ok(name.filter(|it| !it.is_within(&self.catalog.config)))
    }

    /// Whether the subject has a right to a thing of the entry with this name, which may exist or
    /// not. False where the built-in rules hold.
    ///
    /// # Errors
    /// The database cannot be read.
    pub fn is_given(&self, name: &Name, claim: &Claim<'_>) -> Result<bool, Stop> {
        Ok(self.ruling(name, claim)?.is_some_and(|it| it.allowed))
    }

    /// The decision of the directory's rules; `None` where the built-in rules hold.
    pub(super) fn ruling(&self, name: &Name, claim: &Claim<'_>) -> Result<Option<Ruling>, Stop> {
        let Some(ruled) = self.ruled() else {
            return Ok(None);
        };
        let refused = Ruling {
            allowed: false,
            place: None,
        };
        if name.is_within(&self.catalog.monitor) {
            return Ok(Some(refused));
        }
        let id = self.id_of_asked(name)?;
        if name.is_within(&self.catalog.config) {
            let row = match id {
                Some(id) => self.snapshot.entry(id)?.map(|row| (id, row)),
                None => None,
            };
            let place = row.as_ref().map(|(id, row)| (*id, row));
            let (right, object) = (claim.right, claim.object);
            let allowed = self.sees_of_config(&ruled.rules, name, place, right, object);
            return Ok(Some(Ruling { allowed, ..refused }));
        }
        let (object, value, right) = (claim.object, claim.value, claim.right);
        let kept = id.filter(|_| ruled.is_kept() && !self.heeds_value(claim));
        if let Some(known) = kept.and_then(|it| ruled.decided(it, object, right)) {
            return Ok(Some(known));
        }
        let outlook = match kept {
            Some(id) => self.outlook_of(ruled, id)?,
            None => None,
        };
        let by_id = outlook.is_some().then_some(ruled);
        let facts = OfEntry::named(self, name, id, by_id);
        let ruling = match outlook {
            Some(outlook) => ruled.decide_by(&outlook, &facts, object, right),
            None => (ruled.rules).decide(&facts, Question { object, value }, right),
        };
        match kept {
            // A write must know each time that it was decided by the values of the entry.
            _ if facts.has_read() => self.decided_by_entry.set(true),
            Some(id) if !facts.is_cut() => ruled.remember_decision(id, object, right, ruling),
            _ => (),
        }
        if !facts.is_cut() {
            let alone = || {
                let facts = OfEntry::named(self, name, id, None);
                let ruling = (ruled.rules).decide(&facts, Question { object, value }, right);
                (!facts.is_cut()).then_some(ruling)
            };
            compared(|| alone().is_none_or(|it| it == ruling));
            return Ok(Some(ruling));
        }
        // What cannot be read gives no right, and nothing that follows from it is kept.
        ruled.forget();
        Ok(Some(refused))
    }

    /// Whether rules decided about a change by what the entry holds, so that the decision is good
    /// only while the entry stays as it is.
    pub fn decided_by_entry(&self) -> bool {
        self.decided_by_entry.get()
    }

    /// Whether the value of a claim may turn its decision.
    fn heeds_value(&self, claim: &Claim<'_>) -> bool {
        let set = self.catalog.access_rules.as_ref();
        claim.value.is_some() && set.is_none_or(|it| it.heeds_values(claim.object))
    }

    /// Whether every entry directly below one may be returned; true where the built-in rules hold.
    pub(super) fn returns_children(&self, name: &Name) -> bool {
        let Some(ruled) = self.ruled() else {
            return true;
        };
        let region = ruled.rules.region(name.clone(), Scope::SingleLevel);
        region.held(Right::Read).always.contains(Object::Entry)
    }

    /// Whether a filter may ask for the members of a group.
    pub(super) fn may_ask_members(&self, group: &Membership) -> bool {
        !self.has_rules || matches!(self.known_group(EntryId(group.group)), Ok(Some(_)))
    }

    /// Name of the rule that made a decision.
    pub(super) fn rule_of(&self, ruling: &Ruling) -> String {
        let set = self.catalog.access_rules.as_ref();
        let named = ruling.place.and_then(|it| set?.rules().nth(it.rule));
        named.map_or_else(|| "none".to_owned(), |it| it.name.clone())
    }
}

impl PlainView<'_> {
    /// Whether the subject may act as another one (RFC 4370). No rule of the directory lets anybody
    /// act as the administrator.
    ///
    /// # Errors
    /// The database cannot be read.
    pub fn may_act_as(&self, other: &Subject) -> Result<bool, Stop> {
        let access = &self.catalog.access;
        if access.decide_proxy(self.subject, other).allowed {
            return Ok(true);
        }
        match &other.name {
            Some(name) if !other.is_administrator() => {
                self.is_given(name, &Claim::entry(Right::Proxy))
            }
            _ => Ok(false),
        }
    }
}
