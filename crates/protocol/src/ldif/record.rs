//! From logical lines to a record: an entry, or a change of one.

use std::borrow::Cow;

use super::LdifError;
use super::change::{self, LdifChange};
use super::lines::{LdifScratch, Line};

/// Attribute description and value.
pub type LdifAttribute<'a> = (&'a str, Cow<'a, [u8]>);

/// One record. Names are text that has not been parsed as a distinguished name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LdifRecord<'a> {
    /// Content: an entry.
    Entry {
        /// The entry's name.
        dn: &'a str,
        /// One element per value, in the order of the text.
        attributes: Vec<LdifAttribute<'a>>,
    },
    /// `changetype: add`.
    Add {
        /// The entry's name.
        dn: &'a str,
        /// Controls to send with the request.
        controls: Vec<LdifControl<'a>>,
        /// One element per value, in the order of the text.
        attributes: Vec<LdifAttribute<'a>>,
    },
    /// `changetype: delete`.
    Delete {
        /// The entry's name.
        dn: &'a str,
        /// Controls to send with the request.
        controls: Vec<LdifControl<'a>>,
    },
    /// `changetype: modify`.
    Modify {
        /// The entry's name.
        dn: &'a str,
        /// Controls to send with the request.
        controls: Vec<LdifControl<'a>>,
        /// In the order of the text.
        changes: Vec<LdifChange<'a>>,
    },
    /// `changetype: modrdn` or `moddn`.
    ModifyDn {
        /// The entry's present name.
        dn: &'a str,
        /// Controls to send with the request.
        controls: Vec<LdifControl<'a>>,
        /// `newrdn`.
        new_rdn: &'a str,
        /// `deleteoldrdn`.
        delete_old_rdn: bool,
        /// `newsuperior`.
        new_superior: Option<&'a str>,
    },
}

/// `control: OID true: value`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LdifControl<'a> {
    /// Object identifier of the control.
    pub oid: &'a str,
    /// Whether the request must fail when the control is not understood.
    pub critical: bool,
    /// Value of the control; `None` if it has none.
    pub value: Option<Cow<'a, [u8]>>,
}

impl<'a> LdifRecord<'a> {
    /// The name of the entry the record is about.
    pub fn dn(&self) -> &'a str {
        match self {
            LdifRecord::Entry { dn, .. }
            | LdifRecord::Add { dn, .. }
            | LdifRecord::Delete { dn, .. }
            | LdifRecord::Modify { dn, .. }
            | LdifRecord::ModifyDn { dn, .. } => dn,
        }
    }
}

/// Reads the text of one record, of which line `first_line` is the first. Values that need no
/// decoding borrow from the text, decoded values from `scratch`.
pub fn parse_record<'a>(
    text: &'a [u8],
    first_line: u64,
    scratch: &'a mut LdifScratch,
) -> Result<LdifRecord<'a>, LdifError> {
    scratch.scan(text, first_line)?;
    let scratch: &'a LdifScratch = scratch;
    let mut fields = Fields {
        text,
        decoded: &scratch.decoded,
        lines: &scratch.lines,
        last_line: scratch.lines.last().map_or(first_line, |line| line.number),
    };
    fields.skip_version()?;
    let dn = fields.take("dn")?;
    let controls = fields.controls()?;
    let change = match fields.take_if("changetype")? {
        Some(change) => change.trim_ascii_end(),
        None if controls.is_empty() => {
            return Ok(LdifRecord::Entry {
                dn,
                attributes: fields.attributes()?,
            });
        }
        None => return Err(fields.expected("'changetype:' after the controls")),
    };
    let is = |keyword: &str| change.eq_ignore_ascii_case(keyword);
    if is("add") {
        Ok(LdifRecord::Add {
            dn,
            controls,
            attributes: fields.attributes()?,
        })
    } else if is("delete") {
        fields.end("the end of the record after 'changetype: delete'")?;
        Ok(LdifRecord::Delete { dn, controls })
    } else if is("modify") {
        Ok(LdifRecord::Modify {
            dn,
            controls,
            changes: change::changes(&mut fields)?,
        })
    } else if is("modrdn") || is("moddn") {
        change::modify_dn(&mut fields, dn, controls)
    } else {
        let message = format!("expected add, delete, modify, modrdn or moddn, got '{change}'");
        Err(LdifError::new(fields.previous_line(scratch), message))
    }
}

