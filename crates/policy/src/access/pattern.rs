//! Patterns of names: `uid=*,ou=People,**,dc=example` with stars for parts of values.
//!
//! A star stands for any text within the value of an RDN; `**,` at the beginning for any number of
//! RDNs. Of an RDN with several values nobody knows which one a rule means: whether it matches is
//! undefined, so that an entry with such a name is not past a rule that takes rights. A name is
//! compared in time linear in its length for one pattern: nothing is tried twice.

#[cfg(test)]
mod tests;

use std::ops::RangeInclusive;

use schema::{Name, Schema, Truth};

/// Octets between the values of an RDN's normal form; see [`Name`].
const VALUE_SEPARATOR: [u8; 2] = [0, 1];

/// The texts that the stars of a pattern stand for in one name, in normal form, by the order of the
/// stars in the pattern's text.
pub(crate) type Captures = Vec<Vec<u8>>;

/// Whether a name matches a pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Matching {
    No,
    /// An RDN has several values, of which one may be what a star stands for.
    Perhaps,
    /// The stars stand for these texts.
    Yes(Captures),
}

impl Matching {
    pub(super) fn truth(&self) -> Truth {
        match self {
            Matching::No => Truth::False,
            Matching::Perhaps => Truth::Undefined,
            Matching::Yes(_) => Truth::True,
        }
    }
}

