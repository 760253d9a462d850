//! Rules about budgets: whether they are known, true and enough.

use super::Words;

pub(super) const NOT_PROPAGATED: Words = (
    "The callee does not know when nobody waits for it any more: it works for answers that are thrown away, and cannot refuse what it cannot finish.",
    "Pass the incoming context, or what is left of its deadline, to every outbound call. Where a protocol carries none, send what is left in a header and read it on the other side.",
    &[
        (
            "gRPC",
            "A call that has a deadline sends `grpc-timeout`. Go and Java pass an incoming one on with the context; Python and C++ do not by themselves (C++: `ClientContext::FromServerContext(context)`).",
        ),
        (
            "HTTP",
            "No header is standard: choose one, such as `x-request-budget-ms` with the milliseconds left, set it in a client middleware and read it in a server middleware. Envoy sends `x-envoy-expected-rq-timeout-ms` upstream.",
        ),
        (
            "Go",
            "`http.NewRequestWithContext(ctx, …)` and `db.QueryContext(ctx, …)`, not `http.NewRequest` and `db.Query`; no `context.Background()` in a handler.",
        ),
        (
            "Java",
            "`stub.withDeadlineAfter(left, TimeUnit.MILLISECONDS)`; `io.grpc.Context` carries it by itself, to other threads through `Context.currentContextExecutor(executor)`.",
        ),
        (
            "Node",
            "`fetch(url, { signal: AbortSignal.any([incoming, AbortSignal.timeout(left)]) })`; `@grpc/grpc-js`: the call option `{ parent: call }` passes the incoming deadline on.",
        ),
        (
            "Python",
            "`stub.Method(request, timeout=context.time_remaining())`; `httpx`: `client.get(url, timeout=left)`; around anything: `async with asyncio.timeout(left):`.",
        ),
        (
            "Rust",
            "`request.set_timeout(left)` on a `tonic::Request` sends `grpc-timeout`; `reqwest`: `.timeout(left)` on the request; around anything: `tokio::time::timeout_at(deadline, call)`.",
        ),
    ],
);

pub(super) const BUDGET_RESET: Words = (
    "The callee was promised time that its caller does not have: it plans, retries and works past the moment when nobody waits.",
    "Derive what is sent from what is left, less the way back. A fixed value may only shorten it.",
    &[
        (
            "gRPC",
            "Set the smaller of the call's own limit and what is left; in Go and Java the incoming context does that, elsewhere the code has to.",
        ),
        (
            "HTTP",
            "Write the smaller of the configured limit and what is left into the header; with Envoy set `x-envoy-upstream-rq-timeout-ms` for each request instead of a fixed route timeout.",
        ),
        (
            "Go",
            "`context.WithTimeout(ctx, time.Second)` on the incoming `ctx` keeps the earlier of both; on `context.Background()` it starts anew.",
        ),
        (
            "Java",
            "`withDeadlineAfter` within the incoming `Context` keeps the earlier of both; a thread that lost it starts anew: `Context.current().wrap(runnable)`.",
        ),
        (
            "Node",
            "`deadline: Math.min(Date.now() + 1000, +call.getDeadline())`; with `fetch`, `AbortSignal.any([incoming, AbortSignal.timeout(1000)])`.",
        ),
        (
            "Python",
            "`timeout=min(1.0, context.time_remaining())`; without an incoming deadline `time_remaining()` is `None`.",
        ),
        (
            "Rust",
            "`request.set_timeout(left.min(Duration::from_secs(1)))`.",
        ),
    ],
);

pub(super) const INVERTED_TIMEOUT: Words = (
    "The hop's own caller leaves before this timeout fires: its error handling and its fallback never run, and the callee works on.",
    "Set each call's timeout to the smaller of its cap and what is left, less a reserve to answer in.",
    &[
        (
            "gRPC",
            "`timeout` in the service config's `methodConfig` is only a cap: keep it below the budgets of the routes that make the call.",
        ),
        (
            "HTTP",
            "Proxies in between count too: Envoy's route `timeout`, nginx's `proxy_read_timeout`. Each has to be below that of who calls it.",
        ),
        (
            "Go",
            "`context.WithDeadline(ctx, deadline.Add(-reserve))` for the request; `http.Client.Timeout` is the same for all of them.",
        ),
        (
            "Java",
            "`HttpRequest.newBuilder(uri).timeout(Duration.ofMillis(Math.min(cap, left - reserve)))`.",
        ),
        (
            "Node",
            "`AbortSignal.timeout(Math.min(cap, left - reserve))`.",
        ),
        (
            "Python",
            "`httpx`: `timeout=min(cap, left - reserve)`. The `timeout` of `requests` and `httpx` is for each wait, not for the whole: put `asyncio.timeout` around it.",
        ),
        (
            "Rust",
            "`client.get(url).timeout(cap.min(left.saturating_sub(reserve)))`.",
        ),
    ],
);

