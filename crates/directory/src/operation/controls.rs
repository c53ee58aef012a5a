//! The controls of a request: known ones decoded, unknown critical ones refused (RFC 4511 §4.1.11).

use crate::stop::Stop;
use crate::write::WriteOptions;
use policy::Subject;
use protocol::{Control, DecodeError, Request, ResultCode, control, oid};

/// The controls this server supports, as the root DSE lists them.
pub(crate) const SUPPORTED: [&str; 5] = [
    oid::PAGED_RESULTS,
    oid::ASSERTION,
    oid::PRE_READ,
    oid::POST_READ,
    oid::MANAGE_DSA_IT,
];

/// The decoded controls of one request.
#[derive(Debug, Default)]
pub(crate) struct Controls<'a> {
    /// Assertion (RFC 4528): a filter in BER, known to decode.
    pub assertion: Option<&'a [u8]>,
    /// ManageDsaIT (RFC 3296 §3).
    pub manage_dsa_it: bool,
    /// Simple paged results (RFC 2696).
    pub page: Option<control::PagedResults<'a>>,
    /// Post-read (RFC 4527 §3.2): an attribute selection in BER, known to decode.
    pub post_read: Option<&'a [u8]>,
    /// Pre-read (RFC 4527 §3.1), likewise.
    pub pre_read: Option<&'a [u8]>,
}

impl<'a> Controls<'a> {
    /// Decodes what is known; refuses what is critical and unknown or not for this operation.
    pub fn of(request: &Request<'_>, controls: &[Control<'a>]) -> Result<Controls<'a>, Stop> {
        use Request::{Add, Compare, Delete, Modify, ModifyDn, Search};
        let mut it = Controls::default();
        for control in controls {
            match (control.oid, request) {
                (
                    oid::ASSERTION,
                    Add(_) | Compare(_) | Delete(_) | Modify(_) | ModifyDn(_) | Search(_),
                ) => {
                    decoded(control, "assertion", control::Assertion::decode)?;
                    once(&mut it.assertion, control.value, "assertion")?;
                }
                (oid::MANAGE_DSA_IT, _) => it.manage_dsa_it = true,
                (oid::PAGED_RESULTS, Search(_)) => {
                    let page = decoded(control, "paging", control::PagedResults::decode)?;
                    once(&mut it.page, Some(page), "paging")?;
                }
                (oid::POST_READ, Add(_) | Modify(_) | ModifyDn(_)) => {
                    decoded(control, "post-read", control::ReadEntryRequest::decode)?;
                    once(&mut it.post_read, control.value, "post-read")?;
                }
                (oid::PRE_READ, Delete(_) | Modify(_) | ModifyDn(_)) => {
                    decoded(control, "pre-read", control::ReadEntryRequest::decode)?;
                    once(&mut it.pre_read, control.value, "pre-read")?;
                }
                // Criticality means nothing on Unbind (RFC 4511 §4.1.11).
                (unknown, _) if control.critical && !matches!(request, Request::Unbind) => {
                    return Stop::refuse(
                        ResultCode::UNAVAILABLE_CRITICAL_EXTENSION,
                        format!("critical control {unknown} is not available for this operation"),
                    );
                }
                _ => {}
            }
        }
        Ok(it)
    }

    /// What of it the execution of a write must know.
    pub fn write_options(&self, subject: &Subject) -> Option<Box<WriteOptions>> {
        let owned = |value: Option<&[u8]>| value.map(<[u8]>::to_vec);
        WriteOptions {
            administrator: subject.is_administrator(),
            assertion: owned(self.assertion),
            pre_read: owned(self.pre_read),
            post_read: owned(self.post_read),
        }
        .if_any()
    }
}

/// The decoded value of a control that must have one.
fn decoded<'a, T>(
    control: &Control<'a>,
    what: &str,
    decode: impl Fn(&'a [u8]) -> Result<T, DecodeError>,
) -> Result<T, Stop> {
    match control.required_value().and_then(decode) {
        Ok(value) => Ok(value),
        Err(error) => Stop::refuse(
            ResultCode::PROTOCOL_ERROR,
            format!("{what} control: {error}"),
        ),
    }
}

/// Keeps what a control says; no control may be given twice (RFC 4511 §4.1.11).
fn once<T>(place: &mut Option<T>, value: Option<T>, what: &str) -> Result<(), Stop> {
    if place.is_some() {
        return Stop::refuse(
            ResultCode::PROTOCOL_ERROR,
            format!("the {what} control is given twice"),
        );
    }
    *place = value;
    Ok(())
}
