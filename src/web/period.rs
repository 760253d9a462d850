//! The stretch of time that a page is about, as its address says it.

use super::error::Problem;
use super::params::{Link, Params, bad};
use crate::model::{Nanos, UnixNanos};
use crate::query::filter::instant;
use crate::query::fleet::{Ask, Stretch};
use crate::store::Window;
use crate::telemetry::clock;

/// What is shown where the address says nothing.
pub(super) const USUAL: &str = "-1h";

/// Answers are about whole minutes.
const MINUTE: u64 = 60_000_000_000;

/// A stretch of time, and how it was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Period {
    /// As it was typed; `None` where the address says nothing.
    since: Option<String>,
    until: Option<String>,
    stretch: Stretch,
    now: UnixNanos,
    /// Shorter than what was asked for, as all there is lies in it.
    narrowed: bool,
}

impl Period {
    /// Reads `since` and `until`: instants, or times ago such as `-15m`. Widened to whole minutes.
    pub(super) fn read(params: &Params) -> Result<Self, Problem> {
        Self::read_at(params, UnixNanos(clock::unix_nanos()))
    }

    fn read_at(params: &Params, now: UnixNanos) -> Result<Self, Problem> {
        // The minute that is not over is shown, and "1 h" is sixty minutes with it.
        let end = up(now);
        let since = at(params, "since", end)?;
        let until = at(params, "until", end)?.map_or(end, up);
        let since = match since {
            Some(since) => since,
            None => instant(USUAL, Some(until)).unwrap_or(until),
        };
        let stretch = Stretch {
            since: UnixNanos(since.0 - since.0 % MINUTE),
            until,
        };
        in_order(params, stretch.since, stretch.until)?;
        let text = |name| params.get(name).map(str::to_owned);
        Ok(Self {
            since: text("since"),
            until: text("until"),
            stretch,
            now,
            narrowed: false,
        })
    }

    /// Whether the address says nothing of time.
    pub(super) fn is_usual(&self) -> bool {
        self.since.is_none() && self.until.is_none()
    }

    /// The same page about another stretch, if the address says nothing.
    #[must_use]
    pub(super) fn or(self, first: UnixNanos, last: UnixNanos) -> Self {
        if !self.is_usual() {
            return self;
        }
        let stretch = Stretch {
            since: UnixNanos(first.0 - first.0 % MINUTE),
            until: up(UnixNanos(last.0.saturating_add(1))),
        };
        Self {
            stretch,
            narrowed: true,
            ..self
        }
    }

    /// The question about it.
    pub(super) fn ask(&self, buckets: usize, rows: usize) -> Ask {
        Ask {
            window: self.stretch,
            buckets,
            rows,
            now: self.now,
        }
    }

    pub(super) fn stretch(&self) -> Stretch {
        self.stretch
    }

    /// The window of a selection of requests.
    pub(super) fn window(&self) -> Window {
        Window {
            since: Some(self.stretch.since),
            until: Some(self.stretch.until),
        }
    }

    /// Whether it is what all there is lies in, which nobody chose.
    pub(super) fn is_narrowed(&self) -> bool {
        self.narrowed
    }

    /// When the question was asked.
    pub(super) fn now(&self) -> UnixNanos {
        self.now
    }

    /// Whether its end moves with the clock.
    pub(super) fn is_live(&self) -> bool {
        self.until
            .as_deref()
            .is_none_or(|text| text == "now" || text.starts_with(['-', '+']))
    }

    /// What stands in the address, for links that stay with it.
    pub(super) fn pairs(&self) -> [(&str, Option<&str>); 2] {
        [
            ("since", self.since.as_deref()),
            ("until", self.until.as_deref()),
        ]
    }

    /// A link to another page about the same stretch.
    pub(super) fn link(&self, path: &str, more: &[(&str, Option<&str>)]) -> String {
        let pairs: Vec<_> = more.iter().copied().chain(self.pairs()).collect();
        Link {
            path,
            pairs: &pairs,
        }
        .to_string()
    }

    /// A link to exactly the requests of this stretch that a filter takes.
    pub(super) fn requests(&self, filter: &str, more: &[(&str, Option<&str>)]) -> String {
        let (since, until) = (short(self.stretch.since), short(self.stretch.until));
        let q = Some(filter).filter(|filter| !filter.is_empty());
        let own = [
            ("q", q),
            ("since", Some(since.as_str())),
            ("until", Some(until.as_str())),
        ];
        let pairs: Vec<_> = own.into_iter().chain(more.iter().copied()).collect();
        Link {
            path: "/requests",
            pairs: &pairs,
        }
        .to_string()
    }
}

