//! The parts of a folder, and how they change: one commit after the other.
//!
//! A commit writes data files under temporary names, brings them to the disk and gives them their
//! names; then come the small files beside them; then the manifest is replaced in one step. What is
//! not in the manifest does not exist: opening to write removes what a killed writer left. Files
//! that the manifest no longer names go after a grace, when no snapshot of this process has them;
//! a reader in another process that comes too late reads the manifest again.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard};
use std::time::Instant;

use super::count::Outcomes;
use super::error::{OpenError, StoreError};
use super::folder::{Folder, Lock, is_ours, make_folder_for};
use super::index::{Dead, hash};
use super::manifest::{DeadMeta, Manifest, PartMeta, last_commit, put_by};
use super::memory::Gone;
use super::options::{Options, Step};
use super::parts::{Fault, Files, Part, Reach};
use super::rollup::Summaries;
use super::tables::Table;
use super::write::NewPart;
use crate::model::TraceId;

/// The parts as of one commit, by hour, then by name.
#[derive(Debug, Default)]
pub(super) struct State {
    pub(super) parts: Vec<Arc<Part>>,
}

/// A folder with parts.
#[derive(Debug)]
pub(super) struct Durable {
    pub(super) folder: Folder,
    pub(super) options: Options,
    /// `None` when it was opened to read.
    lock: Option<Lock>,
    state: RwLock<Arc<State>>,
    /// Held by whoever commits.
    manifest: Mutex<Manifest>,
    /// Held by whoever brings what is fresh into parts, which takes longer than a commit.
    pub(super) flushing: Mutex<()>,
    /// Held by whoever merges or removes parts, which does too.
    pub(super) maintenance: Mutex<()>,
    next_part: AtomicU64,
    /// The last commit of this process, or the one that it is about to make.
    generation: AtomicU64,
    /// As [`Manifest::believed`], for the next commit.
    pub(super) believed: AtomicU64,
    garbage: Mutex<Vec<Garbage>>,
    pub(super) summaries: Arc<Summaries>,
}

/// A file that the manifest does not name any more.
#[derive(Debug)]
struct Garbage {
    path: PathBuf,
    /// Whoever has it may still read.
    of: Option<(Arc<Files>, Table)>,
    since: Instant,
}

/// What a commit changes.
#[derive(Debug, Default)]
pub(super) struct Change {
    pub(super) add: Vec<NewPart>,
    /// Names of parts that go.
    pub(super) remove: BTreeSet<String>,
    /// Traces that are superseded, by part.
    pub(super) dead: BTreeMap<String, BTreeMap<TraceId, Outcomes>>,
    /// Parts that are [left out](PartMeta::left_out) from now on, or not any more.
    pub(super) left_out: BTreeMap<String, bool>,
}

impl Durable {
    /// Opens a folder to write; makes it if it is not there.
    pub(super) fn open(root: &Path, options: Options) -> Result<Self, OpenError> {
        let failed = |error| OpenError::Io {
            file: root.to_owned(),
            error,
        };
        fs::create_dir_all(root).map_err(failed)?;
        let lock = Lock::take(root)?;
        let folder = Folder::new(root);
        let manifest = if let Some(manifest) = Manifest::load(&folder)? {
            manifest
        } else {
            let manifest = Manifest::new();
            manifest.save(&folder, false).map_err(failed)?;
            manifest
        };
        let state = state_of(&folder, &manifest, &State::default(), Lists::AsFarAsTheyGo)?;
        let durable = Self::with(folder, options, Some(lock), manifest, state);
        durable.sweep().map_err(failed)?;
        put_by(&durable.folder);
        Ok(durable)
    }

    /// Opens a folder to read.
    pub(super) fn open_to_read(root: &Path, options: Options) -> Result<Self, OpenError> {
        let folder = Folder::of_another(root);
        let (manifest, state) = newest(&folder, &State::default())?;
        Ok(Self::with(folder, options, None, manifest, state))
    }

