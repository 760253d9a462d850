//! The request's page: zoom, clocks, folds, finding, its parts, and what stands beside it.

use super::*;
use dwindle::model::HandedOver;
use dwindle::otlp::traces_from_json;
use dwindle::query::attempts;
use dwindle::settings;

fn links(page: &Element) -> Vec<(String, String)> {
    let all = page.with_tag("a").into_iter();
    all.filter_map(|a| Some((a.text(), a.attribute("href")?.to_owned())))
        .collect()
}

fn link(page: &Element, id: &str) -> String {
    let found = page.all().into_iter();
    let mut found = found.filter(|one| one.attribute("id") == Some(id));
    let link = found.next().unwrap_or_else(|| panic!("no #{id}"));
    link.attribute("href").unwrap().to_owned()
}

/// The first sample with this root.
fn sample(site: &Site, service: &str, operation: &str) -> model::Request {
    let mut all = site.requests().into_iter();
    all.find(|one| one.service == service && one.operation == operation)
        .unwrap()
}

/// `x` and `x + width` of the solid blocks of a row, in per cent.
fn blocks(page: &Element, row: usize) -> Vec<(f64, f64)> {
    let id = format!("r{row}");
    let mut rows = page.with_tag("details").into_iter();
    let row = rows.rfind(|row| row.attribute("id") == Some(&id)).unwrap();
    let number = |rect: &Element, key: &str| -> f64 {
        let text = rect.attribute(key).unwrap();
        text.trim_end_matches('%').parse().unwrap()
    };
    let blocks = row.with_class("bars")[0].with_tag("rect").into_iter();
    blocks
        .filter(|rect| {
            ["own", "beside", "depd", "waitb"]
                .iter()
                .any(|class| rect.has_class(class))
        })
        .map(|rect| (number(rect, "x"), number(rect, "x") + number(rect, "width")))
        .collect()
}

#[tokio::test]
async fn a_zoomed_axis_says_its_range_keeps_fit_in_reach_and_frames_the_strip() {
    let site = Site::samples();
    let request = sample(&site, "edge", "POST /checkout");
    let path = path_of(&request);
    let whole = site.page(&path).await;
    assert!(whole.with_class("frame").is_empty());
    assert!(!whole.text().contains("Showing"));

    let page = site.page(&format!("{path}?from=400&to=900")).await;
    let text = page.text().replace('\u{a0}', " ");
    assert!(text.contains("Showing 400 to 900 ms of 1,874 ms"), "{text}");
    assert_eq!(link(&page, "zoom-fit"), path);
    assert_eq!(page.with_class("frame").len(), 1);
    assert_eq!(link(&page, "zoom-in"), format!("{path}?from=525&to=775"));
    assert_eq!(link(&page, "zoom-out"), format!("{path}?from=150&to=1150"));
    assert_eq!(
        link(&page, "zoom-deadline"),
        format!("{path}?from=1350&to=1650")
    );
    // A block that goes on beyond the axis fills it to its end; what ended before it is not there.
    let drawn = waterfall::waterfall(&request);
    for (index, row) in drawn.rows.iter().enumerate() {
        let shown = blocks(&page, index);
        let seen = row
            .stretches
            .iter()
            .any(|one| one.end > Nanos::from_millis(400) && one.start < Nanos::from_millis(900));
        assert_eq!(!shown.is_empty(), seen, "row {index}");
        assert!(
            shown
                .iter()
                .all(|(x, to)| (0.0..=100.0).contains(x) && *to <= 100.001)
        );
    }
    // The numbers are of the whole row whatever is shown of it.
    let cells = |page: &Element| -> Vec<String> {
        let cells = page.with_class("lines")[0].with_class("c-own");
        cells.iter().map(|cell| cell.text()).collect()
    };
    assert_eq!(cells(&page), cells(&whole));

    for query in [
        "from=900&to=400",
        "from=soon",
        "from=5000",
        "to=-3",
        "from=1&to=1",
    ] {
        let answer = site.get(&format!("{path}?{query}")).await;
        assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{query}");
    }
}

