//! Where a list goes on.

use std::fmt;
use std::str::FromStr;

use super::Sort;
use crate::model::{SpanId, TraceId, UnixNanos};

/// A place in a list: what the last row that was shown is ordered by. Rows that come or go before
/// or after it do not move it. Its text form is opaque and safe in an address.
#[derive(Debug, Clone, PartialEq)]
pub struct Cursor {
    pub(super) sort: Sort,
    /// What stands before the start in the order; unknown is null.
    pub(super) keys: Vec<Option<KeyValue>>,
    pub(super) start: UnixNanos,
    pub(super) trace: TraceId,
    pub(super) request: SpanId,
}

/// What a row is ordered by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum KeyValue {
    /// Whole nanoseconds of a time, millionths of a share, and other whole numbers.
    Number(i64),
    Text(String),
}

/// A text that is no cursor of this list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a cursor of this list; take the `next` of a page as it is")]
pub struct CursorError;

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            sort,
            keys,
            start,
            trace,
            request,
        } = self;
        write!(f, "{}.{trace}.{request}.", start.0)?;
        for (index, key) in keys.iter().enumerate() {
            if index > 0 {
                f.write_str("_")?;
            }
            match key {
                None => f.write_str("~")?,
                Some(KeyValue::Number(number)) => write!(f, "{number}")?,
                Some(KeyValue::Text(text)) => {
                    f.write_str("x")?;
                    text.bytes().try_for_each(|byte| write!(f, "{byte:02x}"))?;
                }
            }
        }
        write!(f, ".{sort}")
    }
}

impl FromStr for Cursor {
    type Err = CursorError;

    fn from_str(text: &str) -> Result<Self, CursorError> {
        let mut parts = text.splitn(5, '.');
        let mut next = || parts.next().ok_or(CursorError);
        let start = UnixNanos(next()?.parse().map_err(|_| CursorError)?);
        let trace = next()?.parse().map_err(|_| CursorError)?;
        let request = next()?.parse().map_err(|_| CursorError)?;
        let keys = next()?.split('_').filter(|key| !key.is_empty());
        let keys = keys.map(key).collect::<Result<_, _>>()?;
        Ok(Self {
            sort: next()?.parse().map_err(|_| CursorError)?,
            keys,
            start,
            trace,
            request,
        })
    }
}

fn key(text: &str) -> Result<Option<KeyValue>, CursorError> {
    if text == "~" {
        return Ok(None);
    }
    let Some(hex) = text.strip_prefix('x') else {
        let number = text.parse().map_err(|_| CursorError)?;
        return Ok(Some(KeyValue::Number(number)));
    };
    let pairs = hex.as_bytes().chunks(2).map(|pair| {
        let pair = str::from_utf8(pair).ok().filter(|pair| pair.len() == 2);
        u8::from_str_radix(pair?, 16).ok()
    });
    let bytes: Vec<u8> = pairs.collect::<Option<_>>().ok_or(CursorError)?;
    let text = String::from_utf8(bytes).map_err(|_| CursorError)?;
    Ok(Some(KeyValue::Text(text)))
}