    fn with(
        folder: Folder,
        options: Options,
        lock: Option<Lock>,
        manifest: Manifest,
        state: State,
    ) -> Self {
        Self {
            folder,
            options,
            lock,
            state: RwLock::new(Arc::new(state)),
            next_part: AtomicU64::new(manifest.next_part),
            generation: AtomicU64::new(manifest.generation),
            believed: AtomicU64::new(manifest.believed),
            manifest: Mutex::new(manifest),
            flushing: Mutex::new(()),
            maintenance: Mutex::new(()),
            garbage: Mutex::new(Vec::new()),
            summaries: Arc::default(),
        }
    }

    /// Tells others where this process shows its pages.
    pub(super) fn announce(&self, pages: &str) -> Result<(), StoreError> {
        let failed = StoreError::io(self.folder.root());
        match &self.lock {
            Some(lock) => lock.announce(pages).map_err(failed),
            None => Ok(()),
        }
    }

    /// Reads the manifest again, if it was opened to read. True if there was a newer one.
    pub(super) fn refresh(&self) -> Result<bool, OpenError> {
        if self.lock.is_some() {
            return Ok(false);
        }
        let (newer, state) = newest(&self.folder, &self.state())?;
        let mut manifest = self.manifest();
        if newer.generation <= manifest.generation {
            return Ok(false);
        }
        *manifest = newer;
        *self.state.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(state);
        Ok(true)
    }

    /// Whether the newest manifest has a part as it is here. What cannot be read says nothing.
    pub(super) fn still_names(&self, part: &Part) -> bool {
        if let Err(error) = self.refresh() {
            tracing::debug!(%error, "the manifest cannot be read again");
        }
        let parts = &self.state().parts;
        parts.iter().any(|known| known.meta == part.meta)
    }

    pub(super) fn is_read_only(&self) -> bool {
        self.lock.is_none()
    }

    /// The newest parts.
    pub(super) fn state(&self) -> Arc<State> {
        Arc::clone(&self.hold())
    }

    /// The same; while it is held there is no commit.
    pub(super) fn hold(&self) -> RwLockReadGuard<'_, Arc<State>> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a commit; others wait.
    pub(super) fn manifest(&self) -> MutexGuard<'_, Manifest> {
        self.manifest.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A name for a part, never given before.
    pub(super) fn next_id(&self) -> Result<String, StoreError> {
        self.is_alone()?;
        let number = self.next_part.fetch_add(1, Ordering::AcqRel);
        Ok(format!("{number:012}"))
    }

    /// The lock is a file, which somebody may have removed to start a second server. Asked before a
    /// part is written, whose name the other may have given too, and before a commit.
    fn is_alone(&self) -> Result<(), StoreError> {
        let last = last_commit(&self.folder.witness());
        let known = self.generation.load(Ordering::Acquire);
        if last.is_some_and(|last| last > known) {
            return Err(StoreError::Overtaken {
                folder: self.folder.root().to_owned(),
            });
        }
        Ok(())
    }

