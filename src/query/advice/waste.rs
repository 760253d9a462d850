//! Rules about work and attempts that nobody waits for.

use super::Words;

pub(super) const AMBIGUOUS_WRITE: Words = (
    "The caller gave up while the write may have happened: repeating it can charge, order or send twice, and not repeating it can lose it.",
    "Give each write a key that the far side remembers, so that repeating it is safe; else look up whether it happened before repeating it. In SQL: `INSERT … ON CONFLICT (request_id) DO NOTHING`, in the transaction of the work.",
    &[
        (
            "gRPC",
            "`DEADLINE_EXCEEDED` does not say whether the method ran: leave it out of `retryableStatusCodes` for methods that write, and put a request id into the message.",
        ),
        (
            "HTTP",
            "Send `Idempotency-Key`, one per intent and the same on each attempt; or `PUT` to a name that the client chose instead of `POST`.",
        ),
        (
            "Go",
            "`req.Header.Set(\"Idempotency-Key\", key)` before the first attempt; `net/http` then repeats the request itself on a broken connection, so the server has to know the key.",
        ),
        (
            "Java",
            "Kafka: `props.put(ProducerConfig.ENABLE_IDEMPOTENCE_CONFIG, true)`; in retries of Resilience4j, `ignoreExceptions(…)` for timeouts of writes without a key.",
        ),
    ],
);

pub(super) const STARTED_EXPIRED: Words = (
    "The work could help nobody any more, and took a slot and a connection from requests that could still be met.",
    "Look at what is left at the door and before each call; below min useful, refuse at once with a deadline error.",
    &[
        (
            "gRPC",
            "A server interceptor that ends the call with `DEADLINE_EXCEEDED` when less than min useful is left.",
        ),
        (
            "HTTP",
            "A middleware that answers 504 when the budget header says less than min useful.",
        ),
        (
            "Go",
            "`if d, ok := ctx.Deadline(); ok && time.Until(d) < minUseful { return status.Error(codes.DeadlineExceeded, \"too little left\") }`",
        ),
        (
            "Java",
            "`Deadline d = Context.current().getDeadline(); if (d != null && d.timeRemaining(TimeUnit.MILLISECONDS) < 20) throw Status.DEADLINE_EXCEEDED.asRuntimeException();`",
        ),
        (
            "Node",
            "`if (+call.getDeadline() - Date.now() < 20) return callback({ code: grpc.status.DEADLINE_EXCEEDED });` and `signal.throwIfAborted()` before each call.",
        ),
        (
            "Python",
            "`left = context.time_remaining()`, then `if left is not None and left < 0.02: context.abort(grpc.StatusCode.DEADLINE_EXCEEDED, \"too little left\")`.",
        ),
        (
            "Rust",
            "Read `grpc-timeout` from `request.metadata()` in an interceptor, and return `Status::deadline_exceeded(\"too little left\")`.",
        ),
    ],
);

pub(super) const RETRY_AMPLIFICATION: Words = (
    "Layers multiply their attempts: three layers of three are 27 calls for one request, most of them when the callee is too slow already.",
    "Retry at one layer, the one next to the failing call. Give the others one attempt, and bound all retries by a budget, such as a tenth of the calls.",
    &[
        (
            "gRPC",
            "`retryPolicy.maxAttempts` in the service config of one client only, with `retryThrottling` (`maxTokens`, `tokenRatio`) as the bound.",
        ),
        (
            "HTTP",
            "A mesh retries too: Istio twice unless `retries.attempts: 0`; Envoy has a `retry_budget` per cluster, and `x-envoy-max-retries: 0` for a request.",
        ),
        (
            "Go",
            "`grpc.WithDisableRetry()` when dialling; in `hashicorp/go-retryablehttp`, `RetryMax = 0`.",
        ),
        (
            "Java",
            "`ManagedChannelBuilder.disableRetry()`; Resilience4j: `RetryConfig.custom().maxAttempts(1)`.",
        ),
        (
            "Node",
            "The channel option `\"grpc.enable_retries\": 0`; `got`: `retry: { limit: 0 }`; AWS SDK: `maxAttempts: 1`.",
        ),
        (
            "Python",
            "The channel option `(\"grpc.enable_retries\", 0)`; `requests`: `HTTPAdapter(max_retries=0)`.",
        ),
        (
            "Rust",
            "`tower::retry::budget::TpsBudget` in the one retry policy that stays.",
        ),
    ],
);

