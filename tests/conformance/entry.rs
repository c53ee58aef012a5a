//! Entries, results and changes in the form that clients receive and send.
//!
//! Methods that return a [`Finding`] are for clauses; those that panic are for tests.

use protocol::{
    ChangeOperation, LdapResult, PartialAttribute, Response, ResponseMessage, ResultCode,
};

use crate::Finding;

/// An entry as received by a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Distinguished name, as given or received.
    pub name: String,
    /// Attribute descriptions with their values.
    pub attributes: Vec<(String, Vec<Vec<u8>>)>,
}

impl Entry {
    /// Makes an entry from text values.
    pub fn of(name: &str, attributes: &[(&str, &[&str])]) -> Self {
        let bytes = |values: &&[&str]| values.iter().map(|it| it.as_bytes().to_vec()).collect();
        let attributes = attributes
            .iter()
            .map(|(name, values)| ((*name).to_owned(), bytes(values)))
            .collect();
        Entry {
            name: name.to_owned(),
            attributes,
        }
    }

    /// Appends one value.
    pub fn push(&mut self, attribute: &str, value: Vec<u8>) {
        let known = self
            .attributes
            .iter_mut()
            .find(|(name, _)| name.eq_ignore_ascii_case(attribute));
        match known {
            Some((_, values)) => values.push(value),
            None => self.attributes.push((attribute.to_owned(), vec![value])),
        }
    }

    /// Returns the values of an attribute description; none when it is absent.
    pub fn values(&self, attribute: &str) -> &[Vec<u8>] {
        let found = self
            .attributes
            .iter()
            .find(|(name, _)| name.eq_ignore_ascii_case(attribute));
        found.map_or(&[], |(_, values)| values)
    }

    /// Returns the values of an attribute as text, sorted.
    pub fn texts(&self, attribute: &str) -> Vec<String> {
        let mut texts: Vec<String> = self
            .values(attribute)
            .iter()
            .map(|value| String::from_utf8_lossy(value).into_owned())
            .collect();
        texts.sort();
        texts
    }

    /// Returns the only value of an attribute description, as text.
    #[track_caller]
    pub fn text(&self, attribute: &str) -> String {
        let mut texts = self.texts(attribute);
        assert_eq!(texts.len(), 1, "{attribute} of {self:?}");
        texts.remove(0)
    }

    /// Returns the only value of an attribute description, as text; anything else is a finding.
    pub fn value(&self, attribute: &str) -> Result<String, Finding> {
        let mut texts = self.texts(attribute);
        if texts.len() == 1 {
            return Ok(texts.remove(0));
        }
        Finding::wrong(
            format_args!("one value of {attribute}"),
            format_args!("{texts:?}"),
        )
    }

    /// Returns whether the entry has the attribute description.
    pub fn has(&self, attribute: &str) -> bool {
        self.attributes
            .iter()
            .any(|(name, _)| name.eq_ignore_ascii_case(attribute))
    }
}

/// The result of an operation.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// The result code.
    pub code: ResultCode,
    /// The matched name.
    pub matched: String,
    /// The diagnostic message.
    pub diagnostic: String,
    /// Referral URLs.
    pub referrals: Vec<String>,
    /// Name of an extended response.
    pub name: Option<String>,
    /// Value of an extended response, or server credentials of a bind.
    pub value: Option<Vec<u8>>,
    /// Response controls: OID and value.
    pub controls: Controls,
}

impl Outcome {
    /// Panics unless the result is `success`.
    #[track_caller]
    pub fn expect_success(self) -> Self {
        self.expect(ResultCode::SUCCESS)
    }

    /// Panics unless the result is `code`.
    #[track_caller]
    pub fn expect(self, code: ResultCode) -> Self {
        assert!(self.code == code, "expected {}, got {self:?}", code.name());
        self
    }

    /// Continues if the result is `code`; anything else is a finding.
    pub fn is(self, code: ResultCode) -> Result<Self, Finding> {
        self.is_one_of(&[code])
    }

    /// Continues if the operation succeeded; anything else is a finding.
    pub fn ok(self) -> Result<Self, Finding> {
        self.is(ResultCode::SUCCESS)
    }

