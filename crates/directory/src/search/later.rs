//! Repeats a part of a search in its next slice, because a walk over groups is unfinished: the
//! whole request, or the entry being tested.

use crate::context::Context;
use crate::flow::Flow;
use crate::search::area::Areas;
use crate::search::call::{Query, SearchCall, Step};
use crate::search::cursor::Cursor;
use crate::search::end::park;
use crate::search::limits;
use state::projection::Projection;
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
    let mut walks = context.walks_for_later().unwrap_or_default();
    walks.request = Some(query.message.encoded.into());
    let mut cursor = Box::new(Cursor {
        id: query.message.id,
        filter: schema::Filter::False,
        whole_bytes_max: usize::MAX,
        projection: Projection::default(),
        areas: Areas::new(),
        area: 0,
        candidates: None,
        after: EntryId(0),
        sent: 0,
        limits: limits::of_search(query.request, &call.limits, false),
        page: None,
        manage_dsa_it: false,
        deref_searching: false,
        hides_subentries: false,
        extras: None,
        began_us: walks.began_us,
        subject: None,
        permit: None,
        has_waited: false,
        large: None,
        walks: None,
        buffer: Vec::new(),
    });
    if let Step::Finished = park(call, &mut cursor, out)? {
        return Ok(Flow::Done);
    }
    walks.began_us = cursor.began_us;
    cursor.walks = Some(walks);
    Ok(Flow::More(cursor))
}

/// Leaves an entry to the next slice, because the slice ended inside it.
#[cold]
pub(crate) fn step_back(context: &Context<'_>, cursor: &mut Cursor, id: EntryId) {
    context.leave_unfinished(id);
    cursor.limits.examined -= 1;
    cursor.after = EntryId(id.0 - 1);
}