#[tokio::test]
async fn raw_clocks_are_a_link_away_and_every_shift_is_told() {
    let mut root = span(1, None, "front", Kind::Server, (0, 100));
    budget(&mut root, 500);
    let call = span(2, Some(1), "front", Kind::Client, (10, 90));
    // Its clock is behind: it begins before it was called.
    let far = span(3, Some(2), "back", Kind::Server, (10, 90));
    let mut far = Span {
        start: UnixNanos(call.start.0 - 40_000_000),
        end: UnixNanos(call.end.0 - 50_000_000),
        ..far
    };
    budget(&mut far, 400);
    let site = Site::of([trace(vec![root, call, far])]);
    let request = site.requests().remove(0);
    let path = path_of(&request);
    let offset = request.hops[1].clock_offset;
    assert!(offset > Nanos::ZERO, "{offset:?}");

    let aligned = site.page(&path).await;
    let raw = site.page(&link(&aligned, "clock-raw")).await;
    assert_eq!(link(&raw, "clock-aligned"), path);
    let said = |page: &Element| -> String {
        let rows = page.with_tag("summary");
        rows[1]
            .with_class("sr")
            .iter()
            .map(|sr| sr.text())
            .collect()
    };
    let row = &waterfall::waterfall(&request).rows[1];
    let at = |time| format!("arrived at {},", number::ms_unit(time));
    assert!(
        said(&aligned).contains(&at(row.start)),
        "{}",
        said(&aligned)
    );
    assert!(
        said(&raw).contains(&at(row.start - offset)),
        "{}",
        said(&raw)
    );
    let told = format!("+{}", number::ms_unit(offset));
    for page in [&aligned, &raw] {
        let rows = page.with_tag("section").into_iter();
        let clocks = rows.filter(|one| one.attribute("aria-label") == Some("Clocks"));
        let clocks = clocks.map(Element::text).collect::<String>();
        assert!(clocks.contains("2\u{a0}hosts, 1 moved"), "{clocks}");
        assert!(clocks.contains(&told), "{clocks}");
        // In the opened row, too, and as a whisker on the bar.
        let body = page.with_class("body")[1].text();
        assert!(body.contains(&format!("moved by {told}")), "{body}");
        assert!(!page.with_class("wh").is_empty());
    }
    // A request on one clock has nothing to choose.
    let plain = Site::samples();
    let page = plain
        .page(&path_of(&sample(&plain, "client", "POST /orders")))
        .await;
    assert!(
        page.all()
            .iter()
            .all(|one| one.attribute("id") != Some("clock-raw"))
    );
}

#[tokio::test]
async fn a_subtree_is_folded_and_unfolded_by_links_and_says_what_is_in_it() {
    let site = Site::samples();
    let request = sample(&site, "edge", "POST /checkout");
    let path = path_of(&request);
    let page = site.page(&path).await;
    let rows = page.with_tag("details").len();
    let folds = page.with_class("tw");
    assert!(folds.len() > 3);
    // Everything below the root, with the culprit and the worst verdict in it.
    let folded = site.page(folds[0].attribute("href").unwrap()).await;
    assert_eq!(folded.with_tag("details").len(), 1);
    let line = folded.with_class("fold")[0];
    assert!(line.text().contains("hops, worst "), "{}", line.text());
    assert!(
        line.with_class("sr")
            .iter()
            .any(|sr| sr.text() == "culprit")
    );
    let back = line.with_tag("a")[0].attribute("href").unwrap();
    assert_eq!(site.page(back).await.with_tag("details").len(), rows);
    // The opened row has the same link, for those who have no gutter.
    let in_body = links(page.with_class("body")[0]);
    let wanted = folds[0].attribute("href").unwrap();
    assert!(
        in_body.iter().any(|(_, href)| href == wanted),
        "{in_body:?}"
    );
}

