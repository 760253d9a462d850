//! What shells and `man` are told of the command line.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::{Args as ClapArgs, CommandFactory as _};
use clap_complete::Shell;

use super::{Args, Exit, Printer};

/// `dwindle completions`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:
  dwindle completions bash > ~/.local/share/bash-completion/completions/dwindle
  dwindle completions zsh > \"${fpath[1]}/_dwindle\"
  dwindle completions fish > ~/.config/fish/completions/dwindle.fish")]
pub struct CompletionsArgs {
    /// Which shell
    #[arg(value_enum, value_name = "SHELL")]
    shell: Shell,
}

/// `dwindle man`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:
  dwindle man | man -l -
  dwindle man --dir ~/.local/share/man/man1")]
pub struct ManArgs {
    /// Write a page for each command into this folder, and print none
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

pub(super) fn completions(args: &CompletionsArgs, printer: &mut Printer) -> anyhow::Result<Exit> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Args::command(), "dwindle", &mut script);
    printer.data(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Done)
}

pub(super) fn man(args: &ManArgs, printer: &mut Printer) -> anyhow::Result<Exit> {
    if let Some(folder) = &args.dir {
        pages(folder)?;
    } else {
        let mut page = Vec::new();
        let man = clap_mangen::Man::new(Args::command());
        man.render(&mut page).context("cannot make the page")?;
        printer.data(&String::from_utf8_lossy(&page))?;
    }
    Ok(Exit::Done)
}

fn pages(folder: &Path) -> anyhow::Result<()> {
    let cannot = || {
        let folder = folder.display();
        format!("cannot write into `{folder}`; choose another folder with --dir")
    };
    std::fs::create_dir_all(folder).with_context(cannot)?;
    clap_mangen::generate_to(Args::command(), folder).with_context(cannot)
}
