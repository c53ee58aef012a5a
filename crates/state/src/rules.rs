//! Rules for values below `cn=rules,cn=config`: unique values, and numbers given to new entries.

pub mod check;
pub mod range;
pub mod ready;

pub use range::NumberRange;

use crate::knowledge::texts_of;
use crate::stop::Failure;
use schema::{ClassId, Name, Schema, TypeId};
use smallvec::SmallVec;
use store::EntryView;

/// Container of the rules' entries.
pub const RULES_NAME: &str = "cn=rules,cn=config";

/// All rules; usually there are none.
#[derive(Debug, Clone, Default)]
pub struct Rules {
    /// Rules about unique values.
    pub unique: Vec<Unique>,
    /// Rules about numbers for new entries.
    pub numbers: Vec<Numbers>,
}

/// A rule that no two entries in its subtrees share a value of these attributes or their subtypes.
#[derive(Debug, Clone)]
pub struct Unique {
    /// The attribute types whose values are compared.
    pub types: SmallVec<[TypeId; 2]>,
    /// The subtrees whose entries the rule governs.
    pub place: Place,
}

/// A rule that a new entry of a class gets a number that no entry ever had.
#[derive(Debug, Clone)]
pub struct Numbers {
    /// The attribute type that gets the number.
    pub type_id: TypeId,
    /// Object class of the entries that get a number.
    pub class: ClassId,
    /// The ranges of numbers, ascending and disjoint.
    pub ranges: Vec<NumberRange>,
    /// A value that requests a number, as a missing value does.
    pub request: Option<Vec<u8>>,
    /// The subtrees whose new entries the rule governs.
    pub place: Place,
}

/// The subtrees to which a rule applies; empty for all.
#[derive(Debug, Clone, Default)]
pub struct Place(pub Vec<Name>);

impl Place {
    /// Returns whether the rule applies to an entry of this name.
    pub fn covers(&self, name: &Name) -> bool {
        self.0.is_empty() || self.0.iter().any(|base| name.is_within(base))
    }
}

impl Rules {
    /// Reads the entries of the container. `indexed` returns whether a type has an equality index,
    /// which every rule needs: without an index each write would read all entries.
    pub fn read(
        schema: &Schema,
        entries: &[EntryView<'_>],
        indexed: &dyn Fn(TypeId) -> bool,
    ) -> Result<Rules, Failure> {
        let mut rules = Rules::default();
        for view in entries {
            let reader = Reader {
                schema,
                view,
                indexed,
            };
            let read = match reader.classes().as_slice() {
                [unique] if unique == "pandounique" => reader.unique(&mut rules),
                [numbers] if numbers == "pandonumbers" => reader.numbers(&mut rules),
                _ => Ok(()),
            };
            read.map_err(|problem| {
                Failure::Configuration(format!("{},{RULES_NAME}: {problem}", view.rdn()))
            })?;
        }
        refuse_overlap(schema, &rules.numbers)?;
        Ok(rules)
    }
}

/// Refuses two rules with a number in common, which could be given twice.
fn refuse_overlap(schema: &Schema, rules: &[Numbers]) -> Result<(), Failure> {
    for (at, rule) in rules.iter().enumerate() {
        let others = &rules[at + 1..];
        for other in others.iter().filter(|it| it.type_id == rule.type_id) {
            let all = rule.ranges.iter().chain(&other.ranges).copied();
            range::disjoint(all.collect()).map_err(|overlap| {
                let name = schema.type_of(rule.type_id).name();
                Failure::Configuration(format!("two rules for {name} in {RULES_NAME}: {overlap}"))
            })?;
        }
    }
    Ok(())
}

/// Reader of one entry below the container.
struct Reader<'r> {
    schema: &'r Schema,
    view: &'r EntryView<'r>,
    indexed: &'r dyn Fn(TypeId) -> bool,
}

impl Reader<'_> {
    fn texts(&self, attribute: &str) -> Vec<String> {
        texts_of(self.schema, self.view, attribute)
    }

    /// Returns the object classes of rules that the entry has, in lower case.
    fn classes(&self) -> Vec<String> {
        let mut classes = self.texts("objectClass");
        classes.iter_mut().for_each(|it| it.make_ascii_lowercase());
        classes.retain(|it| it == "pandounique" || it == "pandonumbers");
        classes
    }

    fn unique(&self, rules: &mut Rules) -> Result<(), String> {
        let mut types = SmallVec::new();
        for text in self.texts("pandoUniqueAttribute") {
            types.push(self.indexed_type(&text)?);
        }
        let place = self.place()?;
        rules.unique.push(Unique { types, place });
        Ok(())
    }

    fn numbers(&self, rules: &mut Rules) -> Result<(), String> {
        let one = |attribute: &str| self.texts(attribute).into_iter().next();
        let type_id = self.indexed_type(&one("pandoNumberAttribute").unwrap_or_default())?;
        let syntax = self.schema.type_of(type_id).syntax;
        if syntax.oid != schema::syntax::OID_INTEGER {
            return Err(format!(
                "expected an attribute of the syntax Integer, got one of {}",
                syntax.description
            ));
        }
        let class = one("pandoNumberClass").unwrap_or_default();
        let class = self
            .schema
            .object_class(&class)
            .ok_or_else(|| format!("no object class \"{class}\""))?;
        let ranges = self.texts("pandoNumberRange");
        let ranges: Result<Vec<NumberRange>, String> =
            ranges.iter().map(|text| text.parse()).collect();
        rules.numbers.push(Numbers {
            type_id,
            class,
            ranges: range::disjoint(ranges?)?,
            request: one("pandoNumberRequest").map(String::into_bytes),
            place: self.place()?,
        });
        Ok(())
    }

    fn indexed_type(&self, text: &str) -> Result<TypeId, String> {
        let type_id = self
            .schema
            .attribute_type(text)
            .ok_or_else(|| format!("no attribute type \"{text}\""))?;
        match (self.indexed)(type_id) {
            true => Ok(type_id),
            false => Err(format!(
                "{text} needs an equality index; add one with `pando index add`"
            )),
        }
    }

    fn place(&self) -> Result<Place, String> {
        let bases = self.texts("pandoBase");
        let names = bases.iter().map(|text| {
            let name = self.schema.resolve_name(text);
            name.map_err(|error| format!("pandoBase \"{text}\": {error}"))
        });
        Ok(Place(names.collect::<Result<_, _>>()?))
    }
}
