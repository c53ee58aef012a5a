//! Modify DN (RFC 4511 §4.9): resolves the request into a [`Write`].

use crate::context::Context;
use crate::control::Controls;
use policy::Right;
use protocol::name::string_form;
use protocol::{ModifyDnRequest, ResultCode};
use state::claims;
use state::grant::Grant;
use state::stop::Stop;
use state::values;
use state::write::{Change, Renaming, Write};

/// Resolves a modify DN request; whether the new name is free is left to execution.
pub(crate) fn resolve(
    context: &Context<'_>,
    request: &ModifyDnRequest<'_>,
    controls: &Controls<'_>,
) -> Result<Write, Stop> {
    let schema = &context.catalog.schema;
    let name = super::resolve_name(schema, request.entry)?;
    if name.depth() == 0 || context.catalog.is_context(&name) {
        return Stop::refuse(
            ResultCode::UNWILLING_TO_PERFORM,
            "the name of a naming context is part of the configuration; export and import to \
             change it",
        );
    }
    super::refuse_unheld(context.catalog, &name, request.entry)?;
    controls.require_rights(context, &name)?;
    let grant = Grant::decide(context, Right::Rename, name, None)?;
    let rdn = match schema.resolve_rdn(request.new_rdn) {
        Ok(rdn) => rdn,
        Err(error) => {
            let text = format!("new RDN \"{}\": {error}", request.new_rdn);
            return Stop::refuse(ResultCode::INVALID_DN_SYNTAX, text);
        }
    };
    state::passwords::refuse_in_name(&rdn, context.catalog.known.user_password.type_id)?;
    for (description, value) in &rdn.values {
        values::refuse_unmodifiable(schema, description, false)?;
        values::check(
            schema,
            description.type_id,
            &schema.spelled(description),
            value,
        )?;
    }
    let new_superior = match request.new_superior {
        None => None,
        Some(text) => {
            let superior = super::resolve_name(schema, text)?;
            if superior.depth() == 0 {
                return Stop::refuse(
                    ResultCode::UNWILLING_TO_PERFORM,
                    "below the root there are naming contexts only; they are configured",
                );
            }
            if !context.is_ruled() {
                context.require(Right::Add, &superior, None)?;
            }
            Some(superior)
        }
    };
    claims::require_move(context, grant.name(), new_superior.as_ref())?;
    claims::require_names(context, grant.name(), &rdn, request.delete_old_rdn)?;
    let options = controls.write_options(context, grant.name())?;
    Ok(Write {
        grant,
        spelled: request.entry.to_owned(),
        manage_dsa_it: controls.manage_dsa_it,
        options,
        change: Change::Rename(Renaming {
            rdn_spelled: string_form(request.new_rdn).into_owned(),
            rdn,
            delete_old_rdn: request.delete_old_rdn,
            new_superior,
        }),
    })
}
