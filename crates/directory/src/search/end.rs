//! Ends a search or a slice of it: limits, full pages, the result with its controls.

use crate::context::{Context, VisibleEntry};
use crate::control::position;
use crate::search::call::{SearchCall, Step};
use crate::search::limits::End;
use crate::search::sink::Sink;
use crate::search::state::Search;
use crate::search::{limits, page};
use protocol::{LdapResult, OwnedControl, ResultCode, ResultKind, response};
use state::advice;
use state::stop::Stop;

/// Writes the result of a search that has looked at all candidates.
#[inline]
pub(crate) fn write_everything(search: &mut Search, sink: &Sink, out: &mut Vec<u8>) {
    if let Sink::Count(counting) = sink {
        search.add_control(counting.finish());
    }
    finish_page(search, sink, &[], out);
}

impl End {
    /// Writes the result of a search that ends for this reason.
    pub fn write(
        self,
        context: &Context<'_>,
        call: &SearchCall<'_>,
        search: &Search,
        sink: &Sink,
        out: &mut Vec<u8>,
    ) -> Result<Step, Stop> {
        let (limits, settings) = (&search.limits, &call.catalog.limits);
        let (code, text) = match self {
            End::PageFull => {
                finish_full_page(call, search, sink, out)?;
                return Ok(Step::Finished);
            }
            End::SizeLimit => (
                ResultCode::SIZE_LIMIT_EXCEEDED,
                limits::size_text(limits, settings),
            ),
            End::PagedLimit => (
                ResultCode::SIZE_LIMIT_EXCEEDED,
                limits::paged_text(limits, settings),
            ),
            End::CandidateLimit => {
                let mut text = limits::candidate_text(limits, settings);
                text.push_str(&advice::sentence(context, &search.criteria.filter)?);
                (ResultCode::ADMIN_LIMIT_EXCEEDED, text)
            }
            End::SortLimit => (
                ResultCode::ADMIN_LIMIT_EXCEEDED,
                limits::sort_text(limits, settings, "the attribute"),
            ),
        };
        finish_with(search, sink, code, text, out);
        Ok(Step::Finished)
    }
}

/// The reason to end before the next candidate, if there is one. A search never ends before a
/// hidden entry, so that its end does not reveal whether one follows.
#[inline]
pub(crate) fn end_before(
    context: &Context<'_>,
    search: &Search,
    next: Option<&VisibleEntry<'_, '_>>,
) -> Result<Option<End>, Stop> {
    match page_or_limit(search) {
        Some(end) if !context.hides(next)? => Ok(Some(end)),
        _ => Ok(None),
    }
}

/// Once the limit on candidates is reached: the end of the page if it is full, else that limit.
#[inline]
fn page_or_limit(search: &Search) -> Option<End> {
    let limit = search.candidate_limit()?;
    Some(match search.is_page_full() {
        true => End::PageFull,
        false => limit,
    })
}

/// Does not count a hidden candidate outside the region as looked at.
#[inline]
pub(crate) fn uncount_hidden(
    context: &Context<'_>,
    search: &mut Search,
    entry: &VisibleEntry<'_, '_>,
) -> Result<(), Stop> {
    if search.limits.candidates_max != 0 && context.hides(Some(entry))? {
        search.limits.examined -= 1;
    }
    Ok(())
}

/// Parks the search for its next slice, or ends it if its time is up.
pub(crate) fn park(
    call: &SearchCall<'_>,
    search: &mut Search,
    sink: &Sink,
    out: &mut Vec<u8>,
) -> Result<Step, Stop> {
    let now_us = call.lent.clock.now_us();
    let began_us = *search.began_us.get_or_insert(now_us);
    if !search.limits.is_late(began_us, now_us) {
        return Ok(Step::Parked);
    }
    if search.is_page_full() {
        finish_full_page(call, search, sink, out)?;
    } else {
        let text = limits::time_text(&search.limits, &call.catalog.limits);
        finish_with(search, sink, ResultCode::TIME_LIMIT_EXCEEDED, text, out);
    }
    Ok(Step::Finished)
}

/// Writes success with a cookie for the start of the next page.
fn finish_full_page(
    call: &SearchCall<'_>,
    search: &Search,
    sink: &Sink,
    out: &mut Vec<u8>,
) -> Result<(), Stop> {
    let page = search.page.expect("only a paged search has a full page");
    let mut at = page.start;
    // The number of regions fits, see `alias::regions`.
    at.region = search.source.area as u16;
    at.after = search.source.after;
    at.sent += search.sent;
    let cookie = call.sent_cookie(call.cookie_key.seal(&at))?;
    finish_page(search, sink, &cookie, out);
    Ok(())
}

/// Writes success, with a paging cookie if the search is paged (empty on the last page).
fn finish_page(search: &Search, sink: &Sink, cookie: &[u8], out: &mut Vec<u8>) {
    let mut controls = Vec::new();
    if search.result.is_some() || !matches!(sink, Sink::Send(_)) {
        controls = result_controls(search, sink);
    }
    if search.page.is_some() {
        controls.push(page::response(cookie));
    }
    let result = LdapResult::success();
    response::write_result(out, search.id, ResultKind::SearchDone, &result, &controls);
}

/// Answers a paged search that the client abandons (size 0 with a cookie, RFC 2696 §3).
pub(crate) fn write_abandoned(search: &mut Search, sink: &Sink, out: &mut Vec<u8>) {
    search.add_control(page::response(&[]));
    write_done(search, sink, out);
}

/// Writes success with the response controls.
pub(crate) fn write_done(search: &Search, sink: &Sink, out: &mut Vec<u8>) {
    finish_page(search, sink, &[], out);
}

fn finish_with(search: &Search, sink: &Sink, code: ResultCode, text: String, out: &mut Vec<u8>) {
    let result = LdapResult::new(code, text);
    let controls = own_controls(search, sink);
    response::write_result(out, search.id, ResultKind::SearchDone, &result, &controls);
}

/// The controls of a successful result.
#[cold]
fn result_controls(search: &Search, sink: &Sink) -> Vec<OwnedControl> {
    let done = search.result.as_ref().map(|it| it.done.clone());
    let mut controls = done.unwrap_or_default();
    controls.extend(own_controls(search, sink));
    controls
}

/// The controls that are returned with any result.
#[cold]
fn own_controls(search: &Search, sink: &Sink) -> Vec<OwnedControl> {
    let explained = sink.explaining().map(|it| it.control(search));
    let result = search.result.as_ref();
    let position = result.and_then(|it| it.position.as_ref());
    let position = position.map(position::control);
    explained.into_iter().chain(position).collect()
}
