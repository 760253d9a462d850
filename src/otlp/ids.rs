//! Ids as text: hex, base64, and what people's files hold besides.
//!
//! OTLP/JSON says hex. Protobuf's own JSON mapping says base64, and Tempo, Grafana and hand-made
//! converters write that. Tempo strips leading zeros from hex. Files made by hand hold words.

use base64::alphabet;
use base64::engine::{DecodePaddingMode, Engine, GeneralPurpose, GeneralPurposeConfig};

const LENIENT: GeneralPurposeConfig = GeneralPurposeConfig::new()
    .with_decode_padding_mode(DecodePaddingMode::Indifferent)
    .with_decode_allow_trailing_bits(false);
const STANDARD: GeneralPurpose = GeneralPurpose::new(&alphabet::STANDARD, LENIENT);
const URL_SAFE: GeneralPurpose = GeneralPurpose::new(&alphabet::URL_SAFE, LENIENT);

/// An id that was read from a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Id<const N: usize> {
    /// No id: empty, or all zero.
    Zero,
    /// The id.
    Known([u8; N]),
    /// The text is no id; these bytes stand for it, the same ones for the same text.
    Made([u8; N]),
}

/// Reads an id of `N` bytes; `words` lets any word of eight characters or more be one.
///
/// Hex of the full length comes first, then base64 of exactly `N` bytes (either alphabet, padded
/// or not), then shorter hex, which is padded on the left. A text that is both short hex and
/// base64 of `N` bytes is refused: nobody can tell.
pub(crate) fn read<const N: usize>(text: &str, words: bool) -> Option<Id<N>> {
    let digits = text.as_bytes();
    if digits.is_empty() {
        return Some(Id::Zero);
    }
    let hex = if digits.len() <= 2 * N {
        hex(digits)
    } else {
        None
    };
    let id = if digits.len() == 2 * N && hex.is_some() {
        hex
    } else {
        match (hex, base64_exact(digits)) {
            (Some(_), Some(_)) => return None,
            (hex, base64) => hex.or(base64),
        }
    };
    match id {
        Some(id) if id == [0; N] => Some(Id::Zero),
        Some(id) => Some(Id::Known(id)),
        None if words && is_word(digits) => Some(Id::Made(hash(digits))),
        None => None,
    }
}

/// Reads an id of a format whose ids are hex, and any text people put there: hex of up to `2 × N`
/// digits (with or without `0x`) is padded with zeros on the left; whatever else is there gets
/// bytes that are the same for the same text.
pub(crate) fn hex_or_made<const N: usize>(text: &str) -> Id<N> {
    let text = text.trim();
    let bare = text
        .strip_prefix("0x")
        .or_else(|| text.strip_prefix("0X"))
        .unwrap_or(text);
    let digits = bare.as_bytes();
    if digits.is_empty() {
        return Id::Zero;
    }
    let known = if digits.len() <= 2 * N {
        hex(digits)
    } else {
        None
    };
    match known {
        Some(id) if id == [0; N] => Id::Zero,
        Some(id) => Id::Known(id),
        None => Id::Made(hash(text.as_bytes())),
    }
}

/// Reads an id of a format whose ids are base64 of `N` bytes; else as [`hex_or_made`].
pub(crate) fn base64_or_made<const N: usize>(text: &str) -> Id<N> {
    match base64_exact(text.trim().as_bytes()) {
        Some(id) if id == [0; N] => Id::Zero,
        Some(id) => Id::Known(id),
        None => hex_or_made(text),
    }
}

/// Bytes from base64 of either alphabet, padded or not.
pub(crate) fn base64(text: &[u8]) -> Option<Vec<u8>> {
    STANDARD
        .decode(text)
        .or_else(|_| URL_SAFE.decode(text))
        .ok()
}

fn base64_exact<const N: usize>(text: &[u8]) -> Option<[u8; N]> {
    // 4 characters for every 3 bytes, up to two of them padding.
    let bare = (N * 4).div_ceil(3);
    if text.len() != bare && text.len() != N.div_ceil(3) * 4 {
        return None;
    }
    base64(text)?.try_into().ok()
}

/// What stands in [`NIBBLES`] for bytes that are no hex digit.
const NO_DIGIT: u8 = 16;

/// What each byte is as a hex digit.
const NIBBLES: [u8; 256] = {
    let mut all = [NO_DIGIT; 256];
    let mut digit = 0;
    while digit < 16 {
        all[b"0123456789abcdef"[digit] as usize] = digit as u8;
        all[b"0123456789ABCDEF"[digit] as usize] = digit as u8;
        digit += 1;
    }
    all
};

