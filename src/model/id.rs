//! Trace and span identity: 16 and 8 bytes, shown as lower-case hex.

use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};

/// Why a text is not an id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum IdError {
    /// The text has another number of hex digits than the id needs.
    #[error("{got} hex digits where {want} are needed")]
    Length {
        /// Digits that the id has.
        want: usize,
        /// Digits that came.
        got: usize,
    },
    /// A character that is no hex digit.
    #[error("not a hex digit at position {0}")]
    Digit(usize),
}

macro_rules! id {
    ($(#[$doc:meta])* $name:ident, $bytes:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
        pub struct $name(pub [u8; $bytes]);

        impl $name {
            /// Length in bytes.
            pub const BYTES: usize = $bytes;

            /// True for the all-zero id, which is no id at all (OTLP, W3C Trace Context).
            pub fn is_zero(&self) -> bool {
                self.0 == [0; $bytes]
            }

            /// The id held by exactly [`Self::BYTES`] bytes.
            pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
                bytes.try_into().ok().map(Self)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                const DIGITS: &[u8; 16] = b"0123456789abcdef";
                let mut text = [0u8; 2 * $bytes];
                for (pair, byte) in text.chunks_exact_mut(2).zip(self.0) {
                    pair[0] = DIGITS[usize::from(byte >> 4)];
                    pair[1] = DIGITS[usize::from(byte & 15)];
                }
                f.pad(std::str::from_utf8(&text).unwrap_or_default())
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }

        impl FromStr for $name {
            type Err = IdError;

            /// Reads exactly `2 × BYTES` hex digits of any case.
            fn from_str(text: &str) -> Result<Self, IdError> {
                let digits = text.as_bytes();
                if digits.len() != 2 * $bytes {
                    return Err(IdError::Length { want: 2 * $bytes, got: digits.len() });
                }
                let mut out = [0u8; $bytes];
                for (i, (byte, pair)) in out.iter_mut().zip(digits.chunks_exact(2)).enumerate() {
                    let high = nibble(pair[0]).ok_or(IdError::Digit(2 * i))?;
                    let low = nibble(pair[1]).ok_or(IdError::Digit(2 * i + 1))?;
                    *byte = high << 4 | low;
                }
                Ok(Self(out))
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }
    };
}

id!(
    /// A trace id: 16 bytes.
    TraceId,
    16
);
id!(
    /// A span id: 8 bytes, unique within its trace (and, in Zipkin, per side of an RPC).
    SpanId,
    8
);

fn nibble(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        b'A'..=b'F' => Some(digit - b'A' + 10),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hex_of_any_case_round_trips_as_lower_case() {
        let id: SpanId = "00F067aa0BA902b7".parse().unwrap();
        assert_eq!(id.to_string(), "00f067aa0ba902b7");
        assert_eq!(
            "00f067aa0ba902b".parse::<SpanId>(),
            Err(IdError::Length { want: 16, got: 15 })
        );
        assert_eq!(
            "00f067aa0ba902bg".parse::<SpanId>(),
            Err(IdError::Digit(15))
        );
        assert!(SpanId::default().is_zero());
    }
}
