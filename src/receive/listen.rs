//! The accept loop: how many connections, how long for their headers, and how they end.

use std::sync::Arc;
use std::time::Duration;

use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

/// What connections may cost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Connections {
    /// The most at once; further ones wait in the kernel's queue.
    pub max: usize,
    /// The longest time to wait for a request's headers, also between two requests.
    pub header_timeout: Duration,
    /// The longest time that open requests get to finish once the server stops.
    pub drain_timeout: Duration,
}

/// Serves HTTP/1.1 and HTTP/2 (without TLS) until `stop` turns true or its sender is gone, then
/// lets open requests finish. Returns when all connections have ended.
pub async fn serve(
    listener: TcpListener,
    service: axum::Router,
    connections: Connections,
    mut stop: watch::Receiver<bool>,
) {
    let builder = Arc::new(builder(&connections));
    let places = Arc::new(Semaphore::new(
        connections.max.clamp(1, Semaphore::MAX_PERMITS),
    ));
    let mut tasks = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            biased;
            () = stopped(&mut stop) => break,
            Some(_) = tasks.join_next() => continue,
            accepted = accept(&listener, &places) => accepted,
        };
        let Some((stream, place)) = accepted else {
            continue;
        };
        let (builder, service, stop) = (Arc::clone(&builder), service.clone(), stop.clone());
        tasks.spawn(async move {
            connection(&builder, stream, service, stop).await;
            drop(place);
        });
    }
    drop(listener);
    let all = async { while tasks.join_next().await.is_some() {} };
    if timeout(connections.drain_timeout, all).await.is_err() {
        tracing::warn!(
            connections = tasks.len(),
            "closing connections that did not end"
        );
    }
    tasks.shutdown().await;
}

async fn accept(
    listener: &TcpListener,
    places: &Arc<Semaphore>,
) -> Option<(TcpStream, tokio::sync::OwnedSemaphorePermit)> {
    let place = Arc::clone(places).acquire_owned().await.ok()?;
    match listener.accept().await {
        Ok((stream, _)) => Some((stream, place)),
        Err(error) => {
            // Out of file handles, most likely: others must end first.
            tracing::warn!(%error, "cannot accept a connection");
            sleep(Duration::from_millis(50)).await;
            None
        }
    }
}

async fn connection(
    builder: &Builder<TokioExecutor>,
    stream: TcpStream,
    service: axum::Router,
    mut stop: watch::Receiver<bool>,
) {
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "cannot set TCP_NODELAY");
    }
    let service = TowerToHyperService::new(service);
    let serving = builder.serve_connection(TokioIo::new(stream), service);
    tokio::pin!(serving);
    let ended = tokio::select! {
        ended = serving.as_mut() => ended,
        () = stopped(&mut stop) => {
            serving.as_mut().graceful_shutdown();
            serving.await
        }
    };
    if let Err(error) = ended {
        // The other side left or sent what is no HTTP: theirs to notice.
        tracing::debug!(%error, "a connection broke off");
    }
}

/// Ends when the server stops.
async fn stopped(stop: &mut watch::Receiver<bool>) {
    // An error means that the sender is gone, which is a stop as well.
    drop(stop.wait_for(|stop| *stop).await);
}

fn builder(connections: &Connections) -> Builder<TokioExecutor> {
    let mut builder = Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(connections.header_timeout);
    builder
        .http2()
        .timer(TokioTimer::new())
        .keep_alive_interval(Duration::from_secs(20))
        .keep_alive_timeout(Duration::from_secs(20))
        .max_concurrent_streams(128)
        .max_header_list_size(16 << 10)
        // What a connection may have under way unread.
        .initial_connection_window_size(2 << 20)
        .initial_stream_window_size(1 << 20);
    builder
}
