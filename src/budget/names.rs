//! What spans call hosts and far sides (semantics, sections 2.6 and 3).

use crate::model::{Attributes, Text};

use super::tree::{Forest, NodeId};

/// What tells one clock from another.
pub(super) fn host(forest: &Forest<'_>, node: NodeId) -> Text {
    forest.span(node).resource.host()
}

fn any_key(list: &Attributes, prefixes: &[&str]) -> bool {
    list.iter()
        .any(|(key, _)| prefixes.iter().any(|prefix| key.starts_with(prefix)))
}

/// True of a call by RPC or HTTP.
pub(super) fn is_remote_call(list: &Attributes) -> bool {
    any_key(list, &["rpc.", "http.", "url.", "grpc."])
}

/// True of a call of a database, a cache or a message broker.
pub(super) fn is_store(list: &Attributes) -> bool {
    any_key(list, &["db.", "messaging."])
}

/// The database that a call went to, under its name today or its former one.
pub(super) fn db_system(list: &Attributes) -> Option<&str> {
    list.text("db.system.name")
        .or_else(|| list.text("db.system"))
}

/// The name of a far side that left no spans (section 2.6).
pub(super) fn dependency_name(list: &Attributes) -> Option<Text> {
    if let Some(system) = db_system(list) {
        let space = list.text("db.namespace").or_else(|| list.text("db.name"));
        return Some(match space {
            Some(space) => compact_str::format_compact!("{system} {space}"),
            None => system.into(),
        });
    }
    if let Some(system) = list.text("messaging.system") {
        let to = list
            .text("messaging.destination.name")
            .or_else(|| list.text("messaging.destination"));
        return Some(match to {
            Some(to) => compact_str::format_compact!("{system} {to}"),
            None => system.into(),
        });
    }
    [
        "peer.service",
        "server.address",
        "net.peer.name",
        "rpc.service",
    ]
    .iter()
    .find_map(|key| list.text(key))
    .map(Text::from)
}
