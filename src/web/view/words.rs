//! Names and sentences as markup.

use std::fmt;

use super::{LONG, SHORT};
use crate::model::{SpanId, TraceId};
use crate::query::filter::Filter;
use crate::query::story::{Piece, Sentence};
use crate::report::svg::{Escaped, Icon, display_name};
use crate::web::params::{Link, step};
use crate::web::period::Around;

/// Markup that is safe to print as it is: every text in it was escaped.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::web) struct Markup(pub(in crate::web) String);

impl fmt::Display for Markup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A name, harmless and short enough for a row.
pub(in crate::web) fn name(text: &str) -> String {
    display_name(text, SHORT)
}

/// The page of a request.
pub(in crate::web) fn link_to(trace: TraceId, request: SpanId) -> String {
    format!("/requests/{trace}/{request}")
}

/// The page of an operation of a service, around the time of a request.
pub(in crate::web) fn service_link(around: &Around, service: &str, operation: &str) -> String {
    let path = format!("/services/{}/{}", step(service), step(operation));
    around.link(&path, &[])
}

/// The list of the requests that a filter asks for.
pub(in crate::web) fn filter_link(filter: &Filter) -> String {
    let text = filter.to_string();
    Link {
        path: "/requests",
        pairs: &[("q", Some(&text))],
    }
    .to_string()
}

/// A sentence with its signs; names keep their direction to themselves.
pub(in crate::web) fn sentence(sentence: &Sentence) -> Markup {
    let mut out = String::new();
    // The space after a sign is the sign's, so that no line ends between it and its word.
    let mut after_sign = false;
    for piece in &sentence.0 {
        let text_after_sign = std::mem::replace(
            &mut after_sign,
            matches!(piece, Piece::Culprit | Piece::Surfaced),
        );
        match piece {
            Piece::Plain(text) => {
                let text = if text_after_sign {
                    text.trim_start()
                } else {
                    text
                };
                let text = display_name(text, LONG);
                if text.is_ascii() {
                    out.push_str(&Escaped(&text).to_string());
                } else {
                    // Names stand in it too: none may turn the sentence around.
                    put(
                        &mut out,
                        format_args!(r#"<bdi dir="ltr">{}</bdi>"#, Escaped(&text)),
                    );
                }
            }
            Piece::Strong(text) => {
                let text = display_name(text, SHORT);
                put(
                    &mut out,
                    format_args!("<b><bdi>{}</bdi></b>", Escaped(&text)),
                );
            }
            Piece::Code(text) => {
                let text = display_name(text, SHORT * 2);
                let text = Escaped(&text);
                put(
                    &mut out,
                    format_args!(r#"<code class="any"><bdi>{text}</bdi></code>"#),
                );
            }
            Piece::Culprit => sign(Icon::Culprit, &mut out),
            Piece::Surfaced => sign(Icon::Surfaced, &mut out),
        }
    }
    Markup(out)
}

/// A sign keeps to the word after it.
fn sign(icon: Icon, out: &mut String) {
    put(out, format_args!("<span class=\"nw\">{icon}\u{a0}</span>"));
}

/// Writes into memory, which does not fail.
pub(in crate::web) fn put(out: &mut String, text: fmt::Arguments<'_>) {
    fmt::Write::write_fmt(out, text).unwrap_or_default();
}

/// Our own words as markup: what stands between backquotes is code.
pub(in crate::web) fn with_code(words: &str) -> String {
    let mut out = String::new();
    for (index, piece) in words.split('`').enumerate() {
        let piece = Escaped(piece);
        let (before, after) = match index % 2 {
            0 => ("", ""),
            _ => (r#"<code class="any">"#, "</code>"),
        };
        out.extend([before, piece.to_string().as_str(), after]);
    }
    out
}
