//! Admission of searches that no index narrows down: clients may reject them (reject and permit
//! unindexed search, Ping Identity), and a subject may run only a limited number at a time.

use crate::context::Context;
use crate::search::cursor::{AreaKind, Cursor};
use crate::search::needs::Needs;
use crate::search::slice;
use policy::Whose;
use protocol::ResultCode;
use schema::Filter;
use state::advice;
use state::stop::Stop;
use state::view::View;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Refuses a search that no index narrows down, even one for all entries. Reading the few entries
/// of a small subtree is allowed.
pub(crate) fn refuse(context: &Context<'_>, cursor: &Cursor) -> Result<(), Stop> {
    for area in cursor
        .areas
        .iter()
        .filter(|it| it.kind == AreaKind::Entries)
    {
        let plan = context.plan(&cursor.filter, &area.region)?;
        if plan.is_unindexed() || plan.is_scan() && plan.exact() {
            // A plan contains numbers of entries, hidden ones included.
            let plan = match context.sees_everything() {
                true => format!(": {}", plan.explain(&context.catalog.schema)),
                false => String::new(),
            };
            let advice = advice::sentence(context, &cursor.filter)?;
            return Stop::refuse(
                ResultCode::UNWILLING_TO_PERFORM,
                format!("unindexed, and the client wants no such search{plan}{advice}"),
            );
        }
    }
    Ok(())
}

/// Counts of the running unindexed searches by subject, or by address for anonymous clients.
/// Searches that fit into one slice are not counted.
#[derive(Debug, Default)]
pub(crate) struct Running {
    by_subject: Mutex<HashMap<String, u32>>,
}

/// A running search's place; dropping it gives the place back.
#[derive(Debug)]
pub(crate) struct Permit {
    running: Arc<Running>,
    subject: String,
}

impl Running {
    /// A place for one more search of a subject; `None` if it has `max` already (0 for no limit).
    fn admit(self: &Arc<Self>, subject: &str, max: u32) -> Option<Permit> {
        let mut by_subject = self.by_subject();
        let own = by_subject.entry(subject.to_owned()).or_default();
        if max != 0 && *own >= max {
            return None;
        }
        *own += 1;
        Some(Permit {
            running: Arc::clone(self),
            subject: subject.to_owned(),
        })
    }

    fn by_subject(&self) -> MutexGuard<'_, HashMap<String, u32>> {
        self.by_subject
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl state::view::Permit for Permit {}

impl Drop for Permit {
    fn drop(&mut self) {
        let mut by_subject = self.running.by_subject();
        if let Some(own) = by_subject.get_mut(&self.subject) {
            *own -= 1;
            if *own == 0 {
                by_subject.remove(&self.subject);
            }
        }
    }
}

/// Whether an unindexed search has to wait for its turn before it is admitted; true once for each
/// search. So a client that sends many, or repeats refused ones, gets no more turns than others. In
/// a small directory no search waits.
#[cold]
pub(crate) fn waits(context: &Context<'_>, cursor: &mut Cursor) -> Result<bool, Stop> {
    let waits = !cursor.has_waited && !is_small(context)?;
    cursor.has_waited = true;
    Ok(waits)
}

/// Admits an unindexed search until its cursor is dropped.
#[cold]
pub(crate) fn admit(
    context: &Context<'_>,
    needs: &Needs<'_>,
    cursor: &mut Cursor,
) -> Result<(), Stop> {
    if cursor.permit.is_none() {
        cursor.permit = permit(context, needs, &cursor.filter)?.map(Box::new);
    }
    Ok(())
}

/// Whether one slice can read every entry.
fn is_small(context: &View<'_>) -> Result<bool, Stop> {
    Ok(context.entry_count()? <= slice::TURNS.into())
}

/// A place for an unindexed search, held until it is dropped; `None` in a small directory, which
/// needs none. Refuses with `busy` at the limit.
#[cold]
pub(crate) fn permit(
    context: &Context<'_>,
    needs: &Needs<'_>,
    filter: &Filter,
) -> Result<Option<Permit>, Stop> {
    let (limits, whose) = needs.limits;
    let max = limits.unindexed_searches_max;
    needs.shared.unindexed.place(context, filter, (max, whose))
}

impl Running {
    /// Like [`permit`], with the limit of the given subject or group.
    pub fn place(
        self: &Arc<Self>,
        context: &View<'_>,
        filter: &Filter,
        (max, whose): (u32, Whose),
    ) -> Result<Option<Permit>, Stop> {
        if is_small(context)? {
            return Ok(None);
        }
        if let Some(permit) = self.admit(&context.subject.purse(), max) {
            return Ok(Some(permit));
        }
        let whose = context.catalog.limits.describe(whose);
        let advice = advice::sentence(context, filter)?;
        Stop::refuse(
            ResultCode::BUSY,
            format!(
                "limit of {max} searches at a time that no index helps (unindexed_searches_max), \
                 for {whose}: try again later{advice}"
            ),
        )
    }
}
