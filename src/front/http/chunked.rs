//! The chunked transfer coding (RFC 9112, section 7.1), as strict as its grammar: a line ends with
//! CR and LF, and nothing stands around a size.

use super::head::Fault;
use crate::limits::HTTP_CHUNK_EXTRA_MAX;

/// Where in the coding the next byte stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Chunked {
    state: State,
    /// Bytes of this chunk beside its data, or of all trailers.
    extra: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// In a size, behind so many digits of it.
    Size {
        size: u64,
        digits: u8,
    },
    /// Behind a size, in what nobody needs.
    Extension {
        size: u64,
    },
    /// Behind the CR of a line with this size.
    SizeEnd {
        size: u64,
    },
    Data {
        left: u64,
    },
    /// Behind the data.
    DataEnd,
    /// Behind the CR that follows it.
    DataLineEnd,
    /// At the start of a line behind the last chunk.
    TrailerStart,
    Trailer,
    TrailerEnd,
    /// Behind the CR of the empty line.
    LastLineEnd,
    Done,
}

impl Default for State {
    fn default() -> Self {
        State::Size { size: 0, digits: 0 }
    }
}

impl Chunked {
    /// Whether the whole body was seen; what comes then belongs to the next request.
    pub fn is_done(&self) -> bool {
        self.state == State::Done
    }

    /// Takes the next piece of the body's data from `input`, and steps over all else. `None` when
    /// nothing is left in it, or the body is done.
    ///
    /// # Errors
    /// It is not in this coding.
    pub fn next<'a>(&mut self, input: &mut &'a [u8]) -> Result<Option<&'a [u8]>, Fault> {
        while let Some((&byte, rest)) = input.split_first() {
            if let State::Data { left } = self.state {
                let count = usize::try_from(left).unwrap_or(usize::MAX).min(input.len());
                let (data, rest) = input.split_at(count);
                *input = rest;
                let left = left - count as u64;
                self.state = if left == 0 { State::DataEnd } else { State::Data { left } };
                return Ok(Some(data));
            }
            if self.is_done() {
                return Ok(None);
            }
            *input = rest;
            self.step(byte)?;
        }
        Ok(None)
    }

    fn step(&mut self, byte: u8) -> Result<(), Fault> {
        const FAULT: Fault = Fault::bad("the body is not in chunks");
        self.state = match (self.state, byte) {
            // More digits than a size can need would let it overflow.
            (State::Size { size, digits: digits @ 0..15 }, b'0'..=b'9' | b'a'..=b'f' | b'A'..=b'F') => {
                let digit = char::from(byte).to_digit(16).unwrap_or_default();
                State::Size { size: size << 4 | u64::from(digit), digits: digits + 1 }
            }
            (State::Size { size, digits: 1.. }, b';') => State::Extension { size },
            (State::Size { size, digits: 1.. } | State::Extension { size }, b'\r') => State::SizeEnd { size },
            (State::Extension { size }, b'\t' | b' '..=b'~' | 0x80..) => {
                self.count()?;
                State::Extension { size }
            }
            (State::SizeEnd { size: 0 }, b'\n') => {
                self.extra = 0;
                State::TrailerStart
            }
            (State::SizeEnd { size }, b'\n') => State::Data { left: size },
            (State::DataEnd, b'\r') => State::DataLineEnd,
            (State::DataLineEnd, b'\n') => {
                self.extra = 0;
                State::default()
            }
            (State::TrailerStart, b'\r') => State::LastLineEnd,
            (State::TrailerStart | State::Trailer, b'\t' | b' '..=b'~' | 0x80..) => {
                self.count()?;
                State::Trailer
            }
            (State::Trailer, b'\r') => State::TrailerEnd,
            (State::TrailerEnd, b'\n') => State::TrailerStart,
            (State::LastLineEnd, b'\n') => State::Done,
            _ => return Err(FAULT),
        };
        Ok(())
    }

    fn count(&mut self) -> Result<(), Fault> {
        self.extra += 1;
        if self.extra > HTTP_CHUNK_EXTRA_MAX {
            return Err(Fault { status: 431, line: "a chunk carries too much beside its data" });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The data, and what is left behind it; pieces of so many bytes are fed.
    fn decode(text: &[u8], piece: usize) -> Result<Option<(Vec<u8>, usize)>, Fault> {
        let mut chunked = Chunked::default();
        let mut data = Vec::new();
        let mut fed = 0;
        for mut input in text.chunks(piece) {
            fed += input.len();
            while let Some(piece) = chunked.next(&mut input)? {
                data.extend_from_slice(piece);
            }
            if chunked.is_done() {
                return Ok(Some((data, text.len() - fed + input.len())));
            }
            assert!(input.is_empty());
        }
        Ok(None)
    }

    #[test]
    fn chunks_are_put_together_however_they_arrive() {
        for (text, expected, left) in [
            ("0\r\n\r\n", "", 0),
            ("5\r\nhello\r\n0\r\n\r\nGET", "hello", 3),
            ("00A;a=\"b c\"\r\n0123456789\r\n1\r\n!\r\n000\r\nX-T: 1\r\nY: 2\r\n\r\n\r\n", "0123456789!", 2),
            ("2\r\n\r\n\r\n0;x\r\n\r\n", "\r\n", 0),
        ] {
            for piece in [1, 2, 3, 7, text.len()] {
                let (data, rest) = decode(text.as_bytes(), piece).expect(text).expect(text);
                assert_eq!((data.as_slice(), rest), (expected.as_bytes(), left), "{text} by {piece}");
            }
            for cut in 0..text.len() - left {
                assert_eq!(decode(&text.as_bytes()[..cut], 4096), Ok(None), "{text} cut at {cut}");
            }
        }
    }

    #[test]
    fn what_is_not_in_the_grammar_is_refused() {
        for text in [
            "\r\n",
            "x\r\n",
            " 5\r\nhello\r\n",
            "5 \r\nhello\r\n",
            "5\nhello\r\n",
            "5\r\nhello\n",
            "5\r\nhelloo\r\n",
            "5\rhello",
            "-1\r\n",
            "+1\r\n",
            "0x5\r\nhello\r\n",
            "5;a\nb\r\nhello\r\n",
            "5;\u{0}\r\n",
            "5\r\nhello0\r\n",
            "0\r\nX: a\nY: b\r\n\r\n",
            "0\r\n\n",
            "0\r\nX: a\r\r\n",
            ";a\r\n",
            "1000000000000000\r\n",
        ] {
            for piece in [1, text.len()] {
                let fault = decode(text.as_bytes(), piece).expect_err(text);
                assert_eq!(fault.status, 400, "{text:?}");
            }
        }
    }

    #[test]
    fn what_comes_beside_the_data_is_bounded() {
        let long = "x".repeat(HTTP_CHUNK_EXTRA_MAX + 1);
        for text in
            [format!("5;{long}\r\n"), format!("0\r\n{long}"), format!("0\r\n{}", "X:y\r\n".repeat(2000))]
        {
            assert_eq!(decode(text.as_bytes(), 4096).expect_err("a fault").status, 431);
        }
        // Each chunk has its own share.
        let half = "x".repeat(HTTP_CHUNK_EXTRA_MAX);
        assert!(decode(format!("1;{half}\r\na\r\n1;{half}\r\nb\r\n0\r\n\r\n").as_bytes(), 4096).is_ok());
    }
}
