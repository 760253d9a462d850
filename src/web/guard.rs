//! What stands before every route: which hosts are answered, what browsers may load, and that a
//! panic becomes an answer.

use std::net::IpAddr;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::header::{self, HeaderName, HeaderValue};
use axum::http::{StatusCode, Uri};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use futures::FutureExt;

use super::error;
use crate::store::Store;

/// Nothing from elsewhere, nothing inline, no frames.
pub(super) const POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; \
     img-src 'self' data:; connect-src 'self'; form-action 'self'; frame-ancestors 'none'; \
     base-uri 'none'";

/// Sets the security headers on every answer.
pub(super) async fn headers(request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "same-origin"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (
            HeaderName::from_static("cross-origin-opener-policy"),
            "same-origin",
        ),
        (
            HeaderName::from_static("cross-origin-resource-policy"),
            "same-origin",
        ),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    // Verdicts change with late spans: pages are asked for anew, assets say otherwise themselves.
    headers
        .entry(header::CACHE_CONTROL)
        .or_insert(HeaderValue::from_static("no-store"));
    response
}

/// Says on every answer of the API how many files of the store cannot be read, if any: what they have
/// is in none. Pages say it in words.
pub(super) async fn left_out(
    State(store): State<Arc<Store>>,
    request: Request,
    next: Next,
) -> Response {
    let api = error::is_api(request.uri().path());
    let mut response = next.run(request).await;
    if !api {
        return response;
    }
    // What looks at a file may hold a lock for as long as a disk takes.
    let count = move || store.snapshot().faults().len();
    let faults = tokio::task::spawn_blocking(count).await.unwrap_or(0);
    if faults > 0 {
        let name = HeaderName::from_static("dwindle-files-left-out");
        response.headers_mut().insert(name, faults.into());
    }
    response
}

/// Turns a panic into a 500 with a number that the log knows.
pub(super) async fn catch(request: Request, next: Next) -> Response {
    let api = error::is_api(request.uri().path());
    match AssertUnwindSafe(next.run(request)).catch_unwind().await {
        Ok(response) => response,
        Err(panic) => {
            let reason = panic
                .downcast_ref::<String>()
                .map(String::as_str)
                .or_else(|| panic.downcast_ref::<&str>().copied())
                .unwrap_or("a panic without a text");
            error::internal(api, &reason)
        }
    }
}

/// The host names under which the pages may be asked for.
#[derive(Debug, Clone)]
pub(super) enum Hosts {
    /// Any: the operator chose an address that others reach.
    Any,
    /// Loopback names and addresses, and what the server was told to bind.
    Loopback(Arc<str>),
}

impl Hosts {
    /// Decides by the address that the pages listen on.
    pub(super) fn of(web_addr: &str) -> Self {
        let host = host_of(web_addr);
        if is_loopback_name(host) || host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback()) {
            Self::Loopback(host.into())
        } else {
            Self::Any
        }
    }

    fn allows(&self, authority: &str) -> bool {
        let Self::Loopback(bound) = self else {
            return true;
        };
        let host = host_of(authority);
        // Rebinding needs a name that resolves to us; an address in numbers is no such name.
        host.eq_ignore_ascii_case(bound) || is_loopback_name(host) || host.parse::<IpAddr>().is_ok()
    }
}

fn is_loopback_name(host: &str) -> bool {
    let host = host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase();
    host == "localhost" || host.ends_with(".localhost")
}

/// The host of `host:port`, without brackets; all of it if there is no port.
fn host_of(authority: &str) -> &str {
    if let Some((host, _)) = authority
        .strip_prefix('[')
        .and_then(|rest| rest.split_once(']'))
    {
        return host;
    }
    match authority.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|b| b.is_ascii_digit()) && !host.contains(':') => {
            host
        }
        _ => authority,
    }
}

/// Refuses requests that name a host which this server is not.
pub(super) async fn hosts(State(hosts): State<Hosts>, request: Request, next: Next) -> Response {
    let named = request
        .headers()
        .get(header::HOST)
        .map(|value| value.to_str().unwrap_or("").to_owned())
        .or_else(|| {
            let uri: &Uri = request.uri();
            uri.authority()
                .map(|authority| authority.as_str().to_owned())
        });
    match named {
        // Only HTTP/1.0 leaves it out, and no browser speaks that.
        None => next.run(request).await,
        Some(named) if hosts.allows(&named) => next.run(request).await,
        Some(_) => (
            StatusCode::MISDIRECTED_REQUEST,
            "this server answers to `localhost` and to IP addresses only; \
             bind it to another address with --web-addr to use other names\n",
        )
            .into_response(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_panic_is_answered_with_a_number_and_nothing_else() {
        use axum::body::Body;
        use http_body_util::BodyExt;
        use tower::ServiceExt;

        let broken = async || -> &'static str { panic!("the secret of the inside") };
        let router = axum::Router::new()
            .route("/page", axum::routing::get(broken))
            .route("/api/x", axum::routing::get(broken))
            .layer(axum::middleware::from_fn(catch));
        for (path, words) in [("/page", "Internal error"), ("/api/x", "internal error")] {
            let request = Request::get(path).body(Body::empty()).unwrap();
            let response = router.clone().oneshot(request).await.unwrap();
            assert_eq!(response.status(), StatusCode::INTERNAL_SERVER_ERROR);
            let body = response.into_body().collect().await.unwrap().to_bytes();
            let body = String::from_utf8(body.to_vec()).unwrap();
            assert!(body.contains(words) && !body.contains("secret"), "{body}");
        }
    }

    #[test]
    fn on_loopback_only_loopback_names_and_addresses_are_served() {
        let hosts = Hosts::of("127.0.0.1:4319");
        for good in [
            "localhost:4319",
            "LOCALHOST",
            "dwindle.localhost:4319",
            "127.0.0.1:4319",
            "[::1]:4319",
            "10.0.0.7",
            "localhost.:4319",
        ] {
            assert!(hosts.allows(good), "{good}");
        }
        for bad in [
            "evil.example:4319",
            "evil.example",
            "localhost.evil.example",
            "",
            "a:b:c",
        ] {
            assert!(!hosts.allows(bad), "{bad}");
        }
        assert!(Hosts::of("[::1]:4319").allows("[::1]:4319"));
        assert!(!Hosts::of("localhost:4319").allows("evil.example"));
        assert!(Hosts::of("0.0.0.0:4319").allows("dwindle.example"));
    }
}
