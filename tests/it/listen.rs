//! The accept loop: its limits, and how it ends.

use std::net::SocketAddr;
use std::time::Duration;

use axum::Router;
use axum::routing::{get, post};
use dwindle::receive::{Connections, serve};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::timeout;

const ASK: &[u8] = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n";
const LONG: Duration = Duration::from_secs(20);

struct Served {
    address: SocketAddr,
    stop: watch::Sender<bool>,
    ended: JoinHandle<()>,
}

async fn start(change: impl FnOnce(&mut Connections)) -> Served {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (stop, stopping) = watch::channel(false);
    let mut connections = Connections {
        max: 10,
        header_timeout: LONG,
        drain_timeout: LONG,
    };
    change(&mut connections);
    let router = Router::new()
        .route("/", get(async || "here"))
        .route("/", post(async |body: String| body));
    let ended = tokio::spawn(serve(listener, router, connections, stopping));
    Served {
        address,
        stop,
        ended,
    }
}

async fn connect(served: &Served, says: &[u8]) -> TcpStream {
    let mut stream = TcpStream::connect(served.address).await.unwrap();
    stream.write_all(says).await.unwrap();
    stream
}

/// What comes until the server closes.
async fn rest(stream: &mut TcpStream) -> String {
    let mut all = Vec::new();
    let read = timeout(LONG, stream.read_to_end(&mut all)).await;
    assert!(read.is_ok(), "the server does not close");
    String::from_utf8(all).unwrap()
}

/// Reads until the answer's body is there.
async fn answer(stream: &mut TcpStream) -> String {
    let mut all = String::new();
    while !all.ends_with("here") {
        let mut part = [0; 1024];
        let read = timeout(LONG, stream.read(&mut part)).await.unwrap();
        let read = read.unwrap();
        assert!(read > 0, "closed after {all:?}");
        all.push_str(std::str::from_utf8(&part[..read]).unwrap());
    }
    all
}

#[tokio::test]
async fn a_client_that_never_finishes_its_headers_is_let_go() {
    let served = start(|c| c.header_timeout = Duration::from_millis(30)).await;
    let mut stream = connect(&served, b"GET / HTTP/1.1\r\nHost:").await;
    let said = rest(&mut stream).await;
    assert!(!said.contains("200 OK"), "{said}");
    // Others are served meanwhile.
    let mut other = connect(&served, ASK).await;
    answer(&mut other).await;
}

#[tokio::test]
async fn connections_over_the_cap_wait_for_their_turn() {
    let served = start(|c| c.max = 1).await;
    let mut first = connect(&served, ASK).await;
    answer(&mut first).await;
    let mut second = connect(&served, ASK).await;
    let mut byte = [0];
    let early = timeout(Duration::from_millis(50), second.read(&mut byte)).await;
    assert!(early.is_err(), "the second was served beside the first");
    drop(first);
    assert!(answer(&mut second).await.contains("200 OK"));
}

#[tokio::test]
async fn a_request_under_way_is_answered_before_the_end() {
    let served = start(|_| {}).await;
    // An idle connection and one in the middle of its body.
    let mut idle = connect(&served, ASK).await;
    answer(&mut idle).await;
    let head = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n";
    let mut busy = connect(&served, head).await;
    let mut go_on = [0; 25];
    busy.read_exact(&mut go_on).await.unwrap();
    assert_eq!(&go_on, b"HTTP/1.1 100 Continue\r\n\r\n");

    served.stop.send_replace(true);
    assert_eq!(rest(&mut idle).await, "");
    assert!(!served.ended.is_finished());
    busy.write_all(b"done").await.unwrap();
    let said = rest(&mut busy).await;
    assert!(said.contains("200 OK") && said.ends_with("done"), "{said}");
    timeout(LONG, served.ended).await.unwrap().unwrap();
    assert!(TcpStream::connect(served.address).await.is_err());
}

#[tokio::test]
async fn what_does_not_end_in_time_is_cut_off() {
    let served = start(|c| c.drain_timeout = Duration::from_millis(30)).await;
    let head = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\n";
    let mut stuck = connect(&served, head).await;
    let mut other = connect(&served, ASK).await;
    answer(&mut other).await;
    served.stop.send_replace(true);
    timeout(LONG, served.ended).await.unwrap().unwrap();
    let said = rest(&mut stuck).await;
    assert!(!said.contains("200 OK"), "{said}");
}
