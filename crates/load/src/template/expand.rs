//! Making the values of one entry: lines and tags become octets.

use super::compile::{ancestor, leading, trailing};
use super::error::GenerateError;
use super::lists::Names;
use super::model::{Condition, Definition, Line, Part, Plan};
use crate::number::{put_formatted, put_number};
use crate::random::{Random, put_uuid};

/// One value of the current entry, or all values of a `<loop>`.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Item {
    /// Range of the value in the frame's arena.
    Value { start: usize, end: usize },
    /// Values of a `<loop>`, made again at each visit from the state of the random sequence at this
    /// line.
    Loop { line: usize, random: Random },
}

/// The current entry at one depth of the tree, kept while its descendants are made.
#[derive(Debug)]
pub(crate) struct Frame {
    pub definition: usize,
    /// Position of the entry in depth-first order.
    pub index: u64,
    /// Position among the entries of one run below one superior.
    pub ordinal: u64,
    /// Position among all entries of this definition; used when a line counts globally.
    pub serial: u64,
    pub random: Random,
    /// Key of the entry's random sequence; the keys of its subordinates derive from it.
    pub key: u64,
    pub dn: String,
    /// Octets of all values except the values of loops.
    pub arena: Vec<u8>,
    /// Values by group of the definition; may be longer than the definition has groups.
    pub items: Vec<Vec<Item>>,
}

impl Frame {
    pub fn new() -> Frame {
        Frame {
            definition: 0,
            index: 0,
            ordinal: 0,
            serial: 0,
            random: Random::new(0),
            key: 0,
            dn: String::new(),
            arena: Vec::new(),
            items: Vec::new(),
        }
    }

    /// Returns the first value of a group; `None` when it has none or a loop makes them.
    fn first(&self, group: usize) -> Option<&[u8]> {
        match self.items.get(group)?.first()? {
            Item::Value { start, end } => Some(&self.arena[*start..*end]),
            Item::Loop { .. } => None,
        }
    }

    fn has(&self, group: usize, wanted: Option<&[u8]>) -> bool {
        let Some(items) = self.items.get(group) else {
            return false;
        };
        match wanted {
            None => !items.is_empty(),
            Some(wanted) => items.iter().any(|item| match item {
                Item::Value { start, end } => &self.arena[*start..*end] == wanted,
                Item::Loop { .. } => false,
            }),
        }
    }
}

/// Makes the values of the frame, whose `definition`, `random` and counts are set.
pub(crate) fn fill(
    plan: &Plan,
    ancestors: &[Frame],
    frame: &mut Frame,
    value: &mut Vec<u8>,
) -> Result<(), GenerateError> {
    let definition = &plan.definitions[frame.definition];
    frame.arena.clear();
    frame.items.iter_mut().for_each(Vec::clear);
    if frame.items.len() < definition.groups.len() {
        frame.items.resize_with(definition.groups.len(), Vec::new);
    }
    frame.dn.clear();
    if definition.is_branch {
        frame.dn.push_str(&definition.name);
    }
    for (position, line) in definition.lines.iter().enumerate() {
        if line.conditions.is_empty() || hold(&line.conditions, frame) {
            fill_line(plan, ancestors, frame, position, line, value)?;
        }
        if position == definition.rdn_complete_after && !definition.is_branch {
            // A condition may have dropped a line; a later line may still give the value.
            let _ = name_entry(definition, ancestors, frame);
        }
    }
    if frame.dn.is_empty() {
        return name_entry(definition, ancestors, frame);
    }
    Ok(())
}

