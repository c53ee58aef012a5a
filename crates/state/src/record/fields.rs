//! A write as bytes: fields, each with a tag and its length.

use super::Describe;
use crate::grant::Grant;
use crate::write::{Addition, Change, Given, Modification, Renaming, Write, WriteOptions};
use audit::Author;
use policy::{Attempt, AttemptKind};
use protocol::ChangeOperation;
use schema::{Description, Name, ResolvedRdn, Schema};
use store::bytes::{Bytes, put_count, put_counted};

/// Tags of the fields of a write. Each field has its length, so fields can be added; an absent
/// field has its default value.
pub(super) mod field {
    pub const BY: u8 = 1;
    pub const NAME: u8 = 2;
    pub const SPELLED: u8 = 3;
    pub const MANAGE_DSA_IT: u8 = 4;
    pub const ADMINISTRATOR: u8 = 5;
    pub const ASSERTION: u8 = 6;
    pub const PRE_READ: u8 = 7;
    pub const POST_READ: u8 = 8;
    pub const PERMISSIVE: u8 = 9;
    pub const RELAXED: u8 = 10;
    pub const TREE: u8 = 11;
    pub const COUNTS_PASSWORDS: u8 = 12;
    pub const SEEN: u8 = 13;
    pub const REHASHES: u8 = 15;
    pub const ADD: u8 = 16;
    pub const MODIFY: u8 = 17;
    pub const DELETE: u8 = 18;
    pub const RENAME: u8 = 19;
    pub const TOGETHER: u8 = 20;
    pub const RECLAIM: u8 = 21;
    pub const ATTEMPTS: u8 = 22;
    pub const LEVEL: u8 = 23;
    pub const AUTHOR: u8 = 24;
    pub const AUDIT: u8 = 25;
}

pub(super) fn put_write(out: &mut Vec<u8>, write: &Write, schema: &Schema) {
    put_field(out, field::BY, write.by().as_bytes());
    put_field(out, field::NAME, write.name().bytes());
    put_field(out, field::SPELLED, write.spelled.as_bytes());
    if write.manage_dsa_it {
        put_field(out, field::MANAGE_DSA_IT, &[1]);
    }
    if let Some(options) = &write.options {
        put_options(out, options);
    }
    if let Some(author) = write.grant.author() {
        put_field(out, field::AUTHOR, &author_bytes(author));
    }
    match &write.change {
        Change::Add(addition) => {
            out.push(field::ADD);
            sized(out, |out| put_addition(out, addition, schema));
        }
        Change::Modify(changes) => {
            out.push(field::MODIFY);
            sized(out, |out| put_changes(out, changes, schema));
        }
        Change::Delete => put_field(out, field::DELETE, &[]),
        Change::Rename(renaming) => {
            out.push(field::RENAME);
            sized(out, |out| put_renaming(out, renaming, schema));
        }
        Change::Reclaim(most) => put_field(out, field::RECLAIM, &most.to_le_bytes()),
        Change::Attempts(attempts) => {
            out.push(field::ATTEMPTS);
            sized(out, |out| put_attempts(out, attempts));
        }
        Change::Level(level) => put_field(out, field::LEVEL, &level.to_le_bytes()),
        Change::Audit(begins) => put_field(out, field::AUDIT, &[u8::from(*begins)]),
    }
}

/// Appends the mark that this write and the following ones, `length` in all, form one unit.
pub(super) fn put_together(out: &mut Vec<u8>, length: usize) {
    let mut content = Vec::new();
    put_count(&mut content, length);
    put_field(out, field::TOGETHER, &content);
}

fn take_together(content: &[u8]) -> Result<usize, String> {
    let mut input = Bytes::new(content);
    let length = input.count()?;
    require_end(&input)?;
    match length {
        0 | 1 => Err(format!("expected a unit of 2 or more writes, got {length}")),
        _ => Ok(length),
    }
}

fn take_number(content: &[u8]) -> Result<u32, String> {
    let number = content.try_into().map(u32::from_le_bytes);
    number.map_err(|_| format!("expected a number of 4 bytes, got {}", content.len()))
}

