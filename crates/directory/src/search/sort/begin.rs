//! Begins a sorted search: order, goal, and the way to sort.

use crate::context::Context;
use crate::control::SearchControls;
use crate::search::area::{AreaKind, Areas};
use crate::search::call::{Query, SearchCall};
use crate::search::cursor::Running;
use crate::search::end::write_abandoned;
use crate::search::page;
use crate::search::sink::Sink;
use crate::search::sort::keys::SortKeys;
use crate::search::sort::outcome::{AskedOrder, Failure};
use crate::search::sort::state::{Goal, Phase, Sorted};
use crate::search::sort::{outcome, pages, walk};
use crate::search::state::Search;
use crate::search::view::{NoView, View};
use answers::sort_key::{Order, Scratch};
use spool::list::{ListWriter, Origin, Sorter};
use state::stop::Stop;
use std::collections::VecDeque;

/// Result of beginning a search with a sort control.
pub(crate) enum Begun {
    /// The answer is in the output.
    Answered,
    /// The search continues unsorted; its result reports why.
    Unsorted,
    Sorted,
}

/// Makes a search whose areas are known a sorted one.
pub(crate) fn begin(
    context: &Context<'_>,
    call: &SearchCall<'_>,
    query: Query<'_>,
    asked: &SearchControls<'_>,
    Running { search, sink }: &mut Running,
    out: &mut Vec<u8>,
) -> Result<Begun, Stop> {
    let schema = &context.catalog.schema;
    let (order, sort) = match outcome::order_of(schema, asked, query.is_paged())? {
        AskedOrder::Order(order, sort) => (order, sort),
        AskedOrder::Unsorted(control) => {
            search.add_control(control);
            return Ok(Begun::Unsorted);
        }
        AskedOrder::Failed(failure) => {
            failure.write(search.id, out);
            return Ok(Begun::Answered);
        }
    };
    let fingerprint = page::fingerprint(query, context.subject, Some(sort));
    let goal = match goal_of(context, call, query, asked, &order, fingerprint)? {
        Ok(Some(goal)) => goal,
        Ok(None) => {
            write_abandoned(search, sink, out);
            return Ok(Begun::Answered);
        }
        Err(none) => {
            Failure::no_view(none).write(search.id, out);
            return Ok(Begun::Answered);
        }
    };
    if let Goal::Page(page) = &goal {
        search.limits.sent_before = page.sent_before;
    }
    let (entries, references): (Areas, Areas) = std::mem::take(&mut search.source.areas)
        .into_iter()
        .partition(|it| it.kind == AreaKind::Entries);
    let regions = entries.iter().map(|it| it.region).collect();
    search.source.areas = entries;
    let origin = origin_of(context, call, fingerprint);
    let mut sorted = Sorted {
        order,
        critical: asked.sort_critical,
        regions,
        references,
        keys: SortKeys::new(None, 0),
        absent_only: false,
        sorter: None,
        listing: None,
        memory: call.session.buffers.beside(),
        goal,
        phases: VecDeque::new(),
        scratch: Scratch::default(),
        version: origin.version,
        then: std::mem::take(sink),
    };
    if let Some(list) = sorted.kept_list(call, &origin) {
        if let Err(none) = sorted.show(list, call, search)? {
            Failure::no_view(none).write(search.id, out);
            return Ok(Begun::Answered);
        }
    } else {
        sorted.plan(context, call, search, origin)?;
    }
    sorted.note_order(context);
    *sink = Sink::Sort(Box::new(sorted));
    Ok(Begun::Sorted)
}

/// The origin of a list that is begun now.
fn origin_of(context: &Context<'_>, call: &SearchCall<'_>, fingerprint: u64) -> Origin {
    Origin {
        fingerprint,
        subject: context.subject.dn.as_str().into(),
        schema: context.catalog.schema.clone(),
        version: context.version(),
        begun_us: call.lent.clock.now_us(),
    }
}