fn fill_line(
    plan: &Plan,
    ancestors: &[Frame],
    frame: &mut Frame,
    position: usize,
    line: &Line,
    value: &mut Vec<u8>,
) -> Result<(), GenerateError> {
    if line.repeat.is_some() {
        frame.items[line.group].push(Item::Loop {
            line: position,
            random: frame.random,
        });
        // The sequence continues elsewhere, so that a longer loop changes no value after it.
        frame.random.bits();
        return Ok(());
    }
    let start = frame.arena.len();
    if let [Part::Text(text)] = line.parts.as_slice()
        && !line.base64
    {
        frame.arena.extend_from_slice(text);
    } else {
        value.clear();
        let mut random = frame.random;
        Values {
            plan,
            ancestors,
            frame,
        }
        .write(&line.parts, 0, &mut random, value);
        frame.random = random;
        if line.base64 {
            protocol::base64::decode_into(&mut frame.arena, value).map_err(|problem| {
                let message = format!("expected base64 after '::': {problem}");
                GenerateError {
                    line: line.number,
                    message,
                }
            })?;
        } else {
            frame.arena.extend_from_slice(value);
        }
    }
    frame.items[line.group].push(Item::Value {
        start,
        end: frame.arena.len(),
    });
    Ok(())
}

fn hold(conditions: &[Condition], frame: &mut Frame) -> bool {
    conditions.iter().all(|condition| match condition {
        Condition::Presence(share) => frame.random.unit() < *share,
        Condition::Attribute {
            group,
            value,
            wanted,
        } => {
            let has = group.is_some_and(|group| frame.has(group, value.as_deref()));
            has == *wanted
        }
    })
}

/// Builds the DN (RFC 4514) from the RDN's attributes and the superior's DN.
fn name_entry(
    definition: &Definition,
    ancestors: &[Frame],
    frame: &mut Frame,
) -> Result<(), GenerateError> {
    let mut dn = std::mem::take(&mut frame.dn);
    for (position, &group) in definition.rdn.iter().enumerate() {
        let description = &definition.groups[group].description;
        let Some(value) = frame.first(group).filter(|value| !value.is_empty()) else {
            let message = format!(
                "{}: no value for the RDN attribute {description}",
                definition.name
            );
            return Err(GenerateError {
                line: definition.groups[group].line,
                message,
            });
        };
        if position > 0 {
            dn.push('+');
        }
        dn.push_str(description);
        dn.push('=');
        protocol::name::escape_value(&mut dn, value);
    }
    if let Some(parent) = ancestors.last() {
        dn.push(',');
        dn.push_str(&parent.dn);
    }
    frame.dn = dn;
    Ok(())
}

/// Values to which tags may refer while a value is made.
#[derive(Clone, Copy)]
pub(crate) struct Values<'a> {
    pub plan: &'a Plan,
    pub ancestors: &'a [Frame],
    pub frame: &'a Frame,
}