/// The half hours before and after a request, for links from it to pages about a stretch of time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Around(Option<(String, String)>);

impl Around {
    /// Of a request that began then.
    pub(super) fn of(start: UnixNanos) -> Self {
        Self::of_at(start, UnixNanos(clock::unix_nanos()))
    }

    /// Nothing where the usual stretch has it, and will for a while.
    fn of_at(start: UnixNanos, now: UnixNanos) -> Self {
        let half = Nanos::from_secs(1800);
        if start >= now.shifted(-half) {
            return Self(None);
        }
        let since = start.shifted(-half);
        let until = up(start.shifted(half));
        let since = UnixNanos(since.0 - since.0 % MINUTE);
        Self(Some((short(since), short(until))))
    }

    /// A link to a page about it.
    pub(super) fn link(&self, path: &str, more: &[(&str, Option<&str>)]) -> String {
        let (since, until) = self.0.as_ref().map(|(a, b)| (&**a, &**b)).unzip();
        let own = [("since", since), ("until", until)];
        let pairs: Vec<_> = more.iter().copied().chain(own).collect();
        Link {
            path,
            pairs: &pairs,
        }
        .to_string()
    }
}

/// An instant without the decimals that it does not have: `2026-10-07T09:00:00Z`.
pub(super) fn short(time: UnixNanos) -> String {
    let text = time.to_string();
    match text.strip_suffix(".000000000Z") {
        Some(whole) => format!("{whole}Z"),
        None => text,
    }
}

/// The whole minute that is not before.
pub(super) fn up(time: UnixNanos) -> UnixNanos {
    UnixNanos(time.0.div_ceil(MINUTE).saturating_mul(MINUTE))
}

/// That a stretch of time begins before it ends.
pub(super) fn in_order(params: &Params, since: UnixNanos, until: UnixNanos) -> Result<(), Problem> {
    if since < until {
        return Ok(());
    }
    let text = params.get("since").unwrap_or_default();
    Err(bad("since", text, "before `until`, and before now"))
}

/// The instant that a parameter names; a time ago counts back from `now`.
pub(super) fn at(
    params: &Params,
    name: &str,
    now: UnixNanos,
) -> Result<Option<UnixNanos>, Problem> {
    let Some(text) = params.get(name) else {
        return Ok(None);
    };
    let wanted = "an instant such as 2026-10-07T09:00:00Z, or a time ago such as -15m";
    match instant(text, Some(now)) {
        Ok(at) => Ok(Some(at)),
        Err(_) => Err(bad(name, text, wanted)),
    }
}

/// The stretches that a page offers, as words and as `since` has them.
pub(super) const CHOICES: [(&str, &str); 4] = [
    ("15\u{a0}min", "-15m"),
    ("1\u{a0}h", USUAL),
    ("6\u{a0}h", "-6h"),
    ("24\u{a0}h", "-24h"),
];

/// Which of them it is.
pub(super) fn choice(period: &Period) -> Option<&'static str> {
    if period.until.is_some() || period.narrowed {
        return None;
    }
    let since = period.since.as_deref().unwrap_or(USUAL);
    let known = CHOICES.iter().find(|(_, text)| *text == since);
    known.map(|(_, text)| *text)
}

