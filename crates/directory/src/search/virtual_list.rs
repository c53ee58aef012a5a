//! Sorting (RFC 2891), views and pages (RFC 2696) of entries that are not stored, which are few and
//! all in memory.

use crate::context::Context;
use crate::control::{Controls, SearchControls};
use crate::search::call::{Query, SearchCall};
use crate::search::monitor::Node;
use crate::search::page;
use crate::search::sort::outcome;
use crate::search::sort::outcome::{AskedOrder, Failure};
use crate::search::view::{NoView, View};
use answers::sort_key::{self, Order, Scratch};
use protocol::OwnedControl;
use protocol::control::PagedResults;
use spool::cookie::PagePosition;
use state::stop::Stop;
use store::EntryId;

/// The entries to return, in order, and the controls of the result.
pub(crate) struct Listed<'n> {
    pub nodes: Vec<&'n Node>,
    pub controls: Vec<OwnedControl>,
}

/// Whether a search has sort, view or paged results controls.
pub(crate) fn is_asked_for(controls: &Controls<'_>) -> bool {
    let ordered = |it: &SearchControls<'_>| it.sort.is_some() || it.view.is_some();
    controls.page.is_some() || controls.search.as_deref().is_some_and(ordered)
}

/// Sorts the entries and selects the requested page or view.
pub(crate) fn list<'n>(
    context: &Context<'_>,
    call: &SearchCall<'_>,
    query: Query<'_>,
    found: Vec<&'n Node>,
) -> Result<Result<Listed<'n>, Failure>, Stop> {
    let controls = query.controls;
    let schema = &context.catalog.schema;
    let mut listed = Listed {
        nodes: found,
        controls: Vec::new(),
    };
    let asked = controls.search.as_deref();
    let asked = asked.filter(|it| it.sort.is_some() || it.view.is_some());
    let mut sort = None;
    if let Some(asked) = asked {
        match outcome::order_of(schema, asked, controls.page.is_some())? {
            AskedOrder::Failed(failure) => return Ok(Err(failure)),
            AskedOrder::Unsorted(control) => listed.controls.push(control),
            AskedOrder::Order(order, by) => {
                sort = Some(by);
                let keys = listed.order(context, &order);
                if let Some(view) = &asked.view {
                    let fingerprint = page::fingerprint(query, context.subject, sort);
                    let view = View::of(schema, &order, view, call.cookie_key, fingerprint);
                    let id = call.cookie_key.seal_context(fingerprint, 0);
                    if let Err(none) = view.and_then(|it| listed.look_at(&it, &keys, &id)) {
                        return Ok(Err(Failure::no_view(none)));
                    }
                }
            }
        }
    }
    if let Some(asked) = &controls.page {
        let fingerprint = page::fingerprint(query, context.subject, sort);
        listed.cut(call, fingerprint, asked)?;
    }
    // Without an entry there is no sort result (RFC 2891 §2, case 6).
    if sort.is_some() && !listed.nodes.is_empty() {
        listed.controls.push(sort_key::sorted_control());
    }
    Ok(Ok(listed))
}

impl Listed<'_> {
    /// Sorts the entries and returns their keys, in which their former indexes take the place of
    /// ids.
    fn order(&mut self, context: &Context<'_>, order: &Order) -> Vec<Box<[u8]>> {
        let schema = &context.catalog.schema;
        let mut scratch = Scratch::default();
        let nodes = self.nodes.iter().enumerate();
        let mut keyed: Vec<(Box<[u8]>, &Node)> = nodes
            .map(|(at, node)| {
                let id = EntryId(at as u64);
                (order.key_of(schema, &node.entry, id, &mut scratch), *node)
            })
            .collect();
        keyed.sort_by(|one, other| one.0.cmp(&other.0));
        let (keys, nodes) = keyed.into_iter().unzip();
        self.nodes = nodes;
        keys
    }

    /// Selects the entries in the window of a view. The list is made anew each time, so the context
    /// id names no kept list.
    fn look_at(
        &mut self,
        view: &View,
        keys: &[Box<[u8]>],
        context_id: &[u8],
    ) -> Result<(), NoView> {
        let length = keys.len() as u32;
        let found = view
            .bound()
            .map(|bound| keys.partition_point(|it| **it < *bound) as u32);
        let window = view.window(length, found)?;
        self.controls.push(window.control(context_id));
        self.nodes.truncate(window.places.end as usize);
        self.nodes.drain(..window.places.start as usize);
        Ok(())
    }

    /// Selects one page. The cookie holds the number of entries before it.
    fn cut(
        &mut self,
        call: &SearchCall<'_>,
        fingerprint: u64,
        asked: &PagedResults<'_>,
    ) -> Result<(), Stop> {
        let mut cookie = Vec::new();
        match page::begin(call.cookie_key, fingerprint, asked)? {
            None => self.nodes.clear(),
            Some(start) => {
                let before = self.nodes.len().min(start.after.0 as usize);
                self.nodes.drain(..before);
                let size = page::size(asked, call.limits.page_entries_max) as usize;
                if self.nodes.len() > size {
                    self.nodes.truncate(size);
                    let sent = (before + size) as u64;
                    cookie = call.cookie_key.seal(&PagePosition {
                        after: EntryId(sent),
                        sent,
                        ..start
                    });
                }
            }
        }
        self.controls.push(page::response(&cookie));
        Ok(())
    }
}
