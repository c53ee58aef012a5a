//! Responses: written straight into a connection's output buffer, and read by clients and tests.

mod decode;
mod write;

pub use decode::{Response, ResponseMessage, peek_response};
pub use write::{
    EntryMark, begin_search_entry, finish_search_entry, large_search_entry, write_bind_result,
    write_extended_result, write_intermediate, write_notice_of_disconnection, write_result,
    write_search_reference,
};

pub(crate) use decode::{entry_parts, ldap_result, result_code};
pub(crate) use write::put_ldap_result;

use crate::request;
use crate::result_code::ResultCode;

/// Identifier octets of the response operations.
pub mod tag {
    /// `[APPLICATION 1]`.
    pub const BIND: u8 = 0x61;
    /// `[APPLICATION 4]`.
    pub const SEARCH_ENTRY: u8 = 0x64;
    /// `[APPLICATION 5]`.
    pub const SEARCH_DONE: u8 = 0x65;
    /// `[APPLICATION 7]`.
    pub const MODIFY: u8 = 0x67;
    /// `[APPLICATION 9]`.
    pub const ADD: u8 = 0x69;
    /// `[APPLICATION 11]`.
    pub const DELETE: u8 = 0x6B;
    /// `[APPLICATION 13]`.
    pub const MODIFY_DN: u8 = 0x6D;
    /// `[APPLICATION 15]`.
    pub const COMPARE: u8 = 0x6F;
    /// `[APPLICATION 19]`.
    pub const SEARCH_REFERENCE: u8 = 0x73;
    /// `[APPLICATION 24]`.
    pub const EXTENDED: u8 = 0x78;
    /// `[APPLICATION 25]`.
    pub const INTERMEDIATE: u8 = 0x79;
}

/// Result of an operation (RFC 4511 §4.1.9).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LdapResult {
    /// Result code.
    pub code: ResultCode,
    /// For `noSuchObject` and similar codes the name of the deepest existing entry; else empty.
    pub matched: String,
    /// A sentence for people, possibly empty. Never a secret.
    pub diagnostic: String,
    /// For `referral` the URLs of other servers; else empty.
    pub referrals: Vec<String>,
}

impl LdapResult {
    /// Success without further information. Does not allocate.
    #[inline]
    pub const fn success() -> Self {
        LdapResult {
            code: ResultCode::SUCCESS,
            matched: String::new(),
            diagnostic: String::new(),
            referrals: Vec::new(),
        }
    }

    /// A code and a sentence for people.
    pub fn new(code: ResultCode, diagnostic: impl Into<String>) -> Self {
        LdapResult {
            code,
            diagnostic: diagnostic.into(),
            ..Self::success()
        }
    }
}

/// The response operation that carries a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResultKind {
    /// BindResponse.
    Bind,
    /// SearchResultDone.
    SearchDone,
    /// ModifyResponse.
    Modify,
    /// AddResponse.
    Add,
    /// DelResponse.
    Delete,
    /// ModifyDNResponse.
    ModifyDn,
    /// CompareResponse.
    Compare,
    /// ExtendedResponse.
    Extended,
}

impl ResultKind {
    /// The response that ends the request with this identifier octet; `None` when none does.
    #[inline]
    pub const fn of(request_tag: u8) -> Option<ResultKind> {
        match request_tag {
            request::tag::BIND => Some(ResultKind::Bind),
            request::tag::SEARCH => Some(ResultKind::SearchDone),
            request::tag::MODIFY => Some(ResultKind::Modify),
            request::tag::ADD => Some(ResultKind::Add),
            request::tag::DELETE => Some(ResultKind::Delete),
            request::tag::MODIFY_DN => Some(ResultKind::ModifyDn),
            request::tag::COMPARE => Some(ResultKind::Compare),
            request::tag::EXTENDED => Some(ResultKind::Extended),
            _ => None,
        }
    }

    /// The response's identifier octet.
    #[inline]
    pub const fn tag(self) -> u8 {
        match self {
            ResultKind::Bind => tag::BIND,
            ResultKind::SearchDone => tag::SEARCH_DONE,
            ResultKind::Modify => tag::MODIFY,
            ResultKind::Add => tag::ADD,
            ResultKind::Delete => tag::DELETE,
            ResultKind::ModifyDn => tag::MODIFY_DN,
            ResultKind::Compare => tag::COMPARE,
            ResultKind::Extended => tag::EXTENDED,
        }
    }
}

#[cfg(test)]
mod tests;