/// At most `2 × N` digits, padded with zeros on the left.
fn hex<const N: usize>(digits: &[u8]) -> Option<[u8; N]> {
    let mut id = [0; N];
    if digits.len() == 2 * N {
        let mut all = 0;
        for (byte, pair) in id.iter_mut().zip(digits.as_chunks::<2>().0) {
            let [high, low] = pair.map(|digit| NIBBLES[usize::from(digit)]);
            all |= high | low;
            *byte = high << 4 | low;
        }
        return (all < NO_DIGIT).then_some(id);
    }
    let offset = 2 * N - digits.len();
    for (i, &digit) in digits.iter().enumerate() {
        let nibble = NIBBLES[usize::from(digit)];
        if nibble == NO_DIGIT {
            return None;
        }
        let place = offset + i;
        id[place / 2] |= nibble << (4 * (1 - place % 2));
    }
    Some(id)
}

fn is_word(text: &[u8]) -> bool {
    let letter = |b: &u8| b.is_ascii_alphanumeric() || b"_-.:=+/".contains(b);
    (8..=256).contains(&text.len()) && text.iter().all(letter)
}

/// Bytes for a word: FNV-1a, once per eight bytes with another start; never zero.
fn hash<const N: usize>(word: &[u8]) -> [u8; N] {
    let mut id = [0; N];
    for (salt, part) in id.chunks_mut(8).enumerate() {
        let start = 0xcbf2_9ce4_8422_2325_u64 ^ (salt as u64);
        let sum = word.iter().fold(start, |sum, &byte| {
            (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        part.copy_from_slice(&sum.to_be_bytes()[..part.len()]);
    }
    if id == [0; N] {
        id[N - 1] = 1;
    }
    id
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(text: &str) -> Option<Id<8>> {
        read(text, false)
    }

    fn known(hex: &str) -> Option<Id<8>> {
        super::hex(hex.as_bytes()).map(Id::Known)
    }

    #[test]
    fn hex_of_any_case_and_either_base64_are_one_id() {
        for text in [
            "085ac082ffcffe8d",
            "085AC082FFCFFE8D",
            "CFrAgv/P/o0=",
            "CFrAgv/P/o0",
            "CFrAgv_P_o0=",
            "CFrAgv_P_o0",
        ] {
            assert_eq!(span(text), known("085ac082ffcffe8d"), "{text}");
        }
        let trace = read::<16>("/6V20yEXOsbO82Acj0vedQ==", false);
        assert_eq!(trace, read("FFA576D321173AC6CEF3601C8F4BDE75", false));
        assert!(matches!(trace, Some(Id::Known(_))));
    }

    #[test]
    fn stripped_zeros_come_back_unless_the_text_could_be_base64() {
        assert_eq!(span("1234567890abcd"), known("001234567890abcd"));
        assert_eq!(span("a"), known("000000000000000a"));
        // Eleven characters are eight bytes of base64 when the last one leaves no bits over.
        assert_eq!(span("12345678904"), None);
        assert_eq!(span("12345678901"), known("0000012345678901"));
        assert_eq!(
            read::<16>("4fad4dd4cf61528f", false),
            read("00000000000000004fad4dd4cf61528f", false)
        );
    }

    #[test]
    fn zero_is_no_id_in_any_spelling() {
        for text in ["", "0", "0000000000000000", "AAAAAAAAAAA="] {
            assert_eq!(span(text), Some(Id::Zero), "{text}");
        }
    }

    #[test]
    fn where_ids_are_hex_any_other_text_is_made_one_the_same_each_time() {
        let id = hex_or_made::<8>;
        for text in ["85ac082", "0x85ac082", " 0000000085AC082 ", "0X85aC082"] {
            assert_eq!(id(text), known("00000000085ac082").unwrap(), "{text}");
        }
        for text in ["", "0", "0x", "0x0000000000000000", "  "] {
            assert_eq!(id(text), Id::Zero, "{text}");
        }
        for text in [
            "efe9cb8857f68c8g",
            "zzz",
            "two words",
            "00000000000000001",
            "é",
        ] {
            assert!(
                matches!(id(text), Id::Made(made) if made != [0; 8]),
                "{text}"
            );
            assert_eq!(id(text), id(text));
        }
        assert_ne!(id("zzz"), id("zzy"));
    }

    #[test]
    fn words_are_ids_only_where_they_may_be() {
        assert_eq!(span("child-span-001"), None);
        let word = |text: &str| read::<8>(text, true);
        assert!(matches!(word("child-span-001"), Some(Id::Made(_))));
        assert_eq!(word("child-span-001"), word("child-span-001"));
        assert_ne!(word("child-span-001"), word("child-span-002"));
        for text in ["zzz", "!!!INVALID_BASE64!!!", "two words"] {
            assert_eq!(word(text), None, "{text}");
        }
        assert_eq!(word(&"x".repeat(257)), None);
        assert!(matches!(word("VFJBQ0VJRDEtU1BBTjE="), Some(Id::Made(_))));
    }
}
