//! The pages with the numbers of the reference pages.

use askama::Template as _;

use super::coverage::coverage_page;
use super::findings::findings_page;
use super::map::map_page;
use super::overview::overview_page;
use super::service::service_page;
use super::services::services_page;
use crate::query::fleet::bands::{RankBy, ServiceOrder};
use crate::query::fleet::findings::Which;
use crate::query::fleet::fixtures;
use crate::web::params::Params;
use crate::web::period::Period;

fn period() -> Period {
    let window = "since=2026-10-07T08:30:00Z&until=2026-10-07T09:30:00Z";
    Period::read(&Params::read(Some(window))).unwrap()
}

/// Each page by its name; white space that does not break is a space.
fn pages() -> Vec<(&'static str, String)> {
    let period = period();
    let pages = [
        (
            "overview",
            overview_page(&fixtures::overview(), &period, RankBy::Excess).render(),
        ),
        (
            "held",
            overview_page(&fixtures::overview(), &period, RankBy::Held).render(),
        ),
        (
            "services",
            services_page(fixtures::services(), &period, ServiceOrder::Missed).render(),
        ),
        (
            "service",
            service_page(&fixtures::service(), &period).render(),
        ),
        ("map", map_page(&fixtures::map(), &period).render()),
        (
            "findings",
            findings_page(&fixtures::findings(), &Which::default(), &period).render(),
        ),
        (
            "coverage",
            coverage_page(&fixtures::coverage(), &period).render(),
        ),
    ];
    pages
        .into_iter()
        .map(|(name, page)| (name, page.unwrap().replace('\u{a0}', " ")))
        .collect()
}

fn page(wanted: &str) -> String {
    let found = pages().into_iter().find(|(name, _)| *name == wanted);
    found.unwrap().1
}

/// What stands between two texts, the first time.
fn between<'a>(page: &'a str, before: &str, after: &str) -> &'a str {
    let from = page.split_once(before).map_or("", |(_, rest)| rest);
    from.split_once(after).map_or("", |(found, _)| found)
}

#[test]
fn the_overview_has_the_numbers_of_the_reference() {
    let page = page("overview");
    for part in [
        ">171,418<",
        ">1.87 %<",
        "hour before 0.61 %",
        ">2,911 <small>s</small>",
        "0.81 slots for nobody, peak 0.8",
        ">104 %<",
        ">81.4 %<",
        "first break: client → orders",
        ">09:07 misses rise</text>",
        "<td class=\"num\">166,824</td><td class=\"num q\">97.32 %</td>",
        "budget of 3,214 missed requests, 4,210 s",
        "484 of 3,214 (15 %). The other 85 % page a team that did not spend it.",
        " 73×</span>",
        ">no typical<",
        ">14 others<",
        "2026-10-07 08:30–09:30 UTC",
    ] {
        assert!(page.contains(part), "{part}");
    }
    // Sixty buckets, each a link; a window that is over is not asked for anew.
    assert_eq!(page.matches("data-label=").count(), 60);
    assert!(!page.contains("id=\"live\""));
}

#[test]
fn what_is_counted_is_linked_as_exactly_these_requests() {
    let page = page("overview");
    let window = "since=2026-10-07T08%3A30%3A00Z&amp;until=2026-10-07T09%3A30%3A00Z";
    let cell = between(&page, "1,512 misses surfaced at payments", "</a>");
    assert!(cell.ends_with("1,512"), "{cell}");
    let link = format!(
        "/requests?q=outcome%3Dmissed%20and%20surfaced.service%3Dpayments%20and%20\
         culprit.service%3Dinventory%20and%20culprit.part%3Ddependency%20and%20\
         culprit.to%3D%22postgresql%20stock%22&amp;{window}&amp;sort=worst"
    )
    .replace('&', "&#38;");
    let link = link.replace("&#38;amp;", "&amp;");
    assert!(page.contains(&link), "{link}");
    let others = "and%20not%20%28culprit.service%3Dinventory%20and%20culprit.part%3Ddependency";
    assert!(page.contains(others));
}

#[test]
fn the_keys_lead_to_the_culprit_and_to_the_worst_miss() {
    let page = page("overview");
    let culprit = between(&page, "data-key=\"c\" href=\"", "\"");
    assert!(
        culprit.starts_with("/services/inventory/Reserve?since="),
        "{culprit}"
    );
    let worst = between(&page, "data-key=\"w\" href=\"", "\"");
    assert!(worst.starts_with("/requests/"), "{worst}");
    assert!(between(&page, "data-go=\"m\"", "</a>").ends_with("Map"));
}

