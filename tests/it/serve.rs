//! The real command, from its first line on stderr to its exit code.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::time::{Duration, Instant};

use dwindle::otlp::{traces_to_json, traces_to_proto};
use dwindle::settings::{DEFINITIONS, Written};
use opentelemetry_proto::tonic::collector::trace::v1::trace_service_client::TraceServiceClient;
use prost::Message as _;
use tempfile::TempDir;
use tonic::codec::CompressionEncoding;

use crate::spans::{span, trace_id};
use crate::support;

/// A running `dwindle serve` on ports that were free; killed when dropped.
struct Server {
    child: Child,
    stderr: BufReader<ChildStderr>,
    grpc: String,
    http: SocketAddr,
    web: SocketAddr,
    /// Where it keeps what came, unless the options name another folder.
    data: Option<TempDir>,
}

impl Server {
    fn start(options: &[&str]) -> Self {
        Self::over(tempfile::tempdir().unwrap(), options)
    }

    /// One that keeps what comes in this folder.
    fn over(data: TempDir, options: &[&str]) -> Self {
        let mut command = support::dwindle();
        command.args(["serve", "--grpc-addr", "127.0.0.1:0"]);
        command.args(["--http-addr", "127.0.0.1:0"]);
        command.env("DWINDLE_WEB_ADDR", "127.0.0.1:0");
        command.env("DWINDLE_DATA", data.path());
        command.env("DWINDLE_QUIET", "50ms").args(options);
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let mut line = |begins: &str| {
            let mut line = String::new();
            stderr.read_line(&mut line).unwrap();
            let url = line.strip_prefix(begins);
            let url = url.unwrap_or_else(|| panic!("`{begins}` expected: {line}"));
            url.trim().trim_start_matches("http://").to_owned()
        };
        let web = line("dashboard  ");
        let grpc = line("OTLP/gRPC  ");
        let http = line("OTLP/HTTP  ");
        Self {
            child,
            stderr,
            data: Some(data),
            grpc: format!("http://{grpc}"),
            http: http.trim_end_matches("/v1/traces").parse().unwrap(),
            web: web.trim_end_matches('/').parse().unwrap(),
        }
    }

    /// Waits until it takes spans.
    fn ready(self) -> Self {
        eventually("a server that is ready", || {
            (self.get("/readyz").0 == 200).then_some(())
        });
        self
    }

    /// A counter or gauge of `/metrics`.
    fn metric(&self, name: &str) -> u64 {
        let (_, text) = self.get("/metrics");
        let line = text.lines().find_map(|line| line.strip_prefix(name));
        let value = line.unwrap_or_else(|| panic!("{name}: {text}"));
        value.trim().parse().unwrap()
    }

    fn get(&self, path: &str) -> (u16, String) {
        let head = format!("GET {path} HTTP/1.1\r\nHost: {}\r\n", self.web);
        talk(self.web, &head, b"")
    }

    fn requests(&self) -> Vec<serde_json::Value> {
        let (status, body) = self.get("/api/v1/requests");
        assert_eq!(status, 200);
        let page: serde_json::Value = serde_json::from_str(&body).unwrap();
        page["requests"].as_array().unwrap().clone()
    }

    /// The requests of a trace, once there are some.
    fn trace(&self, id: &str) -> serde_json::Value {
        eventually("the trace", || {
            let (status, body) = self.get(&format!("/api/v1/traces/{id}"));
            (status == 200).then(|| serde_json::from_str(&body).unwrap())
        })
    }

    fn export(&self, kind: &str, body: &[u8]) -> (u16, String) {
        let length = body.len();
        let head = format!(
            "POST /v1/traces HTTP/1.1\r\nHost: x\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n"
        );
        talk(self.http, &head, body)
    }

    /// Asks it to stop; its exit code and what it said last.
    fn stop(self, signal: &str) -> (Option<i32>, String) {
        let (code, said, _) = self.end(signal);
        (code, said)
    }

