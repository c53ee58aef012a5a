//! Fuzz body: texts of identity rules, and identities that they are asked about.

use std::sync::LazyLock;

use schema::Schema;

use super::{Kind, Mapping, Outside, Sought};

static SCHEMA: LazyLock<Schema> = LazyLock::new(Schema::standard);

/// Reads a rule from the first line, and asks it about an identity whose every part is the rest.
/// What it finds is a name, or a filter that can be read.
pub fn identity_rules(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    let (rule, value) = text.split_once('\n').unwrap_or((text, "ada"));
    let Ok(mapping) = Mapping::compile(&SCHEMA, &[("fuzzed", rule)]) else {
        return;
    };
    for kind in Kind::ALL {
        let parts = kind.parts().iter().chain(&["sub"]);
        let identity = parts.fold(Outside::of(kind), |it, part| it.with(*part, value));
        if let Ok(Some(mapped)) = mapping.of(&SCHEMA, &identity)
            && let Sought::Search { filter, .. } = mapped.sought
        {
            let mut reader = protocol::ber::Reader::new(&filter);
            let depth_max = protocol::FILTER_DEPTH_MAX;
            assert!(protocol::Filter::decode(&mut reader, depth_max).is_ok());
        }
    }
}
