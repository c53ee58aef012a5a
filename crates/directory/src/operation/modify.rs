//! Modify (RFC 4511 §4.6, with increment, RFC 4525): resolves the request into a [`Write`].

use crate::context::Context;
use crate::control::Controls;
use answers::placed;
use protocol::{ChangeOperation, ModifyRequest, ResultCode};
use state::permit;
use state::stop::Stop;
use state::values;
use state::write::{Change, Given, Modification, Write};

/// Resolves a modify request; access is decided here, the values' presence in execution.
pub(crate) fn resolve(
    context: &Context<'_>,
    request: &ModifyRequest<'_>,
    controls: &Controls<'_>,
) -> Result<Write, Stop> {
    let schema = &context.catalog.schema;
    let name = super::resolve_name(schema, request.object)?;
    if name.depth() == 0 {
        return Stop::refuse(
            ResultCode::UNWILLING_TO_PERFORM,
            "the root DSE cannot be modified",
        );
    }
    super::refuse_unheld(context.catalog, &name, request.object)?;
    controls.require_rights(context, &name)?;
    let mut changes = Vec::with_capacity(request.changes.len());
    for change in &request.changes {
        let given = match change.operation {
            // Deleting a value does not check its syntax, which may have become stricter since the
            // value was stored.
            ChangeOperation::Delete => Given {
                description: values::describe_stored(schema, change.attribute.description)?,
                values: change
                    .attribute
                    .values
                    .into_iter()
                    .map(<[u8]>::to_vec)
                    .collect(),
            },
            _ => values::given(schema, &change.attribute)?,
        };
        values::refuse_unmodifiable(schema, &given.description, controls.relaxed)?;
        check_count(change.operation, &given, change.attribute.description)?;
        changes.push(Modification {
            operation: change.operation,
            given,
        });
    }
    let grant = permit::of_changes(context, name, &changes)?;
    // Values stored before may be deleted even where they could not be added.
    let put = changes
        .iter()
        .filter(|it| it.operation != ChangeOperation::Delete && !it.given.values.is_empty());
    let types = put.map(|it| it.given.description.type_id);
    placed::refuse_misplaced(context.catalog, grant.name(), types)?;
    let options = controls.write_options(context, grant.name())?;
    Ok(Write {
        grant,
        spelled: request.object.to_owned(),
        manage_dsa_it: controls.manage_dsa_it,
        options,
        change: Change::Modify(changes),
    })
}

/// RFC 4511 §4.6: an add needs values; RFC 4525 §3: an increment needs exactly one.
fn check_count(operation: ChangeOperation, given: &Given, text: &str) -> Result<(), Stop> {
    let count = given.values.len();
    let wanted = match operation {
        ChangeOperation::Add if count == 0 => "at least one value to add",
        ChangeOperation::Increment if count != 1 => "exactly one value to increment by",
        _ => return Ok(()),
    };
    Stop::refuse(
        ResultCode::PROTOCOL_ERROR,
        format!("{text}: expected {wanted}, got {count}"),
    )
}
