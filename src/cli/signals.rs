//! Being told to stop.

use anyhow::Context as _;

use crate::store::whole;

/// From now on a signal ends the process without leaving behind what it was writing under another
/// name. Where that cannot be had it ends all the same.
pub(super) fn clean_up() {
    if let Err(error) = listen() {
        tracing::debug!(%error, "a signal leaves behind what is under way");
    }
}

/// Listens when it returns: what is begun after it is removed.
fn listen() -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let mut signals = runtime.block_on(async { Signals::new() })?;
    let wait = move || {
        let code = runtime.block_on(signals.next());
        let _until_the_end = whole::abandon();
        #[expect(
            clippy::exit,
            reason = "others are at work on what nobody wants any more"
        )]
        std::process::exit(code)
    };
    let thread = std::thread::Builder::new().name("signals".into());
    thread.spawn(wait)?;
    Ok(())
}

/// SIGINT and SIGTERM; elsewhere Ctrl-C.
pub(super) struct Signals {
    #[cfg(unix)]
    interrupt: tokio::signal::unix::Signal,
    #[cfg(unix)]
    terminate: tokio::signal::unix::Signal,
}

impl Signals {
    #[cfg(unix)]
    pub(super) fn new() -> anyhow::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        let listen = |kind| signal(kind).context("cannot listen for signals");
        Ok(Self {
            interrupt: listen(SignalKind::interrupt())?,
            terminate: listen(SignalKind::terminate())?,
        })
    }

    #[cfg(unix)]
    /// Waits for one; the code with which a shell tells of a process that it ended.
    pub(super) async fn next(&mut self) -> i32 {
        tokio::select! {
            _ = self.interrupt.recv() => 128 + 2,
            _ = self.terminate.recv() => 128 + 15,
        }
    }

    #[cfg(not(unix))]
    pub(super) fn new() -> anyhow::Result<Self> {
        Ok(Self {})
    }

    #[cfg(not(unix))]
    pub(super) async fn next(&mut self) -> i32 {
        tokio::signal::ctrl_c().await.ok();
        128 + 2
    }
}
