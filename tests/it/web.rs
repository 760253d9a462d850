//! The pages and the API, through the router and without sockets.

mod api;
mod filter;
mod fleet;
mod list;
mod markup;
mod request;

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::header::{self, HeaderMap};
use axum::http::{Method, Request, StatusCode};
use dwindle::budget::{Policy, Typical, analyse};
use dwindle::files::{self, Input};
use dwindle::model::{
    self, Attributes, Kind, Nanos, Outcome, Resource, Span, SpanId, Trace, TraceId, UnixNanos,
    Value,
};
use dwindle::otlp::Limits;
use dwindle::query::{facts, ledger, number, waterfall};
use dwindle::report::json;
use dwindle::settings::TraceUrl;
use dwindle::store::{Store, Stored};
use dwindle::telemetry::Telemetry;
use dwindle::web::{self, Keeping};
use http_body_util::BodyExt;
use tower::ServiceExt;

use crate::support;
use markup::Element;

struct Site {
    store: Arc<Store>,
    keeping: Keeping,
    trace_url: Option<TraceUrl>,
}

struct Answer {
    status: StatusCode,
    headers: HeaderMap,
    body: String,
}

impl Answer {
    fn header(&self, name: header::HeaderName) -> &str {
        self.headers
            .get(name)
            .map_or("", |value| value.to_str().unwrap())
    }

    /// The page, after holding it to the rules of the house.
    fn page(&self) -> Element {
        assert!(self.header(header::CONTENT_TYPE).starts_with("text/html"));
        let page = markup::read(&self.body).unwrap();
        assert_eq!(markup::faults(&page), Vec::<String>::new());
        page
    }
}

impl Site {
    fn empty() -> Self {
        Self {
            store: Arc::new(Store::in_memory(10_000, usize::MAX)),
            keeping: Keeping::Memory,
            trace_url: None,
        }
    }

    fn of(traces: impl IntoIterator<Item = Trace>) -> Self {
        let site = Self::empty();
        for trace in traces {
            site.put(trace);
        }
        site
    }

    fn samples() -> Self {
        Self::of(sample_traces())
    }

    fn put(&self, trace: Trace) {
        let analysis = analyse(&trace, &Policy::default(), &Typical::default());
        self.store.put(Stored {
            trace: Arc::new(trace),
            analysis: Arc::new(analysis),
            sample: false,
            log_from: u64::MAX,
        });
    }

    fn requests(&self) -> Vec<model::Request> {
        self.store
            .memory()
            .requests()
            .into_iter()
            .map(|(analysis, index, _)| analysis.requests[index].clone())
            .collect()
    }

    async fn send(&self, request: Request<Body>) -> Answer {
        let router = web::router(web::State {
            store: Arc::clone(&self.store),
            keeping: self.keeping,
            telemetry: Arc::new(Telemetry::new()),
            grpc_addr: "127.0.0.1:4317".to_owned(),
            http_addr: "127.0.0.1:4318".to_owned(),
            web_addr: "127.0.0.1:4319".to_owned(),
            trace_url: self.trace_url.clone(),
        });
        let response = router.oneshot(request).await.unwrap();
        let (parts, body) = response.into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        Answer {
            status: parts.status,
            headers: parts.headers,
            body: String::from_utf8(body.to_vec()).unwrap(),
        }
    }

    async fn get(&self, path: &str) -> Answer {
        self.send(Request::get(path).body(Body::empty()).unwrap())
            .await
    }

    async fn page(&self, path: &str) -> Element {
        let answer = self.get(path).await;
        assert_eq!(answer.status, StatusCode::OK, "{path}: {}", answer.body);
        answer.page()
    }
}

fn sample_traces() -> Vec<Trace> {
    let inputs: Vec<Input> = support::samples().into_iter().map(Input::Path).collect();
    let loaded = files::load(&inputs, &Limits::default(), &mut |_, _| {});
    assert!(loaded.problems.is_empty() && loaded.traces.len() >= 10);
    loaded.traces
}

fn path_of(request: &model::Request) -> String {
    format!("/requests/{}/{}", request.trace_id, request.request)
}

