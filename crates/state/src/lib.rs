//! The replicated state machine: what a record does to the directory.
//!
//! Invariants:
//! - execution (`execute/`) is a function of the state and the record: nothing here reads a clock,
//!   draws random numbers, starts a thread or knows a setting of a node;
//! - who looks at entries has a [`view::View`]: it hands out entries narrowed to one subject, and
//!   the snapshot is private there.

pub mod account;
pub mod advice;
pub mod apply;
pub mod assertion;
pub mod bounds;
pub mod catalog;
pub mod class_check;
pub mod config;
pub mod entry_end;
pub mod execute;
#[doc(hidden)]
pub mod fuzz;
pub mod grant;
pub mod heavy;
pub mod history;
pub mod index_progress;
pub mod knowledge;
pub mod links;
pub mod matched_values;
pub mod meta;
pub mod passwords;
pub mod projection;
pub mod read_entry;
pub mod record;
pub mod referral;
pub mod rules;
pub mod schema_change;
pub mod selected;
pub mod stop;
pub mod stored_form;
pub mod time;
pub mod values;
pub mod view;
pub mod virtual_entry;
pub mod write;