pub(super) const NO_RESERVE: Words = (
    "The call may use up all that is left: even when it answers in time, its caller has no time to answer in.",
    "Keep back what the work after the call takes at its 99th percentile, and at least a few milliseconds for the way.",
    &[
        (
            "gRPC",
            "Set the call's deadline to what is left less the reserve, even where the context would pass on the whole.",
        ),
        (
            "Go",
            "`ctx, cancel := context.WithDeadline(ctx, deadline.Add(-20*time.Millisecond))`",
        ),
        (
            "Java",
            "`stub.withDeadlineAfter(left - reserve, TimeUnit.MILLISECONDS)`",
        ),
        ("Node", "`AbortSignal.timeout(left - reserve)`"),
        (
            "Python",
            "`stub.Method(request, timeout=context.time_remaining() - 0.02)`",
        ),
        (
            "Rust",
            "`request.set_timeout(left.saturating_sub(reserve))`",
        ),
    ],
);

pub(super) const STARVED: Words = (
    "It was given less than half of its good runs take, so most of such requests fail however well it does.",
    "Spend less before it, call it earlier or beside other calls, or give the route a larger budget. Who held the clock before it says where.",
    &[
        (
            "Go",
            "`g, ctx := errgroup.WithContext(ctx)`, and `g.Go(…)` for calls that do not need each other.",
        ),
        (
            "Java",
            "`CompletableFuture.allOf(…)` over calls that do not need each other.",
        ),
        (
            "Node",
            "`await Promise.all([…])` instead of one `await` after the other.",
        ),
        ("Python", "`async with asyncio.TaskGroup() as group:`"),
        ("Rust", "`tokio::try_join!(first, second)`"),
    ],
);

pub(super) const NONCRITICAL_FULL_BUDGET: Words = (
    "An answer without this call was good enough, yet it was allowed to use up everything: when it is slow, the whole request is.",
    "Cap the optional call at a slice of what is left, run it beside the others, and go on without it.",
    &[
        (
            "gRPC",
            "A deadline of its own on this stub, well below the incoming one.",
        ),
        (
            "Go",
            "`ctx, cancel := context.WithTimeout(ctx, 50*time.Millisecond)` for this call alone.",
        ),
        (
            "Java",
            "`future.completeOnTimeout(fallback, 50, TimeUnit.MILLISECONDS)`",
        ),
        (
            "Node",
            "`fetch(url, { signal: AbortSignal.timeout(50) }).catch(() => fallback)`",
        ),
        (
            "Python",
            "`await asyncio.wait_for(call, 0.05)`, and the fallback in `except TimeoutError`.",
        ),
        (
            "Rust",
            "`tokio::time::timeout(Duration::from_millis(50), call).await.ok()`",
        ),
    ],
);

pub(super) const ASYNC_INHERITS_DEADLINE: Words = (
    "The job is cut off when a request ends in which nobody waits for it: work is lost or half done, and the more the busier the queue is.",
    "Start it with a deadline of its own, and keep only the link to the trace. Give the message an expiry if it is worthless after some time.",
    &[
        (
            "gRPC",
            "Do not copy `grpc-timeout` or a deadline header into a message's headers.",
        ),
        (
            "Go",
            "`context.WithoutCancel(ctx)` keeps the values and drops the deadline; then `context.WithTimeout` for the job.",
        ),
        (
            "Java",
            "`Context.current().fork()` keeps the values and drops the cancellation.",
        ),
        (
            "Node",
            "Do not give the request's `signal` to what outlives the answer.",
        ),
        (
            "Python",
            "Celery: `task.apply_async(args, expires=60)`; no `timeout=context.time_remaining()` for what runs later.",
        ),
        (
            "Rust",
            "`tokio::spawn` the job outside of the request's `timeout`, with one of its own.",
        ),
    ],
);

