//! What can be held of a file, and holding it.

use dwindle::model::{Nanos, Note, Outcome, Verdict};

use super::answer::Answer;

/// One thing that the answer to a file must be.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Check {
    /// Distinct traces.
    Traces(usize),
    /// Records kept.
    Spans(u64),
    /// Records kept in each trace.
    SpansEach(usize),
    /// Records rejected, for this reason.
    Rejected(u64, &'static str),
    /// Different span ids.
    Ids(usize),
    /// Records with an id that was there before in its trace.
    Repeated(usize),
    /// Distinct services.
    Services(usize),
    /// A service among them.
    Service(&'static str),
    /// Requests: roots and orphans, and what was handed over.
    Requests(usize),
    /// Service and operation of a request.
    Root(String, String),
    /// Spans whose parent never came.
    Orphans(usize),
    /// Spans with an error status.
    Errors(usize),
    /// Service and operation of the deepest of them.
    DeepestError(String, String),
    /// Elapsed milliseconds of the longest request that nobody handed over.
    Longest(f64),
    /// First start to last end of the longest trace, in milliseconds.
    Whole(f64),
    /// The span that took the most of the blocking path, and how many milliseconds.
    Critical(String, String, f64),
    /// What the spans of an operation took of the blocking path together, in milliseconds.
    Took(&'static str, f64),
    /// An operation's span took this many milliseconds.
    Ran(&'static str, f64),
    /// Nothing says that a timeout or a deadline struck, nor what a budget was.
    NoTimeout,
    /// The verdicts of the hops of this operation, in order.
    Verdicts(&'static str, Vec<Verdict>),
    /// Outcome of the first request.
    Outcome(Outcome),
    /// Where the failure of the first request surfaced.
    Surfaced(&'static str),
    /// A note says this.
    Notes(&'static str),
    /// Nothing was read; a problem says this, and what can be read instead.
    Refused(&'static str),
    /// Problems, each with its line.
    Problems(usize),
    /// Nothing was read, which is no fault; what was skipped says this.
    Skipped(&'static str),
    /// An attribute of some span has this text.
    Text(&'static str, &'static str),
    /// The first span began at this nanosecond.
    Start(u64),
}

/// Milliseconds as the log rounds them.
fn near(time: Nanos, ms: f64) -> bool {
    (time.as_millis_f64() - ms).abs() < 0.000_6
}

/// The log says services without their namespace, and `None` where there is none.
pub(super) fn same_service(ours: &str, theirs: &str) -> bool {
    let theirs = if theirs == "None" {
        "unknown_service"
    } else {
        theirs
    };
    ours == theirs
        || ours
            .strip_suffix(theirs)
            .is_some_and(|rest| rest.ends_with('/'))
}

/// The log cuts names after sixty characters, and has none as `None`.
pub(super) fn same_operation(ours: &str, theirs: &str) -> bool {
    ours == theirs
        || (theirs == "None" && ours.is_empty())
        || (theirs.chars().count() >= 60 && ours.starts_with(theirs))
}

impl Check {
    /// Holds it against an answer; an error is what the answer is instead.
    #[expect(clippy::too_many_lines, reason = "one arm a kind of check")]
    pub(super) fn hold(&self, answer: &Answer) -> Result<(), String> {
        let loaded = &answer.loaded;
        match self {
            Self::Traces(count) => equal(&loaded.traces.len(), count),
            Self::Spans(count) => {
                equal(&(answer.spans().count() as u64), count)?;
                equal(&loaded.spans, count)
            }
            Self::SpansEach(count) => {
                let counts: Vec<usize> = loaded.traces.iter().map(|t| t.spans.len()).collect();
                holds(counts.iter().all(|one| one == count), &counts)
            }
            Self::Rejected(count, reason) => {
                equal(&loaded.rejected, count)?;
                let problems = &loaded.problems;
                holds(problems.iter().any(|p| p.reason.contains(reason)), problems)
            }
            Self::Ids(count) => equal(&answer.ids(), count),
            Self::Repeated(count) => equal(&(answer.spans().count() - answer.ids()), count),
            Self::Services(count) => {
                let services = answer.services();
                holds(services.len() == *count, &services)
            }
            Self::Service(name) => {
                let services = answer.services();
                holds(
                    services.iter().any(|one| same_service(one, name)),
                    &services,
                )
            }
            Self::Requests(count) => equal(&answer.requests().count(), count),
            Self::Root(service, operation) => {
                let roots: Vec<(&str, &str)> = answer
                    .requests()
                    .map(|r| (r.service.as_str(), r.operation.as_str()))
                    .collect();
                let is = |(s, o): &(&str, &str)| {
                    same_service(s, service) && same_operation(o, operation)
                };
                holds(roots.iter().any(is), &roots)
            }
            Self::Orphans(count) => equal(&answer.orphans(), count),
            Self::Errors(count) => equal(&answer.errors().count(), count),
            Self::DeepestError(service, operation) => answer.deepest_error(service, operation),
            Self::Longest(ms) => {
                let longest = answer.roots().map(|r| r.elapsed).max().unwrap_or_default();
                holds(near(longest, *ms), &longest.as_millis_f64())
            }
            Self::Whole(ms) => {
                let whole = answer.longest();
                holds((whole.as_millis_f64() - ms).abs() < 0.5, &whole)
            }
            Self::Critical(service, operation, ms) => {
                let most = answer.critical().into_iter().max_by_key(|(_, time)| *time);
                let (span, time) = most.ok_or("nothing on the path")?;
                let is = same_service(span.service(), service)
                    && same_operation(&span.name, operation)
                    && near(time, *ms);
                holds(is, &(span.service(), &span.name, time.as_millis_f64()))
            }
            Self::Took(operation, ms) => {
                let all = answer.critical().into_iter();
                let own = all.filter(|(span, _)| span.name == *operation);
                let sum = Nanos(own.map(|(_, time)| time.0).sum());
                holds(near(sum, *ms), &sum.as_millis_f64())
            }
            Self::Ran(operation, ms) => {
                let own = answer.spans().filter(|span| span.name == *operation);
                let times: Vec<Nanos> = own.map(|span| span.end.since(span.start)).collect();
                let is = |time: &Nanos| (time.as_millis_f64() - ms).abs() <= ms / 100.0;
                holds(times.iter().any(is), &times)
            }
            Self::NoTimeout => answer.no_timeout(),
            Self::Verdicts(operation, verdicts) => {
                let hops = answer.requests().flat_map(|request| &request.hops);
                let own = hops.filter(|hop| hop.operation == *operation);
                equal(&own.map(|hop| hop.verdict).collect(), verdicts)
            }
            Self::Outcome(outcome) => {
                let first = answer.requests().next().map(|request| request.outcome);
                equal(&first, &Some(*outcome))
            }
            Self::Surfaced(operation) => {
                let first = answer.requests().next().and_then(|r| r.surfaced.as_ref());
                holds(first.is_some_and(|at| at.operation == *operation), &first)
            }
            Self::Notes(words) => {
                let notes: Vec<String> = answer.notes().map(Note::to_string).collect();
                holds(notes.iter().any(|note| note.contains(words)), &notes)
            }
            Self::Refused(words) => {
                equal(&(loaded.spans, loaded.rejected), &(0, 0))?;
                let [problem] = &loaded.problems[..] else {
                    return Err(format!("{:?}", loaded.problems));
                };
                let reason = &problem.reason;
                holds(reason.contains(words), reason)?;
                let names_a_way = reason.contains("Dwindle reads") || reason.contains("empty");
                holds(names_a_way, reason)
            }
            Self::Problems(count) => {
                equal(&loaded.problems.len(), count)?;
                let lines = loaded.problems.iter().all(|problem| problem.line.is_some());
                holds(lines, &loaded.problems)
            }
            Self::Skipped(words) => {
                equal(&(loaded.spans, loaded.problems.len()), &(0, 0))?;
                let [skipped] = &loaded.skipped[..] else {
                    return Err(format!("{:?}", loaded.skipped));
                };
                let told = skipped.to_string();
                holds(skipped.count > 0 && told.contains(words), &told)
            }
            Self::Text(key, text) => {
                let texts: Vec<_> = answer.spans().map(|s| s.attributes.text(key)).collect();
                holds(texts.contains(&Some(*text)), &texts)
            }
            Self::Start(nanos) => {
                let first = answer.spans().map(|span| span.start.0).min();
                equal(&first, &Some(*nanos))
            }
        }
    }
}

fn equal<T: PartialEq + std::fmt::Debug>(ours: &T, theirs: &T) -> Result<(), String> {
    holds(ours == theirs, ours)
}

fn holds(it_does: bool, ours: &impl std::fmt::Debug) -> Result<(), String> {
    if it_does {
        Ok(())
    } else {
        Err(format!("{ours:?}"))
    }
}