    /// Continues if the result is one of `codes`; anything else is a finding.
    pub fn is_one_of(self, codes: &[ResultCode]) -> Result<Self, Finding> {
        if codes.contains(&self.code) {
            return Ok(self);
        }
        let names: Vec<&str> = codes.iter().map(|code| code.name()).collect();
        Finding::wrong(names.join(" or "), self)
    }

    /// Continues if the operation was refused for any reason; success is a finding.
    pub fn refused(self) -> Result<Self, Finding> {
        if self.code == ResultCode::SUCCESS {
            return Finding::wrong("a refusal", self);
        }
        Ok(self)
    }

    /// Returns whether there is a response control of this OID.
    pub fn has_control(&self, oid: &str) -> bool {
        self.controls.iter().any(|(known, _)| known == oid)
    }

    /// Returns the value of a response control that must be there; its absence is a finding.
    pub fn control_value(&self, oid: &str) -> Result<&[u8], Finding> {
        match self.control(oid) {
            Some(value) => Ok(value),
            None => Finding::wrong(format_args!("a response control {oid}"), self),
        }
    }

    /// Returns the value of a response control.
    pub fn control(&self, oid: &str) -> Option<&[u8]> {
        self.controls
            .iter()
            .find(|(known, _)| known == oid)?
            .1
            .as_deref()
    }
}

impl std::fmt::Display for Outcome {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{} ({})", self.code.name(), self.code.0)?;
        if !self.matched.is_empty() {
            write!(out, ", matched {:?}", self.matched)?;
        }
        if !self.diagnostic.is_empty() {
            write!(out, ", {:?}", self.diagnostic)?;
        }
        if !self.referrals.is_empty() {
            write!(out, ", referrals {:?}", self.referrals)?;
        }
        for (oid, _) in &self.controls {
            write!(out, ", control {oid}")?;
        }
        Ok(())
    }
}

/// Result of a search.
#[derive(Debug, Clone)]
pub struct Found {
    /// Entries in the order of arrival.
    pub entries: Vec<Entry>,
    /// URLs of continuation references.
    pub references: Vec<Vec<String>>,
    /// Result that ends the search.
    pub outcome: Outcome,
}

impl Found {
    /// Returns the names of the entries, sorted, in lower case.
    pub fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = self
            .entries
            .iter()
            .map(|entry| entry.name.to_lowercase())
            .collect();
        names.sort();
        names
    }

    /// Continues if the search succeeded; anything else is a finding.
    pub fn ok(self) -> Result<Self, Finding> {
        self.is(ResultCode::SUCCESS)
    }

    /// Continues if the search ended with `code`; anything else is a finding.
    pub fn is(self, code: ResultCode) -> Result<Self, Finding> {
        self.outcome.clone().is(code)?;
        Ok(self)
    }

    /// Returns the only entry of a successful search; anything else is a finding.
    pub fn one(self) -> Result<Entry, Finding> {
        let mut found = self.ok()?;
        if found.entries.len() == 1 {
            return Ok(found.entries.remove(0));
        }
        Finding::wrong("one entry", format_args!("{:?}", found.names()))
    }

    /// Continues if exactly `count` entries came; anything else is a finding.
    pub fn count(self, count: usize) -> Result<Self, Finding> {
        if self.entries.len() == count {
            return Ok(self);
        }
        Finding::wrong(
            format_args!("{count} entries"),
            format_args!("{:?}, {}", self.names(), self.outcome),
        )
    }

    /// Returns the only entry; panics otherwise.
    #[track_caller]
    pub fn only(&self) -> &Entry {
        assert_eq!(self.entries.len(), 1, "{self:?}");
        &self.entries[0]
    }
}

/// Response controls: OID and value.
pub type Controls = Vec<(String, Option<Vec<u8>>)>;

/// A message from the server.
#[derive(Debug, Clone)]
pub enum Event {
    /// A search result entry.
    Entry(Entry, Controls),
    /// A continuation reference.
    Reference(Vec<String>),
    /// An intermediate response with name and value.
    Intermediate(Option<String>, Option<Vec<u8>>),
    /// The final result of an operation.
    Done(Outcome),
}

