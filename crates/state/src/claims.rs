//! Rights that writes need where rules of the directory decide: for each value, and at the places
//! above the entry. The built-in rules ask about the changed entry alone.

use crate::stop::Stop;
use crate::view::{Claim, Place, View};
use crate::write::{Given, Modification};
use policy::Subject;
use policy::access::objects::Object;
use policy::access::right::Right;
use protocol::ChangeOperation;
use protocol::name::leaf_form;
use schema::{Name, ResolvedRdn};

/// The rights that a change needs.
pub fn of_change(change: &Modification) -> Vec<Claim<'_>> {
    let object = Object::Attribute(change.given.description.type_id);
    let values = |right| {
        let values = change.given.values.iter();
        values.map(move |value| Claim {
            right,
            object,
            value: Some(value),
        })
    };
    let all = Claim::of(Right::DeleteValue, object);
    match change.operation {
        ChangeOperation::Add => values(Right::AddValue).collect(),
        ChangeOperation::Delete if change.given.values.is_empty() => vec![all],
        ChangeOperation::Delete => values(Right::DeleteValue).collect(),
        ChangeOperation::Replace => {
            let added = values(Right::AddValue);
            std::iter::once(all).chain(added).collect()
        }
        ChangeOperation::Increment => vec![all, Claim::of(Right::AddValue, object)],
    }
}

/// Refuses values that the subject may not add to a new entry.
pub fn require_values(view: &View<'_>, name: &Name, attributes: &[Given]) -> Result<(), Stop> {
    if !view.is_ruled() {
        return Ok(());
    }
    let claims = attributes.iter().flat_map(|given| {
        let object = Object::Attribute(given.description.type_id);
        given.values.iter().map(move |value| Claim {
            right: Right::AddValue,
            object,
            value: Some(value),
        })
    });
    view.require_claims(name, &claims.collect::<Vec<_>>())
}

/// Refuses a change of the place directly below an entry, unless the subject has this right to
/// it.
pub fn require_below(view: &View<'_>, right: Right, superior: Option<Name>) -> Result<(), Stop> {
    if !view.is_ruled() {
        return Ok(());
    }
    let superior = superior.unwrap_or_else(Name::root);
    view.require_claims(&superior, &[Claim::of(right, Object::Children)])
}

/// Refuses a move that rules of the directory do not allow below both superiors.
pub fn require_move(view: &View<'_>, name: &Name, new_superior: Option<&Name>) -> Result<(), Stop> {
    let old = name.parent();
    match new_superior.filter(|it| old.as_ref() != Some(it)) {
        None => require_below(view, Right::Rename, old),
        Some(new) => {
            require_below(view, Right::MoveOut, old)?;
            require_below(view, Right::MoveIn, Some(new.clone()))
        }
    }
}

/// Refuses values of the new RDN that rules of the directory do not let the subject add, and those
/// of the old one that it may not delete.
pub fn require_names(
    view: &View<'_>,
    name: &Name,
    new: &ResolvedRdn,
    deletes_old: bool,
) -> Result<(), Stop> {
    if !view.is_ruled() {
        return Ok(());
    }
    let mut claims: Vec<Claim<'_>> = Vec::new();
    for (description, value) in &new.values {
        claims.push(Claim {
            right: Right::AddValue,
            object: Object::Attribute(description.type_id),
            value: Some(value),
        });
    }
    let server = Subject::server();
    let open = view.of_server(&server);
    let old = match open.find(name)? {
        Place::Found(id) if deletes_old => {
            let leaf = leaf_form(&open.spelled_name(id)?);
            view.catalog.schema.resolve_rdn(&leaf).ok()
        }
        _ => None,
    };
    for (description, value) in old.iter().flat_map(|it| &it.values) {
        claims.push(Claim {
            right: Right::DeleteValue,
            object: Object::Attribute(description.type_id),
            value: Some(value),
        });
    }
    view.require_claims(name, &claims)
}
