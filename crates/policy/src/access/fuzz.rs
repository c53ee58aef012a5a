//! Fuzz body: texts of access rules.

use std::sync::LazyLock;

use schema::Schema;

use crate::access::compile::RuleSet;
use crate::access::parse::parse;
use crate::access::print::print;
use crate::secrets::Secrets;

static SCHEMA: LazyLock<Schema> = LazyLock::new(Schema::standard);
static SECRETS: LazyLock<Secrets> = LazyLock::new(|| Secrets::of(&SCHEMA, &[]));

/// Reads access rules: what is read prints to a text that reads as the same rules, and compiles or
/// is refused.
pub fn access_rules(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    let Ok(read) = parse(text) else {
        return;
    };
    let printed = print(&read.rules);
    let again = parse(&printed).map(|it| it.rules);
    assert_eq!(again.as_ref(), Ok(&read.rules), "printed as {printed:?}");
    if let Err(error) = RuleSet::compile(&SCHEMA, &SECRETS, &read.rules) {
        assert!(error.in_text(&read).position.is_some(), "{error}");
    }
}
