//! Rules `within` an area: those that somebody writes to whom a part of the directory was handed
//! over.
//!
//! Such a rule is about entries of its area alone, gives rights and takes none, and is asked behind
//! all rules of larger areas. So what rules from above decide stays decided.

use super::{CompiledTarget, Compiler, RulePart, Wrong, in_part};
use crate::access::rules::{About, Rule};
use schema::Name;

/// The order of rules by their areas.
#[derive(Debug, Default)]
pub(super) struct Places {
    /// Number of RDNs in the name of the area before; `None` if that rule was about everything.
    before: Option<usize>,
}

impl Places {
    /// Takes note of the next rule's area.
    ///
    /// # Errors
    /// The area is larger than that of a rule before.
    pub(super) fn follows(&mut self, within: Option<&Name>) -> Result<(), String> {
        let depth = within.map(Name::depth);
        if depth < self.before {
            return Err(
                "expected rules of larger areas, and those without \"within\", before those of \
                 smaller ones, got one behind"
                    .to_owned(),
            );
        }
        self.before = depth;
        Ok(())
    }
}

impl Compiler<'_> {
    /// Resolves the area of a rule, whose targets are given.
    pub(super) fn within(
        &self,
        rule: &Rule,
        targets: &[CompiledTarget],
    ) -> Result<Option<Name>, Wrong> {
        let Some(spelled) = &rule.within else {
            return Ok(None);
        };
        let area = self.name(spelled).map_err(in_part(RulePart::Within))?;
        let lies_in_it = |it: &CompiledTarget| match it {
            CompiledTarget::Below(_, base) => base.is_within(&area),
            CompiledTarget::Everything | CompiledTarget::Pattern(_) => area.depth() == 0,
        };
        if let Some(at) = targets.iter().position(|it| !lies_in_it(it)) {
            let text = format!(
                "expected a name at or below \"{spelled}\" behind \"entry\", \"one\", \"children\" \
                 or \"subtree\", got {}",
                rule.targets[at]
            );
            return Err(in_part(RulePart::On)(text));
        }
        if matches!(rule.about, About::Uses(_) | About::EveryUse) {
            // Who had a use without a rule would lose it by one, in all of the directory.
            let text = "expected no uses in a rule within an area, got some".to_owned();
            return Err(in_part(RulePart::For)(text));
        }
        match rule.clauses.iter().position(|it| it.denies) {
            Some(clause) => {
                let text = "expected \"let\" in a rule within an area, which takes nothing that \
                            rules before give, got \"deny\"";
                Err(in_part(RulePart::Clause(clause))(text.to_owned()))
            }
            None => Ok(Some(area)),
        }
    }
}
