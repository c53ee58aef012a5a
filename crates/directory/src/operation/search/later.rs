//! What of a search is done once more in its next slice, since a walk over groups goes on there:
//! the request, or the entry that was looked at.

use super::{Needs, Step, is_wanted, park};
use crate::context::{Context, VisibleEntry};
use crate::cursor::{Areas, Cursor};
use crate::operation::limits;
use protocol::{Message, SearchRequest};
use state::projection::Projection;
use state::stop::Stop;
use store::{EntryId, Region};

/// A search that begins once more in its next slice, since walks over groups that it needs before
/// are not done. The limit on its time holds meanwhile.
#[cold]
pub(crate) fn begin_later(
    context: &Context<'_>,
    needs: &Needs<'_>,
    (message, request): (&Message<'_>, &SearchRequest<'_>),
    out: &mut Vec<u8>,
) -> Result<Option<Box<Cursor>>, Stop> {
    context.leave_unfinished(EntryId::ROOT);
    let mut walks = context.walks_for_later().unwrap_or_default();
    walks.request = Some(message.encoded.into());
    let mut cursor = Box::new(Cursor {
        id: message.id,
        filter: schema::Filter::False,
        whole_bytes_max: usize::MAX,
        projection: Projection::default(),
        areas: Areas::new(),
        area: 0,
        candidates: None,
        after: EntryId(0),
        sent: 0,
        limits: limits::of_search(request, needs.limits, false),
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
    if let Step::Finished = park(needs, &mut cursor, out)? {
        return Ok(None);
    }
    walks.began_us = cursor.began_us;
    cursor.walks = Some(walks);
    Ok(Some(cursor))
}

/// Whether a sorted search wants an entry, met under this id; `None`: the next slice will tell.
pub(in crate::operation) fn wants(
    context: &Context<'_>,
    cursor: &mut Cursor,
    region: &Region,
    (id, entry): (EntryId, &VisibleEntry<'_, '_>),
) -> Result<Option<bool>, Stop> {
    if !context.in_region(entry, region)? {
        return Ok(Some(false));
    }
    match is_wanted(context, cursor, region.base, entry) {
        Ok(wanted) => Ok(Some(wanted)),
        Err(stop) => leave(context, cursor, id, stop).map(|()| None),
    }
}

/// Leaves an entry for the next slice if walks over groups are to go on for it: this one is over.
#[cold]
pub(super) fn step_back(
    context: &Context<'_>,
    cursor: &mut Cursor,
    id: EntryId,
    stop: Stop,
) -> Result<bool, Stop> {
    leave(context, cursor, id, stop)?;
    cursor.after = EntryId(id.0 - 1);
    Ok(true)
}

fn leave(context: &Context<'_>, cursor: &mut Cursor, id: EntryId, stop: Stop) -> Result<(), Stop> {
    if !stop.is_unfinished() {
        return Err(stop);
    }
    context.leave_unfinished(id);
    cursor.limits.examined -= 1;
    Ok(())
}
