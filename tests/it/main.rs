//! The integration tests, in one binary: each further one would link everything again.
#![cfg(test)]
#![expect(
    clippy::disallowed_methods,
    reason = "tests read the environment and write scratch files"
)]

mod support;

#[path = "../fuzz/entry.rs"]
#[expect(unreachable_pub, reason = "the fuzz targets are crates of their own")]
mod entry;

mod architecture;
mod bounded;
mod budget;
mod cli;
mod convert;
mod corpus;
mod data;
mod duckdb;
mod durable;
mod evidence;
mod files;
mod folder;
mod hostile;
mod ingest;
mod inputs;
mod jaeger;
mod keeping;
mod listen;
mod lists;
mod log;
mod otlp;
mod over_store;
mod parts;
mod query;
mod readme;
mod receive;
mod reports;
mod rollup;
mod rules;
mod samples;
mod sdk_dumps;
mod semantics;
mod serve;
mod settings;
mod spans;
mod sql;
mod store;
mod tables;
mod web;
mod zipkin;