#[tokio::test]
async fn finding_covers_rows_that_are_not_on_the_page() {
    let mut large = large(20, 30);
    for (nth, span) in large.spans.iter_mut().enumerate() {
        span.attributes
            .0
            .push(("item.id".into(), Value::Int(nth as i64)));
    }
    let site = Site::of([large]);
    let path = path_of(&site.requests()[0]);
    let found = site
        .page(&format!("{path}?fold=none&find=ITEM.ID%3D577"))
        .await;
    let text = found.text();
    assert!(text.contains("match 1 of 1"), "{text}");
    let hit = found.with_class("now");
    assert_eq!(hit.len(), 1);
    let id = hit[0].attribute("id").unwrap();
    let number: usize = id.trim_start_matches('r').parse().unwrap();
    assert!(number >= 200);
    // Also where it was folded, and on the next match of many.
    let folded = site.page(&format!("{path}?find=item.id%3D577")).await;
    assert_eq!(folded.with_class("now").len(), 1);
    let many = site
        .page(&format!("{path}?find=item.id%3D57&fold=none"))
        .await;
    assert!(many.text().contains("match 1 of 11"), "{}", many.text());
    let next = site
        .page(link(&many, "hit-after").split('#').next().unwrap())
        .await;
    assert!(next.text().contains("match 2 of 11"));
    assert_ne!(
        next.with_class("now")[0].attribute("id"),
        many.with_class("now")[0].attribute("id")
    );
    let before = link(&many, "hit-before");
    let last = site.page(before.split('#').next().unwrap()).await;
    assert!(last.text().contains("match 11 of 11"));
    let nothing = site.page(&format!("{path}?find=no+such+thing")).await;
    assert!(nothing.text().contains("found nowhere in this request"));
    // The API finds the same.
    let found = site
        .get(&format!("/api/v1{path}/find?q=item.id%3D57"))
        .await;
    let found: serde_json::Value = serde_json::from_str(&found.body).unwrap();
    assert_eq!(found.as_array().unwrap().len(), 11);
}