fn put_attempts(out: &mut Vec<u8>, attempts: &[Attempt]) {
    put_count(out, attempts.len());
    for attempt in attempts {
        out.push(match attempt.kind {
            AttemptKind::Failed => 0,
            AttemptKind::Succeeded => 1,
            AttemptKind::Grace => 2,
        });
        out.extend_from_slice(&attempt.time_us.to_le_bytes());
    }
}

fn take_attempts(content: &[u8]) -> Result<Vec<Attempt>, String> {
    let mut input = Bytes::new(content);
    let mut attempts = Vec::new();
    for _ in 0..input.count()? {
        let kind = match input.take()? {
            [0] => AttemptKind::Failed,
            [1] => AttemptKind::Succeeded,
            [2] => AttemptKind::Grace,
            [other] => return Err(format!("expected an attempt from 0 to 2, got {other}")),
        };
        let time_us = input.u64()?;
        attempts.push(Attempt { kind, time_us });
    }
    require_end(&input)?;
    Ok(attempts)
}

fn put_options(out: &mut Vec<u8>, options: &WriteOptions) {
    debug_assert!(!options.no_operation, "what is only tried is not logged");
    // Encoded even if false, because the presence of this field says that there are options.
    put_field(out, field::ADMINISTRATOR, &[options.administrator.into()]);
    let contents = [
        (field::ASSERTION, &options.assertion),
        (field::PRE_READ, &options.pre_read),
        (field::POST_READ, &options.post_read),
    ];
    for (tag, content) in contents {
        if let Some(content) = content {
            put_field(out, tag, content);
        }
    }
    let flags = [
        (field::PERMISSIVE, options.permissive),
        (field::RELAXED, options.relaxed),
        (field::TREE, options.tree),
        (field::COUNTS_PASSWORDS, options.counts_passwords),
        (field::REHASHES, options.rehashes),
    ];
    for (tag, _) in flags.into_iter().filter(|(_, set)| *set) {
        put_field(out, tag, &[1]);
    }
    if let Some(seen) = options.seen {
        put_field(out, field::SEEN, &seen.to_le_bytes());
    }
}

/// Decodes a field of the options; `false` if the tag is not one of an option.
fn take_option(
    tag: u8,
    content: &[u8],
    into: &mut Option<Box<WriteOptions>>,
) -> Result<bool, String> {
    if !(field::ADMINISTRATOR..=field::SEEN).contains(&tag) && tag != field::REHASHES {
        return Ok(false);
    }
    let options = into.get_or_insert_default();
    match tag {
        field::ADMINISTRATOR => options.administrator = content == [1],
        field::ASSERTION => options.assertion = Some(content.to_vec()),
        field::PRE_READ => options.pre_read = Some(content.to_vec()),
        field::POST_READ => options.post_read = Some(content.to_vec()),
        field::PERMISSIVE => options.permissive = content == [1],
        field::RELAXED => options.relaxed = content == [1],
        field::TREE => options.tree = content == [1],
        field::COUNTS_PASSWORDS => options.counts_passwords = content == [1],
        field::REHASHES => options.rehashes = content == [1],
        _ => options.seen = Some(take_position(content)?),
    }
    Ok(true)
}

fn take_position(content: &[u8]) -> Result<u64, String> {
    let position = content.try_into().map(u64::from_le_bytes);
    position.map_err(|_| format!("expected a position of 8 bytes, got {}", content.len()))
}

