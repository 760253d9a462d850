//! The list of parts: what is not in it does not exist.
//!
//! JSON, so that people and scripts can read it. `checksum` is that of the file with zeros in its
//! place. It names each part, what it holds and how large it is; ids and filters have files of
//! their own, so that it stays small.

use std::collections::BTreeMap;
use std::io::{self, Write as _};
use std::path::Path;

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use super::count::Outcomes;
use super::error::{OpenError, is_full};
use super::folder::{Folder, bounds, hour_of, partition};
use super::share::CLAMP;
use super::tables::Table;
use super::whole::{Existing, Whole, keep_reserve, replace_from};
use crate::model::UnixNanos;

/// The format of a store that is written. It rises when an older Dwindle would misread it.
pub(super) const FORMAT: u32 = 1;

const SCHEME: &str = "xxh3:";
const DIGITS: usize = 16;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Manifest {
    pub(super) format: u32,
    /// The Dwindle that wrote it.
    version: String,
    checksum: String,
    /// One more with each commit.
    pub(super) generation: u64,
    /// The number of the next part; numbers never come again.
    pub(super) next_part: u64,
    /// The last time of day that whoever keeps the parts believed; 0 if nobody did.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(super) believed: u64,
    pub(super) parts: Vec<PartMeta>,
}

/// What tells a manifest of a later format.
#[derive(Deserialize)]
struct Head {
    format: u32,
    version: String,
}

/// What the manifest says of a part.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct PartMeta {
    /// The name of its files.
    pub(super) id: String,
    /// Where its files are, for readers; `hour` says the same.
    partition: String,
    /// Hours since 1970.
    pub(super) hour: u64,
    /// The commit that made it.
    pub(super) generation: u64,
    /// Its hour was over when it was made of all parts of the hour.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) settled: bool,
    /// More came of traces that it may have while it could not be read: these may have two states.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) left_out: bool,
    /// When the newest of its traces came, by this machine's clock, in nanoseconds since 1970.
    /// Parts did not always say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) came: Option<u64>,
    /// The first start of a span, in nanoseconds since 1970.
    pub(super) first: u64,
    /// The last end of a span.
    pub(super) last: u64,
    /// The first start of a request; without requests that of a span.
    pub(super) min_start: u64,
    /// The last start of a request.
    pub(super) max_start: u64,
    pub(super) traces: u64,
    /// Traces without a request.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(super) bare_traces: u64,
    /// Requests by outcome.
    pub(super) requests: Outcomes,
    /// A table without rows has no file.
    pub(super) tables: BTreeMap<String, TableMeta>,
    /// What later parts superseded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) dead: Option<DeadMeta>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct TableMeta {
    pub(super) rows: u64,
    pub(super) bytes: u64,
}

/// Traces of a part that are superseded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct DeadMeta {
    /// The file with their ids, in `index`.
    pub(super) file: String,
    pub(super) traces: u64,
    pub(super) requests: Outcomes,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl PartMeta {
    pub(super) fn new(id: String, hour: u64) -> Self {
        Self {
            id,
            partition: partition(hour),
            hour,
            generation: 0,
            settled: false,
            left_out: false,
            came: None,
            first: u64::MAX,
            last: 0,
            min_start: u64::MAX,
            max_start: 0,
            traces: 0,
            bare_traces: 0,
            requests: Outcomes::default(),
            tables: BTreeMap::new(),
            dead: None,
        }
    }

    pub(super) fn table(&self, table: Table) -> Option<TableMeta> {
        self.tables.get(table.as_str()).copied()
    }

    pub(super) fn rows(&self, table: Table) -> u64 {
        self.table(table).map_or(0, |table| table.rows)
    }

    /// Bytes of its tables' files.
    pub(super) fn bytes(&self) -> u64 {
        self.tables.values().map(|table| table.bytes).sum()
    }

    /// The hour that it is dated by, when its own says nothing: of what has no plausible start, and
    /// of what starts after `now`, only when it came is known.
    pub(super) fn dated(&self, now: UnixNanos) -> u64 {
        let strange = self.hour == CLAMP || bounds(self.hour).0 > now;
        if !strange {
            return self.hour;
        }
        let came = self.came.map(|came| hour_of(UnixNanos(came).min(now)));
        came.unwrap_or_else(|| hour_of(UnixNanos(self.max_start)))
    }

    /// Which parts of its partition it may be merged with: those of one answer. What came long
    /// after its hour, or has no plausible start, is kept apart by the day (UTC) on which it came,
    /// lest what comes keep for ever what came before: the last hour of that day.
    pub(super) fn lot(&self) -> Option<u64> {
        let came = hour_of(UnixNanos(self.came?));
        let is_late = self.hour == CLAMP || came > self.hour + 24;
        is_late.then_some(came / 24 * 24 + 23)
    }

    /// How many traces of it are superseded.
    pub(super) fn dead_traces(&self) -> u64 {
        self.dead.as_ref().map_or(0, |dead| dead.traces)
    }

    /// Requests that are not superseded.
    pub(super) fn live_requests(&self) -> Outcomes {
        let mut live = self.requests;
        if let Some(dead) = &self.dead {
            live.subtract(&dead.requests);
        }
        live
    }
}

