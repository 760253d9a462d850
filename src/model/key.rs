//! Keys of attributes that nearly every span has, kept once.

use super::Text;

/// Well-known keys that are too long to be kept in place, by length, then by bytes.
const LONG: [&str; 50] = [
    "db.response.returned_rows",
    "deadline.remaining_out_ms",
    "gen_ai.request.max_tokens",
    "gen_ai.usage.input_tokens",
    "http.request.resend_count",
    "http.response.status_code",
    "messaging.conversation_id",
    "messaging.kafka.partition",
    "feature_flag.provider_name",
    "gen_ai.request.temperature",
    "gen_ai.usage.output_tokens",
    "messaging.destination.name",
    "messaging.destination_kind",
    "network.connection.subtype",
    "rpc.connect_rpc.error_code",
    "deployment.environment.name",
    "feature_flag.result.variant",
    "http.request_content_length",
    "k8s.container.restart_count",
    "messaging.kafka.message.key",
    "messaging.message.body.size",
    "process.runtime.description",
    "rpc.message.compressed_size",
    "http.request.method_original",
    "http.response_content_length",
    "db.elasticsearch.cluster.name",
    "messaging.batch.message_count",
    "messaging.consumer.group.name",
    "rpc.message.uncompressed_size",
    "db.cassandra.consistency_level",
    "gen_ai.response.finish_reasons",
    "messaging.destination.template",
    "messaging.kafka.consumer.group",
    "messaging.kafka.consumer_group",
    "messaging.kafka.message.offset",
    "messaging.rabbitmq.routing_key",
    "aspnetcore.request.is_unhandled",
    "messaging.destination.anonymous",
    "messaging.destination.temporary",
    "messaging.message.envelope.size",
    "messaging.kafka.source.partition",
    "messaging.kafka.message.tombstone",
    "messaging.message.conversation_id",
    "messaging.destination.partition.id",
    "messaging.message_payload_size_bytes",
    "messaging.kafka.destination.partition",
    "messaging.destination.subscription.name",
    "messaging.rabbitmq.message.delivery_tag",
    "messaging.rabbitmq.destination.routing_key",
    "messaging.message_payload_compressed_size_bytes",
];

/// The key of an attribute. A well-known one takes no memory of its own, however long it is.
pub fn key(key: &str) -> Text {
    // What is shorter is kept in place anyway.
    if key.len() < LONG[0].len() {
        return Text::from(key);
    }
    let known = LONG.binary_search_by(|known| (known.len(), *known).cmp(&(key.len(), key)));
    known.map_or_else(|_| Text::from(key), |at| Text::const_new(LONG[at]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn well_known_keys_take_no_memory_and_every_key_stays_what_it_is() {
        assert!(LONG.is_sorted_by_key(|key| (key.len(), *key)));
        for known in LONG {
            assert_eq!(key(known), known);
            assert!(Text::from(known).is_heap_allocated(), "{known}");
            assert!(!key(known).is_heap_allocated(), "{known}");
        }
        for other in [
            "",
            "url.path",
            "http.response.status_codes",
            "deadline.remaining_out_us",
        ] {
            assert_eq!(key(other), other);
        }
    }
}
