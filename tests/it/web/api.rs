//! The API gives what its description says, no more and no less.

use std::collections::BTreeSet;

use serde_json::Value;

use super::*;

async fn described() -> Value {
    let answer = Site::empty().get("/api/v1/openapi.json").await;
    assert_eq!(answer.status, StatusCode::OK);
    assert_eq!(answer.header(header::CONTENT_TYPE), "application/json");
    serde_json::from_str(&answer.body).unwrap()
}

/// Where a value is not what a schema says; knows what the description uses of JSON Schema.
fn faults(value: &Value, schema: &Value, root: &Value, at: &str, found: &mut Vec<String>) {
    if let Some(name) = schema["$ref"].as_str() {
        let target = root.pointer(name.strip_prefix('#').unwrap());
        let target = target.unwrap_or_else(|| panic!("there is no {name}"));
        return faults(value, target, root, at, found);
    }
    if let Some(any) = schema["anyOf"].as_array() {
        let fits = |schema: &Value| {
            let mut inner = Vec::new();
            faults(value, schema, root, at, &mut inner);
            inner.is_empty()
        };
        if !any.iter().any(fits) {
            found.push(format!("{at}: {value} is none of {any:?}"));
        }
        return;
    }
    let types: Vec<&str> = match &schema["type"] {
        Value::String(one) => vec![one],
        Value::Array(several) => several.iter().map(|one| one.as_str().unwrap()).collect(),
        other => panic!("{at}: no type but {other}"),
    };
    let is = |kind: &&str| match *kind {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("{at}: {other}"),
    };
    if !types.iter().any(is) {
        found.push(format!("{at}: {value} is no {types:?}"));
        return;
    }
    if let (Some(words), false) = (schema["enum"].as_array(), value.is_null())
        && !words.contains(value)
    {
        found.push(format!("{at}: {value} is none of {words:?}"));
    }
    if let (Some(least), Some(number)) = (schema["minimum"].as_f64(), value.as_f64())
        && number < least
    {
        found.push(format!("{at}: {number} is below {least}"));
    }
    if let (Some(items), Some(values)) = (schema.get("items"), value.as_array()) {
        for (index, value) in values.iter().enumerate() {
            faults(value, items, root, &format!("{at}[{index}]"), found);
        }
    }
    let Some(keys) = value.as_object() else {
        return;
    };
    for required in schema["required"].as_array().into_iter().flatten() {
        if !keys.contains_key(required.as_str().unwrap()) {
            found.push(format!("{at}: {required} is missing"));
        }
    }
    for (key, value) in keys {
        let at = format!("{at}.{key}");
        match (&schema["properties"][key], &schema["additionalProperties"]) {
            (Value::Null, Value::Bool(false)) => found.push(format!("{at} is not described")),
            (Value::Null, Value::Object(_)) => {
                let other = &schema["additionalProperties"];
                faults(value, other, root, &at, found);
            }
            (Value::Null, _) => {}
            (schema, _) => faults(value, schema, root, &at, found),
        }
    }
}

fn schema<'a>(root: &'a Value, path: &str) -> &'a Value {
    let responses = &root["paths"][path]["get"]["responses"];
    &responses["200"]["content"]["application/json"]["schema"]
}

#[tokio::test]
async fn every_route_of_the_api_is_described() {
    let root = described().await;
    let described: BTreeSet<&str> = root["paths"]
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect();
    let source = std::fs::read_to_string(support::root().join("src/web/mod.rs")).unwrap();
    let routed: BTreeSet<&str> = source
        .split('"')
        .filter(|text| text.starts_with("/api/"))
        .collect();
    assert_eq!(described, routed);
    // Every schema is used, and every one that is used is there.
    let text = root.to_string();
    for name in root["components"]["schemas"].as_object().unwrap().keys() {
        assert!(
            text.contains(&format!("\"#/components/schemas/{name}\"")),
            "{name}"
        );
    }
}