impl Manifest {
    pub(super) fn new() -> Self {
        Self {
            format: FORMAT,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            checksum: placeholder(),
            generation: 0,
            next_part: 1,
            believed: 0,
            parts: Vec::new(),
        }
    }

    /// Reads that of a folder; `None` if it has none.
    pub(super) fn load(folder: &Folder) -> Result<Option<Self>, OpenError> {
        let file = folder.manifest();
        // Before the manifest: another process may commit in between.
        let witness = folder.witness();
        let last = last_commit(&witness);
        let failed = |error| OpenError::Io {
            file: file.clone(),
            error,
        };
        let text = match std::fs::read_to_string(&file) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                // The first manifest comes before the first part.
                let files = match folder.files() {
                    Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
                    files => files.map_err(failed)?,
                };
                let mut files = files.into_iter();
                let part = files.find(|file| file.extension().is_some_and(|of| of == "parquet"));
                return match part {
                    None => Ok(None),
                    Some(part) => Err(OpenError::NoManifest { file, part }),
                };
            }
            Err(error) => return Err(failed(error)),
        };
        let damaged = |what: String| OpenError::Manifest {
            file: file.clone(),
            what,
        };
        if let Ok(head) = serde_json::from_str::<Head>(&text)
            && head.format > FORMAT
        {
            return Err(OpenError::Newer {
                folder: folder.root().to_owned(),
                format: head.format,
                version: head.version,
            });
        }
        let manifest: Self =
            serde_json::from_str(&text).map_err(|error| damaged(error.to_string()))?;
        let zeroed = text.replacen(&manifest.checksum, &placeholder(), 1);
        if manifest.checksum != sum(&zeroed) {
            return Err(damaged("its checksum does not match".to_owned()));
        }
        match last.filter(|last| *last > manifest.generation) {
            None => Ok(Some(manifest)),
            Some(last) => Err(OpenError::OldManifest {
                generation: manifest.generation,
                file,
                last,
                witness,
            }),
        }
    }

    /// Replaces that of a folder. With `at_any_cost` also where no room is left on the disk, as what
    /// makes room is.
    pub(super) fn save(&self, folder: &Folder, at_any_cost: bool) -> io::Result<()> {
        let manifest = Self {
            format: FORMAT,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            checksum: placeholder(),
            ..self.clone()
        };
        let text = serde_json::to_string_pretty(&manifest)?;
        let text = text.replacen(&placeholder(), &sum(&text), 1);
        match replace(&folder.manifest(), text.as_bytes()) {
            Err(error) if at_any_cost && is_full(&error) => {
                let from = replace_from(&folder.reserve(), &folder.manifest(), text.as_bytes());
                from.map_err(|_| error)?;
            }
            replaced => replaced?,
        }
        // After the manifest, so that it never tells of one that is not there. Without it an older
        // manifest is not known as one, which is no reason not to go on.
        let witness = folder.witness();
        let text = format!("{}\n", self.generation);
        if let Err(error) = replace(&witness, text.as_bytes()) {
            tracing::warn!(file = %witness.display(), %error, "cannot be written");
        }
        Ok(())
    }
}

/// Puts by some room for the manifest that removes parts when there is none: twice what it takes.
pub(super) fn put_by(folder: &Folder) {
    let length = std::fs::metadata(folder.manifest()).map_or(0, |of| of.len());
    keep_reserve(&folder.reserve(), 2 * length + (64 << 10));
}

fn replace(path: &Path, contents: &[u8]) -> io::Result<()> {
    let mut file = Whole::create(path, Existing::Replace)?;
    file.write_all(contents)?;
    file.finish()
}

/// The last commit, if a file tells it.
pub(super) fn last_commit(witness: &Path) -> Option<u64> {
    let text = std::fs::read_to_string(witness).ok()?;
    // A line that was not written to its end tells nothing.
    text.strip_suffix('\n')?.parse().ok()
}

fn placeholder() -> String {
    format!("{SCHEME}{}", "0".repeat(DIGITS))
}