/// The part that the client wants; `None` if it abandons its paged search.
fn goal_of(
    context: &Context<'_>,
    call: &SearchCall<'_>,
    query: Query<'_>,
    asked: &SearchControls<'_>,
    order: &Order,
    fingerprint: u64,
) -> Result<Result<Option<Goal>, NoView>, Stop> {
    if let Some(view) = &asked.view {
        let schema = &context.catalog.schema;
        let view = View::of(schema, order, view, call.cookie_key, fingerprint);
        return Ok(view.map(|it| Some(Goal::View(it))));
    }
    let Some(paged) = &query.controls.page else {
        return Ok(Ok(Some(Goal::All)));
    };
    let size_max = call.limits.page_entries_max;
    let page = pages::begin(call.cookie_key, fingerprint, paged, size_max)?;
    Ok(Ok(page.map(Goal::Page)))
}

impl Sorted {
    /// Chooses between walking and collecting.
    fn plan(
        &mut self,
        context: &Context<'_>,
        call: &SearchCall<'_>,
        search: &mut Search,
        origin: Origin,
    ) -> Result<(), Stop> {
        let wanted = self.wanted(search);
        self.keys = SortKeys::new(
            wanted.map(|it| usize::try_from(it).unwrap_or(usize::MAX)),
            usize::try_from(search.limits.sort_entries_max).unwrap_or(usize::MAX),
        );
        let walk = walk::plan(context, call, search, self, wanted)?;
        let lists = &call.shared.lists;
        let is_part = match self.goal {
            Goal::View(_) => true,
            // Without room for a list, each page tests all entries and keeps only its own keys.
            Goal::Page(_) => walk.is_none() && lists.spools.has_room(),
            Goal::All => false,
        };
        self.listing = is_part.then(|| ListWriter::new(lists, origin));
        if is_part || wanted.is_none() {
            let keys_max = match self.goal {
                Goal::Page(_) => 0,
                _ => search.limits.sort_entries_max,
            };
            self.sorter = Some(Sorter::new(&lists.spools, keys_max));
        }
        let Some(walk) = walk else {
            self.phases.push_back(Phase::Collect);
            return Ok(());
        };
        self.absent_only = true;
        // A later page skips the phases that earlier pages finished.
        let (walks, collects) = match &self.goal {
            Goal::Page(page) if !page.after.is_empty() => {
                let present = self.order.first_value(&page.after).is_some();
                let reverse = self.order.is_reverse();
                (present || reverse, !present || !reverse)
            }
            _ => (true, true),
        };
        let phases = [(walks, Phase::Walk(walk)), (collects, Phase::Collect)];
        let mut phases: VecDeque<Phase> = phases
            .into_iter()
            .filter_map(|(due, phase)| due.then_some(phase))
            .collect();
        if self.order.is_reverse() {
            phases = phases.into_iter().rev().collect();
        }
        self.phases = phases;
        Ok(())
    }

    /// Records how the entries are sorted, if the search is explained.
    fn note_order(&mut self, context: &Context<'_>) {
        if self.explaining().is_some() {
            let words = self.words(context);
            let explaining = self.explaining_mut();
            explaining.into_iter().for_each(|it| it.note_order(&words));
        }
    }

    /// How the entries are sorted, in words, for the explain control.
    fn words(&self, context: &Context<'_>) -> String {
        let schema = &context.catalog.schema;
        let first = self.order.first_type().map(|it| schema.type_of(it).name());
        let first = first.unwrap_or_default();
        match self.phases.front() {
            Some(Phase::Show(_)) => format!("part of a list sorted by {first} that was kept"),
            _ if self.phases.iter().any(|it| matches!(it, Phase::Walk(_))) => {
                format!("in the order of the ordering index of {first}")
            }
            _ => format!("sorted by {first}"),
        }
    }

    /// Number of least keys needed, one more than are sent; `None` for all.
    fn wanted(&self, search: &Search) -> Option<u64> {
        let limit = search.limits.entries_max;
        match &self.goal {
            Goal::View(_) => None,
            Goal::Page(page) => Some(u64::from(page.size) + 1),
            Goal::All if limit != 0 => Some(limit.saturating_add(1)),
            Goal::All => None,
        }
    }
}
