//! Search (RFC 4511 §4.5): the request and its controls, candidates and their test, sorting, paging
//! and views, and entries that are not stored.

pub(crate) mod alias;
pub(crate) mod area;
pub(crate) mod areas;
pub(crate) mod begin;
pub(crate) mod call;
pub(crate) mod cost;
pub(crate) mod count;
pub(crate) mod criteria;
pub(crate) mod cursor;
pub(crate) mod end;
pub(crate) mod explain;
pub(crate) mod extras;
pub(crate) mod group_walk_limits;
pub(crate) mod large;
pub(crate) mod later;
pub(crate) mod limits;
pub(crate) mod monitor;
pub(crate) mod page;
pub(crate) mod reference;
pub(crate) mod resume;
pub(crate) mod root_dse;
pub(crate) mod run;
pub(crate) mod sending;
pub(crate) mod sink;
pub(crate) mod slice;
pub(crate) mod sort;
pub(crate) mod source;
pub(crate) mod state;
pub(crate) mod subschema;
pub(crate) mod unindexed;
mod uses;
pub(crate) mod view;
pub(crate) mod virtual_list;
pub(crate) mod virtual_search;
