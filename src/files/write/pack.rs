//! Compression of what is written.

use std::io::{self, Write};

use flate2::write::GzEncoder;

/// How a file is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    /// Not at all.
    None,
    /// RFC 1952.
    Gzip,
    /// RFC 8878, with a checksum.
    Zstd,
}

/// A writer that compresses.
pub struct Packed<W: Write>(Packer<W>);

enum Packer<W: Write> {
    None(W),
    Gzip(GzEncoder<W>),
    Zstd(zstd::stream::write::Encoder<'static, W>),
}

impl<W: Write> std::fmt::Debug for Packed<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Packed").finish_non_exhaustive()
    }
}

impl<W: Write> Packed<W> {
    /// What is written to it goes compressed to `inner`.
    pub fn new(inner: W, compression: Compression) -> io::Result<Self> {
        Ok(Self(match compression {
            Compression::None => Packer::None(inner),
            Compression::Gzip => {
                Packer::Gzip(GzEncoder::new(inner, flate2::Compression::default()))
            }
            Compression::Zstd => {
                let mut encoder = zstd::stream::write::Encoder::new(inner, 3)?;
                encoder.include_checksum(true)?;
                Packer::Zstd(encoder)
            }
        }))
    }

    /// Ends the compressed bytes; without it they are cut off.
    pub fn finish(self) -> io::Result<W> {
        match self.0 {
            Packer::None(inner) => Ok(inner),
            Packer::Gzip(encoder) => encoder.finish(),
            Packer::Zstd(encoder) => encoder.finish(),
        }
    }
}

impl<W: Write> Write for Packed<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.0 {
            Packer::None(inner) => inner.write(bytes),
            Packer::Gzip(encoder) => encoder.write(bytes),
            Packer::Zstd(encoder) => encoder.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.0 {
            Packer::None(inner) => inner.flush(),
            Packer::Gzip(encoder) => encoder.flush(),
            Packer::Zstd(encoder) => encoder.flush(),
        }
    }
}
