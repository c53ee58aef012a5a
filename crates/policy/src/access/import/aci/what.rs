//! What an instruction is about: entries, attributes and rights.

use super::text::{Comparison, Instruction};
use super::{Context, Missing};
use crate::access::import::{everything, parenthesised};
use crate::access::parse::is_attribute_word;
use crate::access::right::{Right, RightWord};
use crate::access::rules::{Grant, Item, Reach, Target, Things};

/// Entries and attributes.
pub(super) struct What {
    pub(super) targets: Vec<Target>,
    pub(super) filter: Option<String>,
    /// Attributes, if the instruction names some.
    pub(super) attributes: Option<Vec<Item>>,
}

impl Context<'_> {
    /// Returns what an instruction at an entry is about: more of it if `wide` where it cannot be
    /// said exactly, `None` otherwise.
    pub(super) fn what(
        &self,
        location: &str,
        instruction: &Instruction,
        wide: bool,
        missing: &mut Missing,
    ) -> Option<What> {
        let mut dn = location.to_owned();
        let mut reach = self::reach(location);
        let mut filter = None;
        let mut items = None;
        for part in &instruction.parts {
            let plain = part.operator == "=";
            let done = match part.keyword.as_str() {
                "target" if plain => {
                    let named = part
                        .value
                        .strip_prefix("ldap:///")
                        .and_then(|it| self.name(it));
                    let is_root = self::reach(location) == Reach::Entry;
                    let inside = named.filter(|it| self.is_within(it, location) && !is_root);
                    inside.map(|it| dn = it)
                }
                "targetscope" if plain => {
                    let given = scope(&part.value);
                    match self::reach(location) {
                        // At the root DSE the scope stays what it is, or means nothing.
                        Reach::Entry => given
                            .filter(|it| matches!(it, Reach::Entry | Reach::Subtree))
                            .map(|_| ()),
                        _ => given.map(|it| reach = it),
                    }
                }
                "targetfilter" => {
                    let given = parenthesised(&part.value);
                    let given = if plain { given } else { format!("(!{given})") };
                    self.is_filter(&given).then(|| filter = Some(given))
                }
                "targetattr" => self.attributes(part, wide).map(|it| items = Some(it)),
                _ => None,
            };
            if done.is_none() {
                let Comparison {
                    keyword,
                    operator,
                    value,
                } = part;
                missing.note(&format!("{keyword}{operator}\"{value}\""));
                if !wide {
                    return None;
                }
                if part.keyword == "targetattr" {
                    items = Some(everything());
                }
            }
        }
        Some(What {
            targets: vec![Target::Below { reach, dn }],
            filter,
            attributes: items,
        })
    }

    /// Reads `targetattr`: all user attributes are `*`, operational ones are named. A secret is
    /// allowed only by its name.
    fn attributes(&self, part: &Comparison, wide: bool) -> Option<Vec<Item>> {
        let names = part.value.split("||").map(str::trim);
        // Who is denied all attributes is denied the entry that has them.
        let all = [Things::User, Things::Secrets, Things::Entry].map(Item::Only);
        let excludes = part.operator == "!=";
        let everything = match (wide, excludes) {
            (false, _) => &all[..1],
            (true, true) => &all[..2],
            (true, false) => &all[..],
        };
        let mut items = match excludes {
            true => everything.to_vec(),
            false => Vec::new(),
        };
        for name in names {
            let Some(type_id) = self.schema.attribute_type(name) else {
                // No entry has an attribute that the schema does not know.
                if name == "*" && !excludes {
                    items.extend_from_slice(everything);
                }
                continue;
            };
            // Subtypes that are secret need their own names.
            let secrets = self.secrets.types().iter();
            let mut below = secrets.filter(|it| self.schema.is_subtype(**it, type_id));
            let hides = !self.secrets.contains(type_id) && below.next().is_some();
            if hides || !is_attribute_word(name) {
                return None;
            }
            let things = Things::Attribute(name.to_owned());
            items.push(if excludes {
                Item::Not(things)
            } else {
                Item::Only(things)
            });
        }
        Some(items)
    }

    fn is_within(&self, dn: &str, location: &str) -> bool {
        let resolve = |dn: &str| self.schema.resolve_name(dn).ok();
        match (resolve(dn), resolve(location)) {
            (Some(name), Some(location)) => name.is_within(&location),
            _ => false,
        }
    }

    /// Returns whether a filter can be evaluated.
    pub(super) fn is_filter(&self, filter: &str) -> bool {
        crate::access::compile::filter(self.schema, filter).is_ok()
    }
}

