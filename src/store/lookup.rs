//! A trace as it is known, put together from memory and parts.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::durable::State;
use super::error::StoreError;
use super::find::{Piece, in_order};
use super::index::hash;
use super::memory::{Gone, Stored};
use super::parts::{Part, Reach};
use super::snapshot::Known;
use super::told;
use crate::budget::{Policy, Typical, analyse, contained};
use crate::model::{Analysis, Note, Trace, TraceId};

/// What is asked for.
#[derive(Debug)]
pub(super) struct Asked {
    id: TraceId,
    /// Its state in memory.
    fresh: Option<Stored>,
    /// Where to look in parts; everywhere without it.
    around: Option<Reach>,
    /// A part that cannot be read is taken for damaged, whatever the error.
    at_last: bool,
}

impl Asked {
    /// All of a trace.
    pub(super) fn for_all(id: TraceId, fresh: Option<Stored>) -> Self {
        Self {
            id,
            fresh,
            around: None,
            at_last: false,
        }
    }

    /// What a trace is of which spans in this reach came; no sample.
    pub(super) fn around(id: TraceId, fresh: Option<Stored>, around: Reach, at_last: bool) -> Self {
        Self {
            id,
            fresh: fresh.filter(|fresh| !fresh.sample),
            around: Some(around),
            at_last,
        }
    }

    /// Where it is superseded already by what is in memory.
    fn over(&self) -> Option<Reach> {
        let fresh = self.fresh.as_ref()?;
        Some(Reach::of(&fresh.trace))
    }

    /// The parts that may have more of it.
    fn parts<'a>(&self, state: &'a State, reach: Option<Reach>) -> Vec<&'a Arc<Part>> {
        // What the fresh state supersedes is in it.
        let over = self.over();
        let known = |part: &&Arc<Part>| over.is_some_and(|over| part.reaches(over));
        let hash = hash(self.id);
        // What nobody can tell of is looked at, lest what it has is taken for unknown.
        let may_have = |part: &&Arc<Part>| {
            part.may_have(self.id, hash) || self.around.is_some() && part.filter().is_none()
        };
        let near = |part: &&Arc<Part>| reach.is_none_or(|reach| part.reaches(reach));
        let parts = state.parts.iter().filter(near);
        parts.filter(may_have).filter(|part| !known(part)).collect()
    }
}

/// What is known of a trace.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) stored: Option<Stored>,
    /// What of it lies in parts that its state in memory does not supersede.
    pub(super) in_parts: Option<Gone>,
    /// In how many parts it is.
    pieces: usize,
    /// What is wrong with a part that may have more of it; looked for only around what came.
    damaged: Option<StoreError>,
}

/// What is known of a trace of which more came.
#[derive(Debug, Default)]
pub struct Former {
    /// All that is known: of parts that are [damaged](StoreError::Damaged) nothing, and they keep
    /// what they have; after another error only what is in memory.
    pub stored: Option<Stored>,
    /// Why parts of it cannot be read.
    pub error: Option<StoreError>,
    /// What of it lies in the parts of that state; `None` if only the parts themselves can tell.
    pub(super) in_parts: Option<(Arc<State>, Option<Gone>)>,
    /// In how many parts it is.
    pieces: usize,
}

impl Former {
    /// `fresh` is its state in memory.
    pub(super) fn new(
        found: Result<Found, StoreError>,
        fresh: Option<Stored>,
        state: &Arc<State>,
    ) -> Self {
        let fresh = fresh.filter(|fresh| !fresh.sample);
        match found {
            Ok(found) => Self {
                pieces: found.pieces,
                stored: found.stored,
                error: found.damaged,
                // A fresh state supersedes parts besides.
                in_parts: fresh.is_none().then(|| (Arc::clone(state), found.in_parts)),
            },
            Err(error) => Self {
                stored: fresh,
                error: Some(error),
                ..Self::default()
            },
        }
    }

    /// Whether nobody knows what parts that are not damaged have of it.
    pub fn is_unknown(&self) -> bool {
        self.error.as_ref().is_some_and(|error| !error.is_damage())
    }

    /// Why nobody does, for whoever gives up then; damage stays told, and is no reason.
    pub fn take_unknown(&mut self) -> Option<StoreError> {
        self.error.take_if(|error| !error.is_damage())
    }

    /// Whether it was put together from several parts: one state of requests that start in several
    /// hours, or several.
    pub fn is_of_several(&self) -> bool {
        self.pieces > 1
    }
}

/// What parts were asked for together.
type Read = BTreeMap<String, BTreeMap<TraceId, Piece>>;

/// Looks one trace up.
pub(super) fn lookup(state: &State, asked: Asked, known: &Known) -> Result<Found, StoreError> {
    find(state, asked, &mut Read::new(), known)
}

