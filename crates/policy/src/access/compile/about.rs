//! What a rule is about, as sets of attribute types and parts of the entry.

use schema::matching::Family;
use schema::{Schema, TypeId};

use super::Compiler;
use crate::access::error::nearest;
use crate::access::objects::{Answer, Bits, Object, ObjectSet};
use crate::access::rules::{About, Item, Things, ValueWord};
use crate::access::walk::Span;
use crate::access::words::Use;

/// Objects, and values of some of them.
#[derive(Debug, Default)]
pub(in crate::access) struct Cover {
    /// Objects with all their values.
    whole: ObjectSet,
    values: Vec<Values>,
}

/// Certain values of attribute types.
#[derive(Debug)]
struct Values {
    types: ObjectSet,
    value: CompiledValue,
}

#[derive(Debug, PartialEq, Eq)]
enum CompiledValue {
    /// The values with this normal form, under the equality rules of the types.
    Equal(Vec<u8>),
    /// The value has no normal form under the equality rules of the types: any may be meant.
    Unsure,
    /// The subject's own name.
    Own,
}

/// The value that a question is about.
#[derive(Debug, Clone, Copy)]
pub(in crate::access) enum Asked<'v> {
    /// All values, or none in particular.
    Any,
    /// The value with this normal form under the equality rule of its attribute type; `None` if it
    /// has none.
    One {
        normal: Option<&'v [u8]>,
        own: OwnName<'v>,
    },
}

/// The name of the subject that asks, as a value.
#[derive(Debug, Clone, Copy)]
pub(in crate::access) enum OwnName<'v> {
    /// The subject is anonymous.
    Nobody,
    Unknown,
    /// Octets of the name.
    Is(&'v [u8]),
}

impl CompiledValue {
    fn holds(&self, normal: Option<&[u8]>, own: OwnName<'_>) -> Answer {
        match (self, normal, own) {
            (CompiledValue::Own, _, OwnName::Nobody) => Answer::No,
            (CompiledValue::Unsure, _, _) | (_, None, _) => Answer::Perhaps,
            (CompiledValue::Equal(value), Some(normal), _) => (value == normal).into(),
            (CompiledValue::Own, Some(normal), OwnName::Is(name)) => (normal == name).into(),
            (CompiledValue::Own, _, OwnName::Unknown) => Answer::Perhaps,
        }
    }
}

impl Cover {
    /// Returns the objects that are meant; those of which only some values are perhaps.
    pub(in crate::access) fn objects(&self) -> Span<ObjectSet> {
        let mut span = Span::of(self.whole.clone());
        self.values
            .iter()
            .for_each(|it| span.perhaps.join(&it.types));
        span
    }

    /// Returns whether an object is meant.
    pub(in crate::access) fn holds(&self, object: Object, asked: Asked<'_>) -> Answer {
        if self.whole.contains(object) {
            return Answer::Yes;
        }
        let values = self.values.iter().filter(|it| it.types.contains(object));
        let answers = values.map(|it| match asked {
            Asked::Any => Answer::Perhaps,
            Asked::One { normal, own } => it.value.holds(normal, own),
        });
        answers.max().unwrap_or(Answer::No)
    }

    /// Returns the objects whose values are told apart.
    pub(in crate::access) fn told_apart(&self) -> ObjectSet {
        let mut told = ObjectSet::default();
        self.values.iter().for_each(|it| told.join(&it.types));
        told
    }
}

