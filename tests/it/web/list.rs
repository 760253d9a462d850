//! The list: its form, its heads, its histogram, and its rows for other programs.

use axum::http::StatusCode;
use axum::http::header;
use serde_json::Value;

use super::Site;
use super::markup::Element;

/// The paths of the requests that a page shows, in order.
fn shown(page: &Element) -> Vec<String> {
    let cells = page.with_class("when").into_iter();
    let links = cells.map(|cell| cell.with_tag("a")[0].attribute("href").unwrap().to_owned());
    links.collect()
}

fn link<'a>(page: &'a Element, words: &str) -> &'a str {
    let mut links = page.with_tag("a").into_iter();
    let found = links.find(|link| link.text().starts_with(words));
    let found = found.unwrap_or_else(|| panic!("no link {words}"));
    found.attribute("href").unwrap()
}

#[tokio::test]
async fn the_form_narrows_what_was_typed() {
    let site = Site::samples();
    let typed = shown(&site.page("/requests?q=outcome%3Dmissed").await);
    let formed = shown(&site.page("/requests?service=edge").await);
    let page = site
        .page("/requests?q=outcome%3Dmissed&service=edge&used=100&sort=-elapsed")
        .await;
    let both = shown(&page);
    assert!(!both.is_empty() && both.len() < typed.len().min(formed.len()));
    assert!(
        both.iter()
            .all(|one| typed.contains(one) && formed.contains(one))
    );
    // The same as one filter, and without any.
    let one = link(&page, "As one filter").to_owned();
    assert!(
        one.contains("used%20%3E%3D%20100%25") && !one.contains("&service="),
        "{one}"
    );
    assert_eq!(shown(&site.page(&one).await), both);
    let all = link(&page, "Show all").to_owned();
    assert_eq!(all, "/requests?sort=-elapsed");
    let refused = site.get("/requests?rule=nonsense").await;
    assert_eq!(refused.status, StatusCode::BAD_REQUEST);
    assert!(refused.body.contains("the name of a rule"));
}

#[tokio::test]
async fn other_programs_get_exactly_the_rows_that_are_shown() {
    let site = Site::samples();
    let first = site.page("/requests?limit=4&sort=-elapsed&used=10").await;
    let second = site.page(link(&first, "next page")).await;
    for page in [first, second] {
        let wanted = shown(&page);
        assert_eq!(wanted.len(), 4);
        let lines = site.get(link(&page, "NDJSON")).await;
        assert_eq!(lines.header(header::CONTENT_TYPE), "application/x-ndjson");
        assert!(
            lines
                .header(header::CONTENT_DISPOSITION)
                .contains("requests.ndjson")
        );
        let found: Vec<String> = lines
            .body
            .lines()
            .map(|line| {
                let row: Value = serde_json::from_str(line).unwrap();
                let text = |key: &str| row[key].as_str().unwrap().to_owned();
                format!("/requests/{}/{}", text("trace_id"), text("request"))
            })
            .collect();
        assert_eq!(found, wanted);

        let sheet = site.get(link(&page, "CSV")).await;
        assert!(sheet.header(header::CONTENT_TYPE).starts_with("text/csv"));
        let mut reader = csv::Reader::from_reader(sheet.body.as_bytes());
        let found: Vec<String> = reader
            .records()
            .map(|row| {
                let row = row.unwrap();
                format!("/requests/{}/{}", &row[1], &row[2])
            })
            .collect();
        assert_eq!(found, wanted);
    }
    // Of a page that is not all of them it is said where the next one is.
    let page = site.page("/requests?limit=3").await;
    let csv = link(&page, "CSV of 3").to_owned();
    let mut next = csv;
    let mut rows = 0;
    for _ in 0..100 {
        let sheet = site.get(&next).await;
        rows += sheet.body.lines().count() - 1;
        let Some(link) = sheet.headers.get(header::LINK) else {
            break;
        };
        let link = link.to_str().unwrap();
        let target = link
            .strip_prefix('<')
            .and_then(|link| link.strip_suffix(">; rel=\"next\""));
        next = target.unwrap_or_else(|| panic!("{link}")).to_owned();
        assert!(next.contains("format=csv"), "{next}");
    }
    assert_eq!(rows, shown(&site.page("/requests?limit=500").await).len());
    let refused = site.get("/api/v1/requests?format=xml").await;
    assert_eq!(refused.status, StatusCode::BAD_REQUEST);
    assert!(
        refused.body.contains("json, ndjson, csv"),
        "{}",
        refused.body
    );
}

#[tokio::test]
async fn every_head_sorts_by_its_column() {
    let site = Site::samples();
    let page = site.page("/requests").await;
    let heads: Vec<String> = page
        .with_class("srt")
        .iter()
        .map(|head| head.attribute("href").unwrap().to_owned())
        .collect();
    assert_eq!(heads.len(), 11);
    for (number, href) in heads.iter().enumerate() {
        let page = site.page(href).await;
        let head = page.with_class("srt")[number];
        let back = head.attribute("href").unwrap();
        let mut other = shown(&site.page(back).await);
        let mut here = shown(&page);
        assert_eq!(here.len(), other.len());
        assert_ne!(here, other, "{href}");
        here.sort_unstable();
        other.sort_unstable();
        assert_eq!(here, other, "{href}");
    }
}

