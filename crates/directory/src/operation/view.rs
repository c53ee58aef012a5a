//! Virtual list view (draft-ietf-ldapext-ldapv3-vlv-09): a window on a sorted list, and where in
//! the list it lies.
//!
//! A view is made anew for each request, from the list as it is then: counts and positions are
//! exact. The context id that clients send back only proves that they speak of the same list.

use crate::operation::sort_key::Order;
use crate::paging::CookieKey;
use crate::stop::Stop;
use protocol::control::{ViewTarget, VirtualListViewRequest, VirtualListViewResponse};
use protocol::{OwnedControl, ResultCode, oid};
use schema::Schema;
use std::ops::Range;
use store::EntryId;

/// Entries of a list that can be viewed: what it takes is memory for their ids.
const LIST_ENTRIES_MAX: usize = 16 << 20;

/// A view being made.
#[derive(Debug)]
pub(crate) struct View {
    before: u32,
    after: u32,
    target: Target,
    /// The list as far as it is known.
    ids: Vec<EntryId>,
    /// The place of the first entry that is great enough.
    found: Option<usize>,
    context_id: Vec<u8>,
}

#[derive(Debug)]
enum Target {
    Offset {
        offset: u32,
        count: u32,
    },
    /// The first entry whose sort key is not less than this.
    Value(Box<[u8]>),
}

/// Why there is no view, as the response control says it (§6.2).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NoView {
    pub code: ResultCode,
    pub text: String,
    /// The length of the list, where it is known.
    pub count: u32,
}

impl NoView {
    pub fn new(code: ResultCode, text: impl Into<String>) -> NoView {
        NoView {
            code,
            text: text.into(),
            count: 0,
        }
    }

    /// The control that says so.
    pub fn control(&self) -> OwnedControl {
        response(0, self.count, self.code, None)
    }
}

impl View {
    /// The view asked for. The fingerprint is that of the list: the search and its order.
    pub fn of(
        schema: &Schema,
        order: &Order,
        asked: &VirtualListViewRequest<'_>,
        key: &CookieKey,
        fingerprint: u64,
    ) -> Result<View, NoView> {
        if let Some(given) = asked.context_id
            && !key.opens_context(given, fingerprint)
        {
            let text = "this context id was not issued for this list: ask again without one";
            return Err(NoView::new(ResultCode::PROTOCOL_ERROR, text));
        }
        let target = match asked.target {
            ViewTarget::ByOffset { offset: 0, .. } => {
                let text = "offsets count from 1, came 0";
                return Err(NoView::new(ResultCode::OFFSET_RANGE_ERROR, text));
            }
            ViewTarget::ByOffset {
                offset,
                content_count,
            } => Target::Offset {
                offset,
                count: content_count,
            },
            ViewTarget::GreaterThanOrEqual(value) => {
                let Some(bound) = order.bound_of(schema, value) else {
                    let text = "the value is none of the attribute sorted by";
                    return Err(NoView::new(ResultCode::INAPPROPRIATE_MATCHING, text));
                };
                Target::Value(bound)
            }
        };
        Ok(View {
            before: asked.before_count,
            after: asked.after_count,
            target,
            ids: Vec::new(),
            found: None,
            context_id: key.seal_context(fingerprint),
        })
    }

    /// Takes the next entry of the list.
    pub fn note(&mut self, key: &[u8], id: EntryId) -> Result<(), NoView> {
        if let Target::Value(bound) = &self.target
            && self.found.is_none()
            && key >= &**bound
        {
            self.found = Some(self.ids.len());
        }
        if self.ids.len() >= LIST_ENTRIES_MAX {
            let text = format!("the list has more than {LIST_ENTRIES_MAX} entries");
            return Err(NoView::new(ResultCode::ADMIN_LIMIT_EXCEEDED, text));
        }
        self.ids.push(id);
        Ok(())
    }

    /// The entries in the window, and the control that says where it lies. The list is complete.
    pub fn window(&mut self) -> Result<(Vec<EntryId>, OwnedControl), NoView> {
        let ids = std::mem::take(&mut self.ids);
        let count = u32::try_from(ids.len()).unwrap_or(u32::MAX);
        let position = self.position(count)?;
        let range = self.range(position, ids.len());
        let control = response(position, count, ResultCode::SUCCESS, Some(&self.context_id));
        Ok((ids[range].to_vec(), control))
    }