    /// Makes a change all at once. `publish` runs with the new parts, while nobody can take a
    /// snapshot. After an error everything is as before, unless only the last step to the disk
    /// failed: then the commit is made, and may not outlive a power cut.
    pub(super) fn commit(
        &self,
        manifest: &mut Manifest,
        mut change: Change,
        publish: impl FnOnce(),
    ) -> Result<(), StoreError> {
        let state = self.state();
        let mut next = manifest.clone();
        next.generation += 1;
        next.next_part = self.next_part.load(Ordering::Acquire);
        next.believed = self.believed.load(Ordering::Acquire);
        next.parts.retain(|part| !change.remove.contains(&part.id));
        for part in &mut next.parts {
            if let Some(left_out) = change.left_out.get(&part.id) {
                part.left_out = *left_out;
            }
        }
        let mut written = DeadFiles::new(self);
        for (id, superseded) in &change.dead {
            let Some(meta) = next.parts.iter_mut().find(|part| part.id == *id) else {
                continue;
            };
            let part = state.parts.iter().find(|part| part.meta.id == *id);
            let Some(part) = part.filter(|_| !superseded.is_empty()) else {
                continue;
            };
            let ids = part.dead.ids().iter().chain(superseded.keys()).copied();
            let new = superseded.iter().filter(|(id, _)| !part.dead.has(**id));
            let mut requests = part
                .meta
                .dead
                .as_ref()
                .map_or_else(Outcomes::default, |d| d.requests);
            new.for_each(|(_, outcomes)| requests.merge(outcomes));
            let dead = Dead::of(ids);
            let file = format!("{id}-{}.dead", next.generation);
            written.write(&file, &dead)?;
            meta.dead = Some(DeadMeta {
                file,
                traces: dead.ids().len() as u64,
                requests,
            });
        }
        let mut files = BTreeMap::new();
        for part in &mut change.add {
            part.meta.generation = next.generation;
            let new = Files::new(&self.folder, &part.meta, part.filter.take());
            files.insert(part.meta.id.clone(), Arc::new(new));
            next.parts.push(part.meta.clone());
        }
        next.parts
            .sort_by(|a, b| (a.hour, &a.id).cmp(&(b.hour, &b.id)));
        let new = successor(&self.folder, &next, &state, &files, Lists::All)
            .map_err(|error| StoreError::Engine(error.to_string()))?;
        let path = self.folder.manifest();
        self.options.probe.at(Step::Manifest, &path)?;
        self.is_alone()?;
        // Before the folder tells it: others of this process may ask meanwhile.
        self.generation.store(next.generation, Ordering::Release);
        let makes_room = change.add.is_empty() && change.dead.is_empty();
        let saved = next
            .save(&self.folder, makes_room)
            .map_err(StoreError::io(&path));
        if saved.is_err() {
            // The name may be there although the folder could not be brought to the disk.
            let there = Manifest::load(&self.folder).ok().flatten();
            if there.is_none_or(|there| there.generation != next.generation) {
                return saved;
            }
        }
        written.keep();
        change.add.into_iter().for_each(NewPart::keep);
        let stopped = self.options.probe.at(Step::Publish, &path);
        if self.options.probe.is_dead() {
            return stopped;
        }
        self.discard(&state, &new);
        *manifest = next;
        {
            let mut current = self.state.write().unwrap_or_else(PoisonError::into_inner);
            *current = Arc::new(new);
            publish();
        }
        drop(state);
        self.tidy();
        saved
    }

    /// Removes files that nobody needs any more; returns how many are left for later.
    pub(super) fn tidy(&self) -> usize {
        if self.is_read_only() || self.options.probe.is_dead() {
            return 0;
        }
        let mut garbage = self.garbage.lock().unwrap_or_else(PoisonError::into_inner);
        let grace = self.options.grace;
        let mut holders: BTreeMap<PathBuf, usize> = BTreeMap::new();
        for (files, _) in garbage.iter().filter_map(|garbage| garbage.of.as_ref()) {
            *holders.entry(files.filter_path()).or_default() += 1;
        }
        garbage.retain(|garbage| {
            let held = garbage.of.as_ref().is_some_and(|(files, _)| {
                let ours = holders.get(&files.filter_path()).copied();
                Arc::strong_count(files) > ours.unwrap_or(0)
            });
            if held || garbage.since.elapsed() < grace {
                return true;
            }
            if self.options.probe.at(Step::Remove, &garbage.path).is_err() {
                return true;
            }
            if let Err(error) = fs::remove_file(&garbage.path)
                && error.kind() != std::io::ErrorKind::NotFound
            {
                tracing::warn!(file = %garbage.path.display(), %error, "cannot be removed; tried again later");
                return true;
            }
            if let Some((files, table)) = &garbage.of {
                self.folder.clear_partition(*table, files.hour());
                if let Some(count) = holders.get_mut(&files.filter_path()) {
                    *count -= 1;
                }
            }
            false
        });
        garbage.len()
    }