#[test]
fn holders_are_ranked_by_what_was_asked() {
    let order = |page: &str| -> Vec<String> {
        let rows = page.split("data-k=\"h-").skip(1);
        rows.map(|row| row.split('-').next().unwrap_or_default().to_owned())
            .collect()
    };
    assert_eq!(
        order(&page("overview"))[4..6],
        ["checkout → inventory", "promo Match"]
    );
    assert_eq!(
        order(&page("held"))[3..5],
        ["checkout Checkout", "promo Match"]
    );
    assert!(
        page("held").contains("<a href=\"/?by=excess&#38;since=")
            || page("held").contains("<a href=\"/?by=excess&amp;since=")
    );
}

#[test]
fn a_service_shows_what_arrives_and_what_it_did() {
    let page = page("service");
    for part in [
        "61,204 arrivals with a budget",
        "332 of 61,204 arrivals had less than the 20 ms of min useful, 0 of those answered",
        "min useful 20 ms",
        "typical run 34 ms",
        ">400–600</text>",
        ">none</td>",
        "1.31 attempts per call",
        "3 callees more not shown.",
        "/services/inventory/POST%20%2Fre%20count%3F%26%3Cb%3E?since=",
        "left on arrival p5 471 ms.",
    ] {
        assert!(page.contains(part), "{part}");
    }
    assert!(!page.contains("<b>}") && !page.contains("&<b>"));
}

#[test]
fn the_map_leaves_out_in_words_and_says_what_is_not_passed_on() {
    let page = page("map");
    for part in [
        "5 nodes, 5 edges; width is traffic",
        "3 nodes with less traffic more not shown. 5 edges more not shown.",
        "500 → 498",
        "class=\"brk\"",
        "class=\"nd dep\"",
        ">8.2 % missed</text>",
        "<rect class=\"bt\" x=\"0\" width=\"50.499%\" height=\"100%\"/>",
    ] {
        assert!(page.contains(part), "{part}");
    }
}

#[test]
fn every_rule_is_explained_where_it_is_found() {
    let page = page("findings");
    for rule in crate::model::Rule::ALL {
        let section = format!("<code class=\"rule\">{rule}</code>");
        assert!(page.contains(&section), "{rule}");
    }
    assert_eq!(page.matches("<dl class=\"lang\">").count(), 21);
    assert!(page.contains("<code class=\"any\">http.NewRequestWithContext(ctx, …)</code>"));
    assert!(page.contains("5 edges more not shown. Filter by rule or service"));
    assert!(page.contains("since 2026-10-07 09:07 UTC"));
}

#[test]
fn coverage_tells_the_first_break_and_its_trend() {
    let page = page("coverage");
    for part in [
        ">client</bdi></a>",
        ">7,204</td>",
        "2026-10-07 09:14:00.000 UTC",
        "class=\"rs\"",
        "class=\"np\"",
        "2 breaks more not shown.",
        "7 hops more not shown.",
        "09:29–09:30, not over yet",
    ] {
        assert!(page.contains(part), "{part}");
    }
}

#[test]
fn names_of_strangers_stay_text() {
    let bad = "<script>alert(1)</script>\u{202e}\u{1f600}";
    let mut overview = fixtures::overview();
    overview.spent.rows[0].service = bad.into();
    overview.spent.rows[0].operation = "x".repeat(10_000).as_str().into();
    overview.matrix.surfaced[0].service = bad.into();
    overview.matrix.spent[0].service = "y".repeat(10_000).as_str().into();
    overview.worst[0].service = bad.into();
    let mut map = fixtures::map();
    map.nodes[0].name = bad.into();
    map.edges[0].service = bad.into();
    let mut coverage = fixtures::coverage();
    coverage.edges[0].service = bad.into();
    let period = period();
    let pages = [
        overview_page(&overview, &period, RankBy::Held)
            .render()
            .unwrap(),
        map_page(&map, &period).render().unwrap(),
        coverage_page(&coverage, &period).render().unwrap(),
    ];
    for page in pages {
        assert!(!page.contains("<script>") && !page.contains('\u{202e}'));
        assert!(page.contains("&lt;script&gt;") || page.contains("&#60;script&#62;"));
    }
}
