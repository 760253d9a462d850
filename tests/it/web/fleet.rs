//! The pages about many requests, through the router.

use std::collections::BTreeSet;
use std::sync::Arc;

use axum::http::StatusCode;
use dwindle::model::{Kind, Outcome};
use dwindle::store::{self, Store};

use super::{Answer, Site, budget, sample_traces, span, trace};

/// The stretch in which the sample traces were recorded.
const WINDOW: &str = "since=2026-10-07T09:00:00Z&until=2026-10-07T10:00:00Z";

const PAGES: [&str; 6] = [
    "/",
    "/?by=held",
    "/services",
    "/map",
    "/findings",
    "/coverage",
];

fn within(path: &str) -> String {
    let sign = if path.contains('?') { '&' } else { '?' };
    format!("{path}{sign}{WINDOW}")
}

/// Where the links of a page lead, those of the frame too.
async fn links(site: &Site, path: &str) -> BTreeSet<String> {
    let page = site.page(path).await;
    let links = page.with_tag("a").into_iter();
    links
        .filter_map(|a| a.attribute("href"))
        .filter(|href| href.starts_with('/') && !href.starts_with("/api/"))
        .map(|href| href.split('#').next().unwrap_or_default().to_owned())
        .collect()
}

#[tokio::test]
async fn every_link_of_every_page_leads_to_a_page_that_is_well_formed() {
    let site = Site::samples();
    let mut wanted = BTreeSet::new();
    for path in PAGES {
        wanted.extend(links(&site, &within(path)).await);
    }
    for (kind, least) in [
        ("/services/", 9),
        ("/requests?q=", 9),
        ("/requests/", 9),
        ("/findings?rule=", 1),
    ] {
        let found = wanted.iter().filter(|link| link.starts_with(kind)).count();
        assert!(found >= least, "{found} links to {kind}");
    }
    for link in wanted {
        let answer = site.get(&link).await;
        let redirected = answer.status == StatusCode::SEE_OTHER;
        assert!(
            answer.status == StatusCode::OK || redirected,
            "{link}: {}",
            answer.status
        );
        if !redirected && answer.body.starts_with("<!doctype html>") {
            answer.page();
        }
    }
}

#[tokio::test]
async fn what_a_cell_counts_is_what_its_link_lists() {
    let site = Site::samples();
    let overview = site.page(&within("/")).await;
    let matrix = overview.with_class("matrix")[0];
    let mut cells = 0;
    for row in matrix.with_tag("tbody")[0].with_tag("tr") {
        for cell in row.with_tag("td") {
            for link in cell.with_tag("a") {
                let list = site.page(link.attribute("href").unwrap()).await;
                let rows = list.with_class("when").len();
                assert_eq!(
                    link.text(),
                    rows.to_string(),
                    "{:?}",
                    link.attribute("href")
                );
                cells += 1;
            }
        }
    }
    assert!(cells > 8, "{cells} cells");
    let missed = site.requests();
    let missed = missed.iter().filter(|one| one.outcome == Outcome::Missed);
    let key = overview.with_class("kt")[0];
    assert_eq!(key.with_tag("td")[2].text(), missed.count().to_string());
}

#[tokio::test]
async fn names_of_strangers_have_pages_and_stay_names() {
    let evil = "</title><script>alert(1)</script>/?#%2F";
    let long = "L".repeat(10_000);
    let mut root = span(1, None, evil, Kind::Server, (0, 1200));
    root.name = "GET /a/b?c=d".into();
    budget(&mut root, 1000);
    let call = span(2, Some(1), evil, Kind::Client, (10, 1190));
    let mut far = span(3, Some(2), &long, Kind::Server, (11, 1180));
    far.name = "\u{202e}turned".into();
    let step = span(4, Some(3), &long, Kind::Client, (12, 1170));
    let mut dots = span(5, Some(4), "..", Kind::Server, (13, 1160));
    dots.name = ".".into();
    let site = Site::of([trace(vec![root, call, far, step, dots])]);
    let mut paths: BTreeSet<String> = PAGES.into_iter().map(within).collect();
    let list = links(&site, &within("/services")).await;
    let services: Vec<String> = list
        .into_iter()
        .filter(|link| link.starts_with("/services/"))
        .collect();
    assert_eq!(services.len(), 3);
    for service in services {
        let more = links(&site, &service).await.into_iter();
        // Those of the control of time lead to the same page.
        let more = more.filter(|link| link.contains("since=2026-10-07"));
        paths.extend(more.filter(|link| link.starts_with("/services/")));
    }
    // Three services, and an operation of each.
    assert_eq!(paths.len(), PAGES.len() + 6);
    for path in paths {
        let page = site.page(&path).await;
        assert_eq!(page.with_tag("script").len(), 1, "{path}");
        let text = page.text();
        assert!(!text.contains(&"L".repeat(2001)) && !text.contains('\u{202e}'));
        assert!(!text.contains("did not run from"), "{path}: {text}");
    }
}