    /// Puts on the list what `old` names and `new` does not.
    fn discard(&self, old: &State, new: &State) {
        let now = Instant::now();
        let kept: BTreeSet<&str> = new.parts.iter().map(|part| part.meta.id.as_str()).collect();
        let dead: BTreeSet<&str> = new
            .parts
            .iter()
            .filter_map(|part| dead_file(&part.meta))
            .collect();
        let mut garbage = self.garbage.lock().unwrap_or_else(PoisonError::into_inner);
        for part in &old.parts {
            if let Some(file) = dead_file(&part.meta).filter(|file| !dead.contains(file)) {
                garbage.push(Garbage {
                    path: self.folder.dead(file),
                    of: None,
                    since: now,
                });
            }
            if kept.contains(part.meta.id.as_str()) {
                continue;
            }
            let tables = Table::ALL
                .into_iter()
                .filter(|table| part.meta.table(*table).is_some());
            let tables = tables.map(|table| {
                (
                    part.files.path(table),
                    Some((Arc::clone(&part.files), table)),
                )
            });
            let index = [part.files.filter_path(), part.files.summary_path()];
            for (path, of) in tables.chain(index.map(|path| (path, None))) {
                garbage.push(Garbage {
                    path,
                    of,
                    since: now,
                });
            }
        }
    }

    /// Removes what a killed writer left. Files with other names than ours stay.
    fn sweep(&self) -> std::io::Result<()> {
        let named = self.named();
        for path in self.folder.files()? {
            if is_ours(&path) && !named.contains(&path) {
                tracing::info!(file = %path.display(), "left by a writer that was stopped; removed");
                fs::remove_file(&path)?;
            }
        }
        Ok(())
    }

    /// Every file that the manifest names.
    pub(super) fn named(&self) -> BTreeSet<PathBuf> {
        let mut named = BTreeSet::new();
        for part in &self.state().parts {
            let tables = Table::ALL.into_iter();
            let tables = tables.filter(|table| part.meta.table(*table).is_some());
            named.extend(tables.map(|table| part.files.path(table)));
            named.insert(part.files.filter_path());
            named.insert(part.files.summary_path());
            named.extend(dead_file(&part.meta).map(|file| self.folder.dead(file)));
        }
        named
    }

    /// Files that wait for their end.
    pub(super) fn waiting(&self) -> BTreeSet<PathBuf> {
        let garbage = self.garbage.lock().unwrap_or_else(PoisonError::into_inner);
        garbage.iter().map(|garbage| garbage.path.clone()).collect()
    }
}

impl State {
    /// The parts that may have a live state of a trace with spans in this reach; without one,
    /// whenever they are.
    pub(super) fn candidates(
        &self,
        id: TraceId,
        reach: Option<Reach>,
    ) -> impl Iterator<Item = &Arc<Part>> {
        let hash = hash(id);
        let near = move |part: &&Arc<Part>| reach.is_none_or(|reach| part.reaches(reach));
        self.parts
            .iter()
            .filter(near)
            .filter(move |part| part.may_have(id, hash))
    }

    /// That of every part it can be told whether it has a trace.
    pub(super) fn readable(&self) -> Result<(), StoreError> {
        for part in self.parts.iter().filter(|part| part.filter().is_none()) {
            part.ids()?;
        }
        Ok(())
    }

    /// The requests of live states of a trace that a state with spans in this reach supersedes;
    /// `None` if there is none. Parts that cannot be read supersede nothing and keep what they
    /// have.
    pub(super) fn superseded(&self, id: TraceId, reach: Reach) -> Option<Gone> {
        let mut found: Option<Gone> = None;
        let parts = self.candidates(id, Some(reach));
        for part in parts.filter(|part| !part.is_faulty()) {
            match part.outcomes_of(&[id]) {
                Ok(outcomes) => {
                    for (hour, outcomes) in outcomes.values().flatten() {
                        let gone = found.get_or_insert_default();
                        gone.entry(*hour).or_default().merge(outcomes);
                    }
                }
                Err(error) => tracing::warn!(%error, "a part is left out of a look-up"),
            }
        }
        found
    }
}

/// Lists of superseded traces that a commit has written; removed if it fails.
struct DeadFiles<'a> {
    durable: &'a Durable,
    files: Vec<PathBuf>,
}

