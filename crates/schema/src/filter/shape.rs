//! The shape of a filter: attributes and kinds of assertions without values, so that searches that
//! differ only in values count together.

use super::{Filter, Selector};
use crate::schema::Schema;

/// Maximum length of a shape in bytes; longer ones are cut.
const BYTES_MAX: usize = 400;

impl Filter {
    /// Returns the shape of the filter as text: `(&(cn=?)(sn=?*))`. Parts are sorted, and equal
    /// parts appear once. At most some 400 bytes.
    pub fn shape(&self, schema: &Schema) -> String {
        let mut text = of(schema, self);
        if text.len() > BYTES_MAX {
            let end = (0..=BYTES_MAX).rev().find(|it| text.is_char_boundary(*it));
            text.truncate(end.unwrap_or(0));
            text.push('…');
        }
        text
    }
}

/// The depth of the filter limits the recursion.
fn of(schema: &Schema, filter: &Filter) -> String {
    let item = |selector: &Selector, match_: &str| {
        format!("({}{match_})", schema.type_of(selector.type_id).name())
    };
    match filter {
        Filter::And(parts) => list(schema, '&', parts),
        Filter::Or(parts) => list(schema, '|', parts),
        Filter::Not(part) => format!("(!{})", of(schema, part)),
        Filter::Equality(it) => item(&it.selector, "=?"),
        Filter::GreaterOrEqual(it) => item(&it.selector, ">=?"),
        Filter::LessOrEqual(it) => item(&it.selector, "<=?"),
        Filter::Approx(it) => item(&it.selector, "~=?"),
        Filter::Present(selector) => item(selector, "=*"),
        Filter::Substrings(it) => {
            let first = if it.initial.is_some() { "?*" } else { "*" };
            let any = if it.any.is_empty() { "" } else { "?*" };
            let last = if it.last.is_some() { "?" } else { "" };
            item(&it.selector, &format!("={first}{any}{last}"))
        }
        Filter::Extensible(it) => {
            let named = it.selectors.first().filter(|_| it.attribute_named);
            let name = named.map_or("", |it| schema.type_of(it.type_id).name());
            let dn = if it.dn_attributes { ":dn" } else { "" };
            format!("({name}{dn}:{}:=?)", it.rule.name)
        }
        Filter::Among(it) => of(schema, it.asserted()),
        Filter::Member(it) => of(schema, &it.asserted),
        Filter::True => "(&)".to_owned(),
        Filter::False | Filter::Undefined(_) => "(|)".to_owned(),
    }
}

fn list(schema: &Schema, operator: char, parts: &[Filter]) -> String {
    let mut texts: Vec<String> = parts.iter().map(|it| of(schema, it)).collect();
    texts.sort_unstable();
    texts.dedup();
    format!("({operator}{})", texts.concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape_of(text: &str) -> String {
        let schema = Schema::standard();
        let encoded = protocol::parse_filter(text).expect("a filter");
        let mut reader = protocol::ber::Reader::new(&encoded);
        let filter = protocol::Filter::decode(&mut reader, 32).expect("a filter");
        schema.resolve_filter(&filter).shape(&schema)
    }

    #[test]
    fn values_and_order_make_no_difference() {
        let one = shape_of("(&(sn=a*b*c)(commonName=x)(|(uid=1)(uid=2)(!(l=*))))");
        assert_eq!(one, "(&(cn=?)(sn=?*?*?)(|(!(l=*))(uid=?)))");
        assert_eq!(one, shape_of("(&(|(!(l=*))(uid=7))(CN=y)(sn=1*2*3))"));
        assert_eq!(shape_of("(mail=*.org)"), "(mail=*?)");
        assert_eq!(shape_of("(uidNumber>=7)"), "(uidNumber>=?)");
        assert_eq!(shape_of("(cn:caseExactMatch:=x)"), "(cn:caseExactMatch:=?)");
    }

    #[test]
    fn shapes_are_bounded() {
        let parts: String = (0..200).map(|n| format!("(!(cn=*{n}))")).collect();
        let nested = (0..20).fold(parts, |text, _| format!("(&{text}(sn=x)(!(sn=x*)))"));
        assert!(shape_of(&nested).len() <= BYTES_MAX + 4);
    }
}