    /// The target's place in a list of so many entries, counted from 1 (§5).
    fn position(&self, length: u32) -> Result<u32, NoView> {
        let (offset, count) = match self.target {
            Target::Value(_) => {
                let found = self.found.and_then(|at| u32::try_from(at).ok());
                return Ok(found.unwrap_or(length).saturating_add(1));
            }
            Target::Offset { offset, count } => (offset, count),
        };
        if length == 0 {
            return Ok(0);
        }
        if offset == 1 && count != 1 {
            return Ok(1);
        }
        let of = if count == 0 { length } else { count };
        if offset > of {
            return Err(NoView {
                code: ResultCode::OFFSET_RANGE_ERROR,
                text: format!("expected an offset of at most {of}, came {offset}"),
                count: length,
            });
        }
        let exact = u128::from(length) * u128::from(offset);
        let rounded = (2 * exact + u128::from(of)) / (2 * u128::from(of));
        Ok(u32::try_from(rounded).unwrap_or(length).clamp(1, length))
    }

    fn range(&self, position: u32, length: usize) -> Range<usize> {
        let target = (position as usize).saturating_sub(1);
        let start = target.saturating_sub(self.before as usize);
        let end = target.saturating_add(self.after as usize).saturating_add(1);
        start.min(length)..end.min(length)
    }
}

fn response(position: u32, count: u32, code: ResultCode, context: Option<&[u8]>) -> OwnedControl {
    let value = VirtualListViewResponse {
        target_position: position,
        content_count: count,
        code,
        context_id: context,
    };
    OwnedControl::with_value(oid::VIRTUAL_LIST_VIEW_RESPONSE, false, |out| {
        value.encode(out);
    })
}

impl From<NoView> for Stop {
    fn from(none: NoView) -> Stop {
        crate::stop::Refusal::new(ResultCode::VIRTUAL_LIST_VIEW_ERROR, none.text).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view(target: Target, before: u32, after: u32) -> View {
        View {
            before,
            after,
            target,
            ids: Vec::new(),
            found: None,
            context_id: Vec::new(),
        }
    }

    #[test]
    fn offsets_are_ratios() {
        let at =
            |offset, count, length| view(Target::Offset { offset, count }, 0, 0).position(length);
        assert_eq!(at(1, 0, 100), Ok(1));
        assert_eq!(at(1, 50, 100), Ok(1));
        assert_eq!(at(1, 1, 100), Ok(100), "equal numbers are the end");
        assert_eq!(at(50, 50, 100), Ok(100));
        assert_eq!(at(30, 0, 100), Ok(30));
        assert_eq!(at(25, 50, 100), Ok(50));
        assert_eq!(at(2, 3, 4), Ok(3), "8/3 is nearer to 3");
        assert_eq!(at(2, 1000, 4), Ok(1), "no place is before the first");
        assert_eq!(at(1, 0, 0), Ok(0));
        assert_eq!(at(u32::MAX, u32::MAX, u32::MAX), Ok(u32::MAX));
        for beyond in [at(101, 0, 100), at(51, 50, 100)] {
            let none = beyond.expect_err("out of range");
            assert_eq!(
                (none.code, none.count),
                (ResultCode::OFFSET_RANGE_ERROR, 100)
            );
        }
    }

    #[test]
    fn windows_end_where_the_list_does() {
        let range = |before, after, position, length| {
            view(
                Target::Offset {
                    offset: 1,
                    count: 0,
                },
                before,
                after,
            )
            .range(position, length)
        };
        assert_eq!(range(0, 19, 1, 78_564), 0..20);
        assert_eq!(range(19, 0, 78_564, 78_564), 78_544..78_564);
        assert_eq!(range(10, 10, 3, 100), 0..13);
        assert_eq!(range(5, 5, 101, 100), 95..100, "no entry is great enough");
        assert_eq!(range(u32::MAX, u32::MAX, 2, 3), 0..3);
        assert_eq!(range(1, 1, 0, 0), 0..0);
    }

    #[test]
    fn the_first_entry_that_is_great_enough_is_the_target() {
        let mut by_value = view(Target::Value(Box::from(*b"m")), 1, 1);
        for (at, key) in [b"a", b"k", b"m", b"m", b"z"].iter().enumerate() {
            by_value.note(*key, EntryId(at as u64)).expect("few");
        }
        assert_eq!(by_value.position(5), Ok(3));
        let (ids, _) = by_value.window().expect("in range");
        assert_eq!(ids, [1, 2, 3].map(EntryId));
        let mut beyond = view(Target::Value(Box::from(*b"zz")), 1, 1);
        beyond.note(b"z", EntryId(0)).expect("few");
        assert_eq!(beyond.position(1), Ok(2));
    }
}
