//! Decisions about the entries directly below a name.

use policy::access::decide::SubjectRules;
use policy::access::outlook::Outlook;
use schema::{Name, Schema, TypeId};
use smallvec::SmallVec;
use std::collections::HashSet;
use std::rc::Rc;
use store::EntryView;

/// Decisions for one subject about the entries directly below a name, but those that the target of
/// a rule names.
#[derive(Debug)]
pub(super) struct Below {
    superior: Name,
    others: Rc<Outlook>,
    /// The entries that targets name.
    apart: HashSet<Name>,
    /// Attribute types with which the RDNs of these names begin; `None` for one that the schema
    /// does not have.
    types: SmallVec<[Option<TypeId>; 4]>,
}

impl Below {
    /// Judges the rules.
    pub fn of(rules: &SubjectRules, superior: &Name, schema: &Schema) -> Below {
        let (others, apart) = rules.outlook_below(superior.clone());
        let mut types = SmallVec::new();
        for name in &apart {
            let rdn = name.leaf().and_then(|it| std::str::from_utf8(it).ok());
            let first = rdn.and_then(|it| first_type(schema, it));
            if !types.contains(&first) {
                types.push(first);
            }
        }
        Below {
            superior: superior.clone(),
            others: Rc::new(others),
            apart: apart.into_iter().collect(),
            types,
        }
    }

    /// Number of the entries that are judged alone.
    pub fn names(&self) -> usize {
        self.apart.len()
    }

    /// The decisions about an entry; `None` if it has to be judged alone.
    #[inline]
    pub fn others(&self, schema: &Schema, row: &EntryView<'_>) -> Option<&Rc<Outlook>> {
        let is_other = self.types.is_empty() || !self.may_name(schema, row.rdn());
        is_other.then_some(&self.others)
    }

    /// Whether a target names the entry with this RDN, or its name means nothing. Most entries
    /// differ from such ones in the type of their RDN, which spares the resolving of their names.
    fn may_name(&self, schema: &Schema, rdn: &str) -> bool {
        let is_alike = || self.types.contains(&first_type(schema, rdn));
        if !rdn.contains('+') && !is_alike() {
            return false;
        }
        let mut name = Name::root();
        match schema.resolve_below(&self.superior, rdn, &mut name) {
            Ok(()) => self.apart.contains(&name),
            Err(_) => true,
        }
    }
}

/// The attribute type with which the text of an RDN begins.
fn first_type(schema: &Schema, rdn: &str) -> Option<TypeId> {
    let (spelled, _) = rdn.split_once('=')?;
    schema.attribute_type(spelled.trim_matches(' '))
}
