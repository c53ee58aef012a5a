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
    for character in text.chars() {
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
    out.push(b'"');
}
