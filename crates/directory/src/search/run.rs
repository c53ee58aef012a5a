//! Runs slices of a search that has begun.

use crate::context::Context;
use crate::search::call::{SearchCall, Step};
use crate::search::cursor::Running;
use crate::search::end::{park, write_everything};
use crate::search::sink::Sink;
use crate::search::slice::Slice;
use crate::search::source::{Ran, run};
use crate::search::state::Search;
use crate::search::{cost, sort};
use state::stop::Stop;

/// Runs one slice of a search.
pub(crate) fn step(
    context: &Context<'_>,
    call: &SearchCall<'_>,
    Running { search, sink }: &mut Running,
    out: &mut Vec<u8>,
) -> Result<Step, Stop> {
    let step = step_any(context, call, search, sink, out);
    call.operations.examined(search.limits.examined);
    step
}

#[inline(always)]
fn step_any(
    context: &Context<'_>,
    call: &SearchCall<'_>,
    search: &mut Search,
    sink: &mut Sink,
    out: &mut Vec<u8>,
) -> Result<Step, Stop> {
    if let Some(step) = step_apart(context, call, search, sink, out)? {
        return Ok(step);
    }
    let ran = run(context, call, search, sink, &mut Slice::new(out), out)?;
    sink.slice_ends(call.lent.clock);
    if search.limits.examined >= cost::EXAMINED_MIN && !matches!(ran, Ran::Paused) {
        cost::note(context, call, search)?;
    }
    match ran {
        Ran::Paused => park(call, search, sink, out),
        Ran::Ended(end) => end.write(context, call, search, sink, out),
        Ran::Done => {
            write_everything(search, sink, out);
            Ok(Step::Finished)
        }
    }
}

/// Continues an entry that is sent in parts, and a sorted search. `None` if the slice goes on with
/// candidates in any order.
#[inline(always)]
fn step_apart(
    context: &Context<'_>,
    call: &SearchCall<'_>,
    search: &mut Search,
    sink: &mut Sink,
    out: &mut Vec<u8>,
) -> Result<Option<Step>, Stop> {
    if sink.large().is_some()
        && let Some(sending) = sink.sending()
        && !sending.continue_large(context, search, out)?
    {
        // Limits cannot end the search inside a message.
        return match sink.large().is_some_and(|it| it.is_inside()) {
            true => Ok(Some(Step::Parked)),
            false => park(call, search, sink, out).map(Some),
        };
    }
    sink.slice_begins(call.lent.clock);
    if let Some(result) = &mut search.result
        && let Some(position) = &mut result.position
    {
        position.position = context.position()?;
    }
    if !matches!(sink, Sink::Sort(_)) {
        return Ok(None);
    }
    let step = sort::step::step(context, call, search, sink, out)?;
    if step.is_none() {
        sink.slice_begins(call.lent.clock);
    }
    Ok(step)
}
