//! Add (RFC 4511 §4.7): resolves the request into a [`Write`].

use crate::context::Context;
use crate::control::Controls;
use crate::operation::dynamic;
use answers::placed;
use protocol::name::{dn_form, leaf_form};
use protocol::{AddRequest, ResultCode};
use replica::Clock;
use state::permit;
use state::stop::Stop;
use state::values;
use state::write::{Addition, Change, Given, Write};

/// Resolves an add request; access is decided here, existence and classes in execution.
pub(crate) fn resolve(
    context: &Context<'_>,
    request: &AddRequest<'_>,
    controls: &Controls<'_>,
    clock: &dyn Clock,
) -> Result<Write, Stop> {
    let catalog = context.catalog;
    let schema = &catalog.schema;
    let name = super::resolve_name(schema, request.entry)?;
    if name.depth() == 0 {
        return Stop::refuse(
            ResultCode::ENTRY_ALREADY_EXISTS,
            "the root DSE cannot be added",
        );
    }
    super::refuse_unheld(catalog, &name, request.entry)?;
    controls.require_rights(context, &name)?;
    let rdn_spelled = if catalog.is_context(&name) {
        dn_form(request.entry)
    } else {
        leaf_form(request.entry)
    };
    let early = permit::early(context, name)?;
    let rdn = match schema.resolve_rdn(&leaf_form(request.entry)) {
        Ok(rdn) => rdn,
        Err(error) => return Stop::refuse(ResultCode::INVALID_DN_SYNTAX, error.to_string()),
    };
    state::passwords::refuse_in_name(&rdn, catalog.known.user_password.type_id)?;
    let mut attributes: Vec<Given> = Vec::with_capacity(request.attributes.len());
    let mut time_to_live = None;
    for attribute in &request.attributes {
        let given = values::given(schema, attribute)?;
        if given.description.type_id == catalog.computed.entry_ttl {
            time_to_live = Some(dynamic::asked(&given)?);
            continue;
        }
        values::refuse_unmodifiable(schema, &given.description, controls.relaxed)?;
        if given.values.is_empty() {
            return Stop::refuse(
                ResultCode::PROTOCOL_ERROR,
                format!(
                    "{}: an attribute to add needs at least one value",
                    attribute.description
                ),
            );
        }
        refuse_repeated(&attributes, &given, attribute.description)?;
        attributes.push(given);
    }
    let grant = permit::of_addition(context, early, &rdn, &attributes)?;
    let types = attributes.iter().map(|it| it.description.type_id);
    placed::refuse_misplaced(catalog, grant.name(), types)?;
    dynamic::complete(context, &mut attributes, time_to_live, clock)?;
    let options = controls.write_options(context, grant.name())?;
    Ok(Write {
        grant,
        spelled: request.entry.to_owned(),
        manage_dsa_it: controls.manage_dsa_it,
        options,
        change: Change::Add(Addition {
            rdn_spelled,
            rdn,
            attributes,
            uuid: clock.uuid(),
        }),
    })
}

/// Refuses an attribute that stands in the list already (RFC 4511 §4.7).
fn refuse_repeated(earlier: &[Given], given: &Given, text: &str) -> Result<(), Stop> {
    let repeated = |it: &Given| it.description == given.description;
    if !earlier.iter().any(repeated) {
        return Ok(());
    }
    Stop::refuse(
        ResultCode::ATTRIBUTE_OR_VALUE_EXISTS,
        format!("{text}: the attribute is given more than once"),
    )
}