pub(super) const CANCEL_NOT_PROPAGATED: Words = (
    "After its caller has left, the callee keeps its slot, its connection and its locks for an answer that goes nowhere. Under load this is what keeps an outage going.",
    "Stop when the caller does: watch the request's context, and hand it to everything that the request starts. Let the database stop as well: cancel the statement, or set `statement_timeout`.",
    &[
        (
            "gRPC",
            "The server is told when the stream is reset; handlers that block do not notice unless they ask.",
        ),
        (
            "HTTP",
            "The closed connection (HTTP/1.1) or the reset stream (HTTP/2) is the sign; a proxy in between has to pass it on.",
        ),
        (
            "Go",
            "`r.Context()` is done when the client leaves: give it to `QueryContext` and `NewRequestWithContext`; in loops `if err := ctx.Err(); err != nil { return err }`.",
        ),
        (
            "Java",
            "`((ServerCallStreamObserver<T>) observer).setOnCancelHandler(…)`, in which `Statement.cancel()` stops the query.",
        ),
        (
            "Node",
            "`res.on(\"close\", () => controller.abort())`, and `controller.signal` for every `fetch`; `@grpc/grpc-js`: `call.on(\"cancelled\", …)`.",
        ),
        (
            "Python",
            "`context.add_callback(stop)`; `grpc.aio` cancels the handler's task: never swallow `asyncio.CancelledError`. Starlette: `await request.is_disconnected()`.",
        ),
        (
            "Rust",
            "hyper and tonic drop the handler's future; what went to `tokio::spawn` runs on: use a `JoinSet`, or `CancellationToken::drop_guard()` of `tokio_util`.",
        ),
    ],
);

pub(super) const WORKED_AFTER_DEADLINE: Words = (
    "Work after the deadline is paid for and thrown away: a slot held for nobody.",
    "Stop at the deadline: check it between steps, and bound each wait by what is left. In PostgreSQL: `SET LOCAL statement_timeout = '480ms'`.",
    &[
        (
            "gRPC",
            "The server's context ends at the deadline; long handlers have to ask it.",
        ),
        (
            "Go",
            "`select { case <-ctx.Done(): return ctx.Err(); case row := <-rows: … }`",
        ),
        (
            "Java",
            "`Context.current().isCancelled()` between steps; `future.get(left, TimeUnit.MILLISECONDS)`, and `future.cancel(true)` after it.",
        ),
        ("Node", "`signal.throwIfAborted()` between steps."),
        (
            "Python",
            "`async with asyncio.timeout(left):` around the work; in threads, `context.is_active()` between steps.",
        ),
        (
            "Rust",
            "`tokio::time::timeout_at(deadline, work).await`; a loop that does not await has to compare `Instant::now()` itself.",
        ),
    ],
);

pub(super) const DOOMED_RETRY: Words = (
    "The attempt could not end in time. It only adds load, and most of it when the callee is slow.",
    "Before each retry compare what is left with the typical time of an attempt, and fail at once when it is less.",
    &[
        (
            "gRPC",
            "The built-in retries keep to the call's deadline, but do not ask whether an attempt still fits: keep `maxAttempts` and `maxBackoff` small against it.",
        ),
        (
            "HTTP",
            "Envoy: `per_try_timeout` well below the route's `timeout`, so that a last attempt has room.",
        ),
        (
            "Go",
            "`if time.Until(deadline) < typical { return err }` before the next attempt.",
        ),
        (
            "Java",
            "Resilience4j: `RetryConfig.custom().retryOnException(e -> left() > typical)`.",
        ),
        (
            "Node",
            "`if (deadline - Date.now() < typical) throw error;` before the next attempt.",
        ),
        (
            "Python",
            "`tenacity`: `stop=stop_before_delay(left - typical)`.",
        ),
        (
            "Rust",
            "`if deadline.saturating_duration_since(Instant::now()) < typical { return Err(error) }`",
        ),
    ],
);

