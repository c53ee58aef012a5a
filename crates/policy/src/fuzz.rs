//! Fuzz bodies: no bytes cause a panic. Each fuzz target is one call.

pub use crate::password::fuzz::password;

#[cfg(test)]
#[path = "../../../fuzz/damaged.rs"]
mod damaged;

#[cfg(test)]
mod tests {
    use super::damaged::run;

    #[test]
    fn the_corpus_of_passwords() {
        run("password", super::password);
    }
}