/// How long the stretch is, in words: "hour", "15 minutes".
pub(super) fn length_words(stretch: Stretch) -> String {
    let minutes = stretch.length().0 / Nanos::from_secs(60).0;
    let counted = |number: i64, one: &str| match number {
        1 => one.to_owned(),
        number => format!("{number}\u{a0}{one}s"),
    };
    match minutes {
        minutes if minutes % 1440 == 0 => counted(minutes / 1440, "day"),
        minutes if minutes % 60 == 0 => counted(minutes / 60, "hour"),
        minutes => counted(minutes, "minute"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOON: UnixNanos = UnixNanos(1_791_374_400_000_000_000);

    fn read(query: &str) -> Result<Period, Problem> {
        Period::read_at(&Params::read(Some(query)), NOON)
    }

    fn shows(query: &str) -> (String, String) {
        let stretch = read(query).unwrap().stretch();
        (short(stretch.since), short(stretch.until))
    }

    #[test]
    fn around_a_request_of_before_is_its_hour_and_of_now_the_usual_stretch() {
        // 09:30 UTC.
        let now = UnixNanos(1_791_365_400_000_000_000);
        let request = UnixNanos(now.0 - 2 * 3_600_000_000_000 + 1);
        assert_eq!(
            Around::of_at(request, now).link("/findings", &[("rule", Some("queued"))]),
            "/findings?rule=queued&since=2026-10-07T07%3A00%3A00Z&until=2026-10-07T08%3A01%3A00Z"
        );
        let lately = now.shifted(-Nanos::from_secs(600));
        assert_eq!(
            Around::of_at(lately, now).link("/services/a", &[]),
            "/services/a"
        );
    }

    #[test]
    fn windows_are_whole_minutes_and_end_with_the_minute_that_is_not_over() {
        let noon = "2026-10-07T12:00:00Z".to_owned();
        assert_eq!(shows(""), ("2026-10-07T11:00:00Z".into(), noon.clone()));
        assert_eq!(shows("since=-15m"), ("2026-10-07T11:45:00Z".into(), noon));
        let later = UnixNanos(NOON.0 + 1);
        let period = Period::read_at(&Params::read(None), later).unwrap();
        assert_eq!(period.stretch().length(), Nanos::from_secs(3600));
        assert_eq!(short(period.stretch().until), "2026-10-07T12:01:00Z");
        assert_eq!(
            shows("since=2026-10-07T08:30:30Z&until=2026-10-07T09:00:01Z"),
            ("2026-10-07T08:30:00Z".into(), "2026-10-07T09:01:00Z".into())
        );
        // Without a beginning, the usual length before the end.
        assert_eq!(
            shows("until=2026-10-07T09:00:00Z"),
            ("2026-10-07T08:00:00Z".into(), "2026-10-07T09:00:00Z".into())
        );
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for bad in [
            "since=now",
            "since=yesterday",
            "since=-1h&until=-2h",
            "since=%2B1h",
            "until=x",
        ] {
            assert!(matches!(read(bad), Err(Problem::Bad(_))), "{bad}");
        }
    }

    #[test]
    fn a_past_window_stands_still_and_links_stay_with_it() {
        let past = read("since=2026-10-07T08:30:00Z&until=2026-10-07T09:30:00Z").unwrap();
        assert!(!past.is_live() && choice(&past).is_none());
        assert_eq!(
            past.link("/map", &[("by", Some("held"))]),
            "/map?by=held&since=2026-10-07T08%3A30%3A00Z&until=2026-10-07T09%3A30%3A00Z"
        );
        let live = read("since=-6h").unwrap();
        assert!(live.is_live());
        assert_eq!(choice(&live), Some("-6h"));
        assert_eq!(live.link("/map", &[]), "/map?since=-6h");
        assert_eq!(
            live.requests("outcome=missed", &[]),
            "/requests?q=outcome%3Dmissed&since=2026-10-07T06%3A00%3A00Z&until=2026-10-07T12%3A00%3A00Z"
        );
        assert_eq!(read("").unwrap().link("/map", &[]), "/map");
        assert!(read("since=-2h&until=-1h").unwrap().is_live());
    }

    #[test]
    fn where_nothing_was_asked_all_there_is_may_be_shown() {
        let first = UnixNanos(NOON.0 - 299_000_000_000);
        let narrowed = read("").unwrap().or(first, NOON);
        assert!(narrowed.is_narrowed() && narrowed.is_live() && choice(&narrowed).is_none());
        let stretch = narrowed.stretch();
        assert_eq!(short(stretch.since), "2026-10-07T11:55:00Z");
        assert_eq!(short(stretch.until), "2026-10-07T12:01:00Z");
        let asked = read("since=-15m").unwrap();
        assert_eq!(asked.clone().or(first, NOON), asked);
    }

    #[test]
    fn lengths_are_told_in_words() {
        let words = |query| length_words(read(query).unwrap().stretch()).replace('\u{a0}', " ");
        assert_eq!(words(""), "hour");
        assert_eq!(words("since=-15m"), "15 minutes");
        assert_eq!(words("since=-24h"), "day");
        assert_eq!(words("since=-6h"), "6 hours");
    }
}
