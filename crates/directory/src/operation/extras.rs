//! What controls add to a search: which values and which entries it shows, and what comes with
//! each entry and with the result. A search without such controls has none of this.

use crate::context::{Context, VisibleEntry};
use crate::operation::account_usability;
use crate::operation::controls::SearchControls;
use crate::operation::count::Counting;
use crate::operation::dereference::{Follow, Progress};
use crate::operation::effective_rights::EffectiveRights;
use crate::operation::explain::Explaining;
use crate::operation::position;
use crate::operation::sorted::Sorted;
use protocol::control::{Position, Subentries};
use protocol::{OwnedControl, Scope, SearchRequest};
use schema::Filter;
use state::catalog::Catalog;
use state::knowledge::class_filter;
use state::matched_values::MatchedValues;
use state::stop::Stop;
use std::borrow::Cow;
use std::cell::RefCell;

/// What controls add to a search.
#[derive(Debug, Default)]
pub(crate) struct Extras {
    /// Only these values are returned.
    pub matched: Option<MatchedValues>,
    /// Each entry comes with attributes of the entries its values name.
    follow: Vec<Follow>,
    /// How far that was done for an entry when the last slice was over.
    following: RefCell<Option<Box<Progress>>>,
    /// Each entry comes with the state of its account.
    account_usability: bool,
    /// Each entry comes with what a subject may do with it.
    pub rights: Option<Box<EffectiveRights>>,
    /// Entries are counted, not sent.
    pub counting: Option<Box<Counting>>,
    /// How the search goes is noted, and its entries are not sent.
    pub explaining: Option<Box<Explaining>>,
    /// How far the state has come that the last slice saw, if the client wants to know.
    pub position: Option<Position>,
    /// What comes with the result.
    pub done: Vec<OwnedControl>,
    /// The order of the entries that are still to be sent.
    pub sorted: Option<Box<Sorted>>,
}

impl Extras {
    /// What the controls ask for; `None` when it is nothing that outlives the beginning.
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

    /// The controls that come with the result of a search that looked at so many entries.
    #[cold]
    pub fn done_controls(&self, examined: u64) -> Cow<'_, [OwnedControl]> {
        let own = self.own_controls(examined);
        match own.is_empty() {
            true => Cow::Borrowed(&self.done),
            false => Cow::Owned([&self.done[..], &own].concat()),
        }
    }

    /// Those that come whatever the result is.
    #[cold]
    pub fn own_controls(&self, examined: u64) -> Vec<OwnedControl> {
        let explained = self.explaining.iter().map(|it| it.control(examined));
        let position = self.position.iter().map(position::control);
        explained.chain(position).collect()
    }

    /// Appends what a subject may do with the entry, if that is asked for.
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

    /// The controls that come with an entry.
    pub fn controls_of(
        &self,
        context: &Context<'_>,
        entry: &VisibleEntry<'_, '_>,
    ) -> Result<Vec<OwnedControl>, Stop> {
        let mut controls = Vec::new();
        if !self.follow.is_empty() {
            let mut progress = self.following.borrow_mut();
            controls.extend(Follow::response(
                context,
                entry,
                &self.follow,
                &mut progress,
            )?);
        }
        if self.account_usability {
            controls.extend(account_usability::response(context, entry)?);
        }
        Ok(controls)
    }
}

/// Whether a search leaves subentries out because no control says otherwise (RFC 3672 §3): one of
/// a single entry does not.
pub(crate) fn hides_subentries(scope: Scope, asked: Option<&SearchControls<'_>>) -> bool {
    let are_asked = |it: &SearchControls<'_>| it.subentries.is_some() || it.shows_subentries;
    scope != Scope::BaseObject && !asked.is_some_and(are_asked)
}

/// The filter, narrowed to subentries or to all other entries, as the control asks.
pub(crate) fn narrowed(catalog: &Catalog, filter: Filter, asked: Subentries) -> Filter {
    let subentries = class_filter(&catalog.schema, "subentry");
    let kind = match asked.visible {
        true => subentries,
        false => Filter::Not(Box::new(subentries)),
    };
    Filter::And(vec![kind, filter])
}
