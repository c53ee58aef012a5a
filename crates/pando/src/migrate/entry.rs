//! An entry as received, and the UUID that identifies it under any name.

use protocol::PartialAttribute;

/// An `entryUUID` (RFC 4530).
pub type Uuid = [u8; 16];

/// An entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The DN as spelled.
    pub dn: String,
    /// Attribute descriptions as spelled, with their values.
    pub attributes: Vec<(String, Vec<Vec<u8>>)>,
}

impl Entry {
    /// Copies a decoded entry.
    pub fn of(name: &str, attributes: &[PartialAttribute<'_>]) -> Entry {
        let attributes = attributes.iter().map(|it| {
            let values = it.values.iter().map(<[u8]>::to_vec).collect();
            (it.description.to_owned(), values)
        });
        Entry {
            dn: name.to_owned(),
            attributes: attributes.collect(),
        }
    }

    /// The values of an attribute.
    pub fn values(&self, name: &str) -> &[Vec<u8>] {
        let found = self
            .attributes
            .iter()
            .find(|(it, _)| it.eq_ignore_ascii_case(name));
        found.map_or(&[], |(_, values)| values)
    }

    /// The values of an attribute that are valid text.
    pub fn texts(&self, name: &str) -> impl Iterator<Item = &str> {
        let values = self.values(name).iter();
        values.filter_map(|it| std::str::from_utf8(it).ok())
    }

    /// The `entryUUID`; `None` if there is none.
    pub fn uuid(&self) -> Option<Uuid> {
        self.values("entryUUID")
            .first()
            .and_then(|it| parse_uuid(it))
    }

    /// Whether the entry has an object class of this name.
    pub fn is_a(&self, class: &str) -> bool {
        self.texts("objectClass")
            .any(|it| it.eq_ignore_ascii_case(class))
    }
}

/// The text form (RFC 9562 §4).
pub fn uuid_text(uuid: &Uuid) -> String {
    let mut text = String::with_capacity(36);
    for (at, octet) in uuid.iter().enumerate() {
        if matches!(at, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        text.push_str(&format!("{octet:02x}"));
    }
    text
}

/// Parses the text form; `None` if it is malformed.
pub fn parse_uuid(text: &[u8]) -> Option<Uuid> {
    let mut uuid = Uuid::default();
    let mut digits = text.iter().filter(|it| **it != b'-').map(|it| {
        let digit = char::from(*it).to_digit(16)?;
        u8::try_from(digit).ok()
    });
    for octet in &mut uuid {
        *octet = digits.next()?? << 4 | digits.next()??;
    }
    digits.next().is_none().then_some(uuid)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_have_one_text() {
        let text = "597ae2f6-16a6-1027-98f4-d28b5365dc14";
        let uuid = parse_uuid(text.as_bytes()).expect("it is one");
        assert_eq!(uuid_text(&uuid), text);
        for wrong in ["", "597ae2f6", "597ae2f6-16a6-1027-98f4-d28b5365dc1g"] {
            assert_eq!(parse_uuid(wrong.as_bytes()), None, "{wrong}");
        }
        assert_eq!(parse_uuid(format!("{text}0").as_bytes()), None);
    }
}
