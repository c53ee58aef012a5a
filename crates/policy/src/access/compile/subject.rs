//! Subjects of clauses as conditions with every name resolved.

use super::{Compiler, filter};
use crate::access::condition::Condition;
use crate::access::facts::{Group, Role};
use crate::access::pattern::NamePattern;
use crate::access::rules::Who;
use schema::Truth;

impl Compiler<'_> {
    /// Resolves a subject; `stars` is the number of stars in the target. The depth of the subject
    /// bounds the recursion.
    pub(super) fn subject(&self, who: &Who, stars: usize) -> Result<Condition, String> {
        let resolver = Resolver {
            compiler: self,
            stars,
        };
        resolver.condition(who, Role::Acting)
    }
}

struct Resolver<'c> {
    compiler: &'c Compiler<'c>,
    stars: usize,
}

impl Resolver<'_> {
    fn condition(&self, who: &Who, role: Role) -> Result<Condition, String> {
        let compiler = self.compiler;
        Ok(match who {
            Who::Anyone => Condition::Known(Truth::True),
            Who::Anonymous => Condition::Anonymous(role),
            Who::Users => Condition::Users(role),
            Who::Administrator => Condition::Administrator(role),
            Who::Own => Condition::Own(role),
            Who::Below { reach, dn } => Condition::Below(role, *reach, compiler.name(dn)?),
            Who::Pattern(text) => Condition::Pattern(role, self.pattern(text)?),
            Who::Group { dn, by } => {
                let by = by
                    .as_deref()
                    .map(|it| compiler.named_type(it))
                    .transpose()?;
                let name = compiler.name(dn)?;
                Condition::Group(role, Group { name, by })
            }
            Who::Named(attribute) => Condition::Named(role, compiler.named_type(attribute)?),
            Who::NamedAbove(attribute) => {
                Condition::NamedAbove(role, compiler.named_type(attribute)?)
            }
            Who::Having(text) => Condition::Having(role, filter(compiler.schema, text)?),
            Who::From(network) => Condition::From(*network),
            Who::FromLocal => Condition::FromLocal,
            Who::Via(way) => Condition::Via(*way),
            Who::At(hours) => Condition::At(hours.clone()),
            Who::Real(inner) => self.condition(inner, Role::Real)?,
            Who::Not(inner) => Condition::Not(Box::new(self.condition(inner, role)?)),
            Who::All(parts) => Condition::All(self.parts(parts, role)?),
            Who::Any(parts) => Condition::Any(self.parts(parts, role)?),
        })
    }

    fn parts(&self, parts: &[Who], role: Role) -> Result<Vec<Condition>, String> {
        parts.iter().map(|it| self.condition(it, role)).collect()
    }

    fn pattern(&self, text: &str) -> Result<NamePattern, String> {
        let pattern = NamePattern::compile(self.compiler.schema, text)?;
        let (highest, stars) = (pattern.highest_capture(), self.stars);
        match highest <= stars {
            true => Ok(pattern),
            false => Err(format!(
                "expected a star in every target of the rule for ${highest}, got {stars}"
            )),
        }
    }
}