/// Decodes a write, with the number of writes in the unit that it begins, if any.
pub(super) fn take_write(
    bytes: &[u8],
    describe: Describe<'_>,
) -> Result<(Write, Option<usize>), String> {
    let mut input = Bytes::new(bytes);
    let mut together = None;
    let (mut by, mut name, mut spelled) = (String::new(), Name::root(), String::new());
    let (mut manage_dsa_it, mut options, mut change) = (false, None, None);
    let mut author = None;
    while !input.is_empty() {
        let [tag] = input.take()?;
        let content = input.counted()?;
        match tag {
            field::BY => by = text(content)?,
            field::NAME => name = Name::from_bytes(content),
            field::SPELLED => spelled = text(content)?,
            field::MANAGE_DSA_IT => manage_dsa_it = content == [1],
            field::ADD => change = Some(Change::Add(take_addition(content, describe)?)),
            field::MODIFY => change = Some(Change::Modify(take_changes(content, describe)?)),
            field::DELETE => change = Some(Change::Delete),
            field::RECLAIM => change = Some(Change::Reclaim(take_number(content)?)),
            field::LEVEL => change = Some(Change::Level(take_number(content)?)),
            field::AUTHOR => author = Some(Box::new(take_author(content)?)),
            field::AUDIT => change = Some(Change::Audit(take_flag_alone(content)?)),
            field::ATTEMPTS => change = Some(Change::Attempts(take_attempts(content)?)),
            field::TOGETHER => together = Some(take_together(content)?),
            field::RENAME => change = Some(Change::Rename(take_renaming(content, describe)?)),
            other if take_option(other, content, &mut options)? => {}
            other => return Err(format!("field {other} is of a later build")),
        }
    }
    let change = change.ok_or_else(|| "expected a change, got none".to_owned())?;
    // Execution relies on this: a write to the root is refused when it is resolved.
    let is_of_no_entry = matches!(
        change,
        Change::Reclaim(_) | Change::Level(_) | Change::Audit(_)
    );
    if name.depth() == 0 && !is_of_no_entry {
        return Err("expected the name of an entry, got the root".to_owned());
    }
    let write = Write {
        grant: Grant::recorded(by, name).with_author(author),
        spelled,
        manage_dsa_it,
        options,
        change,
    };
    Ok((write, together))
}

/// The texts of an author, counted.
fn author_bytes(author: &Author) -> Vec<u8> {
    let mut out = Vec::with_capacity(128);
    for text in author.texts() {
        put_counted(&mut out, text.as_bytes());
    }
    out
}

fn take_author(content: &[u8]) -> Result<Author, String> {
    let mut input = Bytes::new(content);
    let mut texts: [String; 7] = Default::default();
    for it in &mut texts {
        *it = text(input.counted()?)?;
    }
    require_end(&input)?;
    Ok(Author::of_texts(texts))
}

fn take_flag_alone(content: &[u8]) -> Result<bool, String> {
    let mut input = Bytes::new(content);
    let flag = take_flag(&mut input)?;
    require_end(&input)?;
    Ok(flag)
}

fn put_addition(out: &mut Vec<u8>, addition: &Addition, schema: &Schema) {
    out.extend_from_slice(&addition.uuid);
    put_counted(out, addition.rdn_spelled.as_bytes());
    put_rdn(out, &addition.rdn, schema);
    put_count(out, addition.attributes.len());
    for given in &addition.attributes {
        put_given(out, given, schema);
    }
}

fn take_addition(bytes: &[u8], describe: Describe<'_>) -> Result<Addition, String> {
    let mut input = Bytes::new(bytes);
    let uuid = input.take()?;
    let rdn_spelled = text(input.counted()?)?;
    let rdn = take_rdn(&mut input, describe)?;
    let mut attributes = Vec::new();
    for _ in 0..input.count()? {
        attributes.push(take_given(&mut input, describe)?);
    }
    require_end(&input)?;
    Ok(Addition {
        rdn_spelled,
        rdn,
        attributes,
        uuid,
    })
}

fn put_changes(out: &mut Vec<u8>, changes: &[Modification], schema: &Schema) {
    put_count(out, changes.len());
    for change in changes {
        // The numbers of RFC 4511 §4.6 and RFC 4525.
        out.push(match change.operation {
            ChangeOperation::Add => 0,
            ChangeOperation::Delete => 1,
            ChangeOperation::Replace => 2,
            ChangeOperation::Increment => 3,
        });
        put_given(out, &change.given, schema);
    }
}

fn take_changes(bytes: &[u8], describe: Describe<'_>) -> Result<Vec<Modification>, String> {
    let mut input = Bytes::new(bytes);
    let mut changes = Vec::new();
    for _ in 0..input.count()? {
        let operation = match input.take()? {
            [0] => ChangeOperation::Add,
            [1] => ChangeOperation::Delete,
            [2] => ChangeOperation::Replace,
            [3] => ChangeOperation::Increment,
            [other] => return Err(format!("expected an operation from 0 to 3, got {other}")),
        };
        let given = take_given(&mut input, describe)?;
        changes.push(Modification { operation, given });
    }
    require_end(&input)?;
    Ok(changes)
}