    /// The same, and its folder.
    fn end(mut self, signal: &str) -> (Option<i32>, String, TempDir) {
        let pid = self.child.id().to_string();
        assert!(
            Command::new("kill")
                .args([signal, &pid])
                .status()
                .unwrap()
                .success()
        );
        let mut rest = String::new();
        self.stderr.read_to_string(&mut rest).unwrap();
        let code = self.child.wait().unwrap().code();
        (code, rest, self.data.take().unwrap())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// One HTTP/1.1 exchange: the status and the body.
fn talk(address: SocketAddr, head: &str, body: &[u8]) -> (u16, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    stream
        .set_read_timeout(Some(Duration::from_secs(10)))
        .unwrap();
    stream.write_all(head.as_bytes()).unwrap();
    stream.write_all(b"Connection: close\r\n\r\n").unwrap();
    stream.write_all(body).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let status = answer.split(' ').nth(1).unwrap().parse().unwrap();
    let (_, body) = answer.split_once("\r\n\r\n").unwrap();
    (status, body.to_owned())
}

fn eventually<T>(what: &str, mut find: impl FnMut() -> Option<T>) -> T {
    let until = Instant::now() + Duration::from_secs(20);
    loop {
        if let Some(found) = find() {
            return found;
        }
        assert!(Instant::now() < until, "never came: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn what_is_sent_over_grpc_and_http_is_read_back_from_the_api() {
    let server = Server::start(&["--no-samples"]).ready();
    assert_eq!(server.requests().len(), 0);
    let chain = |trace| vec![span(trace, 1, None), span(trace, 2, Some(1))];

    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let client = TraceServiceClient::connect(server.grpc.clone())
            .await
            .unwrap();
        let mut client = client.send_compressed(CompressionEncoding::Gzip);
        let response = client.export(traces_to_proto(&chain(1))).await.unwrap();
        assert_eq!(response.into_inner().partial_success, None);
    });
    let proto = traces_to_proto(&chain(2)).encode_to_vec();
    let (status, body) = server.export("application/x-protobuf", &proto);
    assert_eq!((status, body.as_str()), (200, ""));
    let json = traces_to_json(&chain(3));
    let (status, body) = server.export("application/json", json.as_bytes());
    assert_eq!((status, body.as_str()), (200, "{}"));

    for trace in 1..=3 {
        let id = trace_id(trace).to_string();
        let requests = server.trace(&id);
        assert_eq!(requests[0]["trace_id"], id.as_str());
        assert_eq!(requests[0]["spans"], 2);
        assert_eq!(requests[0]["service"], "shop");
        assert_eq!(requests[0]["revision"], 1);
    }
    assert_eq!(server.requests().len(), 3);
    let (status, metrics) = server.get("/metrics");
    assert_eq!(status, 200);
    for line in [
        "dwindle_spans_received_total 6",
        "dwindle_spans_stored_total 6",
        "dwindle_spans_open 0",
        "dwindle_requests_held 3",
        "dwindle_exports_total{protocol=\"grpc\",signal=\"traces\",code=\"0\"} 1",
        "dwindle_exports_total{protocol=\"http\",signal=\"traces\",code=\"200\"} 2",
    ] {
        assert!(metrics.lines().any(|l| l == line), "{line}\n{metrics}");
    }
}

#[test]
fn a_server_that_was_killed_has_what_it_acknowledged_and_one_that_was_stopped_replays_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().to_str().unwrap();
    let server = Server::start(&["--data", data, "--quiet", "60s"]).ready();
    let chain = |trace| [span(trace, 1, None), span(trace, 2, Some(1))];
    for trace in 1..=3 {
        let json = traces_to_json(&chain(trace));
        assert_eq!(server.export("application/json", json.as_bytes()).0, 200);
    }
    assert_eq!(server.metric("dwindle_spans_open "), 6);
    let (code, _) = server.stop("-KILL");
    assert_eq!(code, None);

    let server = Server::start(&["--data", data]).ready();
    for trace in 1..=3 {
        let requests = server.trace(&trace_id(trace).to_string());
        assert_eq!(requests[0]["spans"], 2);
        assert_eq!(requests[0]["revision"], 1);
    }
    assert_eq!(server.metric("dwindle_spans_replayed_total "), 6);
    assert_eq!(server.metric("dwindle_spans_received_total "), 6);
    assert_eq!(server.metric("dwindle_spans_stored_total "), 6);
    let (code, said) = server.stop("-TERM");
    assert_eq!(code, Some(0), "{said}");

    let server = Server::start(&["--data", data]).ready();
    assert_eq!(server.metric("dwindle_spans_replayed_total "), 0);
    let json = traces_to_json(&chain(2));
    assert_eq!(server.export("application/json", json.as_bytes()).0, 200);
    eventually("the copies", || {
        (server.metric("dwindle_spans_duplicate_total ") == 2).then_some(())
    });
    assert_eq!(server.requests().len(), 3);
}

#[test]
fn samples_are_shown_until_the_first_real_span() {
    let server = Server::start(&[]).ready();
    assert!(server.requests().len() >= support::samples().len());
    let (_, metrics) = server.get("/metrics");
    assert!(
        metrics.contains("\ndwindle_spans_stored_total 0\n"),
        "{metrics}"
    );
    let json = traces_to_json(&[span(1, 1, None)]);
    assert_eq!(server.export("application/json", json.as_bytes()).0, 200);
    let left: Vec<_> = server.requests();
    assert!(left.len() <= 1, "{left:?}");
    server.trace(&trace_id(1).to_string());
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn a_signal_ends_it_with_everything_analysed() {
    for signal in ["-TERM", "-INT"] {
        let server = Server::start(&["--no-samples", "--quiet", "60s"]).ready();
        let json = traces_to_json(&[span(1, 1, None)]);
        assert_eq!(server.export("application/json", json.as_bytes()).0, 200);
        assert_eq!(server.get("/readyz"), (200, "ready\n".to_owned()));
        assert_eq!(server.get("/healthz"), (200, "ok\n".to_owned()));
        // An idle connection keeps nobody waiting.
        let _idle = TcpStream::connect(server.http).unwrap();
        let (code, said) = server.stop(signal);
        assert_eq!(code, Some(0), "{signal}: {said}");
        assert!(!said.contains("not analysed"), "{said}");
    }
}

#[test]
fn what_came_is_there_after_a_restart_and_for_other_commands() {
    let first = Server::start(&["--quiet", "60s"]).ready();
    let folder = first
        .data
        .as_ref()
        .unwrap()
        .path()
        .to_str()
        .unwrap()
        .to_owned();
    let json = traces_to_json(&[span(1, 1, None), span(1, 2, Some(1))]);
    assert_eq!(first.export("application/json", json.as_bytes()).0, 200);
    let (code, said, data) = first.end("-TERM");
    assert_eq!(code, Some(0), "{said}");
    assert!(
        said.contains(&format!("data       {folder}: empty\n")),
        "{said}"
    );
    assert!(said.contains("sample requests are shown"), "{said}");

    let second = Server::over(data, &[]).ready();
    let requests = second.trace(&trace_id(1).to_string());
    assert_eq!(requests[0]["spans"], 2);
    // It has requests of its own: no samples.
    assert_eq!(second.requests().len(), 1);
    let run = |args: &[&str]| {
        let mut command = support::dwindle();
        command.env("DWINDLE_DATA", &folder).args(args);
        let output = command.output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        (
            output.status.code(),
            String::from_utf8(output.stdout).unwrap(),
            said,
        )
    };
    let (code, stats, said) = run(&["store", "stats", "--format", "json"]);
    assert_eq!(code, Some(0), "{said}");
    let stats: serde_json::Value = serde_json::from_str(&stats).unwrap();
    assert_eq!(
        (&stats["requests"], &stats["tables"]["spans"]["rows"]),
        (&1.into(), &2.into())
    );
    assert_eq!(run(&["store", "verify"]).0, Some(0));
    let (code, exported, said) = run(&["store", "export", "-o", "-"]);
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(support::spans(&exported).len(), 2);
    for args in [&["store", "compact"][..], &["import", "x.json"][..]] {
        let (code, _, said) = run(args);
        assert_eq!(code, Some(2), "{said}");
        assert!(said.contains("in use by another Dwindle"), "{said}");
    }
    let (code, said, _) = second.end("-TERM");
    assert_eq!(code, Some(0), "{said}");
    let data = format!("data       {folder}: 1 request since ");
    assert!(said.contains(&data) && !said.contains("sample"), "{said}");
}

#[test]
fn memory_alone_leaves_nothing_behind() {
    let server = Server::start(&["--memory-only", "--no-samples"]).ready();
    let folder = server.data.as_ref().unwrap().path().to_owned();
    let json = traces_to_json(&[span(1, 1, None)]);
    assert_eq!(server.export("application/json", json.as_bytes()).0, 200);
    server.trace(&trace_id(1).to_string());
    assert_eq!(std::fs::read_dir(folder).unwrap().count(), 0);
    let (code, said, _) = server.end("-TERM");
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("in memory only"), "{said}");
}

#[test]
fn a_port_in_use_is_named_with_the_flag_that_changes_it() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    for (flag, others) in [
        ("--grpc-addr", ["--http-addr", "--web-addr"]),
        ("--http-addr", ["--grpc-addr", "--web-addr"]),
        ("--web-addr", ["--grpc-addr", "--http-addr"]),
    ] {
        let [one, two] = others;
        let free = "127.0.0.1:0";
        let output = support::run(&["serve", flag, &address, one, free, two, free]);
        assert_eq!(output.status.code(), Some(2), "{flag}");
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.contains(&format!("`{address}`")), "{said}");
        assert!(said.contains(flag), "{said}");
        assert_eq!(output.stdout, b"");
    }
}

