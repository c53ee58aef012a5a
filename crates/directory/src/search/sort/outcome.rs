//! Response controls and results of sorted searches (RFC 2891 §2) and of virtual list views
//! (draft-ietf-ldapext-ldapv3-vlv-09 §6.2).

use crate::control::SearchControls;
use crate::search::view::NoView;
use answers::sort_key::{Order, Unsorted};
use protocol::control::SortRequest;
use protocol::{LdapResult, MessageId, OwnedControl, ResultCode, ResultKind, response};
use schema::Schema;
use state::stop::Stop;

/// Result of resolving the sort and view controls.
pub(crate) enum AskedOrder<'s, 'r> {
    Order(Order, &'s SortRequest<'r>),
    /// Entries are sent in any order, with a control that reports why.
    Unsorted(OwnedControl),
    /// No entries are sent.
    Failed(Failure),
}

/// Result of a search that returns no entries, or no more, because it cannot be sorted.
#[derive(Debug)]
pub(crate) struct Failure {
    result: LdapResult,
    controls: Vec<OwnedControl>,
}

/// Resolves the order of a search that has a sort or view control.
pub(crate) fn order_of<'s, 'r>(
    schema: &Schema,
    asked: &'s SearchControls<'r>,
    paged: bool,
) -> Result<AskedOrder<'s, 'r>, Stop> {
    let Some(sort) = &asked.sort else {
        let none = NoView::new(
            ResultCode::SORT_CONTROL_MISSING,
            "a virtual list view needs the sort control beside it",
        );
        return Ok(AskedOrder::Failed(Failure::no_view(none)));
    };
    if asked.view.is_some() && paged {
        return Stop::refuse(
            ResultCode::UNWILLING_TO_PERFORM,
            "a virtual list view and paged results exclude each other",
        );
    }
    Ok(match Order::of(schema, sort) {
        Ok(order) => AskedOrder::Order(order, sort),
        Err(unsorted) => without_order(&unsorted, asked),
    })
}

/// Result if sorting is impossible: no entries, or all of them unsorted (RFC 2891 §2, cases 3 and
/// 4).
fn without_order<'s, 'r>(unsorted: &Unsorted, asked: &SearchControls<'_>) -> AskedOrder<'s, 'r> {
    if asked.view.is_some() {
        let mut none = NoView::new(unsorted.code, unsorted.text.clone());
        if unsorted.code == ResultCode::NO_SUCH_ATTRIBUTE {
            // The view's result codes have no code of their own for this reason.
            none.code = ResultCode::INAPPROPRIATE_MATCHING;
        }
        let mut failure = Failure::no_view(none);
        failure.controls.insert(0, unsorted.control());
        return AskedOrder::Failed(failure);
    }
    match asked.sort_critical {
        true => AskedOrder::Failed(Failure::unsorted(unsorted, 0)),
        false => AskedOrder::Unsorted(unsorted.control()),
    }
}

impl Failure {
    /// Ends a search whose view is impossible.
    pub fn no_view(none: NoView) -> Failure {
        let controls = vec![none.control()];
        let code = ResultCode::VIRTUAL_LIST_VIEW_ERROR;
        Failure {
            result: LdapResult::new(code, none.text),
            controls,
        }
    }

    /// Ends a search after `sent` sorted entries, because no more can be sorted.
    pub fn unsorted(unsorted: &Unsorted, sent: u64) -> Failure {
        let code = match unsorted.code {
            ResultCode::ADMIN_LIMIT_EXCEEDED if sent > 0 => unsorted.code,
            _ => ResultCode::UNAVAILABLE_CRITICAL_EXTENSION,
        };
        Failure {
            result: LdapResult::new(code, unsorted.text.clone()),
            controls: vec![unsorted.control()],
        }
    }

    /// Appends the result message.
    pub fn write(&self, id: MessageId, out: &mut Vec<u8>) {
        let (result, controls) = (&self.result, &self.controls);
        response::write_result(out, id, ResultKind::SearchDone, result, controls);
    }
}
