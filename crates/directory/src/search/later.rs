//! Parks a search that begins again in its next slice.

use crate::context::Context;
use crate::flow::Flow;
use crate::search::call::{Query, SearchCall};
use crate::search::cursor::{Again, Cursor, Stage};
use crate::search::limits;
use protocol::{LdapResult, ResultCode, ResultKind, response};
use state::stop::Stop;
use store::EntryId;

/// Parks a search that begins again in its next slice, because the walks over groups that it needs
/// are not done. Its time limit may end it instead.
#[cold]
pub(crate) fn begin_later(
    context: &Context<'_>,
    call: &SearchCall<'_>,
    query: Query<'_>,
    out: &mut Vec<u8>,
) -> Result<Flow, Stop> {
    context.leave_unfinished(EntryId::ROOT);
    let id = query.message.id;
    let now_us = call.lent.clock.now_us();
    let began_us = query.began_us.unwrap_or(now_us);
    let limits = limits::of_search(query.request, &call.limits, false);
    if limits.is_late(began_us, now_us) {
        let text = limits::time_text(&limits, &call.catalog.limits);
        let result = LdapResult::new(ResultCode::TIME_LIMIT_EXCEEDED, text);
        response::write_result(out, id, ResultKind::SearchDone, &result, &[]);
        return Ok(Flow::Done);
    }
    let again = Again {
        request: query.message.encoded.into(),
        began_us,
    };
    Ok(Flow::More(Box::new(Cursor {
        id,
        subject: None,
        walks: context.walks_for_later(),
        stage: Stage::Again(again),
    })))
}
