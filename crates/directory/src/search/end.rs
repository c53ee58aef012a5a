//! Ends a search or a slice of it: limits, full pages, the result with its controls.

use crate::context::{Context, VisibleEntry};
use crate::search::call::{SearchCall, Step};
use crate::search::cursor::Cursor;
use crate::search::limits::End;
use crate::search::{limits, page};
use protocol::{LdapResult, OwnedControl, ResultCode, ResultKind, response};
use state::advice;
use state::stop::Stop;

/// Result of a slice.
pub(crate) enum Ran {
    /// All candidates have been looked at.
    Done,
    Ended(End),
    /// Candidates are left.
    Paused,
}

/// Writes the result of a search that has looked at all candidates.
#[inline]
pub(crate) fn write_everything(cursor: &mut Cursor, out: &mut Vec<u8>) {
    if let Some(extras) = &mut cursor.extras
        && let Some(counting) = extras.counting.take()
    {
        extras.done.push(counting.finish());
    }
    finish_page(cursor, &[], out);
}

impl End {
    pub fn write(
        self,
        context: &Context<'_>,
        call: &SearchCall<'_>,
        cursor: &Cursor,
        out: &mut Vec<u8>,
    ) -> Result<Step, Stop> {
        match self {
            End::PageFull => finish_full_page(call, cursor, out),
            End::SizeLimit => {
                let text = limits::size_text(&cursor.limits, &call.catalog.limits);
                finish_with(cursor, ResultCode::SIZE_LIMIT_EXCEEDED, text, out);
            }
            End::PagedLimit => {
                let text = limits::paged_text(&cursor.limits, &call.catalog.limits);
                finish_with(cursor, ResultCode::SIZE_LIMIT_EXCEEDED, text, out);
            }
            End::CandidateLimit => {
                let mut text = limits::candidate_text(&cursor.limits, &call.catalog.limits);
                text.push_str(&advice::sentence(context, &cursor.filter)?);
                finish_with(cursor, ResultCode::ADMIN_LIMIT_EXCEEDED, text, out);
            }
        }
        Ok(Step::Finished)
    }
}

/// The reason to end before the next candidate, if there is one. A search never ends before a
/// hidden entry, so that its end does not reveal whether one follows.
#[inline]
pub(crate) fn end_before(
    context: &Context<'_>,
    cursor: &Cursor,
    next: Option<&VisibleEntry<'_, '_>>,
) -> Result<Option<End>, Stop> {
    match page_or_limit(cursor) {
        Some(end) if !context.hides(next)? => Ok(Some(end)),
        _ => Ok(None),
    }
}

/// Whether the page has all its entries; candidates are then tested only to find out whether there
/// is another page.
pub(crate) fn is_page_full(cursor: &Cursor) -> bool {
    cursor
        .page
        .is_some_and(|page| cursor.sent >= u64::from(page.size))
}

/// Once the limit on candidates is reached: the end of the page if it is full, else that limit.
#[inline]
fn page_or_limit(cursor: &Cursor) -> Option<End> {
    let limit = candidate_limit(cursor)?;
    Some(match is_page_full(cursor) {
        true => End::PageFull,
        false => limit,
    })
}

/// Does not count a hidden candidate outside the region as looked at.
#[inline]
pub(crate) fn uncount_hidden(
    context: &Context<'_>,
    cursor: &mut Cursor,
    entry: &VisibleEntry<'_, '_>,
) -> Result<(), Stop> {
    if cursor.limits.candidates_max != 0 && context.hides(Some(entry))? {
        cursor.limits.examined -= 1;
    }
    Ok(())
}

pub(crate) fn candidate_limit(cursor: &Cursor) -> Option<End> {
    let limits = &cursor.limits;
    let reached = limits.candidates_max != 0 && limits.examined >= limits.candidates_max;
    reached.then_some(End::CandidateLimit)
}

pub(crate) fn size_limit(cursor: &Cursor) -> Option<End> {
    let limit = cursor.limits.entries_max;
    let reached = limit != 0 && cursor.limits.sent_before + cursor.sent >= limit;
    reached.then_some(End::SizeLimit)
}

/// The server's limit on all pages together; `None` if it is not reached.
pub(crate) fn paged_limit(cursor: &Cursor) -> Option<End> {
    let limits = &cursor.limits;
    let limit = limits.paged_entries_max;
    (limit != 0 && limits.sent_before + cursor.sent >= limit).then_some(End::PagedLimit)
}

/// Parks the search for its next slice, or ends it if its time is up.
pub(crate) fn park(
    call: &SearchCall<'_>,
    cursor: &mut Cursor,
    out: &mut Vec<u8>,
) -> Result<Step, Stop> {
    let now = call.lent.clock.now_us();
    let began = *cursor.began_us.get_or_insert(now);
    let limit = cursor.limits.time_ms_max;
    if limit != 0 && now.saturating_sub(began) > limit * 1_000 {
        if is_page_full(cursor) {
            finish_full_page(call, cursor, out);
            return Ok(Step::Finished);
        }
        let text = limits::time_text(&cursor.limits, &call.catalog.limits);
        finish_with(cursor, ResultCode::TIME_LIMIT_EXCEEDED, text, out);
        return Ok(Step::Finished);
    }
    Ok(Step::Parked)
}

/// Writes success with a cookie for the start of the next page.
fn finish_full_page(call: &SearchCall<'_>, cursor: &Cursor, out: &mut Vec<u8>) {
    let page = cursor.page.expect("only a paged search has a full page");
    let mut at = page.start;
    // The number of regions fits, see `alias::regions`.
    at.region = cursor.area as u16;
    at.after = cursor.after;
    at.sent += cursor.sent;
    finish_page(cursor, &call.cookie_key.seal(&at), out);
}

/// Writes success, with a paging cookie if the search is paged (empty on the last page).
pub(crate) fn finish_page(cursor: &Cursor, cookie: &[u8], out: &mut Vec<u8>) {
    let result = LdapResult::success();
    let controls: &[OwnedControl] = match (cursor.page, &cursor.extras) {
        (Some(_), None) => &[page::response(cookie)],
        (None, None) => &[],
        (None, Some(extras)) => &extras.done_controls(cursor.limits.examined),
        (Some(_), Some(extras)) => {
            let done = extras.done_controls(cursor.limits.examined);
            &[&done[..], &[page::response(cookie)]].concat()
        }
    };
    response::write_result(out, cursor.id, ResultKind::SearchDone, &result, controls);
}

/// Writes success with the response controls.
pub(crate) fn write_done(cursor: &Cursor, out: &mut Vec<u8>) {
    finish_page(cursor, &[], out);
}

fn finish_with(cursor: &Cursor, code: ResultCode, text: String, out: &mut Vec<u8>) {
    let result = LdapResult::new(code, text);
    let examined = cursor.limits.examined;
    let extras = cursor.extras.as_ref();
    let controls = extras.map_or_else(Vec::new, |it| it.own_controls(examined));
    response::write_result(out, cursor.id, ResultKind::SearchDone, &result, &controls);
}
