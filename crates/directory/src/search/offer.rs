//! Tests an entry against a search, and sends it.

use crate::context::{Context, VisibleEntry};
use crate::search::call::{SearchCall, Step};
use crate::search::cursor::Cursor;
use crate::search::end::park;
use crate::search::extras::Extras;
use crate::search::large;
use crate::search::large::{Gone, Large};
use protocol::response;
use schema::Truth;
use state::done;
use state::matched_values::MatchedValues;
use state::progress::Progress;
use state::stop::Stop;
use store::EntryId;

/// Whether an entry of the region matches the filter and is of the kind that the search returns.
#[inline]
pub(crate) fn is_wanted(
    context: &Context<'_>,
    cursor: &mut Cursor,
    base: EntryId,
    entry: &VisibleEntry<'_, '_>,
) -> Result<Progress<bool>, Stop> {
    let catalog = context.catalog;
    let of_other_kind =
        (catalog.has_referrals && !cursor.manage_dsa_it && entry.has_class("referral"))
            || (cursor.deref_searching
                && catalog.has_aliases
                && entry.id != base
                && entry.has_class("alias"))
            || (cursor.hides_subentries && entry.has_class("subentry"));
    let filter = &cursor.filter;
    let wanted = !of_other_kind
        && Truth::True
            == done!(match entry.is_longer_than(cursor.whole_bytes_max) {
                false => entry.evaluate_sliced(filter, &mut cursor.buffer)?,
                true => context.evaluate_paced(filter, entry, &mut cursor.buffer)?,
            });
    if let Some(explaining) = cursor.explaining() {
        explaining.tested += 1;
    }
    Ok(Progress::Done(wanted))
}

/// Appends an entry to the output, or begins one that is sent in parts; no other entry can be sent
/// before its end. Yields, and appends nothing, if the slice is over before the entry is complete.
pub(crate) fn send(
    context: &Context<'_>,
    cursor: &mut Cursor,
    entry: &VisibleEntry<'_, '_>,
    out: &mut Vec<u8>,
) -> Result<Progress<()>, Stop> {
    if entry.has_links() || context.catalog.has_dynamic_groups {
        cursor.large = done!(begin_large(context, cursor, entry)?);
        if cursor.large.is_some() {
            return Ok(Progress::Done(()));
        }
    }
    let catalog = context.catalog;
    cursor.buffer.clear();
    entry.write_name(&mut cursor.buffer)?;
    let mark = response::begin_search_entry(out, cursor.id, &cursor.buffer);
    match &mut cursor.extras {
        None => {
            let written = cursor.projection.write(catalog, entry, None, out);
            done!(whole(written, mark.start(), out)?);
            response::finish_search_entry(out, mark, &[]);
        }
        Some(extras) if extras.counting.is_some() || extras.explaining.is_some() => {
            // The entry is known to be one that the client could receive.
            out.truncate(mark.start());
            extras.counting.iter_mut().for_each(|it| it.note());
            if let Some(explaining) = &mut extras.explaining {
                // Pages and limits count the entry as if it were sent.
                explaining.matched += 1;
                cursor.sent += 1;
            }
            return Ok(Progress::Done(()));
        }
        Some(extras) => {
            let matched = extras.matched.as_ref();
            let written = cursor.projection.write(catalog, entry, matched, out);
            done!(whole(written, mark.start(), out)?);
            extras.write_rights(context, entry, out);
            let controls = extras.controls_of(context, entry);
            let controls = done!(whole(controls, mark.start(), out)?);
            response::finish_search_entry(out, mark, &controls);
        }
    }
    cursor.sent += 1;
    context.count_entry();
    Ok(Progress::Done(()))
}

/// Passes `written` on; unless it is done, first removes the incomplete entry from the output.
#[inline(always)]
fn whole<T>(
    written: Result<Progress<T>, Stop>,
    start: usize,
    out: &mut Vec<u8>,
) -> Result<Progress<T>, Stop> {
    if !matches!(written, Ok(Progress::Done(_))) {
        out.truncate(start);
    }
    written
}

/// Begins a large entry; `None` if the entry is not large.
fn begin_large(
    context: &Context<'_>,
    cursor: &Cursor,
    entry: &VisibleEntry<'_, '_>,
) -> Result<Progress<Option<Box<Large>>>, Stop> {
    let extras = cursor.extras.as_ref();
    let sends_values = |it: &Extras| it.counting.is_none() && it.explaining.is_none();
    if !extras.is_none_or(|it| sends_values(it)) {
        return Ok(Progress::Done(None));
    }
    let wanted = (&cursor.projection, matched(cursor));
    let large = large::selected(context.spools(), entry, cursor.id, wanted)?;
    let Some(mut large) = done!(large) else {
        return Ok(Progress::Done(None));
    };
    if let Some(extras) = extras {
        extras.write_rights(context, entry, &mut large.attributes);
        large.controls = done!(extras.controls_of(context, entry)?);
    }
    Ok(Progress::Done(Some(large)))
}

/// Continues the large entry of a search for one slice. `None` when it was sent or deleted, so that
/// the search goes on.
pub(crate) fn continue_large(
    context: &Context<'_>,
    call: &SearchCall<'_>,
    cursor: &mut Cursor,
    out: &mut Vec<u8>,
) -> Result<Option<Step>, Stop> {
    let Some(mut large) = cursor.large.take() else {
        return Ok(None);
    };
    match large.step(context, matched(cursor), out)? {
        Gone::Sent => {
            cursor.sent += 1;
            context.count_entry();
            Ok(None)
        }
        Gone::Vanished => Ok(None),
        Gone::NotYet => {
            let is_inside = large.is_inside();
            cursor.large = Some(large);
            match is_inside {
                // Limits cannot end the search inside a message.
                true => Ok(Some(Step::Parked)),
                false => park(call, cursor, out).map(Some),
            }
        }
    }
}

/// The matched values filter of a search; `None` if it has none.
fn matched(cursor: &Cursor) -> Option<&MatchedValues> {
    cursor.extras.as_ref()?.matched.as_ref()
}
