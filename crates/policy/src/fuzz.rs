//! Fuzz bodies: any bytes may come and nothing panics. The fuzz targets are one call each.

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
