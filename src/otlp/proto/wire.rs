//! The outermost layer of protobuf: fields of a message, without their meaning.

/// The bytes are no message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Broken(pub(super) &'static str);

/// A field of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Payload<'a> {
    /// A message, a string or bytes.
    Bytes(&'a [u8]),
    /// A number of any width.
    Number,
}

/// The fields of a message, in order; after an error there are no more.
#[derive(Debug, Clone)]
pub(super) struct Fields<'a> {
    rest: &'a [u8],
}

impl<'a> Fields<'a> {
    pub(super) fn of(message: &'a [u8]) -> Self {
        Self { rest: message }
    }

    fn field(&mut self) -> Result<(u64, Payload<'a>), Broken> {
        let tag = self.varint()?;
        let number = tag >> 3;
        if number == 0 || tag > u64::from(u32::MAX) {
            return Err(Broken("a field number out of range"));
        }
        let payload = match tag & 7 {
            0 => {
                self.varint()?;
                Payload::Number
            }
            1 => self.take(8).map(|_| Payload::Number)?,
            2 => {
                let length = self.varint()?;
                let length = usize::try_from(length).unwrap_or(usize::MAX);
                Payload::Bytes(self.take(length)?)
            }
            5 => self.take(4).map(|_| Payload::Number)?,
            // Groups are gone from the protocol since before OTLP.
            _ => return Err(Broken("an unknown wire type")),
        };
        Ok((number, payload))
    }

    fn varint(&mut self) -> Result<u64, Broken> {
        let mut value = 0u64;
        for (i, &byte) in self.rest.iter().take(10).enumerate() {
            value |= u64::from(byte & 0x7f) << (7 * i);
            if byte < 0x80 {
                self.take(i + 1)?;
                return Ok(value);
            }
        }
        Err(Broken("a number without an end"))
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], Broken> {
        let (taken, rest) = self
            .rest
            .split_at_checked(length)
            .ok_or(Broken("a field longer than its message"))?;
        self.rest = rest;
        Ok(taken)
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = Result<(u64, Payload<'a>), Broken>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let field = self.field();
        if field.is_err() {
            self.rest = &[];
        }
        Some(field)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_every_wire_type_are_passed() {
        let message = [
            0x08, 0x96, 0x01, // 1: varint 150
            0x11, 1, 2, 3, 4, 5, 6, 7, 8, // 2: fixed64
            0x1a, 2, b'h', b'i', // 3: bytes
            0x25, 1, 2, 3, 4, // 4: fixed32
        ];
        let fields: Result<Vec<_>, _> = Fields::of(&message).collect();
        assert_eq!(
            fields.unwrap(),
            [
                (1, Payload::Number),
                (2, Payload::Number),
                (3, Payload::Bytes(b"hi")),
                (4, Payload::Number)
            ]
        );
        for cut in [1, 2, 5, 11, 14, 15, 18] {
            assert!(
                Fields::of(&message[..cut]).any(|field| field.is_err()),
                "{cut}"
            );
        }
        for bad in [
            &[0u8, 0][..],
            &[0x0b],
            &[0xff; 12],
            &[0x0a, 0xff, 0xff, 0xff, 0xff, 0x0f],
        ] {
            assert!(Fields::of(bad).any(|field| field.is_err()), "{bad:?}");
        }
    }
}
