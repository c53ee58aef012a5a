//! Metrics of expensive searches by the shape of their filters. In memory only, and bounded: beyond
//! the maximum the shape with the least cost is dropped.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use store::IndexKind;

/// Maximum number of shapes.
const SHAPES_MAX: usize = 200;

/// Costs by shape. Locked only by searches that have read hundreds of entries.
#[derive(Debug, Default)]
pub(crate) struct Searches {
    shapes: Mutex<HashMap<String, Costs>>,
}

/// Costs of the searches of one shape.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Costs {
    pub searches: u64,
    /// Number of searches that no index narrowed down.
    pub unindexed: u64,
    pub examined: u64,
    pub returned: u64,
    pub took_us: u64,
    /// End of the last search, in microseconds since 1970.
    pub last_us: u64,
    /// The indexes that would have helped the last search, by attribute.
    pub advice: Vec<(String, IndexKind)>,
}

impl Searches {
    /// Adds the costs of a search to its shape.
    pub fn note(&self, shape: String, one: Costs) {
        let mut shapes = self.shapes();
        if shapes.len() >= SHAPES_MAX && !shapes.contains_key(&shape) {
            let cheapest = shapes.iter().min_by_key(|(_, it)| it.examined);
            if let Some(cheapest) = cheapest.map(|(shape, _)| shape.clone()) {
                shapes.remove(&cheapest);
            }
        }
        let sum = shapes.entry(shape).or_default();
        sum.searches += one.searches;
        sum.unindexed += one.unindexed;
        sum.examined += one.examined;
        sum.returned += one.returned;
        sum.took_us += one.took_us;
        (sum.last_us, sum.advice) = (one.last_us, one.advice);
    }

    /// The shapes, most expensive first.
    pub fn all(&self) -> Vec<(String, Costs)> {
        let shapes = self.shapes();
        let mut all: Vec<_> = shapes
            .iter()
            .map(|(shape, costs)| (shape.clone(), costs.clone()))
            .collect();
        drop(shapes);
        all.sort_by(|(a, one), (b, other)| other.examined.cmp(&one.examined).then(a.cmp(b)));
        all
    }

    fn shapes(&self) -> MutexGuard<'_, HashMap<String, Costs>> {
        self.shapes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(examined: u64) -> Costs {
        Costs {
            searches: 1,
            examined,
            ..Costs::default()
        }
    }

    #[test]
    fn the_dearest_stay() {
        let searches = Searches::default();
        for n in 0..1_000 {
            searches.note(format!("(a{n}=?)"), one(n));
            searches.note("(cn=?)".to_owned(), one(5));
        }
        let all = searches.all();
        assert_eq!(all.len(), SHAPES_MAX);
        assert_eq!(all[0].0, "(cn=?)");
        assert_eq!((all[0].1.searches, all[0].1.examined), (1_000, 5_000));
        assert_eq!(all[1].0, "(a999=?)");
    }
}
