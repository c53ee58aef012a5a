//! Tests of the history as followers read it.

mod following;
mod subtrees;