impl Compiler<'_> {
    pub(super) fn about(&self, about: &About) -> Result<Cover, String> {
        let every_use = || Use::ALL.into_iter().map(Object::Use);
        let whole = match about {
            About::Items(items) => return self.items(items),
            About::Usual => {
                let mut usual = self.types(|it| !self.secrets.contains(it));
                usual.insert(Object::Entry);
                usual.insert(Object::Children);
                usual
            }
            About::Uses(uses) => ObjectSet::of(uses.iter().copied().map(Object::Use)),
            About::EveryUse => ObjectSet::of(every_use()),
        };
        Ok(Cover {
            whole,
            values: Vec::new(),
        })
    }

    pub(super) fn items(&self, items: &[Item]) -> Result<Cover, String> {
        let (mut cover, mut excluded) = (Cover::default(), ObjectSet::default());
        if items.iter().all(|it| matches!(it, Item::Not(_))) {
            cover.whole = self.things(&Things::All)?;
        }
        for item in items {
            match item {
                Item::Only(things) => cover.whole.join(&self.things(things)?),
                Item::Not(things) => excluded.join(&self.things(things)?),
                Item::Values { attribute, value } => {
                    self.values(attribute, value, &mut cover.values)?;
                }
            }
        }
        cover.whole.remove(&excluded);
        cover
            .values
            .iter_mut()
            .for_each(|it| it.types.remove(&excluded));
        Ok(cover)
    }

    fn things(&self, things: &Things) -> Result<ObjectSet, String> {
        let open = |it: TypeId| !self.secrets.contains(it);
        let operational = |it: TypeId| self.schema.type_of(it).operational();
        Ok(match things {
            Things::Attribute(name) => self.with_subtypes(self.attribute_type(name)?),
            Things::Class(name) => self.class(name)?,
            Things::All => self.types(open),
            Things::User => self.types(|it| open(it) && !operational(it)),
            Things::Operational => self.types(|it| open(it) && operational(it)),
            Things::Secrets => self.types(|it| !open(it)),
            Things::Entry => ObjectSet::of([Object::Entry]),
            Things::Children => ObjectSet::of([Object::Children]),
        })
    }

    fn types(&self, fits: impl Fn(TypeId) -> bool) -> ObjectSet {
        let types = self.schema.attribute_types().map(|(id, _)| id);
        ObjectSet::of(types.filter(|it| fits(*it)).map(Object::Attribute))
    }

    /// Returns a type and its subtypes. A secret is never meant by the name of another type.
    fn with_subtypes(&self, named: TypeId) -> ObjectSet {
        let secret = self.secrets.contains(named);
        let meant = |it| secret || !self.secrets.contains(it);
        self.types(|it| self.schema.is_subtype(it, named) && meant(it))
    }

    fn class(&self, name: &str) -> Result<ObjectSet, String> {
        let Some(id) = self.schema.object_class(name) else {
            let classes = self.schema.object_classes();
            let known = classes.flat_map(|(_, it)| it.names.iter().map(String::as_str));
            let hint = nearest(name, known);
            return Err(format!("expected an object class, got \"{name}\"{hint}"));
        };
        let class = self.schema.class_of(id);
        let mut all = ObjectSet::default();
        for named in class.all_must.iter().chain(&class.all_may) {
            if !self.secrets.contains(*named) {
                all.join(&self.with_subtypes(*named));
            }
        }
        Ok(all)
    }

    /// Adds values of a type and its subtypes, each by the equality rule of its own.
    fn values(
        &self,
        attribute: &str,
        word: &ValueWord,
        all: &mut Vec<Values>,
    ) -> Result<(), String> {
        let named = self.attribute_type(attribute)?;
        let types = self.with_subtypes(named);
        let ValueWord::Equal(text) = word else {
            self.named_type(attribute)?;
            let value = CompiledValue::Own;
            all.push(Values { types, value });
            return Ok(());
        };
        let normal = |type_id| {
            let mut normal = Vec::new();
            let done = self
                .schema
                .normalise_equality(type_id, text.as_bytes(), &mut normal);
            done.map(|()| normal)
        };
        normal(named)
            .map_err(|error| format!("expected a value of {attribute}, got \"{text}\": {error}"))?;
        let before = all.len();
        for type_id in types.attributes() {
            let value = normal(type_id).map_or(CompiledValue::Unsure, CompiledValue::Equal);
            let same = all[before..].iter_mut().find(|it| it.value == value);
            let object = Object::Attribute(type_id);
            match same {
                Some(same) => same.types.insert(object),
                None => all.push(Values {
                    types: ObjectSet::of([object]),
                    value,
                }),
            }
        }
        Ok(())
    }

    pub(super) fn attribute_type(&self, name: &str) -> Result<TypeId, String> {
        self.schema.attribute_type(name).ok_or_else(|| {
            let types = self.schema.attribute_types();
            let known = types.flat_map(|(_, it)| it.names.iter().map(String::as_str));
            let hint = nearest(name, known);
            format!("expected an attribute type, got \"{name}\"{hint}")
        })
    }

    /// Returns an attribute type whose values are names of entries.
    pub(super) fn named_type(&self, name: &str) -> Result<TypeId, String> {
        let type_id = self.attribute_type(name)?;
        match self.has_names(type_id) {
            true => Ok(type_id),
            false => Err(format!(
                "expected an attribute type with names as values, got \"{name}\""
            )),
        }
    }

    /// Returns whether the values of an attribute type are names of entries.
    pub(super) fn has_names(&self, type_id: TypeId) -> bool {
        has_names(self.schema, type_id)
    }
}

/// Returns whether the values of an attribute type are names of entries.
pub(in crate::access) fn has_names(schema: &Schema, type_id: TypeId) -> bool {
    let family = schema.type_of(type_id).equality.map(|it| it.family);
    matches!(family, Some(Family::DistinguishedName | Family::NameAndUid))
}

/// Returns all objects there are under a schema.
pub(super) fn all_objects(schema: &Schema) -> ObjectSet {
    let types = schema
        .attribute_types()
        .map(|(id, _)| Object::Attribute(id));
    let uses = Use::ALL.into_iter().map(Object::Use);
    ObjectSet::of(
        [Object::Entry, Object::Children]
            .into_iter()
            .chain(uses)
            .chain(types),
    )
}
