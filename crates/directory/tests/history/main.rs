//! Tests of the history as followers read it.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod following;
mod subtrees;
