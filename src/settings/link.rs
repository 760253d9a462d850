//! Links out to the user's own tracing backend, from a template of its addresses.

use super::kind::Wanted;
use crate::model::{SpanId, TraceId};

/// The address of a trace in another program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceUrl {
    pieces: Vec<Piece>,
    host: String,
}

/// A piece of a template.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Text(String),
    Trace,
    Span,
}

impl TraceUrl {
    /// Reads a template such as `https://jaeger.example/trace/{trace_id}?uiFind={span_id}`; `None`
    /// for an empty text.
    pub(super) fn parse(text: &str) -> Result<Option<Self>, Wanted> {
        let template = text.trim();
        if template.is_empty() {
            return Ok(None);
        }
        let wanted = |why: &str| Wanted(format!("an address for traces: {why}"));
        let (scheme, rest) = template.split_once("://").unwrap_or_default();
        if !["https", "http"].contains(&scheme.to_ascii_lowercase().as_str()) {
            return Err(wanted("it has to begin with https:// or http://"));
        }
        if !template.bytes().all(|byte| byte.is_ascii_graphic())
            || template.contains(['"', '<', '>', '\\', '`'])
        {
            return Err(wanted(
                "write what is no plain ASCII, blanks and quotation marks with % escapes",
            ));
        }
        let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
        if host.is_empty() || host.contains(['{', '}', '@']) {
            return Err(wanted(
                "a host such as jaeger.example has to follow, without placeholders and without a \
                 user",
            ));
        }
        let pieces = pieces(template).map_err(|piece| {
            wanted(&format!(
                "there are {{trace_id}} and {{span_id}}, but no `{piece}`"
            ))
        })?;
        if !pieces.contains(&Piece::Trace) {
            return Err(wanted("{trace_id} has to stand in it"));
        }
        Ok(Some(Self {
            host: host.to_ascii_lowercase(),
            pieces,
        }))
    }

    /// The host that it leads to, with its port if it names one.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The address of a span in its trace.
    pub fn of(&self, trace: TraceId, span: SpanId) -> String {
        let pieces = self.pieces.iter().map(|piece| match piece {
            Piece::Text(text) => text.clone(),
            // Hex digits, which need no escape.
            Piece::Trace => trace.to_string(),
            Piece::Span => span.to_string(),
        });
        pieces.collect()
    }
}

/// The pieces of a template, or what stands in it in braces and means nothing.
fn pieces(template: &str) -> Result<Vec<Piece>, String> {
    let mut pieces = Vec::new();
    for (nth, part) in template.split('{').enumerate() {
        let text = if nth == 0 {
            part
        } else {
            let (name, text) = part.split_once('}').unwrap_or((part, ""));
            pieces.push(match name {
                "trace_id" => Piece::Trace,
                "span_id" => Piece::Span,
                _ => {
                    let name: String = part.chars().take(20).collect();
                    return Err(format!("{{{name}"));
                }
            });
            text
        };
        if text.contains('}') {
            return Err("}".to_owned());
        }
        pieces.push(Piece::Text(text.to_owned()));
    }
    Ok(pieces)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_take_the_places_that_the_template_gives_them() {
        let url =
            TraceUrl::parse(" https://Jaeger.example:16686/t/{trace_id}?s={span_id}#{trace_id} ");
        let url = url.unwrap().unwrap();
        assert_eq!(url.host(), "jaeger.example:16686");
        let (trace, span) = (TraceId([0xab; 16]), SpanId([0x01; 8]));
        assert_eq!(
            url.of(trace, span),
            format!("https://Jaeger.example:16686/t/{trace}?s={span}#{trace}")
        );
        assert_eq!(TraceUrl::parse("  "), Ok(None));
    }

    #[test]
    fn what_is_wrong_with_a_template_is_told() {
        for (text, words) in [
            (
                "javascript:alert({trace_id})",
                "begin with https:// or http://",
            ),
            (
                "jaeger.example/{trace_id}",
                "begin with https:// or http://",
            ),
            ("\u{e9}", "begin with https:// or http://"),
            ("https://", "a host such as"),
            ("https:///{trace_id}", "a host such as"),
            ("https://{trace_id}.example/", "a host such as"),
            ("https://me@jaeger.example/{trace_id}", "a host such as"),
            ("https://jaeger.example/", "{trace_id} has to stand in it"),
            ("https://jaeger.example/{traceID}", "no `{traceID}`"),
            ("https://jaeger.example/{trace_id}}", "no `}`"),
            ("https://jaeger.example/{trace_id}?q=a b", "% escapes"),
            ("https://jaeger.example/{trace_id}?q=\"", "% escapes"),
        ] {
            let Err(Wanted(told)) = TraceUrl::parse(text) else {
                panic!("{text} was taken");
            };
            assert!(told.contains(words), "{text}: {told}");
        }
    }
}
