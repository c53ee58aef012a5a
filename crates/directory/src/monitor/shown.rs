//! Entries below `cn=monitor` of a part of the program that the directory does not know.

/// Function that returns the present entries of a part, superiors first; none while the part ends.
pub type Shown = Box<dyn Fn() -> Vec<ShownEntry> + Send + Sync>;

/// An entry below `cn=monitor`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ShownEntry {
    /// Name without `cn=monitor`, such as `cn=Cluster`.
    pub name: String,
    /// Attributes of the class `pandoMonitored`, each with its one value.
    pub values: Vec<(&'static str, String)>,
}
