//! The progress of an index build, as text and number.

use store::IndexState;

/// Returns `ready`, or the work in progress; `last` is the greatest entry id.
pub fn text(state: &IndexState, last: u64) -> String {
    if !state.dropping.is_empty() {
        return format!("removing {}", state.dropping);
    }
    if state.building.is_empty() {
        return "ready".to_owned();
    }
    let percent = done(state, last) * 100 / last.max(1);
    let new = state.building - state.ready;
    match new.is_empty() {
        true => format!("ready, built anew: {percent} %"),
        false => format!("building {new}: {percent} %"),
    }
}

/// Number of ids that the build has passed.
pub fn done(state: &IndexState, last: u64) -> u64 {
    state.next.0.saturating_sub(1).min(last)
}
