//! The stylesheet, the scripts and the icon, under names that change with their content.

use std::sync::LazyLock;

use axum::extract::Path;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};

use super::error::{self, Problem};

/// A file that is part of the program.
#[derive(Debug)]
struct Asset {
    name: String,
    kind: &'static str,
    body: &'static str,
}

static STYLE: LazyLock<Asset> = LazyLock::new(|| {
    Asset::new(
        "css",
        "text/css; charset=utf-8",
        concat!(
            include_str!("../../templates/dwindle.css"),
            include_str!("../../templates/fleet.css"),
            include_str!("../../templates/request.css")
        ),
    )
});
static SCRIPT: LazyLock<Asset> = LazyLock::new(|| {
    Asset::new(
        "js",
        "text/javascript; charset=utf-8",
        concat!(
            include_str!("../../templates/dwindle.js"),
            include_str!("../../templates/fleet.js"),
            include_str!("../../templates/request.js")
        ),
    )
});
static LIST_SCRIPT: LazyLock<Asset> = LazyLock::new(|| {
    Asset::new(
        "js",
        "text/javascript; charset=utf-8",
        include_str!("../../templates/requests.js"),
    )
});
static ICON: LazyLock<Asset> = LazyLock::new(|| {
    Asset::new(
        "svg",
        "image/svg+xml",
        include_str!("../../templates/dwindle.svg"),
    )
});

impl Asset {
    fn new(extension: &str, kind: &'static str, body: &'static str) -> Self {
        Self {
            name: format!("dwindle-{:016x}.{extension}", fingerprint(body)),
            kind,
            body,
        }
    }
}

/// FNV-1a: enough to tell one build's files from another's.
fn fingerprint(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// Where the stylesheet is.
pub(super) fn style() -> String {
    format!("/assets/{}", STYLE.name)
}

/// Where the script is.
pub(super) fn script() -> String {
    format!("/assets/{}", SCRIPT.name)
}

/// Where the script of the list is.
pub(super) fn list_script() -> String {
    format!("/assets/{}", LIST_SCRIPT.name)
}

/// Where the icon is.
pub(super) fn icon() -> String {
    format!("/assets/{}", ICON.name)
}

/// `GET /assets/{name}`.
pub(super) async fn serve(Path(name): Path<String>, headers: HeaderMap) -> Response {
    let all = [&*STYLE, &*SCRIPT, &*LIST_SCRIPT, &*ICON];
    let Some(asset) = all.into_iter().find(|asset| asset.name == name) else {
        return error::page(&Problem::NotFound("There is no such file.".to_owned()));
    };
    let tag = format!("\"{}\"", asset.name);
    let common = [
        (header::ETAG, tag.clone()),
        (
            header::CACHE_CONTROL,
            "public, max-age=31536000, immutable".to_owned(),
        ),
    ];
    let known = headers
        .get(header::IF_NONE_MATCH)
        .and_then(|value| value.to_str().ok())
        .is_some_and(|tags| {
            tags == "*"
                || tags
                    .split(',')
                    .any(|t| t.trim().trim_start_matches("W/") == tag)
        });
    if known {
        return (StatusCode::NOT_MODIFIED, common).into_response();
    }
    (common, [(header::CONTENT_TYPE, asset.kind)], asset.body).into_response()
}

/// `GET /favicon.ico`, which browsers ask for unasked.
pub(super) async fn favicon() -> Redirect {
    Redirect::permanent(&icon())
}

/// `GET /robots.txt`: what is shown here is nobody else's business.
pub(super) async fn robots() -> &'static str {
    "User-agent: *\nDisallow: /\n"
}
