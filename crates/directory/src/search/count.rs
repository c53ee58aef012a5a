//! Matching entry count control (Ping Identity): the number of matching entries instead of the
//! entries.

use crate::context::Context;
use crate::search::area::Area;
use protocol::control::{EntryCount, MatchingEntryCountRequest, MatchingEntryCountResponse};
use protocol::{OwnedControl, oid};
use state::stop::Stop;
use store::EntryId;

/// Progress of counting.
#[derive(Debug)]
pub(crate) struct Counting {
    asked: MatchingEntryCountRequest,
    matched: u64,
    indexed: bool,
    /// Plans by which the candidates were found, in words.
    plans: Vec<String>,
}

/// The control for entries that are not stored.
pub(crate) fn of_virtual(asked: MatchingEntryCountRequest, matched: u64) -> OwnedControl {
    let counting = Counting {
        asked,
        matched,
        indexed: true,
        plans: vec!["entries that are not stored".to_owned()],
    };
    counting.finish()
}

/// Way to count.
pub(crate) enum Counted {
    /// The number is known without looking at entries, or cannot be known as the client wants it:
    /// the response control.
    Known(OwnedControl),
    /// Every candidate is tested.
    ByTesting(Box<Counting>),
}

impl Counting {
    /// Chooses how to count the entries of these areas.
    ///
    /// Indexes and plans know all entries. For a subject from which some are hidden, every
    /// candidate is tested, and no plan is reported.
    pub fn of(
        context: &Context<'_>,
        areas: &[Area],
        filter: &schema::Filter,
        asked: MatchingEntryCountRequest,
    ) -> Result<Counted, Stop> {
        let mut indexed = true;
        let mut candidates = 0_u64;
        let entries = context.entry_count()?;
        let mut plans = Vec::new();
        for area in areas {
            let plan = context.plan(filter, &area.region)?;
            if context.sees_everything() {
                plans.push(plan.explain(&context.catalog.schema));
            }
            indexed &= !(plan.is_scan() || plan.is_unindexed());
            if indexed && context.sees_everything() {
                // A large candidate set is collected in slices; only a bound on its size is known
                // now.
                let found = context.begin_candidates(&plan, EntryId(0))?;
                candidates += found.count().unwrap_or(entries);
            }
        }
        let counting = Counting {
            asked,
            matched: 0,
            indexed,
            plans,
        };
        let count = match indexed {
            true if !context.sees_everything() => None,
            true if candidates == 0 => Some(EntryCount::Examined(0)),
            true if candidates <= u64::from(asked.examined_max) => None,
            true => Some(EntryCount::UpperBound(number(candidates))),
            false if asked.process_unindexed => None,
            false => Some(EntryCount::Unknown),
        };
        Ok(match count {
            Some(count) => Counted::Known(counting.control(count)),
            None => Counted::ByTesting(Box::new(counting)),
        })
    }

    /// Counts one matching entry that the subject may see.
    pub fn note(&mut self) {
        self.matched += 1;
    }

    /// The control with the number, after the last candidate.
    pub fn finish(&self) -> OwnedControl {
        self.control(EntryCount::Examined(number(self.matched)))
    }

    fn control(&self, count: EntryCount) -> OwnedControl {
        let mut value = MatchingEntryCountResponse {
            count,
            debug_information: Vec::new(),
            indexed: self.indexed,
            short_circuited: None,
            fully_indexed: None,
            in_scope: None,
            remaining: None,
        };
        if self.asked.debug_information {
            value.debug_information = self.plans.iter().map(String::as_str).collect();
        }
        if self.asked.extended_response {
            // Candidates of an index are always tested against filter and scope.
            value.short_circuited = Some(false);
            value.fully_indexed = Some(false);
            value.in_scope = Some(false);
        }
        let oid = oid::MATCHING_ENTRY_COUNT_RESPONSE;
        OwnedControl::with_value(oid, false, |out| value.encode(out))
    }
}

/// The number as the control holds it, at most 2^31 - 1.
fn number(count: u64) -> u32 {
    u32::try_from(count)
        .unwrap_or(u32::MAX)
        .min(i32::MAX as u32)
}