#[test]
fn a_setting_that_makes_no_sense_is_refused_by_name() {
    let output = support::run(&["serve", "--quiet", "soon"]);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(
        String::from_utf8(output.stderr).unwrap(),
        "error: --quiet: `soon` is not a duration such as 500ms, 10s or 2m\n"
    );
    let mut command = support::dwindle();
    let output = command
        .arg("serve")
        .env("DWINDLE_GRPC_ADDR", "4317")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(
        said.starts_with("error: DWINDLE_GRPC_ADDR: `4317` is not"),
        "{said}"
    );
}

#[test]
fn every_setting_of_the_server_has_a_flag_and_its_help_tells_the_default() {
    let help = String::from_utf8(support::run(&["serve", "--help"]).stdout).unwrap();
    let mut flags = 0;
    for definition in DEFINITIONS.iter().filter(|definition| definition.is_flag()) {
        let flag = format!("--{}", definition.flag());
        let about = help
            .split_once(&format!("{flag} "))
            .or(help.split_once(&format!("{flag}\n")));
        let (_, about) = about.unwrap_or_else(|| panic!("{flag} is not in the help"));
        if definition.form.written == Written::Switch {
            continue;
        }
        flags += 1;
        let about = about.split("      --").next().unwrap();
        let about = about.split_whitespace().collect::<Vec<_>>().join(" ");
        let default = match definition.default {
            "" => "none",
            default => default,
        };
        assert!(
            about.contains(&format!("[default: {default}]")),
            "{flag}: {about}"
        );
        let output = support::run(&["serve", &flag, "\u{1},="]);
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.starts_with(&format!("error: {flag}: ")), "{said}");
    }
    assert_eq!(flags, 35);
}

#[test]
fn the_server_takes_its_settings_and_its_policy_from_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("dwindle.toml");
    let name = file.to_str().unwrap();
    let text = "[serve]\nno_samples = true\n[[route]]\nservice = \"shop\"\nslo = \"250ms\"\n";
    std::fs::write(&file, text).unwrap();
    let server = Server::start(&["--config", name]).ready();
    assert_eq!(server.requests().len(), 0);
    let proto = traces_to_proto(&[span(1, 1, None)]).encode_to_vec();
    server.export("application/x-protobuf", &proto);
    let requests = server.trace(&trace_id(1).to_string());
    assert_eq!(requests[0]["budget_ms"], 250.0);
    assert_eq!(requests[0]["budget_source"]["how"], "configured");
    drop(server);

    std::fs::write(&file, "[serve]\nhttp_addr = \"4318\"\n").unwrap();
    let output = support::run(&["serve", "--config", name]);
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8(output.stderr).unwrap();
    let wanted = format!("error: {name}:2:13: `http_addr`: `4318` is not");
    assert!(said.starts_with(&wanted), "{said}");
}
