//! JSON as bytes, with keys in the order in which they are written.

/// An object being written.
pub(crate) struct Object<'o> {
    out: &'o mut Vec<u8>,
    is_empty: bool,
}

impl<'o> Object<'o> {
    /// Begins an object; [`Object::end`] ends it.
    pub fn begin(out: &'o mut Vec<u8>) -> Object<'o> {
        out.push(b'{');
        Object {
            out,
            is_empty: true,
        }
    }

    /// Writes a key. Its value must follow.
    pub fn key(&mut self, key: &str) -> &mut Vec<u8> {
        if !std::mem::replace(&mut self.is_empty, false) {
            self.out.push(b',');
        }
        put_text(self.out, key);
        self.out.push(b':');
        self.out
    }

    /// Writes a key with a text.
    pub fn text(&mut self, key: &str, text: &str) {
        put_text(self.key(key), text);
    }

    /// Writes a key with a number.
    pub fn number(&mut self, key: &str, number: u64) {
        self.key(key)
            .extend_from_slice(number.to_string().as_bytes());
    }

    /// Writes a key with `true`.
    pub fn mark(&mut self, key: &str) {
        self.key(key).extend_from_slice(b"true");
    }

    /// Writes a key with an object.
    pub fn object(&mut self, key: &str, content: impl FnOnce(&mut Object<'_>)) {
        let mut object = Object::begin(self.key(key));
        content(&mut object);
        object.end();
    }

    /// Ends the object.
    pub fn end(self) {
        self.out.push(b'}');
    }
}

/// Writes a list, each item by `put`.
pub(crate) fn put_list<T>(
    out: &mut Vec<u8>,
    items: impl IntoIterator<Item = T>,
    mut put: impl FnMut(&mut Vec<u8>, T),
) {
    out.push(b'[');
    for (at, item) in items.into_iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        put(out, item);
    }
    out.push(b']');
}

/// Writes a text (RFC 8259 §7). Control characters are escaped, and so are the two that would end a
/// line for some readers, so that an object is one line whatever it says.
pub(crate) fn put_text(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    let mut rest = text;
    loop {
        // Most texts have printable characters of ASCII alone, which are copied together.
        let plain = rest.bytes().position(|it| !is_plain(it));
        let (copied, other) = rest.split_at(plain.unwrap_or(rest.len()));
        out.extend_from_slice(copied.as_bytes());
        let mut characters = other.chars();
        let Some(character) = characters.next() else {
            break;
        };
        put_character(out, character);
        rest = characters.as_str();
    }
    out.push(b'"');
}

/// Whether an octet is a character that stands for itself.
fn is_plain(octet: u8) -> bool {
    (0x20..0x7f).contains(&octet) && octet != b'"' && octet != b'\\'
}

fn put_character(out: &mut Vec<u8>, character: char) {
    match character {
        '"' => out.extend_from_slice(b"\\\""),
        '\\' => out.extend_from_slice(b"\\\\"),
        '\u{0}'..='\u{1f}' | '\u{7f}'..='\u{9f}' | '\u{2028}' | '\u{2029}' => {
            out.extend_from_slice(format!("\\u{:04x}", u32::from(character)).as_bytes());
        }
        other => {
            let mut buffer = [0; 4];
            out.extend_from_slice(other.encode_utf8(&mut buffer).as_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::put_text;

    #[test]
    fn texts_are_those_that_a_reader_of_json_finds() {
        for text in [
            "",
            "plain",
            "\"quoted\" and \\",
            "ends with \"",
            "Zoë\u{85}\u{2028}\u{1F333}",
            "\0\n\u{7f}x",
        ] {
            let mut out = Vec::new();
            put_text(&mut out, text);
            let read: String = serde_json::from_slice(&out).unwrap();
            assert_eq!(read, text);
            let line = String::from_utf8(out).unwrap();
            let breaks = |it: char| it.is_control() || it == '\u{2028}';
            assert!(!line.contains(breaks), "{line}");
        }
    }
}