fn sum(text: &str) -> String {
    format!("{SCHEME}{:016x}", xxh3_64(text.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_plausible_start_is_dated_and_kept_together_by_when_it_came() {
        const NOW: u64 = 497_700;
        let at = |hour: u64| bounds(hour).0;
        let part = |hour: u64, came: Option<u64>| PartMeta {
            came: came.map(|came| at(came).0 + 7),
            max_start: at(NOW + 99).0,
            ..PartMeta::new("000000000001".to_owned(), hour)
        };
        let dated = |part: &PartMeta| part.dated(at(NOW));
        // Others are dated by their hour, whenever they came.
        let plain = part(NOW - 900, Some(NOW - 880));
        assert_eq!((dated(&plain), plain.lot()), (NOW - 900, None));
        let now = part(NOW, Some(NOW));
        assert_eq!((dated(&now), now.lot()), (NOW, None));
        // An hour to come by the clock of another machine.
        let ahead = part(NOW + 50, Some(NOW - 2));
        assert_eq!((dated(&ahead), ahead.lot()), (NOW - 2, None));
        let last_of_day = |hour: u64| Some(hour / 24 * 24 + 23);
        for came in [NOW - 30, NOW - 2] {
            let strange = part(CLAMP, Some(came));
            assert_eq!((dated(&strange), strange.lot()), (came, last_of_day(came)));
        }
        // No clock is believed that says it came later than now.
        assert_eq!(dated(&part(CLAMP, Some(NOW + 500))), NOW);
        // What came late is kept apart from what came in time.
        let late = part(NOW - 900, Some(NOW - 870));
        assert_eq!(
            (dated(&late), late.lot()),
            (NOW - 900, last_of_day(NOW - 870))
        );
        // Of what was written before it was told when it came, the starts have to say.
        let old = part(CLAMP, None);
        assert_eq!((dated(&old), old.lot()), (NOW + 99, None));
    }

    fn saved() -> (tempfile::TempDir, Folder) {
        let root = tempfile::tempdir().unwrap();
        let folder = Folder::new(root.path());
        let mut manifest = Manifest::new();
        manifest
            .parts
            .push(PartMeta::new("000000000001".to_owned(), 497_601));
        manifest.generation = 12;
        manifest.save(&folder, false).unwrap();
        assert_eq!(
            Manifest::load(&folder).unwrap().unwrap().parts,
            manifest.parts
        );
        (root, folder)
    }

    fn changed(from: &str, to: &str) -> OpenError {
        let (_root, folder) = saved();
        let text = std::fs::read_to_string(folder.manifest()).unwrap();
        assert!(text.contains(from));
        let mut file = Whole::create(&folder.manifest(), Existing::Replace).unwrap();
        file.write_all(text.replacen(from, to, 1).as_bytes())
            .unwrap();
        file.finish().unwrap();
        Manifest::load(&folder).unwrap_err()
    }

    #[test]
    fn a_changed_manifest_is_found() {
        for (from, to) in [
            ("\"generation\": 12", "\"generation\": 13"),
            ("{", "["),
            ("xxh3:", "xxh3:0"),
        ] {
            assert!(
                matches!(changed(from, to), OpenError::Manifest { .. }),
                "{from}"
            );
        }
    }

    #[test]
    fn an_older_manifest_and_none_beside_parts_are_told() {
        let (_root, folder) = saved();
        let older = std::fs::read(folder.manifest()).unwrap();
        let mut manifest = Manifest::load(&folder).unwrap().unwrap();
        manifest.generation = 15;
        manifest.save(&folder, false).unwrap();
        replace(&folder.manifest(), &older).unwrap();
        let error = Manifest::load(&folder).unwrap_err();
        assert!(
            matches!(
                error,
                OpenError::OldManifest {
                    generation: 12,
                    last: 15,
                    ..
                }
            ),
            "{error}"
        );
        replace(&folder.witness(), b"1").unwrap();
        assert!(Manifest::load(&folder).unwrap().is_some());
        std::fs::remove_file(folder.manifest()).unwrap();
        assert!(Manifest::load(&folder).unwrap().is_none());
        let part = folder.table(Table::Spans, 497_601, "000000000001");
        std::fs::create_dir_all(part.parent().unwrap()).unwrap();
        replace(&part, b"").unwrap();
        let error = Manifest::load(&folder).unwrap_err();
        assert!(matches!(&error, OpenError::NoManifest { part: told, .. } if *told == part));
    }

    #[test]
    fn a_newer_format_is_refused_by_name() {
        let error = changed("\"format\": 1", "\"format\": 2").to_string();
        assert!(
            error.contains("format 2") && error.contains("use a newer"),
            "{error}"
        );
    }
}