fn span(id: u64, parent: Option<u64>, service: &str, kind: Kind, at: (u64, u64)) -> Span {
    let begin = 1_791_364_500_000_000_000;
    Span {
        trace_id: TraceId([7; 16]),
        span_id: SpanId(id.to_be_bytes()),
        parent_id: parent.map(|parent| SpanId(parent.to_be_bytes())),
        name: "op".into(),
        kind,
        start: UnixNanos(begin + at.0 * 1_000_000),
        end: UnixNanos(begin + at.1 * 1_000_000),
        resource: Arc::new(Resource::new(Attributes::from_iter([(
            "service.name",
            Value::Str(service.into()),
        )]))),
        ..Span::default()
    }
}

fn trace(spans: Vec<Span>) -> Trace {
    Trace {
        id: TraceId([7; 16]),
        spans,
        logs: Vec::new(),
    }
}

fn budget(span: &mut Span, ms: i64) {
    span.attributes
        .0
        .push(("deadline.timeout_ms".into(), Value::Int(ms)));
}

#[tokio::test]
async fn every_page_is_well_formed_and_tells_the_browser_to_allow_nothing_else() {
    let site = Site::samples();
    let mut paths = vec![
        "/".to_owned(),
        "/requests?outcome=missed&sort=worst&limit=3".to_owned(),
        "/requests?outcome=no_budget".to_owned(),
        "/help".to_owned(),
    ];
    for request in site.requests() {
        paths.push(path_of(&request));
        paths.push(format!("{}?open=1&fold=none", path_of(&request)));
    }
    for path in paths {
        let answer = site.get(&path).await;
        assert_eq!(answer.status, StatusCode::OK, "{path}");
        answer.page();
        assert_eq!(
            answer.header(header::CONTENT_SECURITY_POLICY),
            "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; \
             connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
        );
        assert_eq!(answer.header(header::X_CONTENT_TYPE_OPTIONS), "nosniff");
        assert_eq!(answer.header(header::REFERRER_POLICY), "same-origin");
        assert_eq!(answer.header(header::CACHE_CONTROL), "no-store");
    }
}

#[tokio::test]
async fn every_worked_example_makes_a_page_of_the_same_numbers() {
    let Some(corpus) = support::corpus() else {
        return;
    };
    let mut files: Vec<_> = std::fs::read_dir(corpus.join("cases"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "jsonl")
        })
        .collect();
    files.sort();
    assert!(files.len() >= 27);
    for file in files {
        let loaded = files::load(&[Input::Path(file)], &Limits::default(), &mut |_, _| {});
        let site = Site::of(loaded.traces);
        for request in site.requests() {
            same_numbers(&site, &request).await;
        }
    }
}

#[tokio::test]
async fn what_is_not_there_says_so_with_the_right_status() {
    let site = Site::samples();
    let known = site.requests().remove(0);
    for (path, status, words) in [
        ("/nope".to_owned(), 404, "There is no page at this address."),
        (
            "/assets/other.css".to_owned(),
            404,
            "There is no such file.",
        ),
        (
            format!("/requests/{}/0000000000000fff", known.trace_id),
            404,
            "has no request 0000000000000fff",
        ),
        (
            format!("/requests/{}/0000000000000001", "0f".repeat(16)),
            404,
            "is held.",
        ),
        ("/requests/xyz/1".to_owned(), 400, "32 hex digits"),
        (
            format!("/requests/{}/1", known.trace_id),
            400,
            "16 hex digits",
        ),
        ("/traces/12".to_owned(), 400, "32 hex digits"),
        (format!("{}?rows=0", path_of(&known)), 400, "from 1 to 500"),
        (format!("{}?from=x", path_of(&known)), 400, "`from` is `x`"),
        (
            "/requests?sort=best".to_owned(),
            400,
            "one of newest, worst",
        ),
        ("/requests?cursor=7".to_owned(), 400, "`cursor` is `7`"),
        ("/traces?q=123".to_owned(), 400, "`q` is `123`"),
        (
            "/traces?q=ffffffff".to_owned(),
            404,
            "No trace ffffffff is held.",
        ),
    ] {
        let answer = site.get(&path).await;
        assert_eq!(answer.status, status, "{path}");
        assert!(
            answer.page().text().contains(words),
            "{path}: {}",
            answer.page().text()
        );
    }
    let post = Request::post("/requests").body(Body::empty()).unwrap();
    let answer = site.send(post).await;
    assert_eq!(answer.status, StatusCode::METHOD_NOT_ALLOWED);
    assert!(!answer.header(header::ALLOW).is_empty());
    answer.page();
}

