//! The crate's only decompressor: gzip and zstd, never past a cap.

use std::borrow::Cow;
use std::io::{self, Read};

/// How a message is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Encoding {
    /// Not at all.
    #[default]
    Identity,
    /// RFC 1952, one or more members.
    Gzip,
    /// RFC 8878, one or more frames.
    Zstd,
}

impl Encoding {
    /// The encoding of that name in HTTP and gRPC headers.
    pub fn from_name(name: &str) -> Option<Self> {
        match name.trim().to_ascii_lowercase().as_str() {
            "" | "identity" => Some(Self::Identity),
            "gzip" | "x-gzip" => Some(Self::Gzip),
            "zstd" => Some(Self::Zstd),
            _ => None,
        }
    }

    /// The encoding that these first bytes show.
    pub fn from_magic(bytes: &[u8]) -> Self {
        match bytes {
            [0x1f, 0x8b, ..] => Self::Gzip,
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Self::Zstd,
            _ => Self::Identity,
        }
    }
}

/// Why bytes could not be inflated.
#[derive(Debug, thiserror::Error)]
pub enum InflateError {
    /// More came out than may.
    #[error("more than {cap} bytes after decompression")]
    TooLarge {
        /// The cap, in bytes.
        cap: usize,
    },
    /// The bytes are not of that encoding, or broken off.
    #[error("broken {encoding:?} data")]
    Broken {
        /// The encoding.
        encoding: Encoding,
        /// What the decompressor says.
        #[source]
        source: io::Error,
    },
}

/// The bytes behind `encoding`, at most `cap` of them; identity is not copied.
pub fn inflate(
    encoding: Encoding,
    bytes: &[u8],
    cap: usize,
) -> Result<Cow<'_, [u8]>, InflateError> {
    if encoding == Encoding::Identity {
        if bytes.len() > cap {
            return Err(InflateError::TooLarge { cap });
        }
        return Ok(Cow::Borrowed(bytes));
    }
    let broken = |source| InflateError::Broken { encoding, source };
    let mut out = Vec::with_capacity(bytes.len().saturating_mul(4).min(cap));
    let mut reader = stream(encoding, bytes).map_err(broken)?;
    // One byte more than may be, so that exactly `cap` is not taken for too many.
    reader
        .by_ref()
        .take(cap as u64 + 1)
        .read_to_end(&mut out)
        .map_err(broken)?;
    if out.len() > cap {
        return Err(InflateError::TooLarge { cap });
    }
    Ok(Cow::Owned(out))
}

/// A reader of what is behind `encoding`; the caller caps what it takes from it. Its memory is
/// the decompressor's window, 128 MiB at most.
#[expect(
    clippy::disallowed_methods,
    reason = "the one place where decompressors are made"
)]
pub(crate) fn stream<'r>(
    encoding: Encoding,
    reader: impl io::BufRead + 'r,
) -> io::Result<Box<dyn Read + 'r>> {
    Ok(match encoding {
        Encoding::Identity => Box::new(reader),
        Encoding::Gzip => Box::new(flate2::bufread::MultiGzDecoder::new(reader)),
        Encoding::Zstd => Box::new(zstd::stream::read::Decoder::with_buffer(reader)?),
    })
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn zstd(bytes: &[u8]) -> Vec<u8> {
        zstd::encode_all(bytes, 1).unwrap()
    }

    #[test]
    fn every_member_and_frame_is_read() {
        for (encoding, pack) in [
            (Encoding::Gzip, gzip as fn(&[u8]) -> Vec<u8>),
            (Encoding::Zstd, zstd),
        ] {
            let packed = [pack(b"one "), pack(b"two")].concat();
            assert_eq!(Encoding::from_magic(&packed), encoding);
            assert_eq!(
                inflate(encoding, &packed, 100).unwrap().as_ref(),
                b"one two"
            );
            let cut = &packed[..packed.len() - 3];
            assert!(matches!(
                inflate(encoding, cut, 100),
                Err(InflateError::Broken { .. })
            ));
        }
        assert!(inflate(Encoding::Gzip, b"no gzip", 100).is_err());
    }

    #[test]
    fn the_cap_counts_what_comes_out() {
        let bomb = vec![b' '; 1 << 20];
        for (encoding, packed) in [
            (Encoding::Identity, bomb.clone()),
            (Encoding::Gzip, gzip(&bomb)),
            (Encoding::Zstd, zstd(&bomb)),
        ] {
            assert!(inflate(encoding, &packed, 1 << 20).is_ok());
            assert!(matches!(
                inflate(encoding, &packed, (1 << 20) - 1),
                Err(InflateError::TooLarge { cap: 0xf_ffff })
            ));
        }
    }
}
