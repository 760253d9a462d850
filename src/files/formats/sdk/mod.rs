//! What SDKs print when their console exporters are left on: one span after another, in a list or
//! not.

pub(super) mod go;
pub(super) mod python;

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

use crate::model::UnixNanos;
use crate::otlp::json::fields::{self, Field};
use crate::otlp::json::reader::{Read, Reader};

/// The names of the kinds, with the numbers of OTLP.
const KINDS: [(&str, i32); 6] = [
    ("UNSPECIFIED", 0),
    ("INTERNAL", 1),
    ("SERVER", 2),
    ("CLIENT", 3),
    ("PRODUCER", 4),
    ("CONSUMER", 5),
];

/// An instant as ISO 8601 has it; one without a zone is UTC, one before 1970 (Go's zero) is none.
/// `None` for null and empty.
fn instant(reader: &mut Reader<'_>) -> Read<Field<Option<UnixNanos>>> {
    let Ok(text) = fields::text(reader)? else {
        return Ok(Err(()));
    };
    let text = text.trim();
    if text.is_empty() {
        return Ok(Ok(None));
    }
    let stamp = text.parse::<Timestamp>().ok().or_else(|| {
        let local: DateTime = text.parse().ok()?;
        TimeZone::UTC.to_timestamp(local).ok()
    });
    Ok(stamp.ok_or(()).map(|stamp| {
        let nanos = u64::try_from(stamp.as_nanosecond()).ok();
        nanos.filter(|&nanos| nanos > 0).map(UnixNanos)
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_come_with_any_zone_or_none() {
        let read = |json| instant(&mut Reader::new(json)).unwrap();
        let noon = Ok(Some(UnixNanos(1_705_071_460_147_265_775)));
        assert_eq!(read("\"2024-01-12T14:57:40.147265775Z\""), noon);
        assert_eq!(read("\"2024-01-12T15:57:40.147265775+01:00\""), noon);
        assert_eq!(read("\"2024-01-12 14:57:40.147265775\""), noon);
        for none in ["null", "\"\"", "\"0001-01-01T00:00:00Z\""] {
            assert_eq!(read(none), Ok(None), "{none}");
        }
        assert_eq!(read("\"yesterday\""), Err(()));
        assert_eq!(read("{}"), Err(()));
    }
}