#[tokio::test]
async fn the_list_says_what_stays_where_it_is_kept() {
    let month = Duration::from_hours(30 * 24);
    let mut site = Site::samples();
    for (keeping, wanted) in [
        (Keeping::Memory, "held in memory; the oldest leave first; 2"),
        (Keeping::Folder(Some(month)), "kept for 30 days; 2"),
        (Keeping::Folder(None), "requests2"),
    ] {
        site.keeping = keeping;
        let text = site.page("/requests").await.text().replace('\u{a0}', " ");
        assert!(text.contains(wanted), "{wanted}: {text}");
        let other = ["in memory", "kept for"].into_iter();
        let mut other = other.filter(|words| !wanted.contains(words));
        assert!(other.all(|words| !text.contains(words)), "{text}");
    }
}

#[tokio::test]
async fn head_answers_like_get_without_the_body() {
    let site = Site::samples();
    for path in ["/", "/help", "/api/v1/requests"] {
        let get = site.get(path).await;
        let request = Request::builder()
            .method(Method::HEAD)
            .uri(path)
            .body(Body::empty());
        let head = site.send(request.unwrap()).await;
        assert_eq!((head.status, head.body.as_str()), (StatusCode::OK, ""));
        assert_eq!(
            head.header(header::CONTENT_LENGTH),
            get.body.len().to_string()
        );
    }
}

#[tokio::test]
async fn assets_are_kept_by_browsers_under_names_that_change_with_their_content() {
    let site = Site::empty();
    let page = site.page("/").await;
    let style = page.with_tag("link")[0]
        .attribute("href")
        .unwrap()
        .to_owned();
    let script = page.with_tag("script")[0]
        .attribute("src")
        .unwrap()
        .to_owned();
    for (path, kind) in [
        (style, "text/css; charset=utf-8"),
        (script, "text/javascript; charset=utf-8"),
    ] {
        let answer = site.get(&path).await;
        assert_eq!(
            (answer.status, answer.header(header::CONTENT_TYPE)),
            (StatusCode::OK, kind)
        );
        assert_eq!(
            answer.header(header::CACHE_CONTROL),
            "public, max-age=31536000, immutable"
        );
        let tag = answer.header(header::ETAG).to_owned();
        let again = Request::get(&path)
            .header(header::IF_NONE_MATCH, &tag)
            .body(Body::empty());
        let again = site.send(again.unwrap()).await;
        assert_eq!(
            (again.status, again.body.as_str()),
            (StatusCode::NOT_MODIFIED, "")
        );
        let other = Request::get(&path)
            .header(header::IF_NONE_MATCH, "\"other\"")
            .body(Body::empty());
        assert_eq!(site.send(other.unwrap()).await.status, StatusCode::OK);
    }
}

#[tokio::test]
async fn only_names_of_this_machine_are_served_on_loopback() {
    let site = Site::samples();
    for (host, status) in [
        ("localhost:4319", 200),
        ("127.0.0.1:4319", 200),
        ("evil.example:4319", 421),
        ("localhost.evil.example", 421),
    ] {
        let request = Request::get("/api/v1/requests")
            .header(header::HOST, host)
            .body(Body::empty());
        let answer = site.send(request.unwrap()).await;
        assert_eq!(answer.status, status, "{host}");
        assert_eq!(answer.body.contains("trace_id"), status == 200, "{host}");
    }
}