/// A compiled pattern of names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NamePattern {
    /// Whether more RDNs may come below those of the pattern.
    open_below: bool,
    /// Forms of the RDNs, topmost first.
    rdns: Vec<RdnForm>,
    /// Number of stars.
    stars: usize,
    /// The highest `$N` that is used; 0 if none is.
    highest_capture: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum RdnForm {
    /// Exactly this normal form.
    Exact(Vec<u8>),
    /// One value, made of these parts.
    Parts(Vec<Part>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    /// Octets of the normal form.
    Text(Vec<u8>),
    /// Any octets; the number of the star, from 0.
    Star(usize),
    /// What a star of the target stands for; its number, from 0.
    Capture(usize),
}

impl NamePattern {
    /// Compiles the text of a pattern.
    ///
    /// # Errors
    /// A message that says what was expected and what was given.
    pub(crate) fn compile(schema: &Schema, text: &str) -> Result<NamePattern, String> {
        let mut pattern = NamePattern {
            open_below: false,
            rdns: Vec::new(),
            stars: 0,
            highest_capture: 0,
        };
        let mut rest = text.trim();
        if let Some(after) = rest.strip_prefix("**") {
            pattern.open_below = true;
            rest = after.trim_start();
            rest = match rest.strip_prefix(',') {
                Some(rest) => rest,
                None if rest.is_empty() => rest,
                None => return Err(format!("expected a comma after \"**\", got {text:?}")),
            };
        }
        if rest.trim().is_empty() {
            return Ok(pattern);
        }
        for rdn in split(rest, ',') {
            let form = pattern.rdn(schema, rdn.trim())?;
            pattern.rdns.push(form);
        }
        pattern.rdns.reverse();
        Ok(pattern)
    }

    fn rdn(&mut self, schema: &Schema, text: &str) -> Result<RdnForm, String> {
        let named = text.split_once('=').and_then(|(attribute, value)| {
            let type_id = schema.attribute_type(attribute.trim())?;
            Some((schema.type_of(type_id), value.trim()))
        });
        let Some((attribute_type, value)) = named else {
            return Err(format!("expected RDNs such as \"uid=*\", got {text:?}"));
        };
        let pieces = pieces(value);
        if pieces.iter().all(|it| matches!(it, Piece::Text(_))) {
            let rdn = schema
                .resolve_rdn(text)
                .map_err(|error| error.to_string())?;
            return Ok(RdnForm::Exact(rdn.normal));
        }
        let more_values = split(value, '+').len() > 1;
        if more_values {
            return Err(format!(
                "expected one value in an RDN with \"*\" or \"$\", got {text:?}"
            ));
        }
        let prefix = format!("{}=", attribute_type.name().to_ascii_lowercase());
        let mut parts = vec![Part::Text(prefix.clone().into_bytes())];
        for piece in pieces {
            parts.push(match piece {
                Piece::Star => {
                    self.stars += 1;
                    Part::Star(self.stars - 1)
                }
                Piece::Capture(number) => {
                    self.highest_capture = self.highest_capture.max(number);
                    let at = number.checked_sub(1);
                    Part::Capture(at.ok_or("expected $1 or a higher number, got $0")?)
                }
                Piece::Text(piece) => {
                    // Normal forms of whole values begin and end without spaces.
                    let blank = piece.starts_with(' ') || piece.ends_with(' ');
                    if blank || attribute_type.substring.is_none() {
                        return Err(format!(
                            "expected text without spaces beside \"*\" or \"$\", of an attribute \
                             type with a substring rule, got {text:?}"
                        ));
                    }
                    let rdn = schema.resolve_rdn(&format!("{prefix}{piece}"));
                    let normal = rdn.map_err(|error| error.to_string())?.normal;
                    Part::Text(normal[prefix.len()..].to_vec())
                }
            });
        }
        Ok(RdnForm::Parts(parts))
    }

    /// Number of stars, which `$1` and so on refer to.
    pub(crate) fn stars(&self) -> usize {
        self.stars
    }

    /// Whether names with any number of RDNs more match.
    pub(crate) fn is_open_below(&self) -> bool {
        self.open_below
    }

    /// The highest `$N` in the pattern; 0 if there is none.
    pub(crate) fn highest_capture(&self) -> usize {
        self.highest_capture
    }

    /// Compares a name, and returns what the stars stand for in it. `given` has what the stars of
    /// the target stand for.
    pub(crate) fn judge(&self, name: &Name, given: &[Vec<u8>]) -> Matching {
        let depth_fits = match self.open_below {
            true => name.depth() >= self.rdns.len(),
            false => name.depth() == self.rdns.len(),
        };
        match depth_fits {
            true => self.levels(name, given),
            false => Matching::No,
        }
    }

    /// Compares the RDNs that both the pattern and a name have.
    fn levels(&self, name: &Name, given: &[Vec<u8>]) -> Matching {
        let mut captures = vec![Vec::new(); self.stars];
        let mut known = true;
        for (form, rdn) in self.rdns.iter().zip(name.rdns()) {
            match form.matches(rdn, given, &mut captures) {
                Truth::False => return Matching::No,
                Truth::Undefined => known = false,
                Truth::True => (),
            }
        }
        match known {
            true => Matching::Yes(captures),
            false => Matching::Perhaps,
        }
    }

    /// Returns whether every entry at or below `base` matches.
    pub(super) fn matches_all_within(&self, base: &Name) -> bool {
        self.open_below && matches!(self.judge(base, &[]), Matching::Yes(_))
    }

    /// Returns whether an entry at or below `base` may match whose name has so many RDNs.
    pub(super) fn may_match_within(&self, base: &Name, depths: RangeInclusive<usize>) -> bool {
        let own = self.rdns.len();
        let fits = match self.open_below {
            true => own <= *depths.end(),
            false => own >= base.depth() && depths.contains(&own),
        };
        fits && self.levels(base, &[]) != Matching::No
    }
}

impl RdnForm {
    fn matches(&self, rdn: &[u8], given: &[Vec<u8>], captures: &mut Captures) -> Truth {
        let parts = match self {
            RdnForm::Exact(normal) => return (rdn == normal).into(),
            RdnForm::Parts(parts) => parts,
        };
        if memchr::memmem::find(rdn, &VALUE_SEPARATOR).is_none() {
            return fill(parts, rdn, given, captures).is_some().into();
        }
        // Every form begins with the name of its attribute type and the sign behind it.
        let begin = match parts.first() {
            Some(Part::Text(text)) => text.as_slice(),
            _ => &[],
        };
        let mut rest = Some(rdn);
        while let Some(value) = rest {
            if value.starts_with(begin) {
                return Truth::Undefined;
            }
            rest = memchr::memmem::find(value, &VALUE_SEPARATOR)
                .map(|at| &value[at + VALUE_SEPARATOR.len()..]);
        }
        Truth::False
    }
}

/// Finds what the stars stand for: each as little as possible, the last one all that is left.
fn fill(parts: &[Part], rdn: &[u8], given: &[Vec<u8>], captures: &mut Captures) -> Option<()> {
    // Texts around the stars: one more than there are stars.
    let mut texts = vec![Vec::new()];
    let mut stars = Vec::new();
    for part in parts {
        let last = texts.last_mut().expect("begun with one");
        match part {
            Part::Text(text) => last.extend_from_slice(text),
            Part::Capture(at) => last.extend_from_slice(given.get(*at)?),
            Part::Star(number) => {
                stars.push(*number);
                texts.push(Vec::new());
            }
        }
    }
    let (first, between) = texts.split_first()?;
    let mut rest = rdn.strip_prefix(&first[..])?;
    let Some((last, between)) = between.split_last() else {
        return rest.is_empty().then_some(());
    };
    let mut stars = stars.into_iter();
    rest = rest.strip_suffix(&last[..])?;
    for text in between {
        let at = memchr::memmem::find(rest, text)?;
        captures[stars.next()?] = rest[..at].to_vec();
        rest = &rest[at + text.len()..];
    }
    captures[stars.next()?] = rest.to_vec();
    Some(())
}

enum Piece<'t> {
    Text(&'t str),
    Star,
    Capture(usize),
}

/// Splits a value at stars and `$N`. A backslash takes the next character with it.
fn pieces(value: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let (mut start, mut at) = (0, 0);
    let octets = value.as_bytes();
    while at < octets.len() {
        let digits = octets[at + 1..].iter().take_while(|it| it.is_ascii_digit());
        let (piece, length) = match octets[at] {
            b'\\' => (None, 2),
            b'*' => (Some(Piece::Star), 1),
            b'$' => match digits.take(2).count() {
                0 => (None, 1),
                count => {
                    let number = value[at + 1..=at + count].parse().unwrap_or(0);
                    (Some(Piece::Capture(number)), count + 1)
                }
            },
            _ => (None, 1),
        };
        if let Some(piece) = piece {
            if start < at {
                pieces.push(Piece::Text(&value[start..at]));
            }
            pieces.push(piece);
            start = at + length;
        }
        at += length;
    }
    if start < value.len() {
        pieces.push(Piece::Text(&value[start..]));
    }
    pieces
}

/// Splits a text at a sign that no backslash precedes.
fn split(text: &str, sign: char) -> Vec<&str> {
    let (mut parts, mut start, mut escaped) = (Vec::new(), 0, false);
    for (at, character) in text.char_indices() {
        if character == sign && !escaped {
            parts.push(&text[start..at]);
            start = at + sign.len_utf8();
        }
        escaped = character == '\\' && !escaped;
    }
    parts.push(&text[start..]);
    parts
}
