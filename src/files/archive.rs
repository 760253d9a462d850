//! Archives of files (tar): each member is an input of its own.

use std::io::{self, Read};

use super::chunks::Chunks;
use super::gather::{Found, Gather};
use super::scan::Scan;

/// Archives within archives that are opened.
const DEPTH: usize = 2;
/// The size of a header.
const HEADER: usize = 512;

/// True if a tar archive begins so: its first header has the sum that it names.
pub(super) fn is_tar(head: &[u8]) -> bool {
    let Some(header) = head.get(..HEADER) else {
        return false;
    };
    let header_sum = tar::Header::from_byte_slice(header).cksum();
    // The sum is of all bytes, with its own field taken for spaces.
    let field = 148..156;
    let sum = |bytes: &[u8]| bytes.iter().map(|&byte| u32::from(byte)).sum::<u32>();
    let own = header.get(field.clone()).unwrap_or_default();
    let spaces = u32::from(b' ') * field.len() as u32;
    header_sum.is_ok_and(|named| named == sum(header) - sum(own) + spaces && named > spaces)
}

/// Reads the members of an archive, in their order. One that holds no traces is passed over if
/// others do.
pub(super) fn members(scan: &mut Scan<'_>, chunks: Chunks<'_>, gather: &mut Gather) {
    if scan.depth >= DEPTH {
        return gather.refuse("an archive in an archive in an archive; unpack it first".to_owned());
    }
    let name = gather.file().to_owned();
    let (reader, taken) = chunks.into_reader();
    let mut archive = tar::Archive::new(reader);
    let mut found = Found::default();
    let entries = match archive.entries() {
        Ok(entries) => entries,
        Err(error) => return gather.problem(None, None, stopped(&error)),
    };
    for entry in entries {
        let entry = match entry {
            Ok(entry) => entry,
            Err(error) => {
                gather.problem(None, None, stopped(&error));
                break;
            }
        };
        (scan.progress)(taken.get());
        // Links name members that come themselves; folders and devices hold nothing.
        if !entry.header().entry_type().is_file() || is_hidden(&entry.path_bytes()) {
            continue;
        }
        let member = format!("{name}:{}", String::from_utf8_lossy(&entry.path_bytes()));
        let mut inner = Scan {
            limits: scan.limits,
            allowance: scan.allowance.clone(),
            progress: &mut |_| (scan.progress)(taken.get()),
            depth: scan.depth + 1,
            stored: scan.stored,
            path: None,
        };
        let input: Box<dyn Read> = Box::new(entry);
        let ended = inner.input(member.clone(), Ok(input), gather);
        found.count(&member, ended);
        if !gather.is_well() {
            break;
        }
    }
    if let Some(reason) = found.none_good("archive") {
        gather.refuse(reason);
    } else {
        gather.has_use();
        gather.passed_over(&name, found);
    }
}

/// A member that its path hides, as files in a hidden folder, and what macOS adds to archives.
fn is_hidden(path: &[u8]) -> bool {
    let mut names = path.split(|&byte| byte == b'/');
    names.any(|name| name.starts_with(b".") && !matches!(name, b"." | b".."))
}

fn stopped(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => {
            "cut off in the middle of the archive; what came before is read".to_owned()
        }
        _ => format!("the archive cannot be read further: {error}"),
    }
}
