//! Pre-read and post-read (RFC 4527): the target of an update as its response carries it.

use crate::context::{Context, VisibleEntry};
use crate::projection::Projection;
use crate::stop::Stop;
use protocol::{OwnedControl, ResultCode, control};

/// The response control with the entry, narrowed to what the subject may see of what it selects.
pub(crate) fn control(
    context: &Context<'_>,
    entry: &VisibleEntry<'_, '_>,
    oid: &'static str,
    selection: &[u8],
) -> Result<OwnedControl, Stop> {
    let asked = match control::ReadEntryRequest::decode(selection) {
        Ok(asked) => asked,
        Err(error) => {
            let text = format!("control {oid}: expected an attribute selection: {error}");
            return Stop::refuse(ResultCode::PROTOCOL_ERROR, text);
        }
    };
    let projection = Projection::of(context.catalog, &asked.attributes, false);
    let (mut name, mut attributes) = (Vec::new(), Vec::new());
    entry.write_name(&mut name)?;
    projection.write(context.catalog, entry, None, &mut attributes)?;
    Ok(OwnedControl::with_value(oid, false, |out| {
        control::put_read_entry(out, &name, &attributes);
    }))
}
