//! Walking the tree of a template and making its entries.

use super::Template;
use super::error::GenerateError;
use super::expand::{self, Frame, Item, Values};
use super::model::Plan;
use crate::random::{Random, mix};

/// Generator of a template's entries. Cheap to clone; any number of threads may use one generator.
#[derive(Clone, Debug)]
pub struct Generator {
    template: Template,
    seed: u64,
}

impl Generator {
    /// Returns the generator of a template; equal templates and seeds make equal entries.
    pub fn new(template: Template, seed: u64) -> Generator {
        Generator { template, seed }
    }

    /// The template of the generator.
    pub fn template(&self) -> &Template {
        &self.template
    }

    /// Number of entries that the template describes.
    pub fn total_entries(&self) -> u64 {
        self.template.total_entries()
    }

    /// Makes the entries `from..to` (positions in depth-first order) and passes them to `sink`.
    pub fn generate_range<E: From<GenerateError>>(
        &self,
        from: u64,
        to: u64,
        sink: impl FnMut(&Entry<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let plan = &*self.template.plan;
        let mut walk = Walk {
            plan,
            from,
            to,
            frames: Vec::new(),
            value: Vec::new(),
            sink,
        };
        let root = mix(self.seed, 0);
        let mut base = 0;
        for &branch in &plan.branches {
            let key = mix(root, plan.definitions[branch].key);
            walk.subtree(branch, 0, base, 0, key)?;
            base += plan.definitions[branch].subtree;
        }
        Ok(())
    }
}

struct Walk<'a, S> {
    plan: &'a Plan,
    from: u64,
    to: u64,
    /// One frame for each depth reached so far.
    frames: Vec<Frame>,
    /// Buffer for one value.
    value: Vec<u8>,
    sink: S,
}

impl<S> Walk<'_, S> {
    /// Visits the subtree of one entry with position `base`. The depth of the recursion is that of
    /// nested templates, at most `model::DEPTH_MAX`.
    fn subtree<E: From<GenerateError>>(
        &mut self,
        definition: usize,
        depth: usize,
        base: u64,
        ordinal: u64,
        key: u64,
    ) -> Result<(), E>
    where
        S: FnMut(&Entry<'_>) -> Result<(), E>,
    {
        let plan = self.plan;
        let made = &plan.definitions[definition];
        if base >= self.to || base + made.subtree <= self.from {
            return Ok(());
        }
        if self.frames.len() <= depth {
            self.frames.push(Frame::new());
        }
        let (ancestors, rest) = self.frames.split_at_mut(depth);
        let frame = &mut rest[0];
        frame.definition = definition;
        frame.index = base;
        frame.ordinal = ordinal;
        frame.key = key;
        frame.random = Random::new(key);
        if made.counts_globally {
            frame.serial = serial(plan, ancestors, definition, base);
        }
        expand::fill(plan, ancestors, frame, &mut self.value)?;
        if base >= self.from {
            (self.sink)(&Entry {
                values: Values {
                    plan,
                    ancestors,
                    frame,
                },
            })?;
        }
        let mut start = base + 1;
        for child in &made.children {
            let size = plan.definitions[child.definition].subtree;
            let end = start + size * child.count;
            let first = self.from.saturating_sub(start) / size.max(1);
            let child_key = mix(key, child.key);
            for ordinal in first..child.count {
                let position = start + ordinal * size;
                if position >= self.to {
                    break;
                }
                let key = mix(child_key, ordinal);
                self.subtree(child.definition, depth + 1, position, ordinal, key)?;
            }
            start = end;
        }
        Ok(())
    }
}

/// Number of entries of `definition` before position `base` in depth-first order.
fn serial(plan: &Plan, ancestors: &[Frame], definition: usize, base: u64) -> u64 {
    let in_subtree = |of: usize| plan.occurrences[of][definition];
    let top = ancestors.first().map_or(base, |frame| frame.index);
    let mut sum = 0;
    let mut position = 0;
    for &branch in &plan.branches {
        if position >= top {
            break;
        }
        sum += in_subtree(branch);
        position += plan.definitions[branch].subtree;
    }
    for (depth, ancestor) in ancestors.iter().enumerate() {
        let next = ancestors.get(depth + 1).map_or(base, |frame| frame.index);
        sum += u64::from(ancestor.definition == definition);
        let mut start = ancestor.index + 1;
        for child in &plan.definitions[ancestor.definition].children {
            let size = plan.definitions[child.definition].subtree;
            let before = (next.saturating_sub(start) / size).min(child.count);
            sum += before * in_subtree(child.definition);
            start += size * child.count;
        }
    }
    sum
}

