//! `pando audit show`: lines that match what is asked for, as they are written.

use super::source::{Source, each_line};
use crate::cli::AuditShow;
use crate::report::{Problem, note, say};
use audit::{Read, Written};
use schema::{Name, Schema};

/// A DN or an entryUUID that lines are looked for with.
struct Wanted<'w> {
    text: &'w str,
    name: Option<Name>,
    schema: &'w Schema,
}

/// Runs the command.
pub fn show(it: &AuditShow) -> Result<(), Problem> {
    let schema = Schema::standard();
    let who = it.who.as_deref().map(|text| Wanted::of(text, &schema));
    let entry = it.entry.as_deref().map(|text| Wanted::of(text, &schema));
    let since = time(it.since.as_deref())?;
    let until = time(it.until.as_deref())?;
    let matches = |line: &Read| {
        let by_whom = line.subjects();
        let is_by = |who: &Wanted<'_>| by_whom.iter().any(|it| who.is(it));
        let names = ["entry", "uuid", "to"].map(|key| line.text(key));
        let is_of = |entry: &Wanted<'_>| names.iter().any(|it| entry.is(it));
        let time = line.text("time");
        line.position >= it.position
            && who.as_ref().is_none_or(is_by)
            && entry.as_ref().is_none_or(is_of)
            && since.as_deref().is_none_or(|since| time >= since)
            && until.as_deref().is_none_or(|until| time < until)
    };
    let source = Source::of(&it.files)?;
    let attempts = match it.attempts {
        true => source.attempts()?,
        false => None,
    };
    for path in &attempts.unwrap_or(source).files {
        each_line(path, &mut |number, bytes| match Written::read(bytes) {
            Ok(Written::Line(line)) if matches(&line) => say(String::from_utf8_lossy(bytes)),
            Ok(_) => Ok(()),
            Err(error) => {
                note(format_args!("{}, row {number}: {error}", path.display()));
                Ok(())
            }
        })?;
    }
    Ok(())
}

/// A time as lines have it, so that texts compare as times do.
fn time(given: Option<&str>) -> Result<Option<String>, Problem> {
    let Some(given) = given else {
        return Ok(None);
    };
    let digits = given.strip_suffix('Z').unwrap_or("");
    match digits.len() == 14 && digits.bytes().all(|it| it.is_ascii_digit()) {
        true => Ok(Some(format!("{digits}.000000Z"))),
        false => Err(Problem::usage(format_args!(
            "expected a time such as 20261121030000Z, got {given:?}"
        ))),
    }
}

impl<'w> Wanted<'w> {
    fn of(text: &'w str, schema: &'w Schema) -> Wanted<'w> {
        Wanted {
            text,
            name: schema.resolve_name(text).ok(),
            schema,
        }
    }

    /// Whether a text of a line means the same: the same entryUUID, or an equal name.
    fn is(&self, found: &str) -> bool {
        if found.is_empty() {
            return false;
        }
        let equal = || self.name.is_some() && self.schema.resolve_name(found).ok() == self.name;
        self.text.eq_ignore_ascii_case(found) || equal()
    }
}
