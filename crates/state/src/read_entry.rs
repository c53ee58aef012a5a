//! Pre-read and post-read (RFC 4527): the entry of an update, returned in the response.

use crate::projection::Projection;
use crate::stop::Stop;
use crate::view::{Place, View, VisibleEntry};
use crate::write::Write;
use protocol::control::ReadEntryRequest;
use protocol::{OwnedControl, ResultCode, control, oid};

/// Maximum number of values of one attribute in a copy, unless the update itself adds them. A
/// control is part of one response, made while other writes wait, so it cannot be sent in parts
/// like the entries of a search.
const VALUES_MAX: u64 = 10_000;

/// Returns the response control with the attributes of the entry that the control selects and the
/// subject may see.
pub fn control(
    view: &View<'_>,
    entry: &VisibleEntry<'_, '_>,
    oid: &'static str,
    selection: &[u8],
) -> Result<OwnedControl, Stop> {
    let projection = projection(view, oid, selection)?;
    let (mut name, mut attributes) = (Vec::new(), Vec::new());
    entry.write_name(&mut name)?;
    view.whole(|| projection.write(view.catalog, entry, None, &mut attributes))?;
    Ok(OwnedControl::with_value(oid, false, |out| {
        control::put_read_entry(out, &name, &attributes);
    }))
}

fn projection(view: &View<'_>, oid: &str, selection: &[u8]) -> Result<Projection, Stop> {
    match ReadEntryRequest::decode(selection) {
        Ok(asked) => Ok(Projection::of(view.catalog, &asked.attributes, false)),
        Err(error) => {
            let text = format!("control {oid}: expected an attribute selection: {error}");
            Stop::refuse(ResultCode::PROTOCOL_ERROR, text)
        }
    }
}

/// Refuses an update that requests a copy with too many values. This is checked before the update
/// has its place in the order, on the entry as it is then.
pub fn refuse_large(view: &View<'_>, write: &Write) -> Result<(), Stop> {
    let Some(options) = &write.options else {
        return Ok(());
    };
    let selections = [
        (oid::PRE_READ, &options.pre_read),
        (oid::POST_READ, &options.post_read),
    ];
    for (oid, selection) in selections {
        let Some(selection) = selection else {
            continue;
        };
        let Place::Found(id) = view.find(write.name())? else {
            return Ok(());
        };
        let Some(entry) = view.entry(id)? else {
            return Ok(());
        };
        if !entry.has_links() && !view.catalog.has_dynamic_groups {
            return Ok(());
        }
        let projection = projection(view, oid, selection)?;
        if let Some(described) = projection.described(view.catalog, &entry)?
            && view.has_more_members(described, VALUES_MAX)?
        {
            let text = format!(
                "control {oid}: the dynamic group has more than {VALUES_MAX} members, too many \
                 for the response of an update: ask for other attributes"
            );
            return Stop::refuse(ResultCode::ADMIN_LIMIT_EXCEEDED, text);
        }
        let large = projection.large_sets(view.catalog, &entry, VALUES_MAX)?;
        if let Some((known, _)) = large.first() {
            let text = format!(
                "control {oid}: {0} has more than {VALUES_MAX} values, too many for the response \
                 of an update: ask for some of them ({0};range=0-999), or for other attributes",
                known.text
            );
            return Stop::refuse(ResultCode::ADMIN_LIMIT_EXCEEDED, text);
        }
    }
    Ok(())
}