#[tokio::test]
async fn parts_of_a_page_are_what_the_page_has() {
    let site = Site::of([large(20, 30)]);
    let path = path_of(&site.requests()[0]);
    let page = site
        .get(&format!("{path}?fold=none&from_row=200&rows=100"))
        .await;
    let part = |query: &str| {
        let path = format!("{path}?fold=none&{query}");
        let site = &site;
        async move {
            let answer = site.get(&path).await;
            assert_eq!(answer.status, StatusCode::OK, "{path}");
            answer.body
        }
    };
    let rows = part("part=rows&from_row=200&rows=100").await;
    assert!(page.body.contains(rows.trim()));
    assert_eq!(rows.matches("<details").count(), 100);
    assert!(rows.contains("data-n=\"201\""));
    let whole = part("part=waterfall&from_row=200&rows=100").await;
    assert!(whole.starts_with("<section class=\"wf") && page.body.contains(whole.trim()));
    let opened = site.get(&format!("{path}?fold=none&open=300")).await;
    let detail = part("part=detail&open=300").await;
    assert!(detail.starts_with("<div class=\"body\">") && opened.body.contains(detail.trim()));
    assert!(
        !rows.contains("class=\"spans\""),
        "a row among many brings its spans"
    );
    let answer = site.get(&format!("{path}?part=detail&open=99999")).await;
    assert_eq!(answer.status, StatusCode::BAD_REQUEST);
    let answer = site.get(&format!("{path}?part=some")).await;
    assert_eq!(answer.status, StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn a_link_to_a_span_opens_its_row_wherever_it_is() {
    let site = Site::of([large(20, 30)]);
    let request = site.requests().remove(0);
    let path = path_of(&request);
    let hop = &request.hops[533];
    let page = site.page(&format!("{path}?span={}", hop.span_id)).await;
    let open: Vec<_> = page
        .with_tag("details")
        .into_iter()
        .filter(|row| row.attribute("open").is_some())
        .collect();
    assert_eq!(open.len(), 1);
    let anchor = format!("span-{}", hop.span_id);
    let mut inside = open[0].all().into_iter();
    assert!(inside.any(|one| one.attribute("id") == Some(&anchor)));
    let hrefs = links(open[0]);
    let permanent = format!("{path}?span={0}#span-{0}", hop.span_id);
    assert!(
        hrefs.iter().any(|(_, href)| *href == permanent),
        "{hrefs:?}"
    );
    // About the time of the request, however long ago that is.
    let service = format!("/services/{}/op?since=2026-", hop.service);
    assert!(
        hrefs.iter().any(|(_, href)| href.starts_with(&service)),
        "{hrefs:?}"
    );
    let answer = site.get(&format!("{path}?span=00000000000fffff")).await;
    assert_eq!(answer.status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn what_was_handed_over_is_a_line_with_a_link_and_the_way_back() {
    let site = Site::samples();
    let orders = sample(&site, "orders", "POST /orders");
    let mailer = sample(&site, "mailer", "process order-placed");
    let over = HandedOver {
        trace_id: mailer.trace_id,
        request: mailer.request,
    };
    assert!(
        orders
            .hops
            .iter()
            .any(|hop| hop.handed_over.contains(&over))
    );
    let page = site.page(&path_of(&orders)).await;
    let line = page.with_class("handed")[0];
    assert!(
        line.text().contains("mailer process order-placed"),
        "{}",
        line.text()
    );
    assert_eq!(
        line.with_tag("a")[0].attribute("href"),
        Some(path_of(&mailer).as_str())
    );
    let back = site.page(&path_of(&mailer)).await;
    assert!(
        back.text().contains("Handed over by orders"),
        "{}",
        back.text()
    );
    let hrefs = links(&back);
    assert!(
        hrefs
            .iter()
            .any(|(_, href)| href.starts_with(&path_of(&orders)))
    );
    // Many have a line that counts them.
    let mut many = orders.clone();
    many.hops[0].handed_over = (1..=20)
        .map(|nth| HandedOver {
            trace_id: TraceId([9; 16]),
            request: SpanId([nth; 8]),
        })
        .collect();
    let stored = site.store.memory().get(orders.trace_id).unwrap();
    let mut analysis = (*stored.analysis).clone();
    let mut requests = analysis.requests.iter_mut();
    *requests.find(|one| one.request == orders.request).unwrap() = many;
    site.store.put(Stored {
        analysis: Arc::new(analysis),
        ..stored
    });
    let page = site.page(&path_of(&orders)).await;
    let lines: Vec<String> = page
        .with_class("handed")
        .iter()
        .map(|one| one.text())
        .collect();
    assert_eq!(lines.len(), 6);
    assert!(
        lines[5].contains("15\u{a0}requests more handed over"),
        "{lines:?}"
    );
}

#[tokio::test]
async fn attempts_stand_together_with_what_each_took_of_the_budget() {
    let site = Site::samples();
    let request = sample(&site, "edge", "POST /checkout");
    let page = site.page(&path_of(&request)).await;
    let tried = attempts::attempts(&request, None).remove(0);
    let mut sections = page.with_tag("section").into_iter();
    let section = sections
        .rfind(|one| one.attribute("aria-label") == Some("Attempts"))
        .unwrap();
    let shares: Vec<String> = section.with_tag("tbody")[0]
        .with_tag("tr")
        .iter()
        .map(|row| row.with_tag("td")[7].text())
        .collect();
    let wanted: Vec<String> = tried
        .attempts
        .iter()
        .map(|one| number::percent(one.share.0, one.share.1))
        .collect();
    assert!(wanted.len() == 2 && shares == wanted, "{shares:?}");
    let answer = site
        .get(&format!("/api/v1{}/attempts", path_of(&request)))
        .await;
    let told: serde_json::Value = serde_json::from_str(&answer.body).unwrap();
    assert_eq!(told[0]["to"], "inventory");
    assert_eq!(told[0]["attempts"][1]["attempt"], 2);
    let sum: f64 = [0, 1]
        .iter()
        .map(|nth| told[0]["attempts"][nth]["consumed_ms"].as_f64().unwrap())
        .sum();
    assert!((sum - told[0]["consumed_ms"].as_f64().unwrap()).abs() < 0.001);
}

#[tokio::test]
async fn the_api_has_one_request_its_clocks_and_its_trace_as_it_came() {
    let site = Site::samples();
    for request in site.requests() {
        let path = format!("/api/v1{}", path_of(&request));
        assert_eq!(site.get(&path).await.body, json::one(&request));
        let clocks = site.get(&format!("{path}/clocks")).await;
        let clocks: serde_json::Value = serde_json::from_str(&clocks.body).unwrap();
        let hops = clocks.as_array().unwrap().iter();
        let hops: u64 = hops.map(|host| host["hops"].as_u64().unwrap()).sum();
        assert_eq!(hops, request.hops.len() as u64);

        let answer = site
            .get(&format!("/api/v1/traces/{}/otlp", request.trace_id))
            .await;
        let name = format!("attachment; filename=\"trace-{}.json\"", request.trace_id);
        assert_eq!(answer.header(header::CONTENT_DISPOSITION), name);
        let read = traces_from_json(answer.body.as_bytes(), &Limits::default()).unwrap();
        let stored = site.store.memory().get(request.trace_id).unwrap();
        let sorted = |mut spans: Vec<Span>| {
            spans.sort_by_key(|span| (span.span_id, span.start));
            spans
        };
        assert_eq!(sorted(read.spans), sorted(stored.trace.spans.clone()));
    }
    let known = site.requests().remove(0).trace_id;
    for (path, status) in [
        (format!("/api/v1/requests/{known}/0000000000000fff"), 404),
        (format!("/api/v1/requests/{known}/1"), 400),
        (format!("/api/v1/traces/{}/otlp", "0f".repeat(16)), 404),
    ] {
        let answer = site.get(&path).await;
        assert_eq!(answer.status, status, "{path}");
        let value: serde_json::Value = serde_json::from_str(&answer.body).unwrap();
        assert!(!value["error"].as_str().unwrap().is_empty());
    }
}

/// A root that calls one service which takes so long, under a budget of 100 ms.
fn pair(nth: u8, took: u64) -> Trace {
    let mut root = span(1, None, "front", Kind::Server, (0, took + 10));
    root.attributes
        .0
        .push(("deadline.remaining_in_ms".into(), Value::Int(100)));
    let call = span(2, Some(1), "front", Kind::Client, (5, took + 5));
    let far = span(3, Some(2), "back", Kind::Server, (6, took + 4));
    let mut trace = trace(vec![root, call, far]);
    trace.id = TraceId([nth; 16]);
    for span in &mut trace.spans {
        span.trace_id = trace.id;
    }
    trace
}

#[tokio::test]
async fn a_request_is_held_against_a_typical_good_one() {
    let site = Site::of([pair(1, 300), pair(2, 20), pair(3, 30), pair(4, 80)]);
    let mut all = site.requests().into_iter();
    let bad = all.find(|one| one.outcome == Outcome::Missed).unwrap();
    let page = site.page(&path_of(&bad)).await;
    let (_, href) = links(&page)
        .into_iter()
        .find(|(text, _)| text.contains("compare"))
        .unwrap();
    let page = site.page(&href).await;
    let good = format!("/requests/{}/0000000000000001", "03".repeat(16));
    assert!(
        links(&page).iter().any(|(_, href)| *href == good),
        "{:?}",
        links(&page)
    );
    let told = site.get(&format!("/api/v1{href}")).await;
    let told: serde_json::Value = serde_json::from_str(&told.body).unwrap();
    assert_eq!(told["considered"], 3);
    assert_eq!(told["median_ms"], 40.0);
    assert_eq!(told["good"]["trace_id"], "03".repeat(16));
    let rows: Vec<String> = page.with_class("cmp")[0].with_tag("tbody")[0]
        .with_tag("tr")
        .iter()
        .map(|row| row.text())
        .collect();
    assert_eq!(rows.len(), 2);
    let spent = told["good"]["hops"][1]["spent_difference_ms"]
        .as_f64()
        .unwrap();
    let shown = number::signed(Nanos::from_millis(spent as i64));
    assert!(
        rows[1].starts_with("back op") && rows[1].contains(&shown),
        "{rows:?}"
    );

    let alone = Site::of([pair(1, 300)]);
    let page = alone.page(&format!("{}/compare", path_of(&bad))).await;
    assert!(
        page.text()
            .contains("There is no good request to compare with.")
    );
    let told = alone
        .get(&format!("/api/v1{}/compare", path_of(&bad)))
        .await;
    let told: serde_json::Value = serde_json::from_str(&told.body).unwrap();
    assert!(told["good"].is_null());
}

#[tokio::test]
async fn links_lead_out_to_the_backend_that_the_settings_name() {
    let mut site = Site::samples();
    let template = "https://jaeger.example/trace/{trace_id}?uiFind={span_id}";
    let flag = |key: &str| (key == "trace_url").then(|| template.to_owned());
    let told = settings::resolve(None, &flag, &|_| None).unwrap();
    site.trace_url = told.values.web.trace_url.value;
    let request = sample(&site, "edge", "POST /checkout");
    let answer = site.get(&path_of(&request)).await;
    let page = markup::read(&answer.body).unwrap();
    let out = |span| {
        format!(
            "https://jaeger.example/trace/{}?uiFind={span}",
            request.trace_id
        )
    };
    let hrefs: Vec<String> = links(&page).into_iter().map(|(_, href)| href).collect();
    assert_eq!(
        hrefs
            .iter()
            .filter(|href| **href == out(request.request))
            .count(),
        2
    );
    for hop in &request.hops {
        assert!(hrefs.contains(&out(hop.span_id)), "{}", hop.service);
    }
    let wrong = |key: &str| (key == "trace_url").then(|| "ftp://x/{trace_id}".to_owned());
    let told = settings::resolve(None, &wrong, &|_| None).unwrap_err();
    assert!(told.to_string().contains("https:// or http://"), "{told}");
}

#[tokio::test]
async fn an_automatic_fold_is_opened_by_its_link_and_the_others_stay() {
    let mut quiet = large(60, 1);
    quiet.spans[0].attributes.0[0].1 = Value::Int(200_000);
    // One that failed in the middle parts the folds.
    quiet.spans[30].status.code = model::StatusCode::Error;
    let site = Site::of([quiet]);
    let path = path_of(&site.requests()[0]);
    let page = site.page(&path).await;
    let folds = page.with_class("fold");
    assert_eq!(folds.len(), 2, "{}", page.text());
    let failed = page.with_class("c-verdict").into_iter();
    assert!(failed.map(Element::text).any(|text| text == "failed"));
    assert!(folds.iter().all(|fold| fold.text().contains("all ok")));
    let href = folds[0].with_tag("a")[0].attribute("href").unwrap();
    let opened = site.page(href.split('#').next().unwrap()).await;
    assert_eq!(opened.with_class("fold").len(), 1);
    let rows = |page: &Element| page.with_tag("details").len();
    assert!(rows(&opened) > rows(&page) + 20);
    let hrefs = links(&opened);
    let again = hrefs.iter().find(|(text, _)| text == "fold what is quiet");
    assert_eq!(again.map(|(_, href)| href), Some(&path));
    let (_, all) = hrefs.iter().find(|(text, _)| text == "unfold all").unwrap();
    assert_eq!(rows(&site.page(all).await), 61);
}
