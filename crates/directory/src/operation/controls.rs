//! The controls of a request: known ones decoded, unknown critical ones refused (RFC 4511 §4.1.11).

use crate::stop::Stop;
use protocol::{Control, Request, ResultCode, control, oid};

/// The controls this server supports, as the root DSE lists them.
pub(crate) const SUPPORTED: [&str; 2] = [oid::PAGED_RESULTS, oid::MANAGE_DSA_IT];

/// The decoded controls of one request.
#[derive(Debug, Default)]
pub(crate) struct Controls<'a> {
    /// ManageDsaIT (RFC 3296 §3).
    pub manage_dsa_it: bool,
    /// Simple paged results (RFC 2696).
    pub page: Option<control::PagedResults<'a>>,
}

impl<'a> Controls<'a> {
    /// Decodes what is known; refuses what is critical and unknown or not for this operation.
    pub fn of(request: &Request<'_>, controls: &[Control<'a>]) -> Result<Controls<'a>, Stop> {
        let mut it = Controls::default();
        for control in controls {
            match control.oid {
                oid::MANAGE_DSA_IT => it.manage_dsa_it = true,
                oid::PAGED_RESULTS if matches!(request, Request::Search(_)) => {
                    it.page(control)?;
                }
                unknown if control.critical => {
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

    fn page(&mut self, control: &Control<'a>) -> Result<(), Stop> {
        if self.page.is_some() {
            return Stop::refuse(
                ResultCode::PROTOCOL_ERROR,
                "the paging control is given twice",
            );
        }
        let decoded = control.value.map(control::PagedResults::decode);
        let Some(Ok(page)) = decoded else {
            return Stop::refuse(
                ResultCode::PROTOCOL_ERROR,
                "paging control: expected SEQUENCE { size INTEGER, cookie OCTET STRING }",
            );
        };
        self.page = Some(page);
        Ok(())
    }
}
