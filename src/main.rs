//! The `dwindle` command. Everything is in the library; this hands over the process.

use std::process::ExitCode;

/// One thread takes spans apart and another drops them, millions of small pieces a minute. glibc
/// grows and shrinks the arena of each page by page for that, at a third of the CPU time in all. Huge
/// pages (`no_thp` turns them off) cost more to clear than they save.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    dwindle::cli::main()
}
