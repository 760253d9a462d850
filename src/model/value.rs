//! Attribute values: the seven shapes of OTLP's `AnyValue`, and lists of named ones.

use std::fmt;

use compact_str::CompactString;

/// A short text, kept in place up to 24 bytes: most keys, service and operation names are.
pub type Text = CompactString;

/// An attribute value (OTLP `AnyValue`).
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Value {
    /// `{}` or an absent value.
    #[default]
    Empty,
    /// A string.
    Str(Text),
    /// A boolean.
    Bool(bool),
    /// A 64-bit integer.
    Int(i64),
    /// A double; may be NaN or infinite.
    Double(f64),
    /// Bytes.
    Bytes(Vec<u8>),
    /// A list of values.
    Array(Vec<Value>),
    /// A nested list of named values.
    Map(Attributes),
}

impl Value {
    /// The text, if this is a string.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::Str(text) => Some(text),
            _ => None,
        }
    }

    /// The integer, if this is one, or a string or an integral double that holds one.
    pub fn as_int(&self) -> Option<i64> {
        match self {
            Self::Int(int) => Some(*int),
            Self::Str(text) => text.trim().parse().ok(),
            Self::Double(double) if double.fract() == 0.0 && double.abs() < 9e15 => {
                Some(*double as i64)
            }
            _ => None,
        }
    }
}

impl fmt::Display for Value {
    /// For people: strings bare, bytes as hex, arrays and maps as in JSON without quotes.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => Ok(()),
            Self::Str(text) => f.write_str(text),
            Self::Bool(flag) => write!(f, "{flag}"),
            Self::Int(int) => write!(f, "{int}"),
            Self::Double(double) => write!(f, "{double}"),
            Self::Bytes(bytes) => bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}")),
            Self::Array(values) => {
                f.write_str("[")?;
                for (i, value) in values.iter().enumerate() {
                    if i > 0 {
                        f.write_str(", ")?;
                    }
                    value.fmt(f)?;
                }
                f.write_str("]")
            }
            Self::Map(attributes) => {
                f.write_str("{")?;
                for (i, (key, value)) in attributes.iter().enumerate() {
                    if i > 0 {
                        f.write_str(", ")?;
                    }
                    write!(f, "{key}: {value}")?;
                }
                f.write_str("}")
            }
        }
    }
}

/// Named values in the order they came. Keys should be unique; of equal ones the first counts.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Attributes(pub Vec<(Text, Value)>);

impl Attributes {
    /// The first value with this key.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.0
            .iter()
            .find(|(name, _)| name == key)
            .map(|(_, value)| value)
    }

    /// The first value with this key, if it is a non-empty string.
    pub fn text(&self, key: &str) -> Option<&str> {
        self.get(key)
            .and_then(Value::as_str)
            .filter(|text| !text.is_empty())
    }

    /// The values with their keys, in the order they came.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.0.iter().map(|(key, value)| (key.as_str(), value))
    }

    /// True when there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }
}

impl<K: Into<Text>> FromIterator<(K, Value)> for Attributes {
    fn from_iter<I: IntoIterator<Item = (K, Value)>>(iter: I) -> Self {
        Self(
            iter.into_iter()
                .map(|(key, value)| (key.into(), value))
                .collect(),
        )
    }
}