#[tokio::test]
async fn names_from_strangers_are_text_and_nothing_else() {
    let evil = "</title><script>alert(1)</script>\"'><img src=x onerror=alert(2)>&amp;";
    let long = "L".repeat(10_240);
    let turned = "pay\u{202e}lla \u{5e9}\u{5dc}\u{5d5}\u{5dd}\u{0}\u{1b}[31m";
    let mut root = span(1, None, evil, Kind::Client, (0, 1000));
    root.name = turned.into();
    budget(&mut root, 1000);
    let mut hop = span(2, Some(1), turned, Kind::Server, (1, 1300));
    hop.name = evil.into();
    hop.attributes
        .0
        .push((evil.into(), Value::Str(evil.into())));
    hop.attributes
        .0
        .push(("long".into(), Value::Str(long.as_str().into())));
    hop.status.message = evil.into();
    let mut call = span(3, Some(2), turned, Kind::Client, (200, 1250));
    call.name = long.as_str().into();
    budget(&mut call, 2000);
    let mut far = span(4, Some(3), &long, Kind::Server, (201, 1200));
    far.name = evil.into();
    let site = Site::of([trace(vec![root, hop, call, far])]);

    let list = site.page("/requests").await;
    assert!(
        list.with_class("nmc")[0]
            .text()
            .starts_with("</title><script>alert(1)</script>")
    );
    let path = path_of(&site.requests()[0]);
    for path in [path.clone(), format!("{path}?open=1")] {
        let page = site.page(&path).await;
        assert!(page.with_tag("h1")[0].text().starts_with(evil));
        assert!(page.with_tag("h1")[0].text().contains("pay\\u{202e}lla"));
        assert!(page.with_tag("title")[0].text().contains("</title>"));
        // Neither raw nor turned into an element: exactly the one script of every page.
        assert_eq!(page.with_tag("script").len(), 1);
        assert_eq!(page.with_tag("img").len(), 0);
        let text = page.text();
        assert!(!text.contains(&"L".repeat(2001)) && text.contains(&"L".repeat(100)));
        assert!(!text.contains(['\u{0}', '\u{1b}', '\u{202e}']));
    }
}

/// What a row's cell has to say, from the numbers that `query` made.
fn own_cell(row: &waterfall::Row) -> String {
    let mut out = number::ms(row.own);
    if row.own_late > Nanos::ZERO {
        out.extend([" +", &number::ms(row.own_late)]);
    }
    if let Some(times) = row.times_typical.filter(|times| *times >= 15) {
        out.extend([" ", &number::times(times)]);
    }
    out
}

fn left_cell(row: &waterfall::Row) -> String {
    let left = row.left.map(number::ms).unwrap_or_default();
    let sent = match (row.told, row.sent) {
        (Some(told), _) => format!("told {}", number::ms(told)),
        (None, waterfall::Sent::Nothing) => "\u{2192} none".to_owned(),
        (None, waterfall::Sent::Budget(sent)) => format!("\u{2192} {}", number::ms(sent)),
        (None, waterfall::Sent::Leaf | waterfall::Sent::Unknown) => String::new(),
    };
    format!("{left} {sent}").trim().to_owned()
}

#[tokio::test]
async fn every_number_on_a_request_page_is_the_one_that_query_made() {
    let site = Site::samples();
    for request in site.requests() {
        same_numbers(&site, &request).await;
    }
}

/// Compares every cell of a request's page with what `query` says.
async fn same_numbers(site: &Site, request: &model::Request) {
    let path = path_of(request);
    let page = site.page(&path).await;
    let wanted = waterfall::waterfall(request);

    let rows = page.with_tag("details");
    assert_eq!(rows.len(), wanted.rows.len(), "{path}");
    for (shown, row) in rows.iter().zip(&wanted.rows) {
        let cell = |class: &str| shown.with_class(class)[0].text();
        assert_eq!(cell("c-own"), own_cell(row), "{path}");
        assert_eq!(cell("c-left"), left_cell(row), "{path}");
        assert_eq!(cell("c-verdict"), row.verdict.words(), "{path}");
        let sentence = shown.with_tag("summary")[0]
            .with_class("sr")
            .iter()
            .map(|sr| sr.text())
            .collect::<String>();
        assert!(
            sentence.contains(&format!("ended at {}", number::ms_unit(row.end))),
            "{sentence}"
        );
        assert_eq!(sentence.contains("culprit"), row.culprit);
        assert_eq!(sentence.contains("surfaced"), row.surfaced);
    }

    let told: Vec<String> = page.with_class("facts")[0]
        .with_tag("dd")
        .iter()
        .map(|dd| dd.text())
        .collect();
    let facts: Vec<String> = facts::facts(request)
        .iter()
        .map(|fact| format!("{} {}", fact.value, fact.more).trim().to_owned())
        .collect();
    assert_eq!(told, facts, "{path}");

    let ledger = ledger::ledger(request);
    let table = page.with_class("lt")[0];
    let cells: Vec<Vec<String>> = table.with_tag("tbody")[0]
        .with_tag("tr")
        .iter()
        .map(|tr| tr.with_tag("td").iter().map(|td| td.text()).collect())
        .collect();
    for (cells, row) in cells.iter().zip(&ledger.rows) {
        assert!(cells[1].contains(&row.name), "{path}: {cells:?}");
        assert_eq!(cells[3], number::ms(row.time), "{path}");
        assert_eq!(cells[4], number::percent(row.time, ledger.whole), "{path}");
    }
    let total: Vec<String> = table.with_class("tot")[0]
        .with_tag("b")
        .iter()
        .map(|b| b.text())
        .collect();
    let (whole, share) = (
        number::ms(ledger.whole),
        number::percent(ledger.whole, ledger.whole),
    );
    assert_eq!(total[1..], [whole, share], "{path}");
}

