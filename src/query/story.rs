//! A request in words: the sentence and the second sentence. They state what the spans prove.

use super::number::{self, NBSP, ms_unit, percent};
use super::waterfall::is_broken;
use crate::model::{Call, Culprit, Hop, How, Nanos, Outcome, Part, Request, Verdict};

/// An answer this much after the deadline still counts as in time (clock and timer grain).
const TOLERANCE: Nanos = Nanos::from_millis(2);

/// A sentence in pieces, so that each output marks them its own way.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Sentence(pub Vec<Piece>);

/// A piece of a sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// Plain words.
    Plain(String),
    /// A name or number that carries the sentence; bold.
    Strong(String),
    /// A key, an id or a value as it came; monospaced.
    Code(String),
    /// The sign of the culprit, ◆.
    Culprit,
    /// The sign of where the failure surfaced, ⚑.
    Surfaced,
}

impl Sentence {
    /// True if there is nothing to say.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn plain(mut self, words: impl Into<String>) -> Self {
        self.0.push(Piece::Plain(words.into()));
        self
    }

    pub(super) fn strong(mut self, words: impl Into<String>) -> Self {
        self.0.push(Piece::Strong(words.into()));
        self
    }

    pub(super) fn code(mut self, words: impl Into<String>) -> Self {
        self.0.push(Piece::Code(words.into()));
        self
    }

    pub(super) fn sign(mut self, sign: Piece) -> Self {
        self.0.push(sign);
        self
    }
}

impl std::fmt::Display for Sentence {
    /// The words without marks.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.iter().try_for_each(|piece| match piece {
            Piece::Plain(text) | Piece::Strong(text) | Piece::Code(text) => f.write_str(text),
            Piece::Culprit => f.write_str("\u{25c6}"),
            Piece::Surfaced => f.write_str("\u{2691}"),
        })
    }
}

