//! The replicated state machine: the effect of a record on the directory.
//!
//! Invariants:
//! - execution (`execute/`) is a function of the state and the record: no code of this crate reads
//!   a clock, draws random numbers, starts a thread or knows a setting of a node;
//! - operations read entries through a [`view::View`], which returns them narrowed to one subject;
//!   its snapshot is private.

pub mod access_rules;
pub mod account;
pub mod advice;
pub mod apply;
pub mod assertion;
pub mod bounds;
pub mod candidate;
pub mod catalog;
pub mod claims;
pub mod class_check;
pub mod concerned;
pub mod config;
pub mod delegation;
pub mod entry_end;
pub mod equality;
pub mod execute;
#[doc(hidden)]
pub mod fuzz;
pub mod grant;
pub mod heavy;
pub mod history;
pub mod index_progress;
pub mod knowledge;
pub mod lanes;
pub mod level;
pub mod links;
pub mod matched_values;
pub mod meta;
pub mod origin;
pub mod passwords;
pub mod permit;
pub mod progress;
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
pub mod trail;
pub mod values;
pub mod view;
pub mod virtual_entry;
pub mod write;