impl Values<'_> {
    /// Appends the octets of all parts; `turn` is the number of a `<loop>`.
    pub fn write(&self, parts: &[Part], turn: i64, random: &mut Random, out: &mut Vec<u8>) {
        for part in parts {
            self.write_part(part, turn, random, out);
        }
    }

    fn write_part(&self, part: &Part, turn: i64, random: &mut Random, out: &mut Vec<u8>) {
        match part {
            Part::Text(text) => out.extend_from_slice(text),
            Part::Sequential {
                start,
                step,
                within_parent,
            } => {
                let ordinal = if *within_parent {
                    self.frame.ordinal
                } else {
                    self.frame.serial
                };
                let number = start.wrapping_add((ordinal as i64).wrapping_mul(*step));
                put_number(out, number, 0);
            }
            Part::Characters { set, least, most } => {
                let count = length(random, *least, *most);
                random.characters(out, set, count);
            }
            Part::Base64Characters { least, most } => {
                let count = whole_base64(length(random, *least, *most));
                random.characters(out, BASE64, count);
                out.resize(out.len() + (4 - count % 4) % 4, b'=');
            }
            Part::Octets { least, most } => {
                let count = whole_base64(length(random, *least, *most));
                random.octets(out, count * 3 / 4);
            }
            Part::Number { low, high, format } => {
                put_formatted(out, random.between(*low, *high), format);
            }
            Part::Telephone => put_telephone(out, random),
            Part::Month(length) => {
                let month = MONTHS[random.below(12) as usize].as_bytes();
                out.extend_from_slice(&month[..month.len().min(*length)]);
            }
            Part::Guid => put_uuid(out, random),
            Part::FileLine { lines, sequential } => {
                let count = lines.len() as u64;
                let at = if *sequential {
                    self.frame.serial % count
                } else {
                    random.below(count)
                };
                out.extend_from_slice(&lines[at as usize]);
            }
            Part::List(values) => {
                let sum = values.last().map_or(1, |(sum, _)| *sum);
                let at = random.below(sum);
                let chosen = values.partition_point(|(sum, _)| *sum <= at);
                out.extend_from_slice(&values[chosen].1);
            }
            Part::FirstName(names) => self.put_name(names, true, out),
            Part::LastName(names) => self.put_name(names, false, out),
            Part::LoopNumber => put_number(out, turn, 0),
            Part::Base64(parts) => {
                let mut inner = Vec::new();
                self.write(parts, turn, random, &mut inner);
                protocol::base64::encode_into(out, &inner);
            }
            Part::Reference { group, length } => {
                let value = group
                    .and_then(|group| self.frame.first(group))
                    .unwrap_or_default();
                out.extend_from_slice(first_characters(value, *length));
            }
            _ => self.write_name_part(part, out),
        }
    }

    fn write_name_part(&self, part: &Part, out: &mut Vec<u8>) {
        let dn = self.frame.dn.as_str();
        match part {
            Part::Rdn => out.extend_from_slice(leading(dn, 1).as_bytes()),
            Part::Dn {
                components,
                underscores,
            } => {
                let count = components.unsigned_abs() as usize;
                let text = match components {
                    0 => dn,
                    1.. => leading(dn, count),
                    _ => trailing(dn, count),
                };
                put_name(out, text, *underscores);
            }
            Part::AncestorDn {
                levels,
                underscores,
            } => {
                let text = match self.ancestors.len().checked_sub(*levels) {
                    Some(at) => self.ancestors[at].dn.as_str(),
                    // Above a branch there are no entries, but there are names.
                    None => {
                        let top = self.ancestors.first().map_or(dn, |top| top.dn.as_str());
                        ancestor(top, levels - self.ancestors.len())
                    }
                };
                put_name(out, text, *underscores);
            }
            Part::ParentAttribute(name) => {
                let Some(parent) = self.ancestors.last() else {
                    return;
                };
                let groups = &self.plan.definitions[parent.definition].groups;
                let same = groups
                    .iter()
                    .position(|it| it.description.eq_ignore_ascii_case(name));
                out.extend_from_slice(same.and_then(|at| parent.first(at)).unwrap_or_default());
            }
            _ => {}
        }
    }

    fn put_name(&self, names: &Names, first: bool, out: &mut Vec<u8>) {
        let (name, surname, round) = names.pair(self.frame.index);
        out.extend_from_slice(if first { name } else { surname });
        if round > 0 {
            put_number(out, round as i64, 0);
        }
    }
}

const BASE64: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

fn length(random: &mut Random, least: usize, most: usize) -> usize {
    if least == most {
        least
    } else {
        least + random.below((most - least + 1) as u64) as usize
    }
}

/// Returns the length without a single last character of base64: its six bits make no octet.
fn whole_base64(count: usize) -> usize {
    if count % 4 == 1 { count - 1 } else { count }
}

/// Appends `+1 ddd ddd dddd`.
fn put_telephone(out: &mut Vec<u8>, random: &mut Random) {
    out.extend_from_slice(b"+1");
    for digits in [3, 3, 4] {
        out.push(b' ');
        random.characters(out, b"0123456789", digits);
    }
}

fn put_name(out: &mut Vec<u8>, name: &str, underscores: bool) {
    let start = out.len();
    out.extend_from_slice(name.as_bytes());
    if underscores {
        out[start..]
            .iter_mut()
            .filter(|byte| **byte == b',')
            .for_each(|byte| *byte = b'_');
    }
}

/// Returns the first `count` characters; octets where the value is no text.
fn first_characters(value: &[u8], count: usize) -> &[u8] {
    if value.len() <= count {
        return value;
    }
    let end = std::str::from_utf8(value)
        .ok()
        .map(|text| {
            text.char_indices()
                .nth(count)
                .map_or(value.len(), |(at, _)| at)
        })
        .unwrap_or(count);
    &value[..end]
}