/// The logical lines of a record not yet taken.
pub(super) struct Fields<'a> {
    text: &'a [u8],
    decoded: &'a [u8],
    lines: &'a [Line],
    last_line: u64,
}

impl<'a> Fields<'a> {
    /// The next line, if there is one.
    pub(super) fn next(&mut self) -> Option<&'a Line> {
        let (first, rest) = self.lines.split_first()?;
        self.lines = rest;
        Some(first)
    }

    pub(super) fn peek(&self) -> Option<&'a Line> {
        self.lines.first()
    }

    pub(super) fn description(&self, line: &Line) -> &'a str {
        // Only ASCII passes as a description.
        std::str::from_utf8(line.description.of(self.text, self.decoded)).unwrap_or_default()
    }

    pub(super) fn value(&self, line: &Line) -> &'a [u8] {
        line.value.of(self.text, self.decoded)
    }

    pub(super) fn text_value(&self, line: &Line) -> Result<&'a str, LdifError> {
        std::str::from_utf8(self.value(line)).map_err(|_| {
            let description = self.description(line);
            let message = format!("expected UTF-8 as '{description}', got other bytes");
            LdifError::new(line.number, message)
        })
    }

    /// Whether the next line is `keyword: …`.
    pub(super) fn next_is(&self, keyword: &str) -> bool {
        let is = |line| self.description(line).eq_ignore_ascii_case(keyword);
        self.peek().is_some_and(is)
    }

    /// The value of the next line, which must be `keyword: …`.
    pub(super) fn take(&mut self, keyword: &str) -> Result<&'a str, LdifError> {
        match self.take_if(keyword)? {
            Some(value) => Ok(value),
            None => Err(self.expected(&format!("'{keyword}:'"))),
        }
    }

    pub(super) fn take_if(&mut self, keyword: &str) -> Result<Option<&'a str>, LdifError> {
        if !self.next_is(keyword) {
            return Ok(None);
        }
        self.next().map(|line| self.text_value(line)).transpose()
    }

    /// All remaining lines as attribute values, at least one.
    fn attributes(&mut self) -> Result<Vec<LdifAttribute<'a>>, LdifError> {
        let mut attributes = Vec::with_capacity(self.lines.len());
        while let Some(line) = self.peek().filter(|line| !line.separator) {
            attributes.push((self.description(line), Cow::Borrowed(self.value(line))));
            self.next();
        }
        self.end("an attribute value")?;
        if attributes.is_empty() {
            return Err(self.expected("at least one attribute value"));
        }
        Ok(attributes)
    }

    /// Refuses further lines.
    pub(super) fn end(&self, what: &str) -> Result<(), LdifError> {
        match self.peek() {
            None => Ok(()),
            Some(_) => Err(self.expected(what)),
        }
    }

    /// An error at the next line: the expected text, and the line itself.
    pub(super) fn expected(&self, what: &str) -> LdifError {
        let (line, came) = match self.peek() {
            None => (self.last_line, "the end of the record".to_owned()),
            Some(line) if line.separator => (line.number, "'-'".to_owned()),
            Some(line) => (line.number, format!("'{}:'", self.description(line))),
        };
        LdifError::new(line, format!("expected {what}, got {came}"))
    }

    fn previous_line(&self, scratch: &LdifScratch) -> u64 {
        let taken = scratch.lines.len() - self.lines.len();
        taken
            .checked_sub(1)
            .and_then(|at| scratch.lines.get(at))
            .map_or(1, |line| line.number)
    }

    fn skip_version(&mut self) -> Result<(), LdifError> {
        let Some(line) = self.peek() else {
            return Ok(());
        };
        match self.take_if("version")?.map(str::trim_ascii_end) {
            None | Some("1") => Ok(()),
            Some(came) => {
                let message = format!("expected LDIF version 1, got '{came}'");
                Err(LdifError::new(line.number, message))
            }
        }
    }

    fn controls(&mut self) -> Result<Vec<LdifControl<'a>>, LdifError> {
        let mut controls = Vec::new();
        while let Some(line) = self.peek().filter(|_| self.next_is("control")) {
            controls.push(change::control(self.value(line), line.number)?);
            self.next();
        }
        Ok(controls)
    }
}