/// A generated entry, borrowed during the call of `sink`.
#[derive(Clone, Copy)]
pub struct Entry<'a> {
    values: Values<'a>,
}

impl<'a> Entry<'a> {
    /// Position in depth-first order, from 0.
    pub fn index(&self) -> u64 {
        self.values.frame.index
    }

    /// DN of the entry (RFC 4514).
    pub fn dn(&self) -> &'a str {
        &self.values.frame.dn
    }

    /// Name of the template; for a branch the DN as spelled.
    pub fn template(&self) -> &'a str {
        &self.values.plan.definitions[self.values.frame.definition].name
    }

    /// Attributes in the order of the template; each has at least one value.
    pub fn attributes(&self) -> impl Iterator<Item = Attribute<'a>> + use<'a> {
        let values = self.values;
        let groups = &values.plan.definitions[values.frame.definition].groups;
        groups
            .iter()
            .zip(&values.frame.items)
            .filter_map(move |(group, items)| {
                let attribute = Attribute {
                    description: &group.description,
                    items,
                    values,
                };
                (!items.is_empty()).then_some(attribute)
            })
    }

    /// Returns the attribute with this description, compared without case.
    pub fn attribute(&self, description: &str) -> Option<Attribute<'a>> {
        self.attributes()
            .find(|it| it.description.eq_ignore_ascii_case(description))
    }
}

/// An attribute of a generated entry with all its values.
#[derive(Clone, Copy)]
pub struct Attribute<'a> {
    description: &'a str,
    items: &'a [Item],
    values: Values<'a>,
}

impl<'a> Attribute<'a> {
    /// The attribute description as spelled in the template.
    pub fn description(&self) -> &'a str {
        self.description
    }

    /// Returns the values as slices, unless a `<loop>` makes any of them.
    pub fn slices(&self) -> Option<impl Iterator<Item = &'a [u8]> + Clone + use<'a>> {
        let arena = &self.values.frame.arena;
        let looped = self
            .items
            .iter()
            .any(|item| matches!(item, Item::Loop { .. }));
        let slice = move |item: &Item| match item {
            Item::Value { start, end } => &arena[*start..*end],
            Item::Loop { .. } => &[],
        };
        (!looped).then(|| self.items.iter().map(slice))
    }

    /// Returns the first value, unless a `<loop>` makes it.
    pub fn first(&self) -> Option<&'a [u8]> {
        match self.items.first() {
            Some(Item::Value { start, end }) => Some(&self.values.frame.arena[*start..*end]),
            _ => None,
        }
    }

    /// Number of values that [`Attribute::for_each`] visits.
    pub fn value_count(&self) -> u64 {
        let definition = &self.values.plan.definitions[self.values.frame.definition];
        let count = |item: &Item| match item {
            Item::Value { .. } => 1,
            Item::Loop { line, .. } => definition.lines[*line]
                .repeat
                .map_or(0, |(low, high)| high.abs_diff(low) + 1),
        };
        self.items.iter().map(count).sum()
    }

    /// Visits the values in order. Values of a `<loop>` are made one after another, so a group of
    /// ten million members needs no memory; another visit gives equal values.
    pub fn for_each(&self, mut visit: impl FnMut(&[u8])) {
        let definition = &self.values.plan.definitions[self.values.frame.definition];
        let mut value = Vec::new();
        for item in self.items {
            match item {
                Item::Value { start, end } => visit(&self.values.frame.arena[*start..*end]),
                Item::Loop { line, random } => {
                    let line = &definition.lines[*line];
                    let mut random = *random;
                    let (low, high) = line.repeat.unwrap_or((0, -1));
                    for turn in low..=high {
                        value.clear();
                        self.values
                            .write(&line.parts, turn, &mut random, &mut value);
                        visit(&value);
                    }
                }
            }
        }
    }
}
