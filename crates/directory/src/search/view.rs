//! Virtual list view (draft-ietf-ldapext-ldapv3-vlv-09): a window on a sorted list, and its
//! position in the list.
//!
//! Counts and positions are exact for the list, which reflects the directory while the list was
//! made. The context id that clients return names the list, so that later windows show the same
//! list.

use answers::sort_key::Order;
use protocol::control::{ViewTarget, VirtualListViewRequest, VirtualListViewResponse};
use protocol::{OwnedControl, ResultCode, oid};
use schema::Schema;
use spool::cookie::CookieKey;
use state::stop::Stop;
use std::ops::Range;

/// A requested view.
#[derive(Debug)]
pub(crate) struct View {
    before: u32,
    after: u32,
    target: Target,
    /// Number of the list that the client has seen; `None` for a new one.
    list: Option<u64>,
}

/// The part of a list that a view shows.
#[derive(Debug)]
pub(crate) struct Window {
    /// Indexes of the entries in the list, counted from 0.
    pub places: Range<u32>,
    /// Position of the target, counted from 1; one more than the number of entries if the target is
    /// behind the last.
    position: u32,
    length: u32,
}

impl Window {
    /// The response control with the window's position.
    pub fn control(&self, context_id: &[u8]) -> OwnedControl {
        let (position, length) = (self.position, self.length);
        response(position, length, ResultCode::SUCCESS, Some(context_id))
    }
}

#[derive(Debug)]
enum Target {
    Offset {
        offset: u32,
        count: u32,
    },
    /// The first entry whose sort key is not less than this key.
    Value(Box<[u8]>),
}

/// Reason why there is no view, as the response control reports it (§6.2).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NoView {
    pub code: ResultCode,
    pub text: String,
    /// Length of the list; 0 if unknown.
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

    /// The response control that reports the reason.
    pub fn control(&self) -> OwnedControl {
        response(0, self.count, self.code, None)
    }
}

impl View {
    /// Resolves the requested view. The fingerprint is that of the list: of the search and its
    /// order.
    pub fn of(
        schema: &Schema,
        order: &Order,
        asked: &VirtualListViewRequest<'_>,
        key: &CookieKey,
        fingerprint: u64,
    ) -> Result<View, NoView> {
        let list = asked.context_id.map(|it| key.open_context(it, fingerprint));
        if list == Some(None) {
            let text = "this context id was not issued for this list: ask again without one";
            return Err(NoView::new(ResultCode::PROTOCOL_ERROR, text));
        }
        let target = match asked.target {
            ViewTarget::ByOffset { offset: 0, .. } => {
                let text = "offsets count from 1, got 0";
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
            list: list.flatten(),
        })
    }

    /// Number of the list that the client has seen; `None` for a new one.
    pub fn list(&self) -> Option<u64> {
        self.list
    }

    /// The least sort key that the target can have; `None` if the target is given by its position.
    pub fn bound(&self) -> Option<&[u8]> {
        match &self.target {
            Target::Offset { .. } => None,
            Target::Value(bound) => Some(bound),
        }
    }

    /// The window on a list of `length` entries. `found` is the index of the first key that is not
    /// less than the bound, counted from 0, if there is a bound.
    ///
    /// # Errors
    /// The list is shorter than the requested offset.
    pub fn window(&self, length: u32, found: Option<u32>) -> Result<Window, NoView> {
        let position = self.position(length, found)?;
        let target = position.saturating_sub(1);
        let start = target.saturating_sub(self.before);
        let end = target.saturating_add(self.after).saturating_add(1);
        Ok(Window {
            places: start.min(length)..end.min(length),
            position,
            length,
        })
    }

    /// Position of the target in a list of `length` entries, counted from 1 (§5).
    fn position(&self, length: u32, found: Option<u32>) -> Result<u32, NoView> {
        let (offset, count) = match self.target {
            Target::Value(_) => return Ok(found.unwrap_or(length).saturating_add(1)),
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
                text: format!("expected an offset of at most {of}, got {offset}"),
                count: length,
            });
        }
        let exact = u128::from(length) * u128::from(offset);
        let rounded = (2 * exact + u128::from(of)) / (2 * u128::from(of));
        Ok(u32::try_from(rounded).unwrap_or(length).clamp(1, length))
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
        state::stop::Refusal::new(ResultCode::VIRTUAL_LIST_VIEW_ERROR, none.text).into()
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
            list: None,
        }
    }

    #[test]
    fn offsets_are_ratios() {
        let at = |offset, count, length| {
            view(Target::Offset { offset, count }, 0, 0).position(length, None)
        };
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
        let places = |before, after, found, length| {
            let value = Target::Value(Box::from(*b"m"));
            let window = view(value, before, after).window(length, Some(found));
            window.expect("any value has its place").places
        };
        assert_eq!(places(0, 19, 0, 78_564), 0..20);
        assert_eq!(places(19, 0, 78_563, 78_564), 78_544..78_564);
        assert_eq!(places(10, 10, 2, 100), 0..13);
        assert_eq!(places(5, 5, 100, 100), 95..100, "no entry is great enough");
        assert_eq!(places(u32::MAX, u32::MAX, 1, 3), 0..3);
        assert_eq!(places(1, 1, 0, 0), 0..0);
    }
}
