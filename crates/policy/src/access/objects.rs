//! What a right is a right to: the entry, the place below it, an attribute, a use of the server.

use schema::TypeId;

use crate::access::words::Use;

/// Number of objects before the first attribute type.
const BEFORE_TYPES: usize = 2 + Use::ALL.len();

/// The object of a right, beside the entry that has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Object {
    /// The entry itself.
    Entry,
    /// The place directly below the entry.
    Children,
    /// An attribute of the entry.
    Attribute(TypeId),
    /// A use of the server, where the entry is the search base or the entry that is changed.
    Use(Use),
}

impl Object {
    fn number(self) -> usize {
        match self {
            Object::Entry => 0,
            Object::Children => 1,
            Object::Use(it) => 2 + it as usize,
            Object::Attribute(id) => BEFORE_TYPES + usize::from(id.0),
        }
    }
}

/// An answer of rules: it may depend on what was not asked yet, or is not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Answer {
    /// In no case.
    No,
    /// In some cases, or nobody knows.
    Perhaps,
    /// In every case.
    Yes,
}

impl From<bool> for Answer {
    fn from(yes: bool) -> Answer {
        if yes { Answer::Yes } else { Answer::No }
    }
}

/// A set of objects: one bit for each.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ObjectSet {
    /// Words behind the last one with a bit may be missing.
    words: Vec<u64>,
}

impl ObjectSet {
    /// Returns the set of these objects.
    pub fn of(objects: impl IntoIterator<Item = Object>) -> ObjectSet {
        let mut set = ObjectSet::default();
        objects.into_iter().for_each(|it| set.insert(it));
        set
    }

    /// Adds an object.
    pub fn insert(&mut self, object: Object) {
        let number = object.number();
        let words = self.words.len().max(number / 64 + 1);
        self.words.resize(words, 0);
        self.words[number / 64] |= 1 << (number % 64);
    }

    /// Returns whether the set has the object.
    pub fn contains(&self, object: Object) -> bool {
        let number = object.number();
        let word = self.words.get(number / 64).copied().unwrap_or(0);
        word & (1 << (number % 64)) != 0
    }

    /// Iterates over the attribute types in the set, ascending.
    pub fn attributes(&self) -> impl Iterator<Item = TypeId> {
        let words = self.words.iter().enumerate();
        let numbers = words.flat_map(|(at, word)| {
            let bits = (0..64).filter(move |bit| word & (1 << bit) != 0);
            bits.map(move |bit| at * 64 + bit)
        });
        numbers
            .filter_map(|it| it.checked_sub(BEFORE_TYPES))
            .filter_map(|it| u16::try_from(it).ok().map(TypeId))
    }
}

/// A set whose members are looked at together: rights to one object, or objects of one right.
pub(super) trait Bits: Clone + Default {
    /// Adds the members of `other`.
    fn join(&mut self, other: &Self);
    /// Leaves only members that `other` has, too.
    fn meet(&mut self, other: &Self);
    /// Removes the members of `other`.
    fn remove(&mut self, other: &Self);
    fn has_none(&self) -> bool;

    /// Returns the members that `other` has, too.
    fn within(&self, other: &Self) -> Self {
        let mut both = self.clone();
        both.meet(other);
        both
    }

    /// Returns the members that `other` lacks.
    fn without(&self, other: &Self) -> Self {
        let mut left = self.clone();
        left.remove(other);
        left
    }
}

impl Bits for ObjectSet {
    fn join(&mut self, other: &Self) {
        let words = self.words.len().max(other.words.len());
        self.words.resize(words, 0);
        for (own, other) in self.words.iter_mut().zip(&other.words) {
            *own |= other;
        }
    }

    fn meet(&mut self, other: &Self) {
        self.words.truncate(other.words.len());
        for (own, other) in self.words.iter_mut().zip(&other.words) {
            *own &= other;
        }
    }

    fn remove(&mut self, other: &Self) {
        for (own, other) in self.words.iter_mut().zip(&other.words) {
            *own &= !other;
        }
    }

    fn has_none(&self) -> bool {
        self.words.iter().all(|it| *it == 0)
    }
}

impl Bits for crate::access::right::RightSet {
    fn join(&mut self, other: &Self) {
        *self = *self | *other;
    }

    fn meet(&mut self, other: &Self) {
        *self = *self & *other;
    }

    fn remove(&mut self, other: &Self) {
        *self = *self - *other;
    }

    fn has_none(&self) -> bool {
        self.is_empty()
    }
}