#[tokio::test]
async fn the_ledger_bar_is_tiled_by_its_pieces() {
    let site = Site::samples();
    for request in site.requests() {
        let page = site.page(&path_of(&request)).await;
        let bar = page.with_class("led")[0];
        let number = |element: &Element, key: &str| -> f64 {
            element
                .attribute(key)
                .unwrap()
                .trim_end_matches('%')
                .parse()
                .unwrap()
        };
        let mut at = 0.0;
        for rect in bar.with_tag("rect") {
            assert!(
                (number(rect, "x") - at).abs() < 0.002,
                "a gap at {at} in {}",
                path_of(&request)
            );
            at = number(rect, "x") + number(rect, "width");
        }
        assert!((at - 100.0).abs() < 0.002, "{at} in {}", path_of(&request));
    }
}

#[tokio::test]
async fn the_opened_row_shows_in_bold_the_key_that_its_budget_was_read_from() {
    let mut root = span(1, None, "client", Kind::Client, (0, 900));
    budget(&mut root, 1000);
    root.attributes
        .0
        .push(("http.request.method".into(), Value::Str("GET".into())));
    let site = Site::of([trace(vec![root])]);
    let page = site.page(&path_of(&site.requests()[0])).await;
    let used: Vec<String> = page
        .with_class("used")
        .iter()
        .map(|row| row.text())
        .collect();
    // The hop and its only call are the same span; both rows show it.
    assert!(
        !used.is_empty() && used.iter().all(|row| row == "deadline.timeout_ms1000"),
        "{used:?}"
    );
    assert!(page.with_class("body")[0].text().contains("observed."));
}

#[tokio::test]
async fn the_list_filters_sorts_and_pages_without_loss() {
    let site = Site::samples();
    let all = site.requests();
    let page = site.page("/requests").await;
    assert_eq!(page.with_class("when").len(), all.len());

    let missed = site.page("/requests?outcome=missed&sort=worst").await;
    let outcomes: Vec<String> = missed.with_class("req")[0]
        .with_class("bd")
        .iter()
        .map(|bd| bd.text())
        .collect();
    let wanted = all
        .iter()
        .filter(|request| request.outcome == Outcome::Missed)
        .count();
    assert!(outcomes.len() == wanted && outcomes.iter().all(|words| words == "missed"));
    let wasted: Vec<f64> = missed.with_class("req")[0].with_tag("tbody")[0]
        .with_tag("tr")
        .iter()
        .map(|tr| {
            tr.with_tag("td")[11]
                .text()
                .replace(',', "")
                .parse()
                .unwrap_or(0.0)
        })
        .collect();
    assert!(wasted.is_sorted_by(|a, b| a >= b), "{wasted:?}");

    let mut seen = Vec::new();
    let mut path = Some("/requests?limit=3".to_owned());
    while let Some(here) = path {
        let page = site.page(&here).await;
        seen.extend(
            page.with_class("when")
                .iter()
                .map(|cell| cell.with_tag("a")[0].attribute("href").unwrap().to_owned()),
        );
        let next = page
            .with_tag("a")
            .into_iter()
            .find(|a| a.attribute("rel") == Some("next"));
        path = next.map(|a| a.attribute("href").unwrap().to_owned());
    }
    assert_eq!(seen, all.iter().map(path_of).collect::<Vec<_>>());
}

