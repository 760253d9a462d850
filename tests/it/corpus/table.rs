//! What the log says in prose, file by file, and where we differ from it and why.

use dwindle::model::{Outcome, Verdict};

use super::check::Check::{self, *};

fn root(service: &str, operation: &str) -> Check {
    Root(service.to_owned(), operation.to_owned())
}

/// What must be of the files of which the log says it in prose.
#[expect(clippy::too_many_lines, reason = "a table")]
pub(super) fn prose() -> Vec<(&'static str, Vec<Check>)> {
    const OK: Verdict = Verdict::Ok;
    const LATE: Verdict = Verdict::ExceededHere;
    let late = |operation| Verdicts(operation, vec![LATE]);
    let fine = |operation| Verdicts(operation, vec![OK]);
    let bad = |operation| Verdicts(operation, vec![Verdict::Failed]);
    let s1 = || vec![root("S1", "O1"), NoTimeout];
    let mut rows = vec![
        (
            "derived/jaegerui-criticalpath-test1.json",
            vec![
                Took("operation C", 0.07),
                Took("operation D", 0.02),
                Took("operation E", 0.01),
            ],
        ),
        // Jaeger passes over a child that ends after the cursor; semantics section 6 takes it up to
        // the cursor: `op2` (10 to 50) is waited for until `op3` begins at 20.
        (
            "derived/jaegerui-criticalpath-test2.json",
            vec![Took("op1", 0.05), Took("op2", 0.01), Took("op3", 0.04)],
        ),
        (
            "derived/jaegerui-criticalpath-test7.json",
            vec![Took("op-A", 0.014), Took("op-B", 0.005), Took("op-C", 0.01)],
        ),
        (
            "derived/jaegerui-criticalpath-test8.json",
            vec![Took("op-A", 0.0), Took("op-B", 0.02)],
        ),
        (
            "derived/jaegerui-criticalpath-test9.json",
            vec![Took("op-A", 0.02), Took("op-B", 0.0)],
        ),
        (
            "derived/spec-file-exporter-logs.jsonl",
            vec![Skipped("no traces in this file (logs)")],
        ),
        (
            "derived/spec-file-exporter-metrics.jsonl",
            vec![Skipped("no traces in this file (metrics)")],
        ),
        (
            "invalid/jaeger-anon-empty.json",
            vec![Refused("file is empty")],
        ),
        (
            "invalid/jaeger-anon-wrong-format.json",
            vec![Refused("bare spans")],
        ),
        (
            "invalid/robot-malformed.json",
            vec![Spans(3), Traces(3), Problems(3)],
        ),
        (
            "invalid/smithclay-invalid-base64.json",
            vec![Spans(0), Rejected(1, "the trace id is not 16 bytes")],
        ),
        (
            "invalid/smithclay-mixed-encoding.json",
            vec![Spans(0), Rejected(1, "the trace id is not 16 bytes")],
        ),
        (
            "issues/istio-22968-float-timestamp.json",
            vec![Start(1_587_030_123_609_870_000)],
        ),
        (
            "issues/jaeger-ui-821-self-reference.json",
            vec![Requests(1)],
        ),
        (
            "issues/zipkin-3369-nonhex-id.json",
            vec![
                Text("dwindle.original_span_id", "efe9cb8857f68c8g"),
                Text("dwindle.missing", "start, end"),
            ],
        ),
        (
            "jaeger-es/jaeger-es_01-string-tags.json",
            vec![
                Spans(1),
                root("service-x", "test-general-conversion"),
                Errors(1),
            ],
        ),
        (
            "jaeger-proto/contrib-jaegerproto_batch_01.json",
            vec![Spans(1), root("api", "get"), Ran("get", 22.938)],
        ),
        (
            "jaeger-proto/contrib-jaegerproto_batch_02.json",
            vec![Spans(3), Service("api")],
        ),
        (
            "jaeger-proto/jaeger-ui-converter-domain_01.json",
            vec![Services(2)],
        ),
        (
            "jaeger/agentevals-helm-2.json",
            vec![
                Requests(1),
                root("helm_agent", "POST /"),
                Errors(1),
                NoTimeout,
            ],
        ),
        (
            "jaeger/agentevals-helm-3.json",
            vec![
                Requests(1),
                root("helm_agent", "POST /"),
                Errors(1),
                NoTimeout,
            ],
        ),
        (
            "jaeger/buildx-buildkit-jaeger.json",
            vec![Service("buildx"), Requests(1)],
        ),
        (
            "jaeger/crisp-22.json",
            vec![Verdicts("O2", vec![OK, OK, LATE])],
        ),
        (
            "jaeger/crisp-24.json",
            vec![
                Verdicts("O3", vec![OK, OK, LATE, OK, OK, LATE]),
                Verdicts("O2", vec![OK, OK]),
                fine("O1"),
            ],
        ),
        (
            "jaeger/crisp-25.json",
            vec![
                Verdicts("O3", vec![OK, OK, LATE, OK, OK, OK]),
                Verdicts("O2", vec![OK, OK]),
                fine("O1"),
            ],
        ),
        (
            "jaeger/crisp-7.json",
            vec![Took("O1", 0.01), Took("O2", 0.08), Took("O3", 0.01)],
        ),
        (
            "jaeger/crisp-err-pattern1-err1.json",
            vec![
                Outcome(Outcome::Failed),
                Surfaced("O2"),
                bad("O1"),
                bad("O2"),
            ],
        ),
        // The log has the error on the child; the file has it on the root alone.
        (
            "jaeger/crisp-err-pattern2-err2.json",
            vec![Errors(1), bad("O1"), fine("O2")],
        ),
        (
            "jaeger/crisp-err-pattern3-err2.json",
            vec![Outcome(Outcome::NoBudget), fine("O1"), bad("O2"), bad("O3")],
        ),
        (
            "jaeger/crisp-err-pattern4-err2.json",
            vec![Outcome(Outcome::NoBudget), fine("O1"), bad("O2"), bad("O3")],
        ),
        (
            "jaeger/dsb-socialnetwork-compose-20traces.json",
            vec![
                SpansEach(33),
                root("nginx-web-server", "/wrk2-api/post/compose"),
                Errors(0),
                Longest(13.776),
                NoTimeout,
            ],
        ),
        (
            "jaeger/jaeger-anonymized-trace-success.json",
            vec![Requests(1), Notes("parent that never came")],
        ),
        // Of several CHILD_OF the one in its own trace is the parent; the other is a link.
        (
            "jaeger/jaeger-ui-converter-ui_01.json",
            vec![Notes("conflicting_duplicate")],
        ),
        (
            "jaeger/jaegerui-genai-testTrace.json",
            vec![
                Requests(1),
                Errors(1),
                Services(10),
                root("api-edge", "POST /api/graphql"),
            ],
        ),
        (
            "jaeger/jaegerui-overlapLongerThanParent.json",
            vec![root("service-one", "send")],
        ),
        (
            "jaeger/jaegerui-spanLongerAsParent.json",
            vec![root("api-gateway", "GET /api/customer/owners/8/pets/10")],
        ),
        (
            "jaeger/perses-async.json",
            vec![
                Whole(331.146),
                root("hermes", "script"),
                Ran("delete1", 20.156),
            ],
        ),
        ("jaeger/quickwit-jaeger-ui-trace.json", vec![Errors(1)]),
        (
            "other/elastic-apm-transactions-spans.ndjson",
            vec![Refused("Elastic APM")],
        ),
        ("other/langfuse-agno.json", vec![Refused("Langfuse")]),
        ("other/langfuse-langgraph.json", vec![Refused("Langfuse")]),
        (
            "other/lquerel-flat-ndjson.json",
            vec![Refused("flat spans")],
        ),
        (
            "other/opensearch-otel-services-traces-samples.json",
            vec![Refused("OpenSearch")],
        ),
        (
            "other/robot-signoz-response-spans.json",
            vec![Refused("SigNoz")],
        ),
        (
            "other/signoz-alert-data-traces.jsonl",
            vec![Refused("SigNoz")],
        ),
        ("other/signoz-large-trace.json", vec![Refused("SigNoz")]),
        (
            "other/trulens-record-root-span.json",
            vec![Refused("TruLens")],
        ),
        (
            "otlp-lines/java-expected-spans-resource-only.json",
            vec![Spans(2), root("unknown_service", "testSpan1")],
        ),
        (
            "otlp-pb/proto-example-trace.protobuf-bin",
            vec![Spans(1), Service("my.service")],
        ),
        ("otlp/data-prepper-both-span-types.json", vec![Ids(3)]),
        ("otlp/duckdb-large-attrs.jsonl", vec![Longest(0.0)]),
        (
            "otlp/jaegerui-apiv3-gettrace.json",
            vec![
                root("frontend", "GET /dispatch"),
                Longest(702.608),
                Errors(3),
                Took("SQL SELECT", 257.310_354),
                Critical("mysql".to_owned(), "SQL SELECT".to_owned(), 257.310_354),
                fine("GET /dispatch"),
            ],
        ),
        (
            "otlp/jaegerui-genai-agent.json",
            vec![Errors(0), NoTimeout, Outcome(Outcome::NoBudget)],
        ),
        ("otlp/jaegerui-negative-counts.json", vec![Ids(1)]),
        ("otlp/jaegerui-otlp-in-error.json", vec![Service("None")]),
        (
            "otlp/jaegerui-otlp-in.json",
            vec![
                Ids(1),
                Notes("1 copy of a span was dropped"),
                Notes("parent that never came"),
            ],
        ),
        (
            "otlp/langwatch-claude-code.json",
            vec![Rejected(1, "no trace id")],
        ),
        (
            "otlp/langwatch-raw-otlp-advanced.json",
            vec![Rejected(1, "no trace id")],
        ),
        (
            "otlp/observiq-snapshot-traces-report.json",
            vec![Spans(178), Traces(3), Services(1), Service("bindplane")],
        ),
        (
            "otlp/otel-tui-demo-97req.json",
            vec![Errors(107), NoTimeout, Whole(48_510.396)],
        ),
        ("otlp/otelgui-late-root-part1.json", vec![NoTimeout]),
        (
            "otlp/otelgui-out-of-order.json",
            vec![Requests(1), Orphans(0)],
        ),
        (
            "otlp/perses-authenticate-error.json",
            vec![Errors(1), Ran("authenticate", 333.142), NoTimeout],
        ),
        ("otlp/robot-diverse-suite-pabot.json", vec![Requests(27)]),
        (
            "otlp/robot-diverse-trace-1632.json",
            vec![Requests(20), Errors(12), NoTimeout],
        ),
        (
            "otlp/rust-failed-traces.json",
            vec![Requests(1), Notes("starts before its parent")],
        ),
        (
            "otlp/thoth-download-github-releases.json",
            vec![Took("xargs wget", 11_082.182)],
        ),
        ("otlp/thoth-http-ncat.json", vec![Longest(5785.09)]),
        (
            "otlp/thoth-shebang.json",
            vec![Errors(27), Outcome(Outcome::NoBudget), NoTimeout],
        ),
        (
            "sdk-dump/buildx-buildkit-otlp-array.json",
            vec![Services(2), Service("buildx"), Requests(1)],
        ),
        (
            "tempo/agentevals-tempo-export-with-batches.json",
            vec![
                Service("kagent-controller"),
                Service("helm_agent"),
                NoTimeout,
            ],
        ),
        ("tempo/vikrant82-parallel.json", vec![Longest(150.0)]),
        ("zipkin1/contrib-v1-multiple-batches.json", vec![Ids(3)]),
        (
            "zipkin1/contrib-v2-notimestamp.json",
            vec![Longest(1.0), Start(1_615_821_510_040_000_000)],
        ),
        (
            "zipkin2/ascend.json",
            vec![
                Ids(6),
                Service("mobile-gateway"),
                root("mobile-gateway", "get"),
            ],
        ),
        (
            "zipkin2/chinese.json",
            vec![
                root("订单维护服务", "个人信息查询"),
                Errors(1),
                Text("error", "此用户没有操作权限"),
            ],
        ),
        (
            "zipkin2/contrib-v2-single.json",
            vec![NoTimeout, Text("timeout", "12.3")],
        ),
        // The consumer handles the message as a request of its own.
        (
            "zipkin2/messaging.json",
            vec![Requests(2), root("backend", "next-message")],
        ),
        ("zipkin2/netflix.json", vec![Requests(1), Services(3)]),
        (
            "zipkin2/yelp.json",
            vec![
                root("routing", "post /location/update/v4"),
                Longest(131.848),
            ],
        ),
    ];
    for name in ["1", "3", "5", "10", "11", "12", "13"] {
        rows.push((name, s1()));
    }
    for name in ["19", "20", "21"] {
        rows.push((name, vec![late("O4"), fine("O3"), fine("O2"), fine("O1")]));
    }
    rows
}

