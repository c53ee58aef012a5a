//! Sorted searches (RFC 2891): complete, in pages, or as a view.
//!
//! There are two ways to sort, with equal results: *collecting* tests every candidate and sorts the
//! keys; *walking* follows an ordering index and tests entries in its order, so it keeps no keys
//! and stops when the page is full. Entries without a value are in no index and are collected
//! before or after the walk.
//!
//! A view, and a page that is not walked to, is a part of a list that is kept for later views and
//! pages (`list.rs`).

pub(crate) mod begin;
pub(crate) mod deliver;
pub(crate) mod keys;
pub(crate) mod list;
pub(crate) mod outcome;
pub(crate) mod pages;
pub(crate) mod state;
pub(crate) mod step;
pub(crate) mod walk;