#[tokio::test]
async fn an_empty_list_says_where_to_point_an_exporter() {
    let page = Site::empty().page("/requests").await;
    let text = page.text();
    assert!(text.contains("No requests yet."));
    assert!(
        text.contains("OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4318"),
        "{text}"
    );
    assert!(
        text.contains("OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4317"),
        "{text}"
    );
    let filtered = Site::of([trace(vec![span(1, None, "a", Kind::Server, (0, 5))])]);
    let text = filtered.page("/requests?outcome=missed").await.text();
    assert!(
        text.contains("No missed requests.") && !text.contains("No requests yet."),
        "{text}"
    );
}

#[tokio::test]
async fn samples_are_called_samples() {
    let site = Site::empty();
    let trace = sample_traces().remove(0);
    let analysis = analyse(&trace, &Policy::default(), &Typical::default());
    site.store.put(Stored {
        trace: Arc::new(trace),
        analysis: Arc::new(analysis),
        sample: true,
        log_from: u64::MAX,
    });
    for path in [
        "/",
        "/requests",
        "/services",
        "/map",
        "/findings",
        "/coverage",
    ] {
        let text = site.page(path).await.text();
        assert!(text.contains("These are samples"), "{path}");
    }
    let page = site.page(&path_of(&site.requests()[0])).await;
    assert!(page.with_class("crumb")[0].text().contains("sample"));
    assert!(
        !Site::samples()
            .page("/")
            .await
            .text()
            .contains("These are samples")
    );
}

#[tokio::test]
async fn a_trace_leads_to_its_worst_request_and_that_to_the_others() {
    let site = Site::samples();
    let several = site.requests().into_iter().find(|request| {
        site.store
            .memory()
            .get(request.trace_id)
            .unwrap()
            .analysis
            .requests
            .len()
            > 1
    });
    let several = several.unwrap();
    let stored = site.store.memory().get(several.trace_id).unwrap();
    let id = several.trace_id.to_string();

    let answer = site.get(&format!("/traces/{}", id.to_uppercase())).await;
    assert_eq!(answer.status, StatusCode::SEE_OTHER);
    let worst = answer.header(header::LOCATION).to_owned();
    let rank =
        |request: &model::Request| Outcome::ALL.iter().position(|one| *one == request.outcome);
    let shown = stored
        .analysis
        .requests
        .iter()
        .find(|one| path_of(one) == worst)
        .unwrap();
    assert!(
        stored
            .analysis
            .requests
            .iter()
            .all(|one| rank(shown) <= rank(one))
    );

    let page = site.page(&worst).await;
    let links: Vec<&str> = page
        .with_tag("a")
        .iter()
        .filter_map(|a| a.attribute("href"))
        .collect();
    for other in &stored.analysis.requests {
        assert_eq!(
            links.contains(&path_of(other).as_str()),
            path_of(other) != worst
        );
    }

    let found = site.get(&format!("/traces?q={}", id.split_at(8).0)).await;
    assert_eq!(found.header(header::LOCATION), format!("/traces/{id}"));
}

#[tokio::test]
async fn the_api_answers_what_the_json_report_prints() {
    let site = Site::samples();
    let all = site.requests();
    let answer = site.get("/api/v1/requests").await;
    assert_eq!(answer.header(header::CONTENT_TYPE), "application/json");
    let rows: Vec<String> = all.iter().map(json::listed).collect();
    assert_eq!(
        answer.body,
        format!("{{\"requests\":[{}],\"next\":null}}", rows.join(","))
    );

    let first = site.get("/api/v1/requests?limit=2").await;
    let value: serde_json::Value = serde_json::from_str(&first.body).unwrap();
    let next = value["next"].as_str().unwrap();
    let second = site
        .get(&format!("/api/v1/requests?limit=2&cursor={next}"))
        .await;
    assert!(
        second
            .body
            .starts_with(&format!("{{\"requests\":[{},{}],", rows[2], rows[3]))
    );

    for request in &all {
        let stored = site.store.memory().get(request.trace_id).unwrap();
        let objects: Vec<String> = stored.analysis.requests.iter().map(json::one).collect();
        let answer = site
            .get(&format!("/api/v1/traces/{}", request.trace_id))
            .await;
        assert_eq!(answer.body, format!("[{}]", objects.join(",")));
    }

    for (path, status) in [
        ("/api/v1/requests?limit=x", 400),
        ("/api/v1/traces/xy", 400),
        ("/api/v1/traces/0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f", 404),
        ("/api/v2", 404),
    ] {
        let answer = site.get(path).await;
        assert_eq!(answer.status, status, "{path}");
        let value: serde_json::Value = serde_json::from_str(&answer.body).unwrap();
        assert!(!value["error"].as_str().unwrap().is_empty());
    }
}

