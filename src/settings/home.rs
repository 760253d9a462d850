//! Folders in the user's home.

use std::path::{Path, PathBuf};

use etcetera::BaseStrategy as _;

use super::sources::Origin;
use super::table::DEFINITIONS;
use super::{Set, Settings};

/// Fills in where the user's home is. Where nobody knows it, the `~` stays.
pub(super) fn fill(settings: &mut Settings) {
    let data = &mut settings.values.store.data;
    let Some(folder) = found(data) else {
        return;
    };
    data.text = folder.display().to_string();
    let place = DEFINITIONS
        .iter()
        .position(|definition| (definition.section, definition.key) == ("store", "data"));
    if let Some(given) = place.and_then(|place| settings.given.get_mut(place)) {
        given.text.clone_from(&data.text);
    }
    data.value = folder;
}

fn found(data: &Set<PathBuf>) -> Option<PathBuf> {
    if data.origin == Origin::Default {
        let places = etcetera::choose_base_strategy().ok()?;
        return Some(places.data_dir().join("dwindle"));
    }
    // No shell stands between a file and here.
    let below = data.value.strip_prefix("~").ok()?;
    let home = etcetera::home_dir().ok()?;
    Some(if below == Path::new("") {
        home
    } else {
        home.join(below)
    })
}
