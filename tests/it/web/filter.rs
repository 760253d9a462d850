//! The filter of the list: in the address, in its box, in the API, and explained.

use std::fmt::Write as _;

use axum::http::StatusCode;
use axum::http::header;
use dwindle::model;
use dwindle::query::filter::{Filter, fields};
use dwindle::report::json;

use super::Site;

fn encoded(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        write!(out, "%{byte:02X}").unwrap();
    }
    out
}

#[tokio::test]
async fn the_list_and_the_api_take_the_filter_of_the_command_line() {
    let site = Site::samples();
    let text = "outcome=missed and wasted > 200ms or hop.verdict=expired_on_arrival";
    let filter = Filter::parse(text).unwrap();
    let all = site.requests();
    let wanted: Vec<&model::Request> = all.iter().filter(|one| filter.matches(one)).collect();
    assert!(wanted.len() > 2 && wanted.len() < all.len());

    let answer = site
        .get(&format!("/api/v1/requests?q={}", encoded(text)))
        .await;
    let rows: Vec<String> = wanted.iter().map(|one| json::listed(*one)).collect();
    let expected = format!("{{\"requests\":[{}],\"next\":null}}", rows.join(","));
    assert_eq!(answer.body, expected);

    let page = site
        .page(&format!("/requests?q={}&sort=worst", encoded(text)))
        .await;
    let count = format!("{} requests", wanted.len());
    assert!(page.text().contains(&count), "{}", page.text());
    // The box keeps the text; links and the form keep the rest of the address.
    let answer = site
        .get(&format!("/requests?q={}&sort=worst", encoded(text)))
        .await;
    assert!(
        answer.body.contains(
            "value=\"outcome=missed and wasted &#62; 200ms or hop.verdict=expired_on_arrival\""
        ),
        "{}",
        answer.body
    );
    assert!(answer.body.contains("name=\"sort\" value=\"worst\""));
    let kept = encoded_by_pages(text);
    assert!(
        answer.body.contains(&format!(
            "/requests?q={kept}&#38;outcome=met&#38;sort=worst"
        )),
        "{}",
        answer.body
    );
}

/// As links of pages have it: letters, digits and `-._~` as they are.
fn encoded_by_pages(text: &str) -> String {
    let kept = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    text.bytes()
        .map(|byte| {
            if kept(byte) {
                char::from(byte).to_string()
            } else {
                format!("%{byte:02X}")
            }
        })
        .collect()
}

#[tokio::test]
async fn what_is_wrong_with_a_filter_is_marked_in_its_place() {
    let site = Site::samples();
    let text = "outcome=mised and service=\"<script>\"";
    let answer = site.get(&format!("/requests?q={}", encoded(text))).await;
    assert_eq!(answer.status, StatusCode::BAD_REQUEST);
    answer.page();
    assert!(
        answer
            .body
            .contains("outcome=<mark>mised</mark> and service="),
        "{}",
        answer.body
    );
    assert!(answer.body.contains("is it `missed`?"));
    assert!(answer.body.contains("aria-invalid=\"true\""));
    assert!(!answer.body.contains("<script>\""), "{}", answer.body);

    let answer = site
        .get(&format!("/api/v1/requests?q={}", encoded(text)))
        .await;
    assert_eq!(answer.status, StatusCode::BAD_REQUEST);
    assert_eq!(
        answer.body,
        r#"{"error":"`q`, column 9, `mised`: `outcome` is never `mised`; is it `missed`?"}"#
    );
    // A text that ends too early is marked at its end.
    let answer = site.get("/requests?q=wasted+%3E").await;
    assert!(
        answer.body.contains("wasted &#62;<mark> </mark>"),
        "{}",
        answer.body
    );
}

#[tokio::test]
async fn a_filter_that_nothing_matches_says_so() {
    let site = Site::samples();
    let page = site.page("/requests?q=service%3Dnobody").await;
    assert!(
        page.text().contains("No request matches this filter."),
        "{}",
        page.text()
    );
    let held = format!("of {} held", site.requests().len());
    assert!(page.text().contains(&held), "{}", page.text());
}

#[tokio::test]
async fn the_box_at_the_top_takes_ids_and_filters() {
    let site = Site::samples();
    let moved = |answer: &super::Answer| answer.header(header::LOCATION).to_owned();
    let answer = site.get("/traces?q=service%3Dedge").await;
    assert_eq!(moved(&answer), "/requests?q=service%3Dedge");
    let id = site.requests()[0].trace_id.to_string();
    let answer = site.get(&format!("/traces?q={id}")).await;
    assert_eq!(moved(&answer), format!("/traces/{id}"));
    // In the filter's own box the beginning of an id is one, too.
    let answer = site
        .get(&format!("/api/v1/requests?q={}", id.get(..8).unwrap()))
        .await;
    assert!(answer.body.contains(&id) && answer.body.matches("\"revision\"").count() < 4);
}

#[tokio::test]
async fn help_lists_every_field_with_its_type() {
    let site = Site::empty();
    let text = site.page("/help").await.text();
    for field in fields() {
        assert!(
            text.contains(field.name) && text.contains(field.doc),
            "{}",
            field.name
        );
    }
    // Every example of the help is a filter.
    let body = site.get("/help").await.body;
    let links: Vec<&str> = body
        .split("href=\"/requests?q=")
        .skip(1)
        .map(|rest| rest.split('"').next().unwrap())
        .collect();
    assert!(links.len() >= 8);
    for link in links {
        assert_eq!(
            site.get(&format!("/requests?q={link}")).await.status,
            StatusCode::OK,
            "{link}"
        );
    }
}
