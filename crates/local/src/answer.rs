//! Responses as data that is independent of the bytes they were decoded from.

use crate::LocalError;
use protocol::{Control, LdapResult, OwnedControl, Response, ResponseMessage, frame};

/// All responses to one request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Answer {
    /// Entries of a search, in the order of their messages.
    pub entries: Vec<Entry>,
    /// URLs of each reference of a search, in the order of their messages.
    pub references: Vec<Vec<String>>,
    /// Intermediate responses (RFC 4511 §4.13), in the order of their messages.
    pub intermediates: Vec<Intermediate>,
    /// Result of the request, or of the notice that ended the session instead. Success while a
    /// search follows the directory.
    pub result: LdapResult,
    /// Name of an extended response; `None` for other responses, and if it has none.
    pub name: Option<String>,
    /// Value of an extended response, or server credentials of a bind; `None` for other responses,
    /// and if there is none.
    pub value: Option<Vec<u8>>,
    /// Controls of the message with the result.
    pub controls: Vec<OwnedControl>,
}

/// An entry as a search returned it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Entry {
    /// Distinguished name.
    pub dn: String,
    /// Attributes in the order of the response.
    pub attributes: Vec<Attribute>,
    /// Controls of the entry's message.
    pub controls: Vec<OwnedControl>,
}

/// An attribute of an entry.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Attribute {
    /// Attribute description: type and options.
    pub description: String,
    /// Values; none if only types were requested.
    pub values: Vec<Vec<u8>>,
}

/// An intermediate response (RFC 4511 §4.13).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Intermediate {
    /// OID of its kind; `None` if it has none.
    pub name: Option<String>,
    /// Value of the response, in a form that the OID defines; `None` if it has none.
    pub value: Option<Vec<u8>>,
    /// Controls of the response.
    pub controls: Vec<OwnedControl>,
}

impl Entry {
    /// Values of an attribute, whose description is compared without regard to case (RFC 4512
    /// §2.5); none if the entry does not show it.
    pub fn values(&self, description: &str) -> &[Vec<u8>] {
        let mut all = self.attributes.iter();
        let found = all.find(|it| it.description.eq_ignore_ascii_case(description));
        found.map_or(&[], |it| &it.values)
    }
}

impl Answer {
    /// Decodes the responses to one request. An incomplete message at the end is left out, and so
    /// are notices (RFC 4511 §4.4) beside a result.
    ///
    /// # Errors
    /// A complete message cannot be decoded.
    pub fn decode(mut responses: &[u8]) -> Result<Answer, LocalError> {
        let (mut answer, mut has_result) = (Answer::default(), false);
        while let Some(length) = frame(responses, usize::MAX).map_err(LocalError::Response)? {
            let (message, rest) = responses.split_at(length);
            responses = rest;
            let message = ResponseMessage::decode(message).map_err(LocalError::Response)?;
            let is_notice = message.id == 0;
            if is_notice && has_result {
                continue;
            }
            has_result |= !is_notice && message.response.result().is_some();
            answer.take(message);
        }
        Ok(answer)
    }

    fn take(&mut self, message: ResponseMessage<'_>) {
        let controls = message.controls.iter().map(Control::to_owned).collect();
        match message.response {
            Response::SearchEntry { name, attributes } => {
                let attributes = attributes.iter().map(|it| Attribute {
                    description: it.description.to_owned(),
                    values: it.values.into_iter().map(<[u8]>::to_vec).collect(),
                });
                self.entries.push(Entry {
                    dn: name.to_owned(),
                    attributes: attributes.collect(),
                    controls,
                });
            }
            Response::SearchReference(urls) => {
                let urls = urls.into_iter().map(str::to_owned);
                self.references.push(urls.collect());
            }
            Response::Intermediate { name, value } => self.intermediates.push(Intermediate {
                name: name.map(str::to_owned),
                value: value.map(<[u8]>::to_vec),
                controls,
            }),
            Response::SearchDone(result)
            | Response::Modify(result)
            | Response::Add(result)
            | Response::Delete(result)
            | Response::ModifyDn(result)
            | Response::Compare(result) => self.end(result, None, None, controls),
            Response::Bind {
                result,
                server_credentials,
            } => self.end(result, None, server_credentials, controls),
            Response::Extended {
                result,
                name,
                value,
            } => self.end(result, name, value, controls),
        }
    }

    fn end(
        &mut self,
        result: LdapResult,
        name: Option<&str>,
        value: Option<&[u8]>,
        controls: Vec<OwnedControl>,
    ) {
        self.result = result;
        self.name = name.map(str::to_owned);
        self.value = value.map(<[u8]>::to_vec);
        self.controls = controls;
    }
}
