//! The part of a directive behind `to`: which entries and attributes it is about.

use schema::{Schema, TypeId};

use super::regex;
use crate::access::import::{everything, parenthesised, subtree};
use crate::access::parse::is_attribute_word;
use crate::access::pattern::NamePattern;
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
    /// Why less is given for some of the entries than the directive does.
    pub(super) narrower: Option<String>,
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
            narrower: None,
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
            [Target::Below { reach, dn }] => {
                what.targets = self.within(*reach, dn, suffixes);
                what.never = what.targets.is_empty();
            }
            [Target::Pattern(pattern)] if !ends_within(pattern, suffixes) => {
                what.wider = Some(format!(
                    "{pattern} is not within the suffix of its database"
                ));
                what.targets = database(suffixes);
            }
            [Target::Pattern(pattern)] if pattern.trim_start_matches("**").contains('*') => {
                let reason = "less is given of entries whose RDN has several values";
                what.narrower = Some(reason.to_owned());
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
                let known = translated.filter(|it| self.is_pattern(&it.pattern));
                let translated =
                    known.ok_or_else(|| format!("no pattern of names means {value}"))?;
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

    /// Returns whether a pattern of names means something under the schema.
    pub(super) fn is_pattern(&self, pattern: &str) -> bool {
        NamePattern::compile(self.schema, pattern).is_ok()
    }

    /// Returns the part of a target within the suffixes; slapd asks the rules of a database about
    /// no other entries. Empty if there is none.
    fn within(&self, reach: Reach, dn: &str, suffixes: &[String]) -> Vec<Target> {
        let resolve = |dn: &str| self.schema.resolve_name(dn).ok();
        let whole = || {
            let dn = dn.to_owned();
            vec![Target::Below { reach, dn }]
        };
        let Some(name) = resolve(dn) else {
            return Vec::new();
        };
        let holds = |it: &String| resolve(it).is_some_and(|it| name.is_within(&it));
        if suffixes.is_empty() || suffixes.iter().any(holds) {
            return whole();
        }
        let below = suffixes.iter().filter(|it| {
            let base = resolve(it).filter(|base| base.is_within(&name));
            let depth = base.map(|base| base.depth() - name.depth());
            match reach {
                Reach::Entry => false,
                Reach::One => depth == Some(1),
                Reach::Children | Reach::Subtree => depth.is_some(),
            }
        });
        let reach = match reach {
            Reach::One => Reach::Entry,
            _ => Reach::Subtree,
        };
        let target = |dn: &String| Target::Below {
            reach,
            dn: dn.clone(),
        };
        below.map(target).collect()
    }
}

/// Returns whether a pattern ends with one of the suffixes as it is spelled.
fn ends_within(pattern: &str, suffixes: &[String]) -> bool {
    let plain = |it: &str| it.to_ascii_lowercase().replace(", ", ",");
    let pattern = plain(pattern);
    let mut suffixes_plain = suffixes.iter().map(|it| plain(it));
    let is_end = |suffix: String| {
        let before = pattern.strip_suffix(&suffix);
        before.is_some_and(|it| it.is_empty() || it.ends_with(',') || suffix.is_empty())
    };
    suffixes.is_empty() || suffixes_plain.any(is_end)
}

/// Returns all entries of a database with these suffixes, of every database if there are none.
pub(super) fn database(suffixes: &[String]) -> Vec<Target> {
    match suffixes.is_empty() {
        true => vec![Target::Everything],
        false => suffixes.iter().map(|it| subtree(it)).collect(),
    }
}