/// Where the log says otherwise, and why we do.
pub(super) fn unless(name: &str, check: &Check) -> Option<&'static str> {
    const OVERLAP: &str = "of overlapping children Jaeger passes over one that ends after the \
         cursor, we take it up to the cursor (semantics, section 6)";
    const ZERO: &str = "its ids are all zero: rejected and counted (semantics, section 2.1)";
    const LINK: &str = "its first CHILD_OF names another trace, which makes a link; the second is \
         the parent";
    Some(match (name, check) {
        ("otlp/langwatch-claude-code.json" | "otlp/langwatch-raw-otlp-advanced.json", _) => ZERO,
        (
            "jaeger/jaegerui-overlappingTrace.json"
            | "jaeger/jaegerui-threeShortOverlapping.json"
            | "otlp/openshift-dt-console-transformed.json"
            | "tempo/openshift-dt-console-trace.json",
            Critical(..),
        ) => OVERLAP,
        (
            "jaeger/jaeger-ui-converter-ui_01.json"
            | "jaeger/quickwit-jaeger-ui-trace.json"
            | "jaeger-proto/jaeger-ui-converter-domain_01.json",
            Orphans(_),
        ) => LINK,
        ("otlp/thoth-http-wget.json", Critical(..)) => {
            "its server outlives it, so it was not waited for (semantics, section 6)"
        }
        ("otlp/jaegerui-otlp-in.json", Orphans(_)) => "the two orphans are one span, told twice",
        _ => return None,
    })
}
