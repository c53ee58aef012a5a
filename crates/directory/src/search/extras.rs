//! State that controls add to the entries that a search sends: which values, and which controls
//! beside them. A search without such controls has no `Extras`.

use crate::context::{Context, VisibleEntry};
use crate::control::SearchControls;
use answers::dereference::{Dereferencing, Follow};
use answers::effective_rights::EffectiveRights;
use answers::usability;
use protocol::control::Subentries;
use protocol::{OwnedControl, Scope, SearchRequest};
use schema::Filter;
use state::catalog::Catalog;
use state::done;
use state::knowledge::class_filter;
use state::matched_values::MatchedValues;
use state::progress::Progress;
use state::stop::Stop;
use std::cell::RefCell;

/// State that controls add to the entries that a search sends.
#[derive(Debug, Default)]
pub(crate) struct Extras {
    /// Matched values: only these values are returned.
    pub matched: Option<MatchedValues>,
    /// Dereference: attributes whose values are followed.
    follow: Vec<Follow>,
    /// Progress of dereferencing the entry at which the last slice ended.
    following: RefCell<Option<Box<Dereferencing>>>,
    /// Whether each entry is returned with the state of its account.
    account_usability: bool,
    /// Effective rights to be returned with each entry.
    pub rights: Option<Box<EffectiveRights>>,
}

impl Extras {
    /// Resolves the controls; `None` if none of them matters after the beginning of the search.
    #[inline]
    pub fn of(
        catalog: &Catalog,
        request: &SearchRequest<'_>,
        asked: Option<&SearchControls<'_>>,
        now_s: &dyn Fn() -> i64,
    ) -> Result<Option<Box<Extras>>, Stop> {
        match asked {
            None => Ok(None),
            Some(asked) => Extras::asked(catalog, request, asked, now_s),
        }
    }

    fn asked(
        catalog: &Catalog,
        request: &SearchRequest<'_>,
        asked: &SearchControls<'_>,
        now_s: &dyn Fn() -> i64,
    ) -> Result<Option<Box<Extras>>, Stop> {
        let mut it = Extras {
            account_usability: asked.account_usability,
            ..Extras::default()
        };
        if let Some(matched) = &asked.matched_values
            && !request.types_only
        {
            it.matched = Some(MatchedValues::of(&catalog.schema, matched, now_s)?);
        }
        if let Some(dereference) = &asked.dereference {
            it.follow = Follow::all(catalog, dereference, asked.dereference_critical)?;
        }
        let nothing = it.matched.is_none() && it.follow.is_empty() && !it.account_usability;
        Ok((!nothing).then(|| Box::new(it)))
    }

    /// Appends the subject's rights on the entry, if the client asked for them.
    pub fn write_rights(
        &self,
        context: &Context<'_>,
        entry: &VisibleEntry<'_, '_>,
        out: &mut Vec<u8>,
    ) {
        if let Some(rights) = &self.rights {
            rights.write(context, entry, out);
        }
    }

    /// The controls of one entry. Yields when the slice is over before all values are dereferenced.
    pub fn controls_of(
        &self,
        context: &Context<'_>,
        entry: &VisibleEntry<'_, '_>,
    ) -> Result<Progress<Vec<OwnedControl>>, Stop> {
        let mut controls = Vec::new();
        if !self.follow.is_empty() {
            let mut progress = self.following.borrow_mut();
            let response = Follow::response(context, entry, &self.follow, &mut progress)?;
            controls.extend(done!(response));
        }
        if self.account_usability {
            controls.extend(usability::response(context, entry)?);
        }
        Ok(Progress::Done(controls))
    }
}

/// Whether the search leaves subentries out, because no control asks for them and its scope is not
/// a single entry (RFC 3672 §3).
pub(crate) fn hides_subentries(scope: Scope, asked: Option<&SearchControls<'_>>) -> bool {
    let are_asked = |it: &SearchControls<'_>| it.subentries.is_some() || it.shows_subentries;
    scope != Scope::BaseObject && !asked.is_some_and(are_asked)
}

/// The filter, narrowed to subentries or to other entries as the control asks.
pub(crate) fn narrowed(catalog: &Catalog, filter: Filter, asked: Subentries) -> Filter {
    let subentries = class_filter(&catalog.schema, "subentry");
    let kind = match asked.visible {
        true => subentries,
        false => Filter::Not(Box::new(subentries)),
    };
    Filter::And(vec![kind, filter])
}
