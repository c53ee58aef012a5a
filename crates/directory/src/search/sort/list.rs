//! Views and pages that are parts of kept sorted lists (`list.rs`).

use crate::context::Context;
use crate::search::call::SearchCall;
use crate::search::slice::Slice;
use crate::search::sort::state::{Goal, Part, Phase, PhaseStep, Sorted};
use crate::search::state::Search;
use crate::search::view::NoView;
use spool::list;
use spool::list::{List, Origin};
use state::progress::Progress;
use state::stop::Stop;
use std::sync::Arc;

impl Sorted {
    /// Sends entries of a part of a list until the slice ends.
    pub(crate) fn send_part(
        &mut self,
        context: &Context<'_>,
        search: &mut Search,
        mut part: Part,
        slice: &Slice,
        out: &mut Vec<u8>,
    ) -> Result<PhaseStep, Stop> {
        while !slice.is_full(out) && self.then.large().is_none() && !context.is_tired() {
            if !part.holds_key {
                if part.left == 0 || part.list.next(&mut part.place)?.is_none() {
                    return Ok(PhaseStep::Done);
                }
                part.left -= 1;
                part.holds_key = true;
            }
            let key = part.place.key();
            match self.deliver(context, search, key, out)? {
                Progress::Done(None) => part.holds_key = false,
                Progress::Done(Some(ended)) => return Ok(PhaseStep::Ended(ended)),
                Progress::Yield => {
                    context.leave_unfinished(self.order.id_of(key));
                    break;
                }
            }
        }
        Ok(PhaseStep::Paused(Phase::Show(part)))
    }

    /// The kept list that the page or view is a part of; `None` if there is none.
    pub(crate) fn kept_list(&self, call: &SearchCall<'_>, origin: &Origin) -> Option<Arc<List>> {
        let number = match &self.goal {
            Goal::View(view) => view.list(),
            // Later pages of a walk continue the walk.
            Goal::Page(page) if page.list == 0 && !page.after.is_empty() => return None,
            Goal::Page(page) => Some(page.list),
            Goal::All => return None,
        };
        call.shared.lists.find(&list::ListQuery {
            fingerprint: origin.fingerprint,
            schema: &origin.schema,
            number,
            version: origin.version,
            now_us: origin.begun_us,
        })
    }

    /// Begins to send the part of the list that the page or view asks for.
    pub(crate) fn show(
        &mut self,
        list: Arc<List>,
        call: &SearchCall<'_>,
        search: &mut Search,
    ) -> Result<Result<(), NoView>, Stop> {
        let places = match &mut self.goal {
            Goal::View(view) => {
                let found = match view.bound() {
                    Some(bound) => Some(list.first_from(bound)?),
                    None => None,
                };
                let window = match view.window(list.length(), found) {
                    Ok(window) => window,
                    Err(none) => return Ok(Err(none)),
                };
                let id = call
                    .cookie_key
                    .seal_context(list.fingerprint(), list.number());
                let context_id = call.sent_cookie(id)?;
                search.add_control(window.control(&context_id));
                // The window is sent as a whole result is.
                self.goal = Goal::All;
                window.places
            }
            Goal::Page(page) => {
                page.list = list.number();
                // The least key greater than the last one sent.
                let mut behind = page.after.to_vec();
                behind.push(0);
                list.first_from(&behind)?..list.length()
            }
            Goal::All => 0..list.length(),
        };
        self.version = list.version();
        self.phases.push_back(Phase::Show(Part {
            place: list.place(places.start)?,
            holds_key: false,
            left: places.end - places.start,
            list,
        }));
        Ok(Ok(()))
    }
}
