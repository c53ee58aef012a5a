//! The operations of RFC 4511 §4.2 and §4.5 to §4.12 as methods with typed answers.

use crate::{Answer, Entry, LocalClient, LocalError};
use directory::{Directory, Peer};
use protocol::{
    AddRequest, Authentication, BindRequest, CompareRequest, DeleteRequest, ExtendedRequest,
    LdapResult, ModifyDnRequest, ModifyRequest, OwnedControl, Request, ResultCode, SearchRequest,
};
use std::time::Duration;

impl LocalClient {
    /// A client with the rights of the node's owner, as a process with the rights to the folder
    /// has them over `ldapi`: it may administer the node. `patience` is that of
    /// [`open`](Self::open).
    ///
    /// # Errors
    /// The errors of [`open`](Self::open); `Refused` if the bind is refused.
    pub fn as_owner(directory: &Directory, patience: Duration) -> Result<LocalClient, LocalError> {
        let peer = Peer {
            secure: true,
            unix_uid: Some(0),
            certificate: None,
            local: true,
            ..Peer::default()
        };
        let mut client = LocalClient::open(directory, peer, patience)?;
        client.authenticate(
            "",
            Authentication::Sasl {
                mechanism: "EXTERNAL",
                credentials: None,
            },
        )?;
        Ok(client)
    }

    /// Binds with a name and a password. The client is anonymous after a refusal (RFC 4511 §4.2.1).
    ///
    /// # Errors
    /// The errors of [`request`](Self::request); `Refused` for a result other than success.
    pub fn bind(&mut self, name: &str, password: &[u8]) -> Result<(), LocalError> {
        self.authenticate(name, Authentication::Simple(password))
    }

    fn authenticate(
        &mut self,
        name: &str,
        authentication: Authentication<'_>,
    ) -> Result<(), LocalError> {
        let bind = BindRequest {
            version: 3,
            name,
            authentication,
        };
        self.succeed(&Request::Bind(bind), &[]).map(drop)
    }

    /// Executes a request to its end, whatever its result.
    ///
    /// # Errors
    /// The errors of [`begin`](Self::begin) and [`step`](Self::step); `NoResponse` after a request
    /// without a response.
    pub fn request(
        &mut self,
        request: &Request<'_>,
        controls: &[OwnedControl],
    ) -> Result<Answer, LocalError> {
        let mut call = self.begin(request, controls)?;
        self.finish(&mut call)?;
        match call.responses() {
            [] => Err(LocalError::NoResponse),
            responses => Answer::decode(responses),
        }
    }

    /// Searches. The result may be other than success, because a search that a limit ends has found
    /// entries, too.
    ///
    /// # Errors
    /// The errors of [`request`](Self::request).
    pub fn search(
        &mut self,
        request: SearchRequest<'_>,
        controls: &[OwnedControl],
    ) -> Result<Answer, LocalError> {
        self.request(&Request::Search(request), controls)
    }

    /// Reads attributes of one entry, all user attributes if none is named. `None` if there is no
    /// entry with this name that the subject may see.
    ///
    /// # Errors
    /// The errors of [`request`](Self::request); `Refused` for a result other than success.
    pub fn read(&mut self, dn: &str, attributes: &[&str]) -> Result<Option<Entry>, LocalError> {
        let search = SearchRequest {
            attributes: attributes.to_vec(),
            ..SearchRequest::of_entry(dn)
        };
        let mut answer = self.search(search, &[])?;
        match answer.result.code {
            ResultCode::SUCCESS => Ok(answer.entries.pop()),
            ResultCode::NO_SUCH_OBJECT => Ok(None),
            _ => Err(LocalError::Refused(answer.result)),
        }
    }

    /// Adds an entry.
    ///
    /// # Errors
    /// The errors of [`request`](Self::request); `Refused` for a result other than success.
    pub fn add(
        &mut self,
        request: AddRequest<'_>,
        controls: &[OwnedControl],
    ) -> Result<Answer, LocalError> {
        self.succeed(&Request::Add(request), controls)
    }

    /// Modifies an entry.
    ///
    /// # Errors
    /// The errors of [`request`](Self::request); `Refused` for a result other than success.
    pub fn modify(
        &mut self,
        request: ModifyRequest<'_>,
        controls: &[OwnedControl],
    ) -> Result<Answer, LocalError> {
        self.succeed(&Request::Modify(request), controls)
    }

    /// Deletes an entry.
    ///
    /// # Errors
    /// The errors of [`request`](Self::request); `Refused` for a result other than success.
    pub fn delete(
        &mut self,
        request: DeleteRequest<'_>,
        controls: &[OwnedControl],
    ) -> Result<Answer, LocalError> {
        self.succeed(&Request::Delete(request), controls)
    }

    /// Renames or moves an entry.
    ///
    /// # Errors
    /// The errors of [`request`](Self::request); `Refused` for a result other than success.
    pub fn modify_dn(
        &mut self,
        request: ModifyDnRequest<'_>,
        controls: &[OwnedControl],
    ) -> Result<Answer, LocalError> {
        self.succeed(&Request::ModifyDn(request), controls)
    }

    /// Whether an entry has a value.
    ///
    /// # Errors
    /// The errors of [`request`](Self::request); `Refused` for results other than compareTrue and
    /// compareFalse.
    pub fn compare(
        &mut self,
        request: CompareRequest<'_>,
        controls: &[OwnedControl],
    ) -> Result<bool, LocalError> {
        let answer = self.request(&Request::Compare(request), controls)?;
        match answer.result.code {
            ResultCode::COMPARE_TRUE => Ok(true),
            ResultCode::COMPARE_FALSE => Ok(false),
            _ => Err(LocalError::Refused(answer.result)),
        }
    }

    /// Executes an extended operation.
    ///
    /// # Errors
    /// The errors of [`request`](Self::request); `Refused` for a result other than success.
    pub fn extended(
        &mut self,
        request: ExtendedRequest<'_>,
        controls: &[OwnedControl],
    ) -> Result<Answer, LocalError> {
        self.succeed(&Request::Extended(request), controls)
    }

    /// Executes a request that must succeed.
    pub(super) fn succeed(
        &mut self,
        request: &Request<'_>,
        controls: &[OwnedControl],
    ) -> Result<Answer, LocalError> {
        let answer = self.request(request, controls)?;
        match answer.result {
            LdapResult {
                code: ResultCode::SUCCESS,
                ..
            } => Ok(answer),
            result => Err(LocalError::Refused(result)),
        }
    }
}