pub(super) const BAD_DEADLINE_VALUE: Words = (
    "A deadline that cannot be read binds nobody: the hop runs as if it had none.",
    "Write the value as the key's grammar wants it; the evidence says what stood there.",
    &[
        (
            "gRPC",
            "`grpc-timeout` is one to eight digits and a unit of `H M S m u n`: `500m` is 500 milliseconds, `5M` are five minutes.",
        ),
        (
            "HTTP",
            "Whole milliseconds without a unit in a header that is named `…-ms`.",
        ),
        (
            "Go",
            "`strconv.FormatInt(time.Until(d).Milliseconds(), 10)`, not `time.Until(d).String()`.",
        ),
        (
            "Java",
            "`Long.toString(deadline.timeRemaining(TimeUnit.MILLISECONDS))`",
        ),
        (
            "Node",
            "`String(Math.max(0, Math.floor(left)))`: neither a fraction nor `NaN` nor `Infinity`.",
        ),
        ("Python", "`str(max(0, int(left * 1000)))`"),
        (
            "Rust",
            "`left.as_millis().to_string()`, not `format!(\"{left:?}\")`.",
        ),
    ],
);

pub(super) const CLOCK_SKEW: Words = (
    "An absolute deadline that goes from one of these hosts to the other is off by this much: the callee gives up too early, or works too long.",
    "Send what is left instead of an instant, and look after the clocks: `chronyc tracking`, `timedatectl timesync-status`.",
    &[
        (
            "gRPC",
            "`grpc-timeout` is what is left: nothing to do but for headers of your own.",
        ),
        ("HTTP", "Send the milliseconds left, not a Unix time."),
        (
            "Go",
            "A `time.Time` that crossed the wire has no monotonic reading: send `time.Until(d)`.",
        ),
        (
            "Java",
            "`System.nanoTime()` for what is left, not `System.currentTimeMillis()`.",
        ),
        ("Node", "`performance.now()`, not `Date.now()`."),
        ("Python", "`time.monotonic()`, not `time.time()`."),
        ("Rust", "`Instant`, not `SystemTime`."),
    ],
);

pub(super) const OVER_PROVISIONED: Words = (
    "A budget this large bounds nothing: a call that hangs holds its slot many times longer than any good run.",
    "Set it from the measured 99th percentile with some headroom; the service's page has the percentiles.",
    &[
        (
            "gRPC",
            "`timeout: \"0.5s\"` in the service config's `methodConfig` as the default of a method.",
        ),
        (
            "HTTP",
            "Defaults are long: Envoy's route `timeout` 15 s, nginx's `proxy_read_timeout` 60 s.",
        ),
        ("Go", "`http.DefaultClient` has no timeout at all."),
        (
            "Java",
            "`java.net.http.HttpClient` has none unless the request has `.timeout(…)`.",
        ),
        (
            "Node",
            "`fetch` waits 300 s for the headers unless it has a `signal`.",
        ),
        (
            "Python",
            "`requests` waits for ever without `timeout=`; `httpx` 5 s for each wait.",
        ),
        (
            "Rust",
            "`reqwest` has none unless the client or the request has `.timeout(…)`.",
        ),
    ],
);

pub(super) const ACCOUNTING_MISMATCH: Words = (
    "Its own figure of local time and its spans disagree. One of them is wrong, and who blames by it blames the wrong hop.",
    "Measure local time from arrival to answer, less the calls, where parallel ones count once. A call without a span is counted as local: instrument it.",
    &[
        (
            "Go",
            "`otelhttp.NewTransport(http.DefaultTransport)` and `otelgrpc.NewClientHandler()` give each call its span.",
        ),
        (
            "Java",
            "The agent (`-javaagent:opentelemetry-javaagent.jar`) covers most clients.",
        ),
        ("Node", "`@opentelemetry/auto-instrumentations-node`"),
        ("Python", "`opentelemetry-instrument python app.py`"),
        (
            "Rust",
            "`#[tracing::instrument(fields(otel.kind = \"client\"))]` around the call, with `tracing-opentelemetry`.",
        ),
    ],
);

pub(super) const OUTCOME_MISMATCH: Words = (
    "It reports another outcome than its spans show: what counts or alerts by it is wrong.",
    "Set `deadline.outcome` once, at the end, from what was left on arrival and the time that it took. A late answer is `finished_late` even without an error.",
    &[
        (
            "gRPC",
            "A cancelled call is no missed deadline: `CANCELLED` and `DEADLINE_EXCEEDED` are two codes.",
        ),
        (
            "Go",
            "`errors.Is(err, context.DeadlineExceeded)`, which `context.Canceled` is not.",
        ),
        (
            "Java",
            "`Status.fromThrowable(e).getCode() == Status.Code.DEADLINE_EXCEEDED`",
        ),
        (
            "Node",
            "`error.name === \"TimeoutError\"`, which `AbortError` is not.",
        ),
        (
            "Python",
            "`except TimeoutError:` apart from `except asyncio.CancelledError:`.",
        ),
        (
            "Rust",
            "`tokio::time::error::Elapsed` is the timeout; a dropped future was cancelled.",
        ),
    ],
);
