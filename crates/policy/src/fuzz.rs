//! Fuzz bodies: no bytes cause a panic. Each fuzz target is one call.

pub use crate::access::fuzz::access_rules;
pub use crate::mapping::fuzz::identity_rules;
pub use crate::password::fuzz::password;

#[cfg(test)]
#[path = "../../../fuzz/damaged.rs"]
mod damaged;

#[cfg(test)]
mod tests {
    use super::damaged::run;

    #[test]
    fn the_corpus_of_access_rules() {
        run("access_rules", super::access_rules);
    }

    #[test]
    fn the_corpus_of_identity_rules() {
        run("identity_rules", super::identity_rules);
    }

    #[test]
    fn the_corpus_of_passwords() {
        run("password", super::password);
    }
}
