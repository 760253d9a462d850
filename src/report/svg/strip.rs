//! Who held the clock: the blocking path in time order, one row high.

use std::fmt::{self, Write as _};

use super::scale::Percent;
use super::{Escaped, Scale, display_name};
use crate::model::Nanos;
use crate::query::waterfall::{Range, Row, Stretch, StretchKind};
use crate::report::number;

/// Stretches that the label names, the longest.
const NAMED: usize = 12;

/// Everybody but the culprit.
const QUIET: &str = r#"class="quiet""#;

/// Quiet stretches narrower than this have no outline.
const OUTLINED_FROM: Percent = Percent::thousandths(150);

/// The strip of a request.
#[derive(Debug, Clone, Copy)]
pub struct Strip<'a> {
    /// The path, in time order.
    pub stretches: &'a [Stretch],
    /// The rows that own it.
    pub rows: &'a [Row],
    /// The request's deadline.
    pub deadline: Option<Nanos>,
    /// The axis: all of the time, whatever is shown of it below.
    pub scale: Scale,
    /// What is shown below, if that is not all.
    pub window: Option<Range>,
}

impl fmt::Display for Strip<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let label = self.label();
        write!(
            f,
            r#"<svg class="bars" role="img" aria-label="{}">"#,
            Escaped(&label)
        )?;
        let deadline = self
            .deadline
            .filter(|deadline| self.scale.reaches(*deadline));
        if let Some(x) = deadline.map(|deadline| self.scale.at(deadline)) {
            let width = Percent::FULL.less(x);
            write!(
                f,
                r#"<rect class="after" x="{x}" width="{width}" height="100%"/>"#
            )?;
        }
        for stretch in self.stretches {
            let (x, width) = self.scale.span(stretch.start, stretch.end);
            let look = match look(stretch) {
                // Outlines of many that are side by side would be all that is seen.
                QUIET if width < OUTLINED_FROM => r#"class="quiet s""#,
                look => look,
            };
            write!(f, r#"<rect {look} x="{x}" width="{width}"/>"#)?;
        }
        if let Some(x) = deadline.map(|deadline| self.scale.at(deadline)) {
            write!(
                f,
                r#"<line class="dl" x1="{x}" x2="{x}" y1="0" y2="100%"/>"#
            )?;
        }
        for stretch in self.stretches {
            self.name(stretch, f)?;
        }
        if let Some(window) = self.window {
            let (x, width) = self.scale.span(window.from, window.to);
            let end = x.plus(width);
            let rest = Percent::FULL.less(end);
            write!(
                f,
                r#"<rect class="veil" x="0" width="{x}" height="100%"/><rect class="veil" x="{end}" width="{rest}" height="100%"/><rect class="frame" x="{x}" width="{width}"/>"#
            )?;
        }
        f.write_str("</svg>")
    }
}

impl Strip<'_> {
    fn name(&self, stretch: &Stretch, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(name) = self.owner(stretch) else {
            return Ok(());
        };
        let ground = match stretch.kind {
            StretchKind::Held if stretch.culprit => "",
            StretchKind::HeldDependency if stretch.culprit => " d",
            StretchKind::HeldUnreported | StretchKind::Transit => " u",
            StretchKind::Late | StretchKind::LateDependency | StretchKind::LateWaiting => {
                return Ok(());
            }
            _ => " b",
        };
        let (x, width) = self.scale.span(stretch.start, stretch.end);
        if let Some(class) = width.label_class(name.chars().count()) {
            let (middle, name) = (x.middle(width), Escaped(&name));
            write!(
                f,
                r#"<text class="lab{ground} {class}" x="{middle}" y="50%">{name}</text>"#
            )?;
        }
        Ok(())
    }

    fn owner(&self, stretch: &Stretch) -> Option<String> {
        match stretch.kind {
            StretchKind::Transit => Some("transit".to_owned()),
            StretchKind::Backoff => Some("backoff".to_owned()),
            _ => self
                .rows
                .get(stretch.row)
                .map(|row| display_name(&row.name, 60)),
        }
    }

    fn label(&self) -> String {
        let mut longest: Vec<&Stretch> = self.stretches.iter().collect();
        longest.sort_by_key(|stretch| (stretch.start - stretch.end, stretch.start));
        longest.truncate(NAMED);
        longest.sort_by_key(|stretch| stretch.start);
        let mut out = String::from("Who held the clock, in time order: ");
        for (i, stretch) in longest.iter().enumerate() {
            if i > 0 {
                out.push_str(", ");
            }
            let name = self.owner(stretch).unwrap_or_default();
            let late = match stretch.kind {
                StretchKind::Late | StretchKind::LateDependency => " after the deadline",
                _ => "",
            };
            // Writing to a string does not fail.
            write!(
                out,
                "{name} {}{late}",
                number::ms_unit(stretch.end - stretch.start)
            )
            .unwrap_or_default();
        }
        if self.stretches.len() > NAMED {
            out.push_str(", and shorter stretches");
        }
        if let Some(Range { from, to }) = self.window {
            write!(
                out,
                "; shown below: {} to {}",
                number::ms_unit(from),
                number::ms_unit(to)
            )
            .unwrap_or_default();
        }
        out
    }
}

/// Colour for the culprit, grey for everybody else; textures say what kind of time it was.
fn look(stretch: &Stretch) -> &'static str {
    match (stretch.kind, stretch.culprit) {
        (StretchKind::Held, true) => r#"class="own""#,
        (StretchKind::HeldDependency, true) => r#"class="depd" fill="url(#h-dep)""#,
        (StretchKind::HeldUnreported, true) => r#"class="unrep cul" fill="url(#h-unrep)""#,
        (StretchKind::HeldUnreported, false) => r#"class="unrep" fill="none""#,
        (StretchKind::Transit, true) => r#"class="transit cul" fill="url(#h-transit)""#,
        (StretchKind::Transit, false) => r#"class="transit" fill="url(#h-transit)""#,
        (StretchKind::Backoff, _) => r#"class="backoff""#,
        (StretchKind::Late | StretchKind::LateWaiting, _) => {
            r#"class="lateown" fill="url(#h-after)""#
        }
        (StretchKind::LateDependency, _) => r#"class="latedep" fill="url(#h-afterdep)""#,
        _ => QUIET,
    }
}