#[tokio::test]
async fn every_answer_is_as_it_is_described() {
    let root = described().await;
    let hour = "since=2026-10-07T00:00:00Z&until=2026-10-08T00:00:00Z";
    for site in [Site::samples(), Site::empty()] {
        let mut asked: Vec<(&str, String)> = Vec::new();
        for path in [
            "/api/v1/overview",
            "/api/v1/services",
            "/api/v1/map",
            "/api/v1/findings",
            "/api/v1/coverage",
        ] {
            asked.push((path, format!("{path}?{hour}&rows=5")));
        }
        asked.push(("/api/v1/requests", "/api/v1/requests?limit=500".to_owned()));
        asked.push((
            "/api/v1/requests/used",
            format!("/api/v1/requests/used?{hour}"),
        ));
        asked.push(("/api/v1/filter", "/api/v1/filter".to_owned()));
        asked.push(("/api/v1/names", "/api/v1/names".to_owned()));
        for request in site.requests() {
            let path = format!("/api/v1/traces/{}", request.trace_id);
            asked.push(("/api/v1/traces/{trace_id}/otlp", format!("{path}/otlp")));
            asked.push(("/api/v1/traces/{trace_id}", path));
            let path = format!("/api/v1/requests/{}/{}", request.trace_id, request.request);
            for part in ["compare", "attempts", "clocks", "find"] {
                let described = match part {
                    "compare" => "/api/v1/requests/{trace_id}/{request}/compare",
                    "attempts" => "/api/v1/requests/{trace_id}/{request}/attempts",
                    "clocks" => "/api/v1/requests/{trace_id}/{request}/clocks",
                    _ => "/api/v1/requests/{trace_id}/{request}/find",
                };
                asked.push((described, format!("{path}/{part}?q=a")));
            }
            asked.push(("/api/v1/requests/{trace_id}/{request}", path));
            let service = request.service.replace('/', "%2F").replace(' ', "%20");
            let path = format!("/api/v1/services/{service}?{hour}");
            asked.push(("/api/v1/services/{service}", path));
        }
        for (path, address) in asked {
            let answer = site.get(&address).await;
            let value: Value = serde_json::from_str(&answer.body).unwrap();
            let mut found = Vec::new();
            if answer.status == StatusCode::OK {
                faults(&value, schema(&root, path), &root, path, &mut found);
            } else {
                // A sample that is not of that day.
                assert_eq!(answer.status, StatusCode::NOT_FOUND, "{address}: {value}");
                assert!(path.contains("{service}"), "{address}");
            }
            found.truncate(5);
            assert!(found.is_empty(), "{address}: {found:#?}");
        }
    }
}

#[tokio::test]
async fn what_cannot_be_asked_is_refused_with_what_can() {
    let site = Site::samples();
    for (path, part) in [
        ("/api/v1/overview?rows=0", "a number from 1 to 1000"),
        ("/api/v1/coverage?since=yesterday-ish", "an instant such as"),
        ("/api/v1/findings?rule=no_rule", "not_propagated"),
    ] {
        let answer = site.get(path).await;
        assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{path}");
        assert!(answer.body.contains(part), "{path}: {}", answer.body);
    }
    let answer = site.get("/api/v1/services/nobody").await;
    assert_eq!(answer.status, StatusCode::NOT_FOUND);
}

#[test]
fn a_reply_that_is_not_as_described_is_found() {
    let schema = serde_json::json!({
        "type": "object", "required": ["a"], "additionalProperties": false,
        "properties": {"a": {"type": ["integer", "null"], "minimum": 0}}
    });
    let count = |value: Value| {
        let mut found = Vec::new();
        faults(&value, &schema, &schema, "", &mut found);
        found.len()
    };
    assert_eq!(count(serde_json::json!({"a": 1})), 0);
    assert_eq!(count(serde_json::json!({"a": null})), 0);
    assert_eq!(count(serde_json::json!({"a": -1})), 1);
    assert_eq!(count(serde_json::json!({"a": "1"})), 1);
    assert_eq!(count(serde_json::json!({"b": 1})), 2);
    assert_eq!(count(serde_json::json!([])), 1);
}
