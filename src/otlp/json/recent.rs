//! Texts of objects that come again and again.

use super::reader::{Read, Reader};

/// How many texts are remembered: traces that go through more services find the fewer.
const FEW: usize = 8;

/// The texts of the last few objects: comparing is faster than reading.
#[derive(Debug, Default)]
pub(crate) struct Recent {
    texts: Vec<Box<str>>,
    /// Which is forgotten next.
    oldest: usize,
}

impl Recent {
    /// Passes any value; returns its text.
    pub(super) fn skip<'a>(&mut self, reader: &mut Reader<'a>) -> Read<&'a str> {
        reader.shape()?;
        if let Some(text) = self.texts.iter().find_map(|text| reader.pass(text)) {
            return Ok(text);
        }
        let text = reader.skip()?;
        // Only of a compound value it is certain that it ends where its text does.
        if text.starts_with('{') {
            if self.texts.len() < FEW {
                self.texts.push(text.into());
            } else if let Some(place) = self.texts.get_mut(self.oldest) {
                *place = text.into();
                self.oldest = (self.oldest + 1) % FEW;
            }
        }
        Ok(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_known_text_is_passed_and_what_only_begins_like_one_is_read() {
        let mut recent = Recent::default();
        let one = r#"{"a":"}"}"#;
        let text = format!("{one} {one}");
        let mut reader = Reader::new(&text);
        for _ in 0..2 {
            assert_eq!(recent.skip(&mut reader), Ok(one));
        }
        assert_eq!(reader.at(), 2 * one.len() + 1);
        // A number may go on.
        assert_eq!(recent.skip(&mut Reader::new("1")), Ok("1"));
        assert_eq!(recent.skip(&mut Reader::new("12")), Ok("12"));
        for number in 0..3 * FEW {
            let text = format!(r#"{{"a":{number}}}"#);
            assert_eq!(recent.skip(&mut Reader::new(&text)), Ok(&*text));
        }
        assert_eq!(recent.texts.len(), FEW);
        assert!(recent.skip(&mut Reader::new(r#"{"a":"#)).is_err());
    }
}
