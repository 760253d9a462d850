//! A request drawn for a terminal: title, sentences, waterfall, ledger, findings.
//!
//! Same glyphs with and without colour; names are made harmless before anything is measured.

mod bar;
mod findings;

mod ledger;

mod rows;
#[cfg(test)]
mod tests;

use super::Look;
use super::glyphs::Glyph;
use super::pen::{self, Ink, Pen};
use crate::model::Request;
use crate::query::number;
use crate::query::sources;
use crate::query::story::{self, Piece, Sentence};
use crate::query::waterfall::waterfall;

/// Draws a request, with a line end after the last line.
pub fn request(request: &Request, look: Look) -> String {
    let mut pen = Pen::new(look);
    title(&mut pen, request);
    pen.end();
    sentence(&mut pen, &story::headline(request), Ink::Bold);
    let second = story::second(request);
    if !second.is_empty() {
        sentence(&mut pen, &second, Ink::Plain);
    }
    let sources = sources::read(request);
    if !sources.is_empty() {
        pen.paragraph(&format!("Read from {}.", sources.join("; ")), 0, Ink::Dim);
    }
    let words = sources::words(request);
    if !words.is_empty() {
        let told = format!("Spans say: {}.", words.join("; "));
        pen.paragraph(&told, 0, Ink::Dim);
    }
    for note in &request.notes {
        pen.paragraph(&format!("note: {note}."), 0, Ink::Yellow);
    }
    pen.end();
    let drawn = waterfall(request);
    rows::draw(&mut pen, &drawn);
    handed_over(&mut pen, request);
    pen.end();
    ledger::draw(&mut pen, request);
    pen.end();
    findings::draw(&mut pen, request);
    pen.finish()
}

/// Who, when, which trace; the trace at the right edge, or on a line of its own.
fn title(pen: &mut Pen, request: &Request) {
    let name = format!("{} {}", request.service, request.operation);
    let when = number::instant(request.start);
    let trace = format!("trace {}", request.trace_id);
    let width = pen.look().width;
    let safe = pen.text(&name);
    let used = pen::width(&safe) + 3 + pen::width(&when);
    if used > width {
        pen.paragraph(&name, 0, Ink::Bold);
        pen.paragraph(&format!("{when}   {trace}"), 0, Ink::Plain);
        return;
    }
    pen.write(Ink::Bold, &safe);
    pen.pad(3);
    pen.write(Ink::Plain, &when);
    match width - used {
        room if room >= trace.len() + 3 => pen.pad(room - trace.len()),
        _ => pen.end(),
    }
    pen.write(Ink::Plain, &trace);
    pen.end();
}

fn sentence(pen: &mut Pen, sentence: &Sentence, ink: Ink) {
    let text: String = sentence
        .0
        .iter()
        .map(|piece| match piece {
            Piece::Plain(text) | Piece::Strong(text) | Piece::Code(text) => pen.text(text),
            // A sign stands with the word after it.
            Piece::Culprit => pen.glyph(Glyph::Culprit).to_string(),
            Piece::Surfaced => pen.glyph(Glyph::Surfaced).to_string(),
        })
        .collect();
    pen.paragraph(&text, 0, ink);
}

/// Requests that this one started and did not wait for; they are drawn on their own.
fn handed_over(pen: &mut Pen, request: &Request) {
    const SHOWN: usize = 3;
    let all: Vec<_> = request
        .hops
        .iter()
        .flat_map(|hop| hop.handed_over.iter().map(move |other| (hop, other)))
        .collect();
    for (hop, other) in all.iter().take(SHOWN) {
        let elsewhere = if other.trace_id == request.trace_id {
            String::new()
        } else {
            format!(" of trace {}", other.trace_id)
        };
        let text = format!(
            "{} handed over to request {}{elsewhere}",
            hop.service, other.request
        );
        pen.paragraph(&text, 0, Ink::Dim);
    }
    if let Some(more) = all.len().checked_sub(SHOWN).filter(|more| *more > 0) {
        let text = format!("{} more handed over", number::count(more));
        pen.paragraph(&text, 0, Ink::Dim);
    }
}