/// Looks many traces up: of each part that may have some of them these are read at once.
pub(super) fn lookups(
    state: &State,
    asked: Vec<Asked>,
    known: &Known,
) -> Vec<Result<Found, StoreError>> {
    let mut wanted: BTreeMap<&str, (&Arc<Part>, Vec<TraceId>)> = BTreeMap::new();
    for asked in &asked {
        for part in asked.parts(state, asked.around) {
            let entry = wanted.entry(part.meta.id.as_str());
            entry.or_insert((part, Vec::new())).1.push(asked.id);
        }
    }
    let mut read = Read::new();
    for (name, (part, ids)) in wanted {
        // One alone is read when it is needed; so is what failed, and says why.
        if ids.len() > 1
            && let Ok(pieces) = part.pieces(&in_order(ids.iter().copied()))
        {
            let mut of: BTreeMap<TraceId, Piece> = pieces;
            for id in ids {
                of.entry(id).or_default();
            }
            read.insert(name.to_owned(), of);
        }
    }
    let asked = asked.into_iter();
    asked
        .map(|asked| find(state, asked, &mut read, known))
        .collect()
}

fn find(state: &State, asked: Asked, read: &mut Read, known: &Known) -> Result<Found, StoreError> {
    let id = asked.id;
    let mut whole = Trace {
        id,
        ..Trace::default()
    };
    let (mut revision, mut truncated) = (0, 0);
    let mut in_parts: Option<Gone> = None;
    let (mut pieces, mut damaged) = (0, None);
    // For whoever looks at a trace that did not change since.
    let shown = asked.around.is_none() && asked.fresh.is_none();
    let mut told = told::All::new();
    let mut reach = asked.around;
    let mut seen = BTreeSet::new();
    loop {
        let mut more = false;
        for part in asked.parts(state, reach) {
            let name = part.meta.id.as_str();
            if !seen.insert(name) {
                continue;
            }
            let was_read = read.get_mut(name).and_then(|read| read.remove(&id));
            let piece = match was_read {
                Some(piece) => Some(piece).filter(Piece::is_there),
                None => match part.pieces(&[id]) {
                    Ok(mut pieces) => pieces.remove(&id),
                    Err(error @ StoreError::Damaged { .. }) if asked.around.is_some() => {
                        damaged.get_or_insert(error);
                        None
                    }
                    Err(error) if asked.at_last => {
                        damaged.get_or_insert(part.unread(&error));
                        None
                    }
                    Err(error) => return Err(error),
                },
            };
            if let Some(piece) = piece {
                more = true;
                pieces += 1;
                if shown {
                    part.told(id, &mut told)?;
                }
                whole.spans.extend(piece.spans);
                whole.logs.extend(piece.logs);
                revision = revision.max(piece.revision);
                truncated = truncated.max(piece.truncated);
                let all = in_parts.get_or_insert_default();
                for (hour, outcomes) in piece.requests {
                    all.entry(hour).or_default().merge(&outcomes);
                }
            }
        }
        if !more || reach.is_none() {
            break;
        }
        // With what was found it may reach further, to parts that have the rest of it.
        let with = |reach: Reach| reach.with(Reach::of(&whole));
        reach = reach.map(|reach| {
            asked
                .over()
                .map_or(with(reach), |over| with(reach).with(over))
        });
    }
    let Asked { fresh, around, .. } = asked;
    if in_parts.is_none() {
        if fresh.is_none() && around.is_none() {
            state.readable()?;
        }
        return Ok(Found {
            stored: fresh,
            in_parts,
            pieces,
            damaged,
        });
    }
    let mut log_from = u64::MAX;
    if let Some(fresh) = fresh {
        whole.spans.extend(fresh.trace.spans.iter().cloned());
        whole.logs.extend(fresh.trace.logs.iter().cloned());
        let requests = fresh.analysis.requests.iter();
        revision = revision.max(requests.map(|request| request.revision).max().unwrap_or(0));
        log_from = fresh.log_from;
    }
    let (policy, typical) = (&known.policy, &known.typical);
    let mut analysis = restored(&whole, revision, truncated, policy, typical);
    told::note(&mut analysis, &told);
    Ok(Found {
        stored: Some(Stored {
            trace: Arc::new(whole),
            analysis: Arc::new(analysis),
            sample: false,
            log_from,
        }),
        in_parts,
        pieces,
        damaged,
    })
}

/// The analysis of a trace that was read back, with what its requests' rows said that its spans
/// cannot: the revision, and how many spans were dropped.
pub(super) fn restored(
    trace: &Trace,
    revision: u32,
    truncated: usize,
    policy: &Policy,
    typical: &Typical,
) -> Analysis {
    let mut analysis = contained(trace, || analyse(trace, policy, typical));
    for request in &mut analysis.requests {
        request.revision = revision.max(1);
        if truncated > 0 {
            request
                .notes
                .retain(|note| !matches!(note, Note::Truncated(_)));
            request.notes.push(Note::Truncated(truncated));
            request.notes.sort_unstable();
        }
    }
    analysis
}