/// A change of a modify request.
#[derive(Debug, Clone)]
pub struct Modification {
    /// Operation: add, delete, replace or increment.
    pub operation: ChangeOperation,
    /// The attribute description.
    pub attribute: String,
    /// Values of the change; may be empty.
    pub values: Vec<Vec<u8>>,
}

impl Modification {
    /// Returns a change that adds values.
    pub fn add(attribute: &str, values: &[&str]) -> Self {
        Self::of(ChangeOperation::Add, attribute, values)
    }

    /// Returns a change that deletes values, or the attribute when there are none.
    pub fn delete(attribute: &str, values: &[&str]) -> Self {
        Self::of(ChangeOperation::Delete, attribute, values)
    }

    /// Returns a change that replaces all values.
    pub fn replace(attribute: &str, values: &[&str]) -> Self {
        Self::of(ChangeOperation::Replace, attribute, values)
    }

    /// Returns a change that increments the value (RFC 4525).
    pub fn increment(attribute: &str, by: &str) -> Self {
        Self::of(ChangeOperation::Increment, attribute, &[by])
    }

    fn of(operation: ChangeOperation, attribute: &str, values: &[&str]) -> Self {
        let values = values
            .iter()
            .map(|value| value.as_bytes().to_vec())
            .collect();
        Modification {
            operation,
            attribute: attribute.to_owned(),
            values,
        }
    }
}

/// Attributes in the encoding that requests borrow.
pub(crate) struct Encoded {
    attributes: Vec<Vec<u8>>,
}

impl Encoded {
    pub(crate) fn new(attributes: &[(String, Vec<Vec<u8>>)]) -> Self {
        let encode = |(description, values): &(String, Vec<Vec<u8>>)| {
            let mut out = Vec::new();
            let values = values.iter().map(Vec::as_slice);
            protocol::ber::put_partial_attribute(&mut out, description, values);
            out
        };
        Encoded {
            attributes: attributes.iter().map(encode).collect(),
        }
    }

    pub(crate) fn attributes(&self) -> Vec<PartialAttribute<'_>> {
        self.attributes
            .iter()
            .map(|bytes| decode_attribute(bytes))
            .collect()
    }
}

fn decode_attribute(bytes: &[u8]) -> PartialAttribute<'_> {
    let mut reader = protocol::ber::Reader::new(bytes);
    PartialAttribute::decode(&mut reader).expect("what was encoded decodes")
}

pub(crate) fn event(message: ResponseMessage<'_>) -> Event {
    let controls: Controls = message
        .controls
        .iter()
        .map(|control| (control.oid.to_owned(), control.value.map(<[u8]>::to_vec)))
        .collect();
    let done = |result: LdapResult, name: Option<&str>, value: Option<&[u8]>| {
        Event::Done(Outcome {
            code: result.code,
            matched: result.matched,
            diagnostic: result.diagnostic,
            referrals: result.referrals,
            name: name.map(str::to_owned),
            value: value.map(<[u8]>::to_vec),
            controls: controls.clone(),
        })
    };
    match message.response {
        Response::SearchEntry { name, attributes } => {
            let values = |it: &PartialAttribute<'_>| it.values.iter().map(<[u8]>::to_vec).collect();
            let attributes = attributes
                .iter()
                .map(|it| (it.description.to_owned(), values(it)))
                .collect();
            let name = name.to_owned();
            Event::Entry(Entry { name, attributes }, controls)
        }
        Response::SearchReference(urls) => {
            Event::Reference(urls.iter().map(|&url| url.to_owned()).collect())
        }
        Response::Intermediate { name, value } => {
            Event::Intermediate(name.map(str::to_owned), value.map(<[u8]>::to_vec))
        }
        Response::Bind {
            result,
            server_credentials,
        } => done(result, None, server_credentials),
        Response::Extended {
            result,
            name,
            value,
        } => done(result, name, value),
        Response::SearchDone(result)
        | Response::Modify(result)
        | Response::Add(result)
        | Response::Delete(result)
        | Response::ModifyDn(result)
        | Response::Compare(result) => done(result, None, None),
    }
}