impl serde::Serialize for Sentence {
    /// The words without marks.
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// What happened, and who held the clock.
pub fn headline(request: &Request) -> Sentence {
    let start = Sentence::default().plain(what_happened(request));
    match &request.culprit {
        Some(culprit) => who_held_the_clock(request, culprit, start),
        None => largest_owner(request, start),
    }
}

fn what_happened(request: &Request) -> String {
    let elapsed = ms_unit(request.elapsed);
    let Some(budget) = request.budget else {
        return match request.outcome {
            Outcome::Cancelled => {
                format!("Its caller left after {elapsed}; no budget is known.")
            }
            Outcome::Missed => {
                format!("Ran out of time after {elapsed}; its deadline is not known.")
            }
            Outcome::Failed => format!("Failed after {elapsed}; no budget is known."),
            Outcome::NoBudget | Outcome::Met => format!("Took {elapsed}; no budget is known."),
        };
    };
    let inferred = request.budget_source.how == How::Inferred;
    let total = if inferred {
        format!("about {}", ms_unit(budget))
    } else {
        ms_unit(budget)
    };
    let left = budget - request.elapsed;
    let early = left > TOLERANCE;
    match request.outcome {
        Outcome::Met if early => {
            format!("Met its {total} deadline with {} left.", ms_unit(left))
        }
        Outcome::Met => format!("Met its {total} deadline with nothing left."),
        Outcome::Missed if early => {
            let root = request.hops.first().map(|hop| hop.verdict);
            let what = match root {
                Some(Verdict::TimedOutEarly) => "A timeout ended it",
                _ => "Failed by deadline",
            };
            format!(
                "{what} after {elapsed}, with {} of its {total} unspent.",
                ms_unit(left)
            )
        }
        Outcome::Missed if inferred => {
            format!("Timed out after {elapsed}; the deadline is inferred from that.")
        }
        Outcome::Missed => format!("Missed its {total} deadline."),
        Outcome::Failed if early => {
            format!(
                "Failed after {elapsed}, with {} of its {total} left.",
                ms_unit(left)
            )
        }
        Outcome::Failed => format!("Failed after {elapsed}, its {total} spent."),
        Outcome::Cancelled if early => format!(
            "Its caller left after {elapsed}, with {} of its {total} left.",
            ms_unit(left)
        ),
        Outcome::Cancelled => format!("Its caller left after {elapsed}, its {total} spent."),
        Outcome::NoBudget => format!("Took {elapsed}; no budget is known."),
    }
}

fn who_held_the_clock(request: &Request, culprit: &Culprit, start: Sentence) -> Sentence {
    let Culprit {
        service,
        part,
        consumed,
        share: (share, whole),
        typical,
        ..
    } = culprit;
    let to = culprit.to.as_deref().unwrap_or("an unnamed callee");
    let time = ms_unit(*consumed);
    let of = match request.outcome {
        Outcome::Missed
            if request
                .budget
                .is_some_and(|b| b - request.elapsed <= TOLERANCE) =>
        {
            "of it"
        }
        _ if request.budget.is_some() => "of the budget",
        _ => "of it",
    };
    let how_much = format!(" {of} ({})", percent(*share, *whole));
    let start = start.plain(" ").sign(Piece::Culprit).plain(" ");
    let sentence = match part {
        Part::Local => start
            .strong(service.as_str())
            .plain(" spent ")
            .strong(time)
            .plain(how_much),
        Part::Dependency => start
            .strong(format!("{service} \u{2192} {to}"))
            .plain(" spent ")
            .strong(time)
            .plain(how_much),
        Part::Unreported => start
            .strong(format!("{service} \u{2192} {to}"))
            .plain(" took ")
            .strong(time)
            .plain(format!("{how_much}; {to} left no spans")),
        Part::TransitOut => start
            .plain("The way from ")
            .strong(format!("{service} to {to}"))
            .plain(" took ")
            .strong(time)
            .plain(how_much),
        Part::TransitBack => start
            .plain("The way back from ")
            .strong(format!("{to} to {service}"))
            .plain(" took ")
            .strong(time)
            .plain(how_much),
        Part::Backoff => start
            .strong(service.as_str())
            .plain(" waited ")
            .strong(time)
            .plain(format!("{how_much} between attempts at {to}")),
    };
    let sentence = match repeats(request, culprit) {
        Some(words) => sentence.plain(words),
        None => sentence,
    };
    let multiple = typical.and_then(|typical| {
        super::waterfall::tenths(*consumed, typical).map(|tenths| (tenths, typical))
    });
    match multiple {
        Some((tenths, typical)) => sentence.plain(format!(
            ", {} its typical {}.",
            number::times(tenths),
            ms_unit(typical)
        )),
        None => sentence.plain("."),
    }
}

/// " in two attempts", if the culprit's time lies in several attempts of a call; " in three calls"
/// if in several calls.
fn repeats(request: &Request, culprit: &Culprit) -> Option<String> {
    let owners: Vec<&Hop> = culprit_hops(request, culprit).map(|(hop, _)| hop).collect();
    let runs = match culprit.part {
        Part::Local | Part::Dependency | Part::Unreported => owners.len(),
        // Of transit and backoff it is plain that they come between or around attempts.
        Part::TransitOut | Part::TransitBack | Part::Backoff => return None,
    };
    if runs < 2 {
        return None;
    }
    let entries = entry_calls(request);
    let is_attempt = |hop: &&Hop| {
        let entry = entries.get(hop.id).copied().flatten();
        entry.is_some_and(|call| call.attempts > 1)
    };
    let one_caller = owners
        .windows(2)
        .all(|pair| pair[0].parent == pair[1].parent);
    let attempts = one_caller && owners.iter().all(is_attempt);
    let noun = if attempts { "attempts" } else { "calls" };
    Some(format!(" in{NBSP}{}{NBSP}{noun}", number::word(runs)))
}

/// The hops whose ledger rows make up the culprit, in order, each with its time before the deadline.
fn culprit_hops<'a>(
    request: &'a Request,
    culprit: &'a Culprit,
) -> impl Iterator<Item = (&'a Hop, Nanos)> + 'a {
    request
        .ledger
        .iter()
        .filter(|row| {
            row.service == culprit.service
                && row.operation == culprit.operation
                && row.part == culprit.part
                && row.to == culprit.to
                && row.time > row.after_deadline
        })
        .filter_map(|row| Some((request.hops.get(row.hop)?, row.time - row.after_deadline)))
}

/// The call that entered each hop; in one pass, since a hop may have made 100,000 calls.
fn entry_calls(request: &Request) -> Vec<Option<&Call>> {
    let mut entries = vec![None; request.hops.len()];
    for call in request.hops.iter().flat_map(|hop| &hop.calls) {
        if let Some(entry) = call.hop.and_then(|hop| entries.get_mut(hop)) {
            *entry = Some(call);
        }
    }
    entries
}

/// For a request without culprit: who took the most, without a sign.
fn largest_owner(request: &Request, start: Sentence) -> Sentence {
    let ledger = super::ledger::ledger(request);
    match ledger.rows.first() {
        Some(row) if ledger.whole > Nanos::ZERO => start
            .plain(" ")
            .strong(row.name.as_str())
            .plain(" took the most, ")
            .strong(ms_unit(row.time))
            .plain(format!(" ({}).", percent(row.time, ledger.whole))),
        _ => start,
    }
}

/// Where the failure surfaced, and what was wasted; empty if there is neither.
pub fn second(request: &Request) -> Sentence {
    let sentence = surfaced(request);
    match wasted(request) {
        None => sentence,
        Some(words) if sentence.is_empty() => sentence.plain(words),
        Some(words) => sentence.plain(format!(" {words}")),
    }
}

fn surfaced(request: &Request) -> Sentence {
    let Some(surfaced) = &request.surfaced else {
        return Sentence::default();
    };
    let start = Sentence::default().sign(Piece::Surfaced);
    let service = surfaced.service.as_str();
    let hop = request.hops.get(surfaced.hop);
    if surfaced.verdict == Verdict::FinishedLate {
        let late = hop
            .and_then(|hop| Some(hop.start + hop.elapsed - hop.deadline?))
            .filter(|late| *late > Nanos::ZERO);
        let words = match late {
            Some(late) => format!(
                ", which answered without error {} after the deadline.",
                ms_unit(late)
            ),
            None => ".".to_owned(),
        };
        return start.plain(" It surfaced at ").strong(service).plain(words);
    }
    let noun = match surfaced.verdict {
        Verdict::CancelledByCaller => "cancellation",
        _ => "error",
    };
    let words = match hop {
        Some(hop) => relation(request, hop, surfaced.verdict),
        None => String::new(),
    };
    start
        .plain(format!(" The {noun} surfaced at "))
        .strong(service)
        .plain(format!("{words}."))
}

/// What is worth saying of the hop where the failure surfaced.
fn relation(request: &Request, hop: &Hop, verdict: Verdict) -> String {
    let left = hop.deadline.map(|deadline| deadline - hop.start);
    match (verdict, left) {
        (Verdict::ExpiredOnArrival, Some(left)) if left > Nanos::ZERO => {
            return format!(", which got {}", ms_unit(left));
        }
        (Verdict::ExpiredOnArrival, Some(left)) => {
            return format!(", which was called {} after the deadline", ms_unit(-left));
        }
        _ => {}
    }
    let Some(culprit) = &request.culprit else {
        return String::new();
    };
    let Some((owner, _)) = culprit_hops(request, culprit).max_by_key(|(_, time)| *time) else {
        return String::new();
    };
    if owner.id == hop.id {
        return match culprit.part {
            Part::Local => ", where the time was spent".to_owned(),
            _ => ", which made that call".to_owned(),
        };
    }
    let hops = |n: usize| match n {
        1 => "one hop".to_owned(),
        n => format!("{} hops", number::word(n)),
    };
    if let Some(levels) = levels_up(request, owner, hop.id) {
        format!(", {} above", hops(levels))
    } else if let Some(levels) = levels_up(request, hop, owner.id) {
        format!(", {} below", hops(levels))
    } else {
        String::new()
    }
}

/// How many callers up from `from` the hop `to` is.
fn levels_up(request: &Request, from: &Hop, to: usize) -> Option<usize> {
    let mut id = from.id;
    // At most as many steps as there are hops, whatever the parents say.
    for levels in 1..=request.hops.len() {
        id = request.hops.get(id)?.parent?;
        if id == to {
            return Some(levels);
        }
    }
    None
}

fn wasted(request: &Request) -> Option<String> {
    if request.wasted <= Nanos::ZERO {
        return None;
    }
    let hops: Vec<&Hop> = request
        .hops
        .iter()
        .filter(|hop| hop.wasted > Nanos::ZERO)
        .collect();
    let entries = entry_calls(request);
    let untold = hops.iter().all(|hop| {
        let caller = hop.parent.and_then(|parent| request.hops.get(parent));
        caller.is_some_and(|caller| is_broken(caller, hop, entries.get(hop.id).copied().flatten()))
    });
    let untold = match (untold && !hops.is_empty(), hops.len()) {
        (false, _) => "",
        (true, 1) => " that was never told",
        (true, _) => " that were never told",
    };
    Some(format!(
        "{} wasted in {}{untold}.",
        ms_unit(request.wasted),
        number::counted(hops.len(), "hop", "hops")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::fixtures::{chain, fan_out, ms};

    fn says(sentence: &Sentence) -> String {
        sentence.to_string().replace('\u{a0}', " ")
    }

    fn head(change: impl FnOnce(&mut Request)) -> String {
        let mut request = chain();
        change(&mut request);
        says(&headline(&request))
    }

    #[test]
    fn the_references_are_told_as_they_are() {
        assert_eq!(
            head(|_| {}),
            "Missed its 1,000 ms deadline. \u{25c6} pricing spent 497 ms of it (49.7 %), \
             12\u{d7} its typical 41 ms."
        );
        assert_eq!(
            says(&second(&chain())),
            "\u{2691} The error surfaced at client, three hops above. \
             915 ms wasted in 3 hops that were never told."
        );
        assert_eq!(
            says(&headline(&fan_out())),
            "Missed its 1,500 ms deadline. \u{25c6} inventory \u{2192} postgresql stock spent \
             956 ms of it (63.7 %) in two attempts, 137\u{d7} its typical 7 ms."
        );
        assert_eq!(
            says(&second(&fan_out())),
            "\u{2691} The error surfaced at payments, which got 17 ms. 686 ms wasted in 4 hops."
        );
    }

    #[test]
    fn every_outcome_has_its_words() {
        let told = |outcome, budget: Option<i64>, elapsed| {
            head(|request| {
                request.outcome = outcome;
                request.budget = budget.map(ms);
                request.elapsed = ms(elapsed);
                request.culprit = None;
                request.ledger.clear();
            })
        };
        assert_eq!(
            told(Outcome::Met, Some(1000), 640),
            "Met its 1,000 ms deadline with 360 ms left."
        );
        assert_eq!(
            told(Outcome::Met, Some(1000), 1001),
            "Met its 1,000 ms deadline with nothing left."
        );
        assert_eq!(
            told(Outcome::Failed, Some(1000), 320),
            "Failed after 320 ms, with 680 ms of its 1,000 ms left."
        );
        assert_eq!(
            told(Outcome::Cancelled, Some(1000), 320),
            "Its caller left after 320 ms, with 680 ms of its 1,000 ms left."
        );
        assert_eq!(
            told(Outcome::Missed, Some(1000), 300),
            "Failed by deadline after 300 ms, with 700 ms of its 1,000 ms unspent."
        );
        let early = head(|request| {
            request.hops[0].verdict = Verdict::TimedOutEarly;
            (request.elapsed, request.culprit) = (ms(300), None);
            request.ledger.clear();
        });
        assert_eq!(
            early,
            "A timeout ended it after 300 ms, with 700 ms of its 1,000 ms unspent."
        );
        assert_eq!(
            told(Outcome::NoBudget, None, 320),
            "Took 320 ms; no budget is known."
        );
        assert_eq!(
            told(Outcome::Missed, None, 320),
            "Ran out of time after 320 ms; its deadline is not known."
        );
    }

    #[test]
    fn every_kind_of_culprit_has_its_words() {
        let told = |part| {
            head(|request| {
                let culprit = request.culprit.as_mut().unwrap();
                (culprit.part, culprit.to, culprit.typical) = (part, Some("geo".into()), None);
            })
        };
        let rest = |text: String| text.split_once("\u{25c6} ").unwrap().1.to_owned();
        assert_eq!(
            rest(told(Part::Unreported)),
            "pricing \u{2192} geo took 497 ms of it (49.7 %); geo left no spans."
        );
        assert_eq!(
            rest(told(Part::TransitOut)),
            "The way from pricing to geo took 497 ms of it (49.7 %)."
        );
        assert_eq!(
            rest(told(Part::TransitBack)),
            "The way back from geo to pricing took 497 ms of it (49.7 %)."
        );
        assert_eq!(
            rest(told(Part::Backoff)),
            "pricing waited 497 ms of it (49.7 %) between attempts at geo."
        );
    }

    #[test]
    fn a_met_request_names_its_largest_owner_without_a_sign() {
        let mut request = chain();
        (request.outcome, request.culprit, request.surfaced) = (Outcome::Met, None, None);
        request.budget = Some(ms(2000));
        request.wasted = Nanos::ZERO;
        assert_eq!(
            says(&headline(&request)),
            "Met its 2,000 ms deadline with 1,000 ms left. pricing Quote took the most, 497 ms (24.9 %)."
        );
        assert!(second(&request).is_empty());
    }

    #[test]
    fn a_late_answer_is_no_error() {
        let mut request = chain();
        let surfaced = request.surfaced.as_mut().unwrap();
        (surfaced.hop, surfaced.verdict) = (1, Verdict::FinishedLate);
        surfaced.service = "orders".into();
        assert!(
            says(&second(&request)).starts_with(
                "\u{2691} It surfaced at orders, which answered without error 307 ms after the deadline."
            ),
            "{}",
            says(&second(&request))
        );
    }
}
