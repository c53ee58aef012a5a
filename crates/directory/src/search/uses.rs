//! Uses of the server that rules of the directory keep from a subject.

use crate::context::Context;
use crate::control::Controls;
use crate::operation::resolve_name;
use policy::access::words::Use;
use protocol::ResultCode;
use schema::Name;
use state::stop::Stop;
use store::EntryId;

/// Refuses the controls of a search with this base that no rule gives the subject, although there
/// are rules about them.
#[inline]
pub(crate) fn require(
    context: &Context<'_>,
    controls: &Controls<'_>,
    base: &Name,
) -> Result<(), Stop> {
    match context.is_ruled() {
        true => require_all(context, controls, base),
        false => Ok(()),
    }
}

#[cold]
fn require_all(context: &Context<'_>, controls: &Controls<'_>, base: &Name) -> Result<(), Stop> {
    let of_search = controls.search.as_deref();
    let asked = [
        (Use::Sync, controls.sync.is_some()),
        (Use::Persist, controls.persistent_search.is_some()),
        (Use::Sort, of_search.is_some_and(|it| it.sort.is_some())),
        (Use::View, of_search.is_some_and(|it| it.view.is_some())),
        (Use::Count, of_search.is_some_and(|it| it.count.is_some())),
        (Use::Explain, of_search.is_some_and(|it| it.explains)),
    ];
    for (what, _) in asked.into_iter().filter(|(_, is_asked)| *is_asked) {
        require_one(context, what, base)?;
    }
    Ok(())
}

/// Refuses a search that no index narrows down, as [`require`] does.
#[cold]
pub(crate) fn require_unindexed(context: &Context<'_>, base: EntryId) -> Result<(), Stop> {
    if !context.is_ruled() {
        return Ok(());
    }
    let spelled = context.spelled_name(base)?;
    let base = resolve_name(&context.catalog.schema, &spelled)?;
    require_one(context, Use::Unindexed, &base)
}

fn require_one(context: &Context<'_>, what: Use, base: &Name) -> Result<(), Stop> {
    if !context.lacks_use(what, base)? {
        return Ok(());
    }
    Stop::refuse(
        ResultCode::INSUFFICIENT_ACCESS_RIGHTS,
        format!("no access rule gives you the use \"{}\" here", what.word()),
    )
}
