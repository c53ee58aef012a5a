//! LDAP on the wire and in text: BER, messages, controls and extended operations as data, filters
//! and names as spelled, LDIF, URLs.
//!
//! Invariants:
//! - no I/O, no clock, no dependency: bytes and text go in, values come out, and back;
//! - decoding borrows from its input, and allocates for lists only;
//! - no input makes it panic, recurse beyond a limit passed in, or allocate more than a fixed
//!   multiple of the input's size;
//! - names, attribute descriptions and values stay as spelled: the schema is not known here.

#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

pub mod base64;
pub mod ber;
pub mod control;
mod count;
mod error;
mod error_text;
pub mod extended;
mod filter;
mod filter_text;
mod frame;
pub mod fuzz;
mod fuzz_text;
pub mod ldif;
mod message;
mod message_id;
pub mod name;
pub mod oid;
pub mod proxy;
pub mod request;
pub mod response;
pub mod response_head;
mod result_code;
pub mod sasl;
pub mod url;

pub use ber::{OwnedAttribute, PartialAttribute, Values, put_partial_attribute};
pub use control::{Control, OwnedControl};
pub use count::counted;
pub use error::{Component, DecodeError};
pub use error_text::TextError;
pub use filter::{FILTER_DEPTH_MAX, FILTERS_MAX, Filter};
pub use filter_text::{parse_filter, parse_filter_within};
pub use frame::frame;
pub use message::{DecodeLimits, Message, decode_controls_of, decode_header};
pub use message_id::MessageId;
pub use name::{
    AttributeValue, Name, Rdn, RdnValues, Rdns, escape_value, for_each_rdn, parse_name, parse_rdn,
    rdns,
};
pub use request::{
    AddRequest, Authentication, BindRequest, Change, ChangeOperation, CompareRequest,
    DeleteRequest, DerefAliases, ExtendedRequest, ModifyDnRequest, ModifyRequest, Request, Scope,
    SearchRequest, write_request,
};
pub use response::{
    EntryMark, LdapResult, Response, ResponseMessage, ResultKind, begin_search_entry,
    finish_search_entry, peek_response, write_bind_result, write_extended_result,
    write_intermediate, write_notice_of_disconnection, write_result, write_search_reference,
};
pub use result_code::ResultCode;
