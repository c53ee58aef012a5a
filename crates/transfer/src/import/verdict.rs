//! Cached object class checks: entries with equal classes and attribute types have one verdict.

use schema::{ClassId, ClassKind, EntryShape, Schema, TypeId};
use std::collections::HashMap;
use std::sync::Arc;

/// Maximum number of cached verdicts. More kinds of entries are rare; then the cache is cleared.
const VERDICTS_MAX: usize = 4096;

/// Result of the check of entries with one shape (classes and attribute types).
#[derive(Debug, Clone)]
pub(super) struct Verdict {
    /// Name of the structural object class; `None` if there is none and checks are off.
    pub structural: Option<Arc<str>>,
    /// First names of the classes; `None` if the entry uses these already.
    pub classes: Option<Arc<[Box<[u8]>]>>,
    pub is_alias: bool,
    pub is_referral: bool,
    pub is_subentry: bool,
}

/// The cache.
#[derive(Debug, Default)]
pub(super) struct Verdicts {
    /// Buffer for the shape being looked up.
    key: Vec<u8>,
    last: Vec<u8>,
    of_last: Option<Result<Verdict, Arc<str>>>,
    known: HashMap<Vec<u8>, Result<Verdict, Arc<str>>>,
}

impl Verdicts {
    /// The verdict on an entry. Errors are sentences.
    pub fn of(
        &mut self,
        schema: &Schema,
        classes: &[&[u8]],
        attributes: &[(TypeId, usize)],
        rdn: &[TypeId],
        check: bool,
    ) -> Result<Verdict, Arc<str>> {
        self.key.clear();
        for class in classes {
            self.key
                .extend_from_slice(&(class.len() as u32).to_le_bytes());
            self.key.extend_from_slice(class);
        }
        self.key.extend_from_slice(&u32::MAX.to_le_bytes());
        for (type_id, values) in attributes {
            self.key.extend_from_slice(&type_id.0.to_le_bytes());
            self.key.push((*values).min(2) as u8);
        }
        self.key.extend_from_slice(&u32::MAX.to_le_bytes());
        for type_id in rdn {
            self.key.extend_from_slice(&type_id.0.to_le_bytes());
        }
        if self.key == self.last
            && let Some(verdict) = &self.of_last
        {
            return verdict.clone();
        }
        let verdict = match self.known.get(&self.key) {
            Some(verdict) => verdict.clone(),
            None => {
                let verdict = decide(schema, classes, attributes, rdn, check);
                if self.known.len() == VERDICTS_MAX {
                    self.known.clear();
                }
                self.known.insert(self.key.clone(), verdict.clone());
                verdict
            }
        };
        std::mem::swap(&mut self.key, &mut self.last);
        self.of_last = Some(verdict.clone());
        verdict
    }
}

fn decide<'s>(
    schema: &'s Schema,
    classes: &[&'s [u8]],
    attributes: &[(TypeId, usize)],
    rdn: &[TypeId],
    check: bool,
) -> Result<Verdict, Arc<str>> {
    let shape = EntryShape {
        classes,
        attributes,
        rdn,
    };
    let structural = match schema.check_entry(&shape) {
        Ok(structure) => Some(schema.class_of(structure.structural).name().into()),
        Err(violation) if check => return Err(violation.to_string().into()),
        Err(_) => lowest_structural(schema, classes),
    };
    if check {
        check_distinct(schema, classes)?;
    }
    let name = |class: &&'s [u8]| schema.class_renamed(class).map_or(*class, str::as_bytes);
    let named: Vec<&[u8]> = classes.iter().map(name).collect();
    let has = |name: &str| {
        named
            .iter()
            .any(|it| it.eq_ignore_ascii_case(name.as_bytes()))
    };
    Ok(Verdict {
        structural,
        classes: (named != classes).then(|| named.iter().map(|it| Box::from(*it)).collect()),
        is_alias: has("alias"),
        is_referral: has("referral"),
        is_subentry: has("subentry"),
    })
}

fn check_distinct(schema: &Schema, classes: &[&[u8]]) -> Result<(), Arc<str>> {
    let find = |class: &&[u8]| schema.object_class(std::str::from_utf8(class).ok()?);
    let mut ids: Vec<_> = classes.iter().filter_map(find).collect();
    ids.sort_unstable();
    if ids.windows(2).any(|pair| pair[0] == pair[1]) {
        return Err("objectClass: the same value is given more than once".into());
    }
    Ok(())
}

/// The structural class without a subclass among the given classes; `None` if the schema defines
/// none of them as structural.
fn lowest_structural(schema: &Schema, classes: &[&[u8]]) -> Option<Arc<str>> {
    let known = classes
        .iter()
        .filter_map(|it| schema.object_class(std::str::from_utf8(it).ok()?));
    let (structural, others): (Vec<ClassId>, Vec<ClassId>) =
        known.partition(|it| schema.class_of(*it).kind == ClassKind::Structural);
    let alone = others
        .into_iter()
        .filter(|it| schema.class_of(*it).structural_alone);
    let lower = |a, b| if schema.is_subclass(b, a) { b } else { a };
    let lowest = structural.into_iter().reduce(lower);
    let lowest = lowest.or_else(|| alone.reduce(lower))?;
    Some(schema.class_of(lowest).name().into())
}