#[tokio::test]
async fn without_requests_each_page_says_what_to_do() {
    let empty = Site::empty();
    for path in ["/", "/services", "/map", "/findings", "/coverage"] {
        let text = empty.page(path).await.text();
        let endpoint = "OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4318";
        assert!(
            text.contains("No requests yet.") && text.contains(endpoint),
            "{path}: {text}"
        );
    }
    let site = Site::samples();
    for path in ["/", "/services", "/map", "/findings", "/coverage"] {
        let past = format!("{path}?since=2020-01-01T00:00:00Z&until=2020-01-01T01:00:00Z");
        let text = site.page(&past).await.text();
        assert!(
            text.contains("No requests from 2020-01-01 00:00\u{2013}01:00 UTC. The last one began at 2026-10-07"),
            "{text}"
        );
    }
    let text = site.page(&within("/services/nobody/at%2Fall")).await.text();
    assert!(
        text.contains("nobody at/all did not run from 2026-10-07 09:00"),
        "{text}"
    );
}

#[tokio::test]
async fn what_makes_no_sense_in_an_address_is_refused_with_what_may_stand_there() {
    let site = Site::samples();
    for (path, words) in [
        ("/?by=luck", "one of excess, held"),
        ("/?since=yesterday", "2026-10-07T09:00:00Z, or a time ago"),
        ("/map?since=-1h&until=-2h", "before `until`"),
        ("/services?sort=age", "one of held, name"),
        ("/findings?rule=none", "one of not_propagated"),
        ("/findings?severity=high", "one of error"),
    ] {
        let answer = site.get(path).await;
        assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{path}");
        assert!(answer.page().text().contains(words), "{path}");
    }
}

#[tokio::test]
async fn findings_are_filtered_by_their_address() {
    let site = Site::samples();
    let all = site.page(&within("/findings")).await;
    let some = site
        .page(&within("/findings?rule=budget_reset&severity=error"))
        .await;
    let rules = |page: &super::Element| -> Vec<String> {
        let sections = page.with_tag("section");
        sections
            .iter()
            .map(|one| one.with_tag("h2")[0].text())
            .collect()
    };
    assert!(rules(&all).len() > 6);
    assert_eq!(rules(&some), ["budget_reset"]);
    let none = site
        .page(&within("/findings?rule=budget_reset&severity=info"))
        .await;
    assert!(
        none.text()
            .contains("No finding is of this rule, severity and service")
    );
}

#[tokio::test]
async fn every_page_says_when_files_cannot_be_read() {
    let folder = tempfile::tempdir().unwrap();
    let open = || Arc::new(Store::open(folder.path(), store::Options::default()).unwrap());
    let mut site = Site::empty();
    site.store = open();
    for trace in sample_traces() {
        site.put(trace);
    }
    site.store.flush().unwrap();
    drop(site);
    let files = walkdir::WalkDir::new(folder.path()).into_iter();
    let files: Vec<_> = files.map(|entry| entry.unwrap().into_path()).collect();
    let damage = |table: &str| {
        let mut files = files.iter();
        let damaged = files.find(|file| file.to_string_lossy().contains(table) && file.is_file());
        std::fs::write(damaged.unwrap(), "nothing").unwrap();
    };
    damage("/hops/");
    let sums = walkdir::WalkDir::new(folder.path().join("index")).into_iter();
    for sum in sums.map(|entry| entry.unwrap().into_path()) {
        if sum.extension().is_some_and(|of| of == "sum") {
            std::fs::remove_file(sum).unwrap();
        }
    }
    let mut site = Site::empty();
    site.store = open();
    for path in PAGES.into_iter().chain(["/requests?q=hop.wasted%3E1ms"]) {
        let answer = site.get(&within(path)).await;
        assert_eq!(answer.status, StatusCode::OK, "{path}");
        let told = answer.body.replace('\u{a0}', " ");
        assert!(told.contains("1 stored file cannot be read"), "{path}");
    }
    let left_out = |answer: &Answer| answer.headers.get("dwindle-files-left-out").cloned();
    let answer = site.get("/api/v1/requests").await;
    assert_eq!(answer.status, StatusCode::OK);
    assert_eq!(left_out(&answer).unwrap(), "1");

    // Of what may be in it alone it is said which file it is, and not where the folder is.
    drop(site);
    damage("/spans/");
    let mut site = Site::empty();
    assert_eq!(left_out(&site.get("/api/v1/requests").await), None);
    site.store = open();
    let id = sample_traces()[0].id;
    for path in ["/traces/", "/api/v1/traces/"] {
        let answer = site.get(&format!("{path}{id}")).await;
        assert_eq!(answer.status, StatusCode::INTERNAL_SERVER_ERROR, "{path}");
        let told = &answer.body;
        assert!(
            told.contains("spans/date=") && told.contains("dwindle store verify"),
            "{told}"
        );
        assert!(!told.contains(folder.path().to_str().unwrap()), "{told}");
    }
}
