//! Dwindle shows where a request's time budget went.
//!
//! A request enters a fleet with a deadline; each hop spends some of it and passes on what is
//! left. When it runs out, the error shows up at the last service, which is usually the healthy
//! one. Dwindle reads spans that carry deadlines, rebuilds the budget of each request hop by hop,
//! and names the hop that consumed the time.
//!
//! One way through the house; a module uses those to its left only:
//!
//! ```text
//!  network bytes ─► receive ─┐                                ┌─► web
//!                            ├─► otlp ─► model ─► ingest ─► budget ─► store ─► query ─► report ─┤
//!  trace files  ──► files ───┘                                └─► cli
//! ```
//!
//! - [`model`]: spans, ids, times, hops, verdicts: plain data. *No IO, no clock, no protobuf.*
//! - [`budget`]: what the numbers mean. *Pure: it cannot fail and knows no clock; bad data is a
//!   note on the result. The same spans in any order give the same bytes.*
//! - [`otlp`]: protobuf and OTLP/JSON, both ways, span by span. *One bad span never costs its
//!   batch; nothing is allocated past [`otlp::Limits`].*
//! - [`files`]: the trace files that people have; content decides, never the name.
//! - [`store`]: finished requests, in memory; tables of them, and Parquet files. *Nothing grows
//!   past its ceiling.*
//! - [`ingest`]: the durable log, assembly by trace. *received = stored + rejected + shed, always;
//!   what was acknowledged survives.*
//! - [`receive`]: OTLP over gRPC and HTTP. *Validation happens once, at the edge.*
//! - [`query`]: every number that anyone sees is made here.
//! - [`report`]: how a number looks: tables, JSON, CSV, SVG, terminal. *No arithmetic on spans.*
//! - [`settings`]: flag over environment over `dwindle.toml` over default, resolved once.
//! - [`telemetry`]: counters and the clock.
//! - [`web`], [`cli`]: routes and templates; arguments and exit codes.

pub mod budget;
pub mod cli;
pub mod files;
pub mod ingest;
pub mod model;
pub mod otlp;
pub mod query;
pub mod receive;
pub mod report;
pub mod settings;
pub mod store;
pub mod telemetry;
pub mod web;