pub(super) const RETRY_RESET: Words = (
    "Each attempt is given the full first timeout again. Together they take longer than the caller waits, so the last ones run for nobody.",
    "One deadline over all attempts; each attempt gets the smaller of its own timeout and what is left.",
    &[
        (
            "gRPC",
            "A call's deadline spans the retries of its `retryPolicy`; a loop around the call needs a deadline made once, outside of it.",
        ),
        (
            "HTTP",
            "Envoy: the route's `timeout` spans all attempts, `per_try_timeout` one.",
        ),
        (
            "Go",
            "`ctx, cancel := context.WithTimeout(ctx, total)` once, before the loop; in it `context.WithTimeout(ctx, perTry)`.",
        ),
        (
            "Java",
            "OkHttp: `callTimeout` spans retries and redirects, `readTimeout` does not.",
        ),
        (
            "Node",
            "One `AbortSignal.timeout(total)` before the loop, and `AbortSignal.any([all, AbortSignal.timeout(perTry)])` in it.",
        ),
        (
            "Python",
            "`async with asyncio.timeout(total):` around the loop; a client's `timeout` is for each attempt.",
        ),
        (
            "Rust",
            "`tokio::time::timeout(total, attempts)` around the loop; in it `timeout(per_try, attempt)`.",
        ),
    ],
);

pub(super) const HEDGE_NOT_CANCELLED: Words = (
    "The loser of the race works on for an answer that is not used: hedging doubles the load instead of cutting the tail.",
    "Cancel the other attempts as soon as one has answered, and see that the callee stops then.",
    &[
        (
            "gRPC",
            "A `hedgingPolicy` in the service config cancels the others itself (Java, `@grpc/grpc-js`).",
        ),
        (
            "Go",
            "One `context.WithCancel(ctx)` for all attempts, and `cancel()` when the first result is there.",
        ),
        (
            "Java",
            "`CompletableFuture.anyOf` cancels nothing: keep the calls, and `cancel(true)` the others.",
        ),
        (
            "Node",
            "`Promise.any` cancels nothing: one `AbortController` for all attempts, and `abort()` when the first has answered.",
        ),
        (
            "Python",
            "`done, pending = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)`, then `task.cancel()` for each that is pending.",
        ),
        (
            "Rust",
            "`tokio::select!` drops the other futures; tasks need `JoinSet::abort_all()`.",
        ),
    ],
);

pub(super) const QUEUED: Words = (
    "It waited while its budget ran. A queue that is served in order of arrival serves, under load, all of them too late.",
    "Bound the wait: refuse at the queue's end what cannot be answered in what is left. Shorten the queue before adding workers.",
    &[
        (
            "gRPC",
            "Go: `grpc.MaxConcurrentStreams(n)`; Java: `NettyServerBuilder.maxConcurrentCallsPerConnection(n)`.",
        ),
        (
            "HTTP",
            "Answer 503 with `Retry-After` when the queue is longer than what can be served in time.",
        ),
        (
            "Go",
            "`golang.org/x/sync/semaphore`: `sem.Acquire(ctx, 1)` gives up with the context, `TryAcquire` at once.",
        ),
        (
            "Java",
            "`new ThreadPoolExecutor(…, new ArrayBlockingQueue<>(n), new ThreadPoolExecutor.AbortPolicy())`: a bounded queue that refuses.",
        ),
        (
            "Node",
            "Shed by the event loop's delay: `perf_hooks.monitorEventLoopDelay()`, or `@fastify/under-pressure`.",
        ),
        (
            "Python",
            "`grpc.server(pool, maximum_concurrent_rpcs=n)`; `uvicorn --limit-concurrency n`.",
        ),
        (
            "Rust",
            "`ServiceBuilder::new().load_shed().concurrency_limit(n)` of tower.",
        ),
    ],
);
