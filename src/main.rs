//! The `dwindle` command. Everything is in the library; this hands over the process.

use std::process::ExitCode;

fn main() -> ExitCode {
    dwindle::cli::main()
}
