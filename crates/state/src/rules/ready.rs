//! Checks that the indexes needed by rules are complete on this node.
//!
//! The progress of an index differs between nodes; neither order nor digest depend on it. So the
//! node that accepts a write checks it before the order, and execution never does: where an index
//! is incomplete it reads all entries.

use super::{Numbers, RULES_NAME, Rules, Unique};
use crate::catalog::Catalog;
use crate::execute::name_afterwards;
use crate::stop::Refusal;
use crate::write::{Change, Given, Write};
use protocol::{ChangeOperation, ResultCode};
use schema::{Schema, TypeId};
use store::{IndexKind, IndexSet};

/// Refuses a write whose execution would read all entries, because an index that a rule needs is
/// incomplete here.
pub fn require_indexes(catalog: &Catalog, write: &Write) -> Result<(), Refusal> {
    let (schema, rules) = (&catalog.schema, &catalog.rules);
    if rules.unique.is_empty() && rules.numbers.is_empty() {
        return Ok(());
    }
    let given = given(write);
    for rule in &rules.unique {
        let covered = given.iter().map(|it| it.0);
        let covered: Vec<TypeId> = covered.filter(|it| rule.covers(schema, *it)).collect();
        // The subtree of the entry does not matter: once any entry has a subtype, its values are
        // looked up too.
        let is_new = |it: &TypeId| !rule.types.contains(it) && schema.numbers_of(*it).is_empty();
        let asks = rule.asks(write) && (!covered.is_empty() || rule.gets_subtree(write));
        for type_id in &covered {
            if asks || is_new(type_id) {
                require(catalog, *type_id)?;
            }
        }
        if asks {
            let mut types = rule.types.iter();
            types.try_for_each(|it| require(catalog, *it))?;
        }
    }
    for rule in rules.numbers.iter().filter(|it| it.asks(schema, write)) {
        require(catalog, rule.type_id)?;
    }
    Ok(())
}

/// Refuses a configuration with rules that need an index which is incomplete here, unless they
/// waited for it before: the rule comes too early, or the index cannot be dropped.
pub fn require_indexes_of(before: &Catalog, next: &Catalog) -> Result<(), Refusal> {
    let name = |catalog: &Catalog, it| catalog.schema.type_of(it).name().to_owned();
    let waited = before.rules.types();
    let waited = waited.filter(|it| unready(&before.indexes, *it).is_some());
    let waited: Vec<String> = waited.map(|it| name(before, it)).collect();
    let mut types = next.rules.types();
    types.try_for_each(|it| match waited.contains(&name(next, it)) {
        true => Ok(()),
        false => require(next, it),
    })
}

/// Refuses if values of a type cannot be looked up by complete indexes.
fn require(catalog: &Catalog, of: TypeId) -> Result<(), Refusal> {
    let Some(unready) = unready(&catalog.indexes, of) else {
        return Ok(());
    };
    let name = catalog.schema.type_of(unready).name();
    let mut definitions = catalog.indexes.definitions.iter();
    // A rule's index has a definition, even while old rows of it are being removed.
    let is_defined = catalog.rules.types().any(|it| it == unready)
        || definitions.any(|it| it.type_id == unready && it.kinds.contains(IndexKind::Equality));
    Err(match is_defined {
        true => Refusal::new(
            ResultCode::BUSY,
            format!(
                "the equality index of {name} is being built, and a rule in {RULES_NAME} needs it; \
                 try again when `pando index status` says that it is ready"
            ),
        ),
        false => Refusal::new(
            ResultCode::UNWILLING_TO_PERFORM,
            format!(
                "a rule in {RULES_NAME} is for values of {name} as well, a subtype of what it \
                 names, and needs an equality index of it: `pando index add DIR {name} equality`"
            ),
        ),
    })
}

/// Returns a subtype of `of`, or `of` itself, whose equality index is incomplete here; `None` if
/// there is none.
fn unready(indexes: &IndexSet, of: TypeId) -> Option<TypeId> {
    let schema = &indexes.schema;
    let numbers = schema.numbers_of(of).iter();
    let used = numbers.filter_map(|it| Some(schema.known(*it)?.type_id));
    let mut all = std::iter::once(of).chain(used);
    all.find(|it| !indexes.is_ready(*it, IndexKind::Equality))
}

/// Returns the types of a write's values, with the values.
fn given(write: &Write) -> Vec<(TypeId, &[Vec<u8>])> {
    fn of(given: &Given) -> (TypeId, &[Vec<u8>]) {
        (given.description.type_id, &given.values)
    }
    match &write.change {
        Change::Add(addition) => {
            let naming = addition.rdn.values.iter();
            let naming = naming.map(|(it, value)| (it.type_id, std::slice::from_ref(value)));
            addition.attributes.iter().map(of).chain(naming).collect()
        }
        Change::Modify(changes) => changes
            .iter()
            .filter(|it| it.operation != ChangeOperation::Delete && !it.given.values.is_empty())
            .map(|it| of(&it.given))
            .collect(),
        Change::Rename(renaming) => {
            let naming = renaming.rdn.values.iter();
            naming
                .map(|(it, value)| (it.type_id, std::slice::from_ref(value)))
                .collect()
        }
        Change::Delete
        | Change::Reclaim(_)
        | Change::Attempts(_)
        | Change::Level(_)
        | Change::Audit(_) => Vec::new(),
    }
}

impl Rules {
    /// Returns the types in which values are looked up.
    fn types(&self) -> impl Iterator<Item = TypeId> + '_ {
        let unique = self.unique.iter().flat_map(|it| it.types.iter().copied());
        unique.chain(self.numbers.iter().map(|it| it.type_id))
    }

    /// Returns whether executing a write may read all entries.
    pub fn wait_for(&self, indexes: &IndexSet) -> bool {
        self.types().any(|it| unready(indexes, it).is_some())
    }
}

impl Unique {
    /// Returns whether the rule applies to values of a type.
    pub fn covers(&self, schema: &Schema, type_id: TypeId) -> bool {
        self.types.iter().any(|it| schema.is_subtype(type_id, *it))
    }

    /// Returns whether the rule applies to the entry after the write.
    fn asks(&self, write: &Write) -> bool {
        self.place.covers(&name_afterwards(write))
    }

    /// Returns whether the write brings an entry and its subtree under the rule.
    fn gets_subtree(&self, write: &Write) -> bool {
        matches!(write.change, Change::Rename(_)) && !self.place.covers(write.name())
    }
}

impl Numbers {
    /// Returns whether the write may request a number. For an existing entry only the given values
    /// are checked; if it gets a number nevertheless, execution is slow but correct.
    fn asks(&self, schema: &Schema, write: &Write) -> bool {
        if !self.place.covers(write.name()) {
            return false;
        }
        let given = given(write);
        let is_of_class = |value: &Vec<u8>| {
            let class = std::str::from_utf8(value).ok();
            let class = class.and_then(|it| schema.object_class(it));
            class.is_some_and(|it| schema.is_subclass(it, self.class))
        };
        let classes = schema.attribute_type("objectClass");
        let gets_class = given
            .iter()
            .any(|(type_id, values)| Some(*type_id) == classes && values.iter().any(is_of_class));
        let own = given.iter().find(|it| it.0 == self.type_id);
        let requests = own.is_some_and(|(_, values)| values.iter().eq(&self.request));
        requests || gets_class && own.is_none()
    }
}
