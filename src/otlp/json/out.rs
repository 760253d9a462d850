//! JSON text, written field by field.

/// JSON text that grows.
#[derive(Debug)]
pub(crate) struct Out(String);

impl Out {
    /// No text yet, and room for one of so many bytes.
    pub(crate) fn with_capacity(bytes: usize) -> Self {
        Self(String::with_capacity(bytes))
    }

    /// The text.
    pub(crate) fn finish(self) -> String {
        self.0
    }

    /// JSON that is written already.
    pub(crate) fn raw(&mut self, text: &str) {
        self.0.push_str(text);
    }

    /// An object of the fields that are written there.
    pub(crate) fn object(&mut self, fields: impl FnOnce(&mut Self)) {
        self.0.push('{');
        fields(self);
        self.0.push('}');
    }

    fn comma(&mut self) {
        if !self.0.ends_with(['{', '[']) && !self.0.is_empty() {
            self.0.push(',');
        }
    }

    /// The key of the value that is written next.
    pub(crate) fn key(&mut self, key: &str) {
        self.comma();
        self.string(key);
        self.0.push(':');
    }

    /// A text, unless it is empty.
    pub(crate) fn text(&mut self, key: &str, text: &str) {
        if !text.is_empty() {
            self.key(key);
            self.string(text);
        }
    }

    /// A count, unless it is 0.
    pub(crate) fn count(&mut self, key: &str, count: u32) {
        if count > 0 {
            self.key(key);
            self.raw(&count.to_string());
        }
    }

    /// An enum, unless it is 0.
    pub(crate) fn number(&mut self, key: &str, number: i32) {
        if number != 0 {
            self.key(key);
            self.raw(&number.to_string());
        }
    }

    /// A list, unless it is empty.
    pub(crate) fn list<T>(
        &mut self,
        key: &str,
        items: impl IntoIterator<Item = T>,
        item: impl FnMut(&mut Self, T),
    ) {
        let mut items = items.into_iter().peekable();
        if items.peek().is_some() {
            self.key(key);
            self.array(items, item);
        }
    }

    /// A list, also an empty one.
    pub(crate) fn array<T>(
        &mut self,
        items: impl IntoIterator<Item = T>,
        mut item: impl FnMut(&mut Self, T),
    ) {
        self.0.push('[');
        for one in items {
            self.comma();
            item(self, one);
        }
        self.0.push(']');
    }

    /// A double; what JSON has no number for is a string, as protobuf's JSON mapping has it.
    pub(crate) fn double(&mut self, double: f64) {
        if double.is_finite() {
            self.raw(&format!("{double:?}"));
        } else if double.is_nan() {
            self.raw("\"NaN\"");
        } else {
            self.raw(if double > 0.0 {
                "\"Infinity\""
            } else {
                "\"-Infinity\""
            });
        }
    }

    /// A text in quotes.
    pub(crate) fn string(&mut self, text: &str) {
        self.0.push('"');
        let mut rest = text;
        while let Some(at) = rest.find(|char| matches!(char, '"' | '\\' | '\0'..='\u{1f}')) {
            let (plain, special) = rest.split_at(at);
            self.0.push_str(plain);
            let mut special = special.chars();
            match special.next() {
                Some('\n') => self.0.push_str("\\n"),
                Some('\r') => self.0.push_str("\\r"),
                Some('\t') => self.0.push_str("\\t"),
                Some(control @ '\0'..='\u{1f}') => {
                    let hex = |nibble| char::from_digit(nibble, 16).unwrap_or('0');
                    self.0.push_str("\\u00");
                    self.0.push(hex(u32::from(control) >> 4));
                    self.0.push(hex(u32::from(control) & 15));
                }
                Some(other) => {
                    self.0.push('\\');
                    self.0.push(other);
                }
                None => {}
            }
            rest = special.as_str();
        }
        self.0.push_str(rest);
        self.0.push('"');
    }
}
