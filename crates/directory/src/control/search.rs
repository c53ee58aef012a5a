//! Controls of searches: which entries are found, in which order, and what is returned with them.

use crate::control::{decoded, once, without_value};
use protocol::control::{
    AccessQuestion, DereferenceRequest, EffectiveRightsRequest, MatchedValues,
    MatchingEntryCountRequest, SortRequest, Subentries, VirtualListViewRequest,
};
use protocol::{Control, ResultCode, oid};
use state::stop::Stop;

/// The decoded search controls of one request.
#[derive(Debug, Default)]
pub(crate) struct SearchControls<'a> {
    /// Access explanation (Pando's own).
    pub access: Option<AccessQuestion<'a>>,
    /// Account usability (Sun Directory Server): each entry is returned with the state of its
    /// account.
    pub account_usability: bool,
    /// Matching entry count (Ping Identity).
    pub count: Option<MatchingEntryCountRequest>,
    /// Get effective rights (Sun Directory Server).
    pub rights: Option<EffectiveRightsRequest<'a>>,
    /// Explain (Pando's own).
    pub explains: bool,
    /// Reject unindexed search (Ping Identity). Permit unindexed search changes nothing: permission
    /// is the default.
    pub rejects_unindexed: bool,
    pub permits_unindexed: bool,
    /// Dereference (draft-masarati-ldap-deref-00), and whether it is critical.
    pub dereference: Option<DereferenceRequest<'a>>,
    pub dereference_critical: bool,
    /// Server-side sorting (RFC 2891), and whether it is critical.
    pub sort: Option<SortRequest<'a>>,
    pub sort_critical: bool,
    /// Virtual list view (draft-ietf-ldapext-ldapv3-vlv-09).
    pub view: Option<VirtualListViewRequest<'a>>,
    /// Matched values (RFC 3876).
    pub matched_values: Option<MatchedValues<'a>>,
    /// Subentries (RFC 3672 §3).
    pub subentries: Option<Subentries>,
    /// Subentries beside entries (draft-ietf-ldup-subentry-08 §4).
    pub shows_subentries: bool,
}

impl<'a> SearchControls<'a> {
    /// Whether an OID names a control of searches.
    pub fn knows(oid: &str) -> bool {
        matches!(
            oid,
            oid::ACCESS_EXPLANATION
                | oid::ACCOUNT_USABILITY
                | oid::DEREFERENCE
                | oid::EXPLAIN
                | oid::GET_EFFECTIVE_RIGHTS
                | oid::MATCHED_VALUES
                | oid::MATCHING_ENTRY_COUNT_REQUEST
                | oid::PERMIT_UNINDEXED_SEARCH
                | oid::REJECT_UNINDEXED_SEARCH
                | oid::SORT_REQUEST
                | oid::SUBENTRIES
                | oid::SUBENTRIES_LDUP
                | oid::VIRTUAL_LIST_VIEW_REQUEST
        )
    }

    /// Whether none of these controls is set, so that the search returns plain entries.
    pub fn leaves_content(&self) -> bool {
        self.access.is_none()
            && !self.account_usability
            && self.count.is_none()
            && self.rights.is_none()
            && !self.explains
            && !self.rejects_unindexed
            && self.dereference.is_none()
            && self.sort.is_none()
            && self.view.is_none()
            && self.matched_values.is_none()
            && self.subentries.is_none()
            && !self.shows_subentries
    }

    /// Decodes a control that `knows` accepts.
    pub fn take(&mut self, control: &Control<'a>) -> Result<(), Stop> {
        match control.oid {
            oid::ACCESS_EXPLANATION => {
                let (decode, what) = (AccessQuestion::decode, "access explanation");
                let value = decoded(control, what, decode)?;
                once(&mut self.access, Some(value), what)?;
            }
            oid::ACCOUNT_USABILITY => {
                without_value(control, "account usability")?;
                self.account_usability = true;
            }
            oid::DEREFERENCE => {
                let decode = DereferenceRequest::decode;
                let value = decoded(control, "dereference", decode)?;
                once(&mut self.dereference, Some(value), "dereference")?;
                self.dereference_critical = control.critical;
            }
            oid::EXPLAIN => {
                without_value(control, "explain")?;
                self.explains = true;
            }
            oid::GET_EFFECTIVE_RIGHTS => {
                let (decode, what) = (EffectiveRightsRequest::decode, "get effective rights");
                let value = decoded(control, what, decode)?;
                once(&mut self.rights, Some(value), what)?;
            }
            oid::MATCHED_VALUES => {
                let decode = MatchedValues::decode;
                let value = decoded(control, "matched values", decode)?;
                once(&mut self.matched_values, Some(value), "matched values")?;
            }
            oid::MATCHING_ENTRY_COUNT_REQUEST => {
                let decode = MatchingEntryCountRequest::decode;
                let value = decoded(control, "matching entry count", decode)?;
                once(&mut self.count, Some(value), "matching entry count")?;
            }
            oid::PERMIT_UNINDEXED_SEARCH | oid::REJECT_UNINDEXED_SEARCH => {
                without_value(control, "unindexed search")?;
                self.rejects_unindexed |= control.oid == oid::REJECT_UNINDEXED_SEARCH;
                self.permits_unindexed |= control.oid == oid::PERMIT_UNINDEXED_SEARCH;
                if self.rejects_unindexed && self.permits_unindexed {
                    return Stop::refuse(
                        ResultCode::UNWILLING_TO_PERFORM,
                        "unindexed search is both rejected and permitted: ask for one",
                    );
                }
            }
            oid::SORT_REQUEST => {
                let value = decoded(control, "sort", SortRequest::decode)?;
                once(&mut self.sort, Some(value), "sort")?;
                self.sort_critical = control.critical;
            }
            oid::VIRTUAL_LIST_VIEW_REQUEST => {
                let decode = VirtualListViewRequest::decode;
                let value = decoded(control, "virtual list view", decode)?;
                once(&mut self.view, Some(value), "virtual list view")?;
            }
            oid::SUBENTRIES_LDUP => {
                without_value(control, "subentries (draft-ietf-ldup-subentry)")?;
                self.shows_subentries = true;
            }
            oid::SUBENTRIES => {
                let value = decoded(control, "subentries", Subentries::decode)?;
                once(&mut self.subentries, Some(value), "subentries")?;
            }
            _ => {}
        }
        Ok(())
    }

    /// The matching entry count, refused together with sorting, views and pages.
    pub fn count_alone(&self, paged: bool) -> Result<Option<MatchingEntryCountRequest>, Stop> {
        if self.count.is_some() && (paged || self.view.is_some()) {
            return Stop::refuse(
                ResultCode::UNWILLING_TO_PERFORM,
                "a matching entry count excludes paged results and virtual list views",
            );
        }
        Ok(self.count)
    }
}
