//! The subschema as published (RFC 4512 §4.2): every definition as text, by attribute.

use crate::definition::*;
use crate::matching::{MATCHING_RULES, MatchingRule};
use crate::schema::{AttributeType, Schema};
use crate::syntax::SYNTAXES;

impl Schema {
    /// Iterates over the syntaxes: implemented ones, then those defined in schema files, which
    /// accept any octets.
    pub fn syntaxes(&self) -> impl Iterator<Item = SyntaxDefinition> {
        let implemented = SYNTAXES.iter().map(|syntax| {
            let mut extensions = Extensions::new();
            if !syntax.human_readable {
                extensions.push(("X-NOT-HUMAN-READABLE".to_string(), vec!["TRUE".to_string()]));
            }
            SyntaxDefinition {
                oid: syntax.oid.to_string(),
                description: Some(syntax.description.to_string()),
                extensions,
            }
        });
        implemented.chain(
            self.definitions
                .syntaxes
                .iter()
                .map(|syntax| (**syntax).clone()),
        )
    }

    /// Iterates over the implemented matching rules.
    pub fn matching_rules(&self) -> impl Iterator<Item = &'static MatchingRule> {
        MATCHING_RULES.iter()
    }

    /// Returns the attribute types with which each matching rule can be used in an extensible
    /// filter: those that are defined with it, and those whose syntax it applies to (RFC 4512
    /// §4.1.4).
    pub fn matching_rule_uses(&self) -> Vec<MatchingRuleUseDefinition> {
        let fits = |rule: &MatchingRule, it: &AttributeType| {
            let own = [it.equality, it.ordering, it.substring]
                .into_iter()
                .flatten();
            rule.applies_to(it.syntax) || own.into_iter().any(|own| own.oid == rule.oid)
        };
        let uses = self.matching_rules().filter_map(|rule| {
            let fitting = self.attribute_types().filter(|(_, it)| fits(rule, it));
            let applies: Vec<String> = fitting.map(|(_, it)| it.name().to_string()).collect();
            let names = vec![rule.name.to_string()];
            let oid = rule.oid.to_string();
            let used = !applies.is_empty();
            used.then(|| MatchingRuleUseDefinition {
                oid,
                names,
                applies,
                ..Default::default()
            })
        });
        uses.collect()
    }

    /// Returns the values of the subschema entry, by attribute name.
    pub fn subschema(&self) -> Vec<(&'static str, Vec<String>)> {
        let rules = self.matching_rules().map(|rule| MatchingRuleDefinition {
            oid: rule.oid.to_string(),
            names: vec![rule.name.to_string()],
            syntax: rule.syntax_oid.to_string(),
            ..Default::default()
        });
        let defined_rules = self
            .definitions
            .matching_rules
            .iter()
            .map(|rule| (**rule).clone());
        let all = [
            (DefinitionKind::Syntax, texts(self.syntaxes())),
            (
                DefinitionKind::MatchingRule,
                texts(rules.chain(defined_rules)),
            ),
            (
                DefinitionKind::MatchingRuleUse,
                texts(self.matching_rule_uses().into_iter()),
            ),
            (
                DefinitionKind::AttributeType,
                texts(self.attribute_types().map(|(_, it)| &it.definition)),
            ),
            (
                DefinitionKind::ObjectClass,
                texts(self.object_classes().map(|(_, it)| &it.definition)),
            ),
            (
                DefinitionKind::ContentRule,
                texts(self.content_rules().map(|it| &it.definition)),
            ),
            (DefinitionKind::NameForm, texts(self.name_forms())),
            (DefinitionKind::StructureRule, texts(self.structure_rules())),
        ];
        all.into_iter()
            .filter(|(_, values)| !values.is_empty())
            .map(|(kind, values)| (kind.attribute(), values))
            .collect()
    }
}

fn texts<T: ToString>(definitions: impl Iterator<Item = T>) -> Vec<String> {
    definitions
        .map(|definition| definition.to_string())
        .collect()
}