#[tokio::test]
async fn the_api_and_the_command_agree_byte_for_byte() {
    let site = Site::samples();
    for file in support::samples() {
        let output = support::run(&["trace", file.to_str().unwrap(), "--format", "json"]);
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        let lines = String::from_utf8(output.stdout).unwrap();
        let lines: Vec<&str> = lines.lines().collect();
        let value: serde_json::Value = serde_json::from_str(lines[0]).unwrap();
        let id = value["trace_id"].as_str().unwrap();
        let answer = site.get(&format!("/api/v1/traces/{id}")).await;
        assert_eq!(
            answer.body,
            format!("[{}]", lines.join(",")),
            "{}",
            file.display()
        );
    }
}

/// A root that calls `width` hops, each of which is the head of a chain of `depth`.
fn large(width: u64, depth: u64) -> Trace {
    let mut root = span(1, None, "root", Kind::Server, (0, 100_000));
    root.attributes
        .0
        .push(("deadline.remaining_in_ms".into(), Value::Int(90_000)));
    let mut spans = vec![root];
    for column in 0..width {
        let start = 1 + column * 90_000 / width;
        for level in 0..depth {
            let id = 2 + column * depth + level;
            let parent = if level == 0 { 1 } else { id - 1 };
            let service = format!("s{}", level % 7);
            spans.push(span(
                id,
                Some(parent),
                &service,
                Kind::Server,
                (start + level / 8, 99_999 - column - level / 8),
            ));
        }
    }
    trace(spans)
}

#[tokio::test]
async fn a_large_request_makes_a_page_of_bounded_size_that_says_what_is_not_on_it() {
    for (width, depth) in [(600, 1), (1, 600), (20, 30)] {
        let site = Site::of([large(width, depth)]);
        let request = site.requests().remove(0);
        let path = path_of(&request);
        for query in [
            "?fold=none",
            "",
            "?fold=none&rows=500&from_row=300",
            "?fold=none&open=0",
        ] {
            let answer = site.get(&format!("{path}{query}")).await;
            assert!(
                answer.body.len() < 3_000_000,
                "{width}×{depth}{query}: {}",
                answer.body.len()
            );
            answer.page();
        }
        let page = site.page(&format!("{path}?fold=none")).await;
        assert_eq!(page.with_tag("details").len(), 200);
        let text = page.text();
        assert!(text.contains("Showing rows 1\u{2013}200 of 601."), "{text}");
        let next = page
            .with_tag("a")
            .into_iter()
            .find(|a| a.text() == "next 200")
            .unwrap();
        let next = site.page(next.attribute("href").unwrap()).await;
        assert!(next.text().contains("Showing rows 201\u{2013}400 of 601."));
        assert_eq!(next.with_tag("details")[0].attribute("id"), Some("r200"));
        // The ledger is of the whole request on every page.
        assert_eq!(
            next.with_class("lt")[0].text(),
            page.with_class("lt")[0].text()
        );
    }
}

#[tokio::test]
async fn the_page_of_the_chain_stays_as_it_is() {
    let site = Site::of(sample_traces().into_iter().take(1));
    let answer = site.get(&path_of(&site.requests()[0])).await;
    answer.page();
    // One element a line, and without the names that change with the assets' content.
    let page: String = answer
        .body
        .replace("><", ">\n<")
        .lines()
        .filter(|line| !line.contains("/assets/"))
        .collect::<Vec<_>>()
        .join("\n");
    insta::assert_snapshot!("request_chain", page);
}
