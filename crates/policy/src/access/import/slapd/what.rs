//! The part of a directive behind `to`: which entries and attributes it is about.

use schema::{Schema, TypeId};

use super::regex;
use crate::access::import::{everything, parenthesised, subtree};
use crate::access::parse::is_attribute_word;
use crate::access::rules::{About, Item, Reach, Target, Things, ValueWord};
use crate::secrets::Secrets;

/// What a directive is about.
#[derive(Debug)]
pub(super) struct What {
    pub(super) targets: Vec<Target>,
    pub(super) filter: Option<String>,
    pub(super) about: About,
    /// Whether it is about everything of an entry.
    pub(super) whole: bool,
    /// Whether it is about the entry itself or the place below it.
    pub(super) tree: bool,
    /// For each group of a regular expression, the number of its star; 0 if it has none.
    pub(super) groups: Vec<usize>,
    /// Whether no entry of the database is meant.
    pub(super) never: bool,
    /// Why `targets` and `about` mean more than the directive does; then nothing may be given.
    pub(super) wider: Option<String>,
}

/// The parts of an entry that are no attributes.
const TREE: [Item; 2] = [Item::Only(Things::Entry), Item::Only(Things::Children)];

/// What names and attributes are understood with.
pub(super) struct Context<'c> {
    pub(super) schema: &'c Schema,
    pub(super) secrets: &'c Secrets,
}

