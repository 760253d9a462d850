#![no_main]

#[path = "../entry.rs"]
#[allow(dead_code, reason = "each target runs one of the entries")]
mod entry;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| entry::parquet(bytes));
