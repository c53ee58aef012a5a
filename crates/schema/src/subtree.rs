//! Subtree specifications: the entries below an administrative point to which a subentry applies
//! (RFC 3672 §2.1).

use crate::gser::Gser;
use crate::id::ClassId;
use crate::name::Name;
use crate::schema::Schema;

/// Levels to which a specification filter may be nested.
const REFINEMENT_DEPTH_MAX: u8 = 16;

/// A subtree, as described by a value of `subtreeSpecification`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SubtreeSpecification {
    /// Base of the subtree, relative to the administrative point.
    pub base: Name,
    /// Entries excluded with all their subordinates, relative to the base.
    pub chop_before: Vec<Name>,
    /// Entries whose subordinates are left out, relative to the base.
    pub chop_after: Vec<Name>,
    /// The least number of levels below the base.
    pub minimum: u32,
    /// The greatest number of levels below the base; `None` for no limit.
    pub maximum: Option<u32>,
    /// The condition on the object classes of an entry.
    pub refinement: Option<Refinement>,
}

/// A condition on object classes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refinement {
    /// The entry has this class.
    Class(ClassId),
    /// All conditions are true.
    And(Vec<Refinement>),
    /// At least one condition is true.
    Or(Vec<Refinement>),
    /// The condition is false.
    Not(Box<Refinement>),
}

impl Schema {
    /// Parses a subtree specification. `None` when the text is malformed, or names a class or an
    /// attribute type that the schema lacks.
    pub fn subtree_specification(&self, text: &str) -> Option<SubtreeSpecification> {
        let mut gser = Gser::new(text);
        let mut subtree = SubtreeSpecification::default();
        gser.list(&mut |gser| {
            match gser.word()? {
                "base" => subtree.base = self.local_name(gser)?,
                "specificExclusions" => gser.list(&mut |gser| {
                    let names = match gser.word()? {
                        "chopBefore" => &mut subtree.chop_before,
                        "chopAfter" => &mut subtree.chop_after,
                        _ => return None,
                    };
                    if !gser.take(":") {
                        return None;
                    }
                    names.push(self.local_name(gser)?);
                    Some(())
                })?,
                "minimum" => subtree.minimum = gser.word()?.parse().ok()?,
                "maximum" => subtree.maximum = Some(gser.word()?.parse().ok()?),
                "specificationFilter" => {
                    subtree.refinement = Some(self.refinement(gser, REFINEMENT_DEPTH_MAX)?);
                }
                _ => return None,
            }
            Some(())
        })?;
        gser.is_at_end().then_some(subtree)
    }

    fn local_name(&self, gser: &mut Gser<'_>) -> Option<Name> {
        self.resolve_name(&gser.text()?).ok()
    }

    fn refinement(&self, gser: &mut Gser<'_>, depth_max: u8) -> Option<Refinement> {
        let depth_max = depth_max.checked_sub(1)?;
        let kind = gser.word()?;
        if !gser.take(":") {
            return None;
        }
        Some(match kind {
            "item" => Refinement::Class(self.object_class(gser.word()?)?),
            "not" => Refinement::Not(Box::new(self.refinement(gser, depth_max)?)),
            "and" | "or" => {
                let mut parts = Vec::new();
                gser.list(&mut |gser| {
                    parts.push(self.refinement(gser, depth_max)?);
                    Some(())
                })?;
                match kind {
                    "and" => Refinement::And(parts),
                    _ => Refinement::Or(parts),
                }
            }
            _ => return None,
        })
    }
}

impl SubtreeSpecification {
    /// Returns whether an entry lies in the subtree, regardless of its classes. `point` is the name
    /// of the administrative point.
    pub fn holds(&self, point: &Name, entry: &Name) -> bool {
        let base = joined(point, &self.base);
        if !entry.is_within(&base) {
            return false;
        }
        let levels = (entry.depth() - base.depth()) as u32;
        let within = |local: &Name| entry.is_within(&joined(&base, local));
        let below = |local: &Name| {
            let chopped = joined(&base, local);
            entry.is_within(&chopped) && entry.depth() > chopped.depth()
        };
        levels >= self.minimum
            && self.maximum.is_none_or(|maximum| levels <= maximum)
            && !self.chop_before.iter().any(within)
            && !self.chop_after.iter().any(below)
    }

    /// Returns whether the classes of an entry satisfy the refinement.
    pub fn fits(&self, is_of_class: &dyn Fn(ClassId) -> bool) -> bool {
        self.refinement
            .as_ref()
            .is_none_or(|refinement| refinement.holds(is_of_class))
    }
}

impl Refinement {
    /// Evaluates the refinement. The parser's limit of depth bounds the recursion.
    fn holds(&self, is_of_class: &dyn Fn(ClassId) -> bool) -> bool {
        match self {
            Refinement::Class(class) => is_of_class(*class),
            Refinement::And(parts) => parts.iter().all(|it| it.holds(is_of_class)),
            Refinement::Or(parts) => parts.iter().any(|it| it.holds(is_of_class)),
            Refinement::Not(part) => !part.holds(is_of_class),
        }
    }
}

/// Returns a relative name appended below another name.
pub fn joined(above: &Name, relative: &Name) -> Name {
    relative
        .rdns()
        .fold(above.clone(), |name, rdn| name.child(rdn))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subtrees_hold_what_is_not_chopped() {
        let schema = Schema::standard();
        let name = |text: &str| schema.resolve_name(text).unwrap();
        let subtree = schema
            .subtree_specification(
                "{ base \"ou=people\", specificExclusions { chopBefore:\"ou=robots\", \
                 chopAfter:\"ou=guests\" }, minimum 1, maximum 2, specificationFilter \
                 and:{ item:person, not:item:2.5.6.7 } }",
            )
            .unwrap();
        let point = name("dc=com");
        for (entry, expected) in [
            ("dc=com", false),
            ("ou=people,dc=com", false),
            ("cn=a,ou=people,dc=com", true),
            ("cn=a,ou=x,ou=people,dc=com", true),
            ("cn=a,ou=y,ou=x,ou=people,dc=com", false),
            ("ou=robots,ou=people,dc=com", false),
            ("cn=a,ou=robots,ou=people,dc=com", false),
            ("ou=guests,ou=people,dc=com", true),
            ("cn=a,ou=guests,ou=people,dc=com", false),
        ] {
            assert_eq!(subtree.holds(&point, &name(entry)), expected, "{entry}");
        }
        let person = schema.object_class("person").unwrap();
        assert!(subtree.fits(&|class| class == person));
        assert!(!subtree.fits(&|_| true) && !subtree.fits(&|_| false));
    }

    #[test]
    fn what_is_no_subtree_is_refused() {
        let schema = Schema::standard();
        assert!(schema.subtree_specification("{}").is_some());
        assert!(schema.subtree_specification("{ }").is_some());
        let deep = format!(
            "{{ specificationFilter {}item:person }}",
            "not:".repeat(100)
        );
        for text in [
            "",
            "{",
            "{ base ou=x }",
            "{ minimum -1 }",
            "{} x",
            "{ other 1 }",
            &deep,
        ] {
            assert_eq!(schema.subtree_specification(text), None, "{text}");
        }
    }
}