impl Context<'_> {
    /// Returns what the words up to the first `by` are about, for databases with these suffixes.
    pub(super) fn what(&self, words: &[String], suffixes: &[String]) -> What {
        let mut what = What {
            targets: database(suffixes),
            never: false,
            filter: None,
            about: About::Items(everything()),
            whole: true,
            tree: true,
            groups: Vec::new(),
            wider: None,
        };
        let mut attributes = None;
        for word in words.iter().filter(|it| *it != "*") {
            let (key, value) = word.split_once('=').unwrap_or((word, ""));
            let (key, style) = key.split_once('.').unwrap_or((key, ""));
            let key = key.to_ascii_lowercase();
            let style = style.to_ascii_lowercase();
            match key.as_str() {
                "dn" if value == "*" => (),
                "dn" => match self.target(&style, value, &mut what.groups) {
                    Ok(Some(target)) => what.targets = vec![target],
                    Ok(None) => (),
                    Err(reason) => what.wider = Some(reason),
                },
                "filter" => what.filter = Some(parenthesised(value)),
                "attr" | "attrs" => attributes = Some(value.to_owned()),
                "val" if style.is_empty() || style == "exact" => {
                    self.value(attributes.as_deref(), value, &mut what);
                    attributes = None;
                }
                _ => what.wider = Some(format!("{word} has no equivalent")),
            }
        }
        if let Some(attributes) = attributes {
            self.attributes(&attributes, &mut what);
        }
        if let Some(filter) = &what.filter
            && let Err(error) = crate::access::compile::filter(self.schema, filter)
        {
            what.wider = Some(error);
            what.filter = None;
        }
        match &what.targets[..] {
            [Target::Below { dn, .. }] => what.never = !self.is_inside(dn, suffixes),
            [Target::Pattern(pattern)] if !ends_within(pattern, suffixes) => {
                what.wider = Some(format!(
                    "{pattern} is not within the suffix of its database"
                ));
                what.targets = database(suffixes);
            }
            _ => (),
        }
        what
    }

    /// Returns the entries that `dn.STYLE=VALUE` means; `None` for all.
    fn target(
        &self,
        style: &str,
        value: &str,
        groups: &mut Vec<usize>,
    ) -> Result<Option<Target>, String> {
        let reach = match style {
            "" | "exact" | "base" | "baseobject" => Reach::Entry,
            "one" | "onelevel" => Reach::One,
            "sub" | "subtree" => Reach::Subtree,
            "children" => Reach::Children,
            "regex" if matches!(value, ".*" | ".+" | "^.*$") => return Ok(None),
            "regex" => {
                let translated = regex::pattern(value, &[]);
                let translated =
                    translated.ok_or_else(|| format!("no pattern of names means {value}"))?;
                *groups = translated.groups;
                return Ok(Some(Target::Pattern(translated.pattern)));
            }
            _ => return Err(format!("dn.{style} has no equivalent")),
        };
        match self.schema.resolve_name(value) {
            Ok(_) => {
                let dn = value.to_owned();
                Ok(Some(Target::Below { reach, dn }))
            }
            Err(error) => Err(format!("{value} is no name under this schema: {error}")),
        }
    }

    /// Reads `attrs=`. Secrets that slapd counts among a class or a supertype are named.
    fn attributes(&self, list: &str, what: &mut What) {
        let mut items = Vec::new();
        for word in list.split(',').map(str::trim).filter(|it| !it.is_empty()) {
            let word = word.strip_suffix(";binary").unwrap_or(word);
            let things = match word {
                "entry" => Things::Entry,
                "children" => Things::Children,
                _ => match word.strip_prefix('@') {
                    Some(class) if self.schema.object_class(class).is_some() => {
                        Things::Class(class.to_owned())
                    }
                    None if self.schema.attribute_type(word).is_some()
                        && is_attribute_word(word) =>
                    {
                        Things::Attribute(word.to_owned())
                    }
                    _ => {
                        what.wider =
                            Some(format!("{word} is no attribute or class of this schema"));
                        return;
                    }
                },
            };
            let secrets = self.secrets_among(&things);
            items.push(Item::Only(things));
            items.extend(secrets);
        }
        let mut different: Vec<Item> = Vec::new();
        items.retain(|it| {
            let new = !different.contains(it);
            different.push(it.clone());
            new
        });
        what.whole = false;
        what.tree = items.iter().any(|it| TREE.contains(it));
        what.about = About::Items(items);
    }

    fn secrets_among(&self, things: &Things) -> Vec<Item> {
        let schema = self.schema;
        let named = match things {
            Things::Class(name) => schema.object_class(name).map(|id| {
                let class = schema.class_of(id);
                class
                    .all_must
                    .iter()
                    .chain(&class.all_may)
                    .copied()
                    .collect()
            }),
            Things::Attribute(name) => schema.attribute_type(name).map(|it| vec![it]),
            _ => None,
        };
        let named: Vec<TypeId> = named.unwrap_or_default();
        let covered = |id: TypeId| named.iter().any(|it| schema.is_subtype(id, *it));
        let secrets = self.secrets.types().iter().filter(|it| covered(**it));
        let names = secrets.map(|it| schema.type_of(*it).name().to_owned());
        names.map(|it| Item::Only(Things::Attribute(it))).collect()
    }

    fn value(&self, attributes: Option<&str>, value: &str, what: &mut What) {
        let attribute = attributes.unwrap_or("");
        let known = self.schema.attribute_type(attribute).is_some_and(|it| {
            let done = self
                .schema
                .normalise_equality(it, value.as_bytes(), &mut Vec::new());
            done.is_ok()
        });
        self.attributes(attribute, what);
        if !known || !is_attribute_word(attribute) {
            what.wider = Some(format!("\"{value}\" is no value of {attribute}"));
            return;
        }
        let (attribute, value) = (attribute.to_owned(), ValueWord::Equal(value.to_owned()));
        what.about = About::Items(vec![Item::Values { attribute, value }]);
    }

    /// Returns whether a name is within one of the suffixes; slapd asks the rules of a database
    /// about no other entries.
    fn is_inside(&self, dn: &str, suffixes: &[String]) -> bool {
        let resolve = |dn: &str| self.schema.resolve_name(dn).ok();
        let name = resolve(dn);
        let mut bases = suffixes.iter().filter_map(|it| resolve(it));
        suffixes.is_empty()
            || name.is_some_and(|name| bases.any(|it| name.is_within(&it) || it.is_within(&name)))
    }
}

/// Returns whether a pattern ends with one of the suffixes as it is spelled.
fn ends_within(pattern: &str, suffixes: &[String]) -> bool {
    let plain = |it: &str| it.to_ascii_lowercase().replace(", ", ",");
    let pattern = plain(pattern);
    suffixes.is_empty() || suffixes.iter().any(|it| pattern.ends_with(&plain(it)))
}

/// Returns all entries of a database with these suffixes, of every database if there are none.
fn database(suffixes: &[String]) -> Vec<Target> {
    match suffixes.is_empty() {
        true => vec![Target::Everything],
        false => suffixes.iter().map(|it| subtree(it)).collect(),
    }
}
