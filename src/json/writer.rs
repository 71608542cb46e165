//! Building our own compact messages.
//!
//! A writer puts commas, colons and escapes where they belong and splices text that is JSON
//! already, so that canonical objects are never parsed or copied through a tree. It does not stop
//! a caller who closes what was not opened.

use super::canonical;
use super::number::MAX_INTEGER;

/// Writes one compact JSON text.
///
/// Members are a [`name`](Writer::name) followed by a value.
#[derive(Clone, Debug, Default)]
pub struct Writer {
    text: Vec<u8>,
    /// True if the next name or value has a sibling before it.
    has_sibling: bool,
}

impl Writer {
    /// Returns an empty writer.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns an empty writer with room for `bytes` bytes.
    pub fn with_capacity(bytes: usize) -> Self {
        let text = Vec::with_capacity(bytes);
        let has_sibling = false;
        Self { text, has_sibling }
    }

    /// Begins an object.
    pub fn begin_object(&mut self) -> &mut Self {
        self.begin(b'{')
    }

    /// Ends the object begun last.
    pub fn end_object(&mut self) -> &mut Self {
        self.end(b'}')
    }

    /// Begins an array.
    pub fn begin_array(&mut self) -> &mut Self {
        self.begin(b'[')
    }

    /// Ends the array begun last.
    pub fn end_array(&mut self) -> &mut Self {
        self.end(b']')
    }

    /// Writes the name of a member; its value comes next.
    pub fn name(&mut self, name: &str) -> &mut Self {
        self.separate();
        canonical::write_string(name, &mut self.text);
        self.text.push(b':');
        self.has_sibling = false;
        self
    }

    /// Writes a string.
    pub fn string(&mut self, text: &str) -> &mut Self {
        self.separate();
        canonical::write_string(text, &mut self.text);
        self
    }

    /// Writes an integer.
    ///
    /// # Panics
    /// Outside ±(2^53 − 1), which no peer may accept (hash contract §4.3).
    pub fn integer(&mut self, value: impl TryInto<i64>) -> &mut Self {
        let value = value
            .try_into()
            .ok()
            .filter(|value| value.unsigned_abs() <= MAX_INTEGER.unsigned_abs())
            .expect("integers in messages stay within 2^53 − 1");
        self.raw(&value.to_string())
    }

    /// Writes `true` or `false`.
    pub fn boolean(&mut self, value: bool) -> &mut Self {
        self.raw(if value { "true" } else { "false" })
    }

    /// Writes `null`.
    pub fn null(&mut self) -> &mut Self {
        self.raw("null")
    }

    /// Splices text that is one valid JSON value.
    pub fn raw(&mut self, json: &str) -> &mut Self {
        self.separate();
        self.text.extend_from_slice(json.as_bytes());
        self
    }

    /// Returns how many bytes have been written and not taken out.
    pub fn len(&self) -> usize {
        self.text.len()
    }

    /// Returns true if there is nothing to take out.
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Takes out what was written so far; what is written next goes on from there.
    pub fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.text)
    }

    /// Returns the text as bytes.
    pub fn into_bytes(self) -> Vec<u8> {
        self.text
    }

    /// Returns the text.
    pub fn into_string(self) -> String {
        String::from_utf8(self.text).expect("only whole strings were appended")
    }

    fn begin(&mut self, bracket: u8) -> &mut Self {
        self.separate();
        self.text.push(bracket);
        self.has_sibling = false;
        self
    }

    fn end(&mut self, bracket: u8) -> &mut Self {
        self.text.push(bracket);
        self.has_sibling = true;
        self
    }

    fn separate(&mut self) {
        if self.has_sibling {
            self.text.push(b',');
        }
        self.has_sibling = true;
    }
}

#[cfg(test)]
mod tests {
    use super::Writer;

    #[test]
    fn commas_stand_between_siblings_only() {
        let mut writer = Writer::new();
        writer.begin_object();
        writer.name("a").begin_array().end_array();
        writer
            .name("b")
            .begin_array()
            .integer(1)
            .raw("{}")
            .end_array();
        writer.name("c\n").begin_object().end_object();
        writer
            .name("d")
            .string("\"x")
            .name("e")
            .null()
            .name("f")
            .boolean(true);
        writer.end_object();
        assert_eq!(
            writer.into_string(),
            r#"{"a":[],"b":[1,{}],"c\n":{},"d":"\"x","e":null,"f":true}"#
        );
    }
}