fn put_renaming(out: &mut Vec<u8>, renaming: &Renaming, schema: &Schema) {
    put_counted(out, renaming.rdn_spelled.as_bytes());
    put_rdn(out, &renaming.rdn, schema);
    out.push(u8::from(renaming.delete_old_rdn));
    out.push(u8::from(renaming.new_superior.is_some()));
    if let Some(superior) = &renaming.new_superior {
        put_counted(out, superior.bytes());
    }
}

fn take_renaming(bytes: &[u8], describe: Describe<'_>) -> Result<Renaming, String> {
    let mut input = Bytes::new(bytes);
    let rdn_spelled = text(input.counted()?)?;
    let rdn = take_rdn(&mut input, describe)?;
    let delete_old_rdn = take_flag(&mut input)?;
    let new_superior = match take_flag(&mut input)? {
        true => Some(Name::from_bytes(input.counted()?)),
        false => None,
    };
    require_end(&input)?;
    Ok(Renaming {
        rdn_spelled,
        rdn,
        delete_old_rdn,
        new_superior,
    })
}

fn put_rdn(out: &mut Vec<u8>, rdn: &ResolvedRdn, schema: &Schema) {
    put_counted(out, &rdn.normal);
    put_count(out, rdn.values.len());
    for (description, value) in &rdn.values {
        put_counted(out, schema.spelled(description).as_bytes());
        put_counted(out, value);
    }
}

fn take_rdn(input: &mut Bytes<'_>, describe: Describe<'_>) -> Result<ResolvedRdn, String> {
    let normal = input.counted()?.to_vec();
    let mut values = Vec::new();
    for _ in 0..input.count()? {
        let description = take_description(input, describe)?;
        values.push((description, input.counted()?.to_vec()));
    }
    Ok(ResolvedRdn { normal, values })
}

fn put_given(out: &mut Vec<u8>, given: &Given, schema: &Schema) {
    put_counted(out, schema.spelled(&given.description).as_bytes());
    put_count(out, given.values.len());
    for value in &given.values {
        put_counted(out, value);
    }
}

fn take_given(input: &mut Bytes<'_>, describe: Describe<'_>) -> Result<Given, String> {
    let description = take_description(input, describe)?;
    let mut values = Vec::new();
    for _ in 0..input.count()? {
        values.push(input.counted()?.to_vec());
    }
    Ok(Given {
        description,
        values,
    })
}

fn take_description(input: &mut Bytes<'_>, describe: Describe<'_>) -> Result<Description, String> {
    let text = text(input.counted()?)?;
    describe(&text).map_err(|error| error.to_string())
}

pub(super) fn put_field(out: &mut Vec<u8>, tag: u8, content: &[u8]) {
    out.push(tag);
    put_counted(out, content);
}

/// Appends the output of `body` preceded by its length, in five bytes of 7 bits that are reserved
/// until the length is known.
pub(super) fn sized(out: &mut Vec<u8>, body: impl FnOnce(&mut Vec<u8>)) {
    let at = out.len();
    out.extend_from_slice(&[0; LENGTH_BYTES]);
    body(out);
    let mut rest = out.len() - at - LENGTH_BYTES;
    for (number, byte) in out[at..at + LENGTH_BYTES].iter_mut().enumerate() {
        let more = if number + 1 < LENGTH_BYTES { 0x80 } else { 0 };
        *byte = (rest & 0x7f) as u8 | more;
        rest >>= 7;
    }
    assert!(rest == 0, "a write is smaller than the largest message");
}

/// Bytes of a length: 2^35 exceeds the largest message.
const LENGTH_BYTES: usize = 5;

/// Reads a flag: one byte, 0 or 1.
fn take_flag(input: &mut Bytes<'_>) -> Result<bool, String> {
    match input.take()? {
        [0] => Ok(false),
        [1] => Ok(true),
        [other] => Err(format!("expected 0 or 1, got {other}")),
    }
}

pub(super) fn require_end(input: &Bytes<'_>) -> Result<(), String> {
    match input.rest().len() {
        0 => Ok(()),
        more => Err(format!("{more} bytes follow the last field")),
    }
}

fn text(bytes: &[u8]) -> Result<String, String> {
    let text = std::str::from_utf8(bytes);
    text.map(str::to_owned)
        .map_err(|error| format!("expected text: {error}"))
}