#[tokio::test]
async fn a_bin_of_the_histogram_leads_to_as_many_requests() {
    let site = Site::samples();
    let page = site.page("/requests?q=outcome%3Dmissed").await;
    let table = page.with_class("astable")[0].with_tag("tbody")[0];
    let mut seen = 0;
    for row in table.with_tag("tr") {
        let cells = row.with_tag("td");
        let Some(link) = cells[0].with_tag("a").into_iter().next() else {
            continue;
        };
        let count: usize = cells[1].text().parse().unwrap();
        let found = shown(&site.page(link.attribute("href").unwrap()).await);
        assert_eq!(found.len(), count, "{}", cells[0].text());
        seen += count;
    }
    let missed = shown(&page).len();
    assert_eq!(seen, missed);
    let api = site.get("/api/v1/requests/used?q=outcome%3Dmissed").await;
    let api: Value = serde_json::from_str(&api.body).unwrap();
    let bins = api["bins"].as_array().unwrap();
    let matching = bins.iter().map(|bin| bin["matching"].as_u64().unwrap());
    assert_eq!(matching.sum::<u64>() as usize, missed);
}

#[tokio::test]
async fn what_completes_a_filter_is_what_the_parser_knows() {
    let site = Site::samples();
    let answer = site.get("/api/v1/filter").await;
    let answer: Value = serde_json::from_str(&answer.body).unwrap();
    let fields = answer["fields"].as_array().unwrap();
    let outcome = fields
        .iter()
        .find(|field| field["name"] == "outcome")
        .unwrap();
    assert_eq!(outcome["type"], "word");
    assert!(
        outcome["values"]
            .as_array()
            .unwrap()
            .contains(&"missed".into())
    );
    assert!(
        outcome["operators"]
            .as_array()
            .unwrap()
            .contains(&"=".into())
    );
}

#[tokio::test]
async fn names_are_those_of_the_requests_that_are_held() {
    let site = Site::samples();
    let answer = site.get("/api/v1/names").await;
    let answer: Value = serde_json::from_str(&answer.body).unwrap();
    let of = |kind: &str| -> Vec<String> {
        let names = answer[kind].as_array().unwrap().iter();
        names
            .map(|name| name.as_str().unwrap().to_owned())
            .collect()
    };
    let requests = site.requests();
    let hops = || requests.iter().flat_map(|request| &request.hops);
    let mut services: Vec<String> = hops().map(|hop| hop.service.to_string()).collect();
    services.sort_unstable();
    services.dedup();
    assert_eq!(of("services"), services);
    assert!(
        of("dependencies")
            .iter()
            .any(|name| name.starts_with("postgresql"))
    );
    assert!(of("operations").contains(&"POST /orders".to_owned()));
}

#[tokio::test]
async fn a_stretch_without_requests_leads_to_the_last_ones() {
    let site = Site::samples();
    let page = site
        .page("/requests?since=2001-01-01T00:00:00Z&until=2001-01-02T00:00:00Z")
        .await;
    assert!(
        page.text()
            .contains("No request started in this stretch of time.")
    );
    let there = link(&page, "Show them").to_owned();
    assert!(!shown(&site.page(&there).await).is_empty(), "{there}");
    // The control says what is shown, and keeps the filter.
    let page = site.page("/requests?since=-15m&q=outcome%3Dmet").await;
    let group = page.with_class("seg")[0];
    let current: Vec<String> = group
        .with_tag("a")
        .iter()
        .filter(|choice| choice.attribute("aria-current") == Some("true"))
        .map(|choice| choice.attribute("href").unwrap().to_owned())
        .collect();
    assert_eq!(current, ["/requests?q=outcome%3Dmet&since=-15m"]);
    assert!(
        site.page("/requests")
            .await
            .text()
            .contains("all that is kept")
    );
}

#[tokio::test]
async fn a_stretch_that_ends_before_it_begins_is_refused_as_everywhere() {
    let site = Site::samples();
    let reversed = "since=2026-10-07T10:00:00Z&until=2026-10-07T09:00:00Z";
    for path in [
        "/requests",
        "/api/v1/requests",
        "/services",
        "/api/v1/overview",
    ] {
        let answer = site.get(&format!("{path}?{reversed}")).await;
        assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{path}");
        assert!(
            answer.body.contains("before `until`"),
            "{path}: {}",
            answer.body
        );
    }
    let answer = site
        .get("/requests?since=2026-10-07T09:00:00Z&until=2026-10-07T10:00:00Z")
        .await;
    assert_eq!(answer.status, StatusCode::OK);
}
