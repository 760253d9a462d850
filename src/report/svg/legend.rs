//! The legend of a waterfall: only what it shows.

use std::fmt;

use crate::model::How;
use crate::query::waterfall::{Sent, StretchKind, Waterfall};

/// The key to one waterfall.
#[derive(Debug, Clone, Copy)]
pub struct Legend<'a> {
    /// What it explains.
    pub waterfall: &'a Waterfall,
}

impl fmt::Display for Legend<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rows = &self.waterfall.rows;
        let how = |wanted: &[How]| {
            rows.iter()
                .any(|row| row.expected.is_some() && wanted.contains(&row.how))
        };
        let kind = |wanted: StretchKind| {
            rows.iter()
                .any(|row| row.stretches.iter().any(|stretch| stretch.kind == wanted))
        };
        let entries = [
            (
                how(&[How::Observed, How::Sent]),
                r#"<rect class="exp" x="0" width="100%"/>"#,
                "expected",
            ),
            (
                how(&[How::Inherited, How::Configured]),
                r#"<rect class="exp inherited" x="0" width="100%"/>"#,
                "not passed on",
            ),
            (
                how(&[How::Inferred]),
                r#"<rect class="exp inferred" x="0" width="100%"/>"#,
                "guessed",
            ),
            (
                rows.iter().any(|row| row.overhang.is_some()),
                r#"<rect class="exp over" x="0" width="100%"/>"#,
                "promised past it",
            ),
            (
                kind(StretchKind::Held),
                r#"<rect class="own" x="0" width="100%"/>"#,
                "held the clock",
            ),
            (
                kind(StretchKind::HeldDependency),
                r#"<rect class="depd" x="0" width="100%" fill="url(#h-dep)"/>"#,
                "by a dependency",
            ),
            (
                kind(StretchKind::HeldUnreported),
                r#"<rect class="unrep" x="0" width="100%" fill="url(#h-unrep)"/>"#,
                "unreported",
            ),
            (
                kind(StretchKind::Beside),
                r#"<rect class="beside" x="0" width="100%"/>"#,
                "ran beside",
            ),
            (
                kind(StretchKind::Waiting),
                r#"<rect class="waitb" x="0" width="100%"/>"#,
                "waiting",
            ),
            (
                kind(StretchKind::Transit),
                r#"<rect class="transit" x="0" width="100%" fill="url(#h-transit)"/>"#,
                "transit",
            ),
            (
                kind(StretchKind::Backoff),
                r#"<rect class="backoff" x="0" width="100%"/>"#,
                "backoff",
            ),
            (
                kind(StretchKind::Late)
                    || kind(StretchKind::LateDependency)
                    || kind(StretchKind::LateWaiting),
                r#"<rect class="lateown" x="0" width="100%" fill="url(#h-after)"/>"#,
                "after its deadline",
            ),
            (
                rows.iter().any(|row| !row.given_up.is_empty()),
                r#"<path class="cutm" d="M8 3 16 11M16 3 8 11"/>"#,
                "call given up",
            ),
            (
                rows.iter()
                    .any(|row| !row.propagated || row.sent == Sent::Nothing),
                r#"<line class="nbl" x1="0" x2="100%" y1="7" y2="7"/><path class="cutm" d="M8 11.5 10.5 2.5M12.5 11.5 15 2.5"/>"#,
                "deadline not passed on",
            ),
        ];
        f.write_str(r#"<div class="legend">"#)?;
        for (_, picture, words) in entries.iter().filter(|(shown, ..)| *shown) {
            write!(
                f,
                r#"<span><svg class="lg" aria-hidden="true">{picture}</svg>{words}</span>"#
            )?;
        }
        f.write_str("</div>")
    }
}