/// Rights to the entry itself and to the place below it, whatever attributes are named.
const TO_ENTRIES: [Right; 6] = [
    Right::Add,
    Right::Delete,
    Right::Rename,
    Right::MoveIn,
    Right::MoveOut,
    Right::Proxy,
];

/// Rights that the word `read` gives here.
const LADDER: [Right; 4] = [Right::Disclose, Right::Compare, Right::Search, Right::Read];

/// Returns the grants of words for rights, to these attributes if they are named.
pub(super) fn grants(
    words: &[String],
    attributes: Option<&[Item]>,
    denies: bool,
    missing: &mut Missing,
) -> Vec<Grant> {
    let mut rights: Vec<Right> = Vec::new();
    for word in words {
        let found = meant(word).unwrap_or_else(|| {
            missing.note(word);
            if denies { &Right::ALL } else { &[] }
        });
        rights.extend(found);
    }
    rights.sort_unstable();
    rights.dedup();
    // The values of the RDN are asked about, too.
    let renames = |it: &Right| *it == Right::Rename && denies && attributes.is_some();
    rights.retain(|it| !renames(it));
    let reads = LADDER.iter().all(|it| rights.contains(it)) && !denies;
    if reads {
        rights.retain(|it| *it == Right::Read || !LADDER.contains(it));
    }
    let entry = [Item::Only(Things::Entry), Item::Only(Things::Children)];
    let grant = |right: &Right| {
        let named = attributes.unwrap_or_default();
        let items = match TO_ENTRIES.contains(right) {
            true => entry.to_vec(),
            // Who may see an attribute may see that there is an entry. Who may not see an
            // attribute that is named may see the rest.
            false if !denies => [&entry[..1], named].concat(),
            false if attributes.is_none() => everything(),
            false => named.to_vec(),
        };
        let word = RightWord::One(*right);
        Grant {
            only: word.exactly() != word.with_lower() && !denies && !reads,
            right: word,
            items,
        }
    };
    let grants = rights.iter().map(grant);
    grants.filter(|it| !it.items.is_empty()).collect()
}

/// Returns the rights that a word means.
fn meant(word: &str) -> Option<&'static [Right]> {
    use Right::*;
    Some(match word {
        "read" => &[Read, Disclose],
        "search" => &[Search, Disclose],
        "compare" => &[Compare, Disclose],
        // To rename an entry takes the right to write the values of its RDN, here as there.
        "write" => &[AddValue, DeleteValue, SelfValue, Rename],
        "selfwrite" => &[SelfValue],
        "add" => &[Add],
        "delete" => &[Delete],
        "import" => &[MoveIn],
        "export" => &[MoveOut],
        "proxy" => &[Proxy],
        "all" => &[
            Disclose,
            Read,
            Search,
            Compare,
            AddValue,
            DeleteValue,
            SelfValue,
            Add,
            Delete,
            Rename,
            MoveIn,
            MoveOut,
        ],
        _ => return None,
    })
}

/// Returns which entries an instruction at an entry is about: one at the root DSE is about that
/// alone.
pub(super) fn reach(location: &str) -> Reach {
    match location.trim().is_empty() {
        true => Reach::Entry,
        false => Reach::Subtree,
    }
}

fn scope(value: &str) -> Option<Reach> {
    match value.to_ascii_lowercase().as_str() {
        "base" => Some(Reach::Entry),
        "onelevel" | "one" => Some(Reach::One),
        "subtree" => Some(Reach::Subtree),
        "subordinate" => Some(Reach::Children),
        _ => None,
    }
}
