//! Lists in formats whose values are scalars.
//!
//! OpenTelemetry writes a list into such a format as its JSON text, and a text may look like that
//! by chance. But headers and RPC metadata that instrumentations record are lists of strings by
//! definition (semantic conventions: `http.request.header.<key>`, `rpc.request.metadata.<key>` …),
//! and they are where most deadlines are found; so these become lists again.

use crate::model::{Text, Value};
use crate::otlp::json::reader::{Reader, Scalar, Shape};

/// True for keys whose values are lists of strings by definition.
fn is_list(key: &str) -> bool {
    [".header.", ".metadata."]
        .iter()
        .any(|part| key.contains(part))
}

/// The list that a text stands for, where one is expected.
pub(super) fn read(key: &str, text: &str) -> Option<Value> {
    if !is_list(key) || !text.starts_with('[') {
        return None;
    }
    let mut reader = Reader::new(text);
    let mut values = Vec::new();
    let mut only_texts = reader.shape() == Ok(Shape::Array);
    let read = reader.array(|reader| {
        match reader.scalar()? {
            Scalar::Str(text) => values.push(Value::Str(Text::from(text))),
            _ => only_texts = false,
        }
        Ok(())
    });
    (read.is_ok() && reader.is_at_end() && only_texts).then_some(Value::Array(values))
}

/// True if [`read`] makes the same list of this one's text.
pub(crate) fn is_kept(key: &str, values: &[Value]) -> bool {
    is_list(key) && values.iter().all(|value| value.as_str().is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn captured_headers_are_lists_again_and_nothing_else_is() {
        let list = |texts: &[&str]| {
            let texts = texts.iter().map(|text| Value::Str((*text).into()));
            Some(Value::Array(texts.collect()))
        };
        let key = "rpc.request.metadata.grpc-timeout";
        assert_eq!(read(key, r#"["798m"]"#), list(&["798m"]));
        assert_eq!(
            read("http.request.header.a", r#"["1", "2"]"#),
            list(&["1", "2"])
        );
        assert_eq!(read(key, "[]"), list(&[]));
        for text in [
            "798m",
            "[",
            r#"["a"] b"#,
            "[1]",
            r#"["a",["b"]]"#,
            r#"["a",null]"#,
            "",
        ] {
            assert_eq!(read(key, text), None, "{text}");
        }
        assert_eq!(read("note", r#"["798m"]"#), None);
        assert!(is_kept(key, &[Value::Str("a".into())]));
        assert!(!is_kept(key, &[Value::Int(1)]) && !is_kept("note", &[]));
    }
}
