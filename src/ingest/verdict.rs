//! What the analysis of a sealed trace becomes: a first verdict, or a revision of the former.

use crate::model::{Analysis, Note};
use crate::store::Stored;

/// Numbers the verdict and notes what was dropped. `dropped` counts spans over the limit of one
/// trace since the former verdict, which carries its own count. Returns true if a former verdict
/// changed.
pub(super) fn revise(analysis: &mut Analysis, former: Option<&Stored>, dropped: usize) -> bool {
    let former = former.map(|stored| &*stored.analysis);
    let dropped = dropped + former.map_or(0, truncated);
    if dropped > 0 {
        for request in &mut analysis.requests {
            // What the analysis itself left out comes on top.
            let own = request.notes.iter().find_map(as_truncated).unwrap_or(0);
            request.notes.retain(|note| as_truncated(note).is_none());
            request.notes.push(Note::Truncated(own + dropped));
            request.notes.sort_unstable();
        }
    }
    let before = former.and_then(|former| former.requests.iter().map(|r| r.revision).max());
    let Some(before) = before else {
        set_revision(analysis, 1);
        return false;
    };
    set_revision(analysis, before);
    let changed = former.is_some_and(|former| former.requests != analysis.requests);
    if changed {
        set_revision(analysis, before.saturating_add(1));
    }
    changed
}

fn set_revision(analysis: &mut Analysis, revision: u32) {
    for request in &mut analysis.requests {
        request.revision = revision;
    }
}

fn truncated(analysis: &Analysis) -> usize {
    let notes = analysis.requests.iter().flat_map(|request| &request.notes);
    notes.filter_map(as_truncated).max().unwrap_or(0)
}

fn as_truncated(note: &Note) -> Option<usize> {
    match note {
        Note::Truncated(count) => Some(*count),
        _ => None,
    }
}