impl<'a> DeadFiles<'a> {
    fn new(durable: &'a Durable) -> Self {
        Self {
            durable,
            files: Vec::new(),
        }
    }

    fn write(&mut self, name: &str, dead: &Dead) -> Result<(), StoreError> {
        let path = self.durable.folder.dead(name);
        self.durable.options.probe.at(Step::Dead, &path)?;
        self.files.push(path.clone());
        let make = || {
            make_folder_for(&path)?;
            dead.save(&path)
        };
        make().map_err(StoreError::io(&path))
    }

    fn keep(mut self) {
        self.files.clear();
    }
}

impl Drop for DeadFiles<'_> {
    fn drop(&mut self) {
        if !self.durable.options.probe.is_dead() {
            for file in &self.files {
                fs::remove_file(file).ok();
            }
        }
    }
}

fn dead_file(meta: &PartMeta) -> Option<&str> {
    meta.dead.as_ref().map(|dead| dead.file.as_str())
}

/// The manifest of a folder in which another process may write, and the parts that it names.
fn newest(folder: &Folder, old: &State) -> Result<(Manifest, State), OpenError> {
    let load = || {
        Manifest::load(folder)?.ok_or_else(|| OpenError::NoStore {
            folder: folder.root().to_owned(),
        })
    };
    let mut manifest = load()?;
    loop {
        if let Ok(state) = state_of(folder, &manifest, old, Lists::All) {
            return Ok((manifest, state));
        }
        // A list that it names may be gone because there is a newer one.
        let newer = load()?;
        if newer.generation == manifest.generation {
            let state = state_of(folder, &manifest, old, Lists::AsFarAsTheyGo)?;
            return Ok((manifest, state));
        }
        manifest = newer;
    }
}

/// Which lists of superseded traces have to be there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lists {
    All,
    /// A part whose list cannot be read is left out of all answers: nobody knows which of its rows
    /// count.
    AsFarAsTheyGo,
}

fn state_of(
    folder: &Folder,
    manifest: &Manifest,
    old: &State,
    lists: Lists,
) -> Result<State, OpenError> {
    successor(folder, manifest, old, &BTreeMap::new(), lists)
}

/// The parts that a manifest names; what stays the same is shared with `old`.
fn successor(
    folder: &Folder,
    manifest: &Manifest,
    old: &State,
    new: &BTreeMap<String, Arc<Files>>,
    lists: Lists,
) -> Result<State, OpenError> {
    let known: BTreeMap<&str, &Arc<Part>> = old
        .parts
        .iter()
        .map(|part| (part.meta.id.as_str(), part))
        .collect();
    let mut parts = Vec::with_capacity(manifest.parts.len());
    for meta in &manifest.parts {
        let before = known.get(meta.id.as_str());
        if let Some(same) = before.filter(|part| part.meta == *meta) {
            parts.push(Arc::clone(same));
            continue;
        }
        let files = before.map(|part| &part.files).or_else(|| new.get(&meta.id));
        let files = files.map_or_else(|| Arc::new(Files::new(folder, meta, None)), Arc::clone);
        // What was read of the list, or could not be, stays true of the same list.
        if let Some(part) = before.filter(|part| part.meta.dead == meta.dead) {
            let (dead, lost) = (part.dead.clone(), part.lost.clone());
            parts.push(Arc::new(Part::new(meta.clone(), dead, lost, files)));
            continue;
        }
        let mut lost = None;
        let dead = match dead_file(meta).map(|file| folder.dead(file)) {
            None => Dead::default(),
            Some(file) => match Dead::load(&file) {
                Ok(dead) => dead,
                Err(what) if lists == Lists::All => return Err(OpenError::Manifest { file, what }),
                Err(what) => {
                    let what = format!("{what}; which rows of its part count, only it tells");
                    tracing::error!(file = %file.display(), "{what}: all of them are left out");
                    let missing = !file.exists();
                    lost = Some(Fault {
                        file,
                        what,
                        missing,
                    });
                    Dead::default()
                }
            },
        };
        parts.push(Arc::new(Part::new(meta.clone(), dead, lost, files)));
    }
    Ok(State { parts })
}
