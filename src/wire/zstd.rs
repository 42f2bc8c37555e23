//! Inflating zstd payloads (RFC 8878), bounded whatever they claim.

use std::fmt;

use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

use crate::limits::ZSTD_WINDOW_MIN;

/// Why a payload could not be inflated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InflateError {
    /// More would come out than may, or its window is larger than that.
    TooLarge {
        /// The limit, in bytes.
        max: usize,
    },
    /// It is not zstd, or it is damaged.
    Corrupt {
        /// What the decoder met.
        what: String,
    },
}

impl fmt::Display for InflateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLarge { max } => {
                write!(
                    f,
                    "the payload needs more than the limit of {max} bytes to inflate (see --max-message)"
                )
            }
            Self::Corrupt { what } => write!(f, "the payload is not sound zstd: {what}"),
        }
    }
}

impl std::error::Error for InflateError {}

impl From<FrameDecoderError> for InflateError {
    fn from(error: FrameDecoderError) -> Self {
        Self::Corrupt { what: error.to_string() }
    }
}

/// Inflates one or more zstd frames one after the other to at most `max` bytes. Memory in use is
/// the output, what a frame calls its window (2 to 8 MiB with the usual compressors) and a block.
pub fn inflate(bytes: &[u8], max: usize) -> Result<Vec<u8>, InflateError> {
    let mut input = bytes;
    let mut out = Vec::new();
    let mut decoder = FrameDecoder::new();
    decoder.set_max_window_size(max.max(ZSTD_WINDOW_MIN) as u64);
    if input.is_empty() {
        return Err(corrupt("it is empty"));
    }
    while !input.is_empty() {
        match decoder.reset(&mut input) {
            Ok(()) => {}
            Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                length, ..
            })) => {
                input = usize::try_from(length)
                    .ok()
                    .and_then(|length| input.get(length..))
                    .ok_or_else(|| corrupt("a skippable frame is cut off"))?;
                continue;
            }
            Err(FrameDecoderError::WindowSizeTooBig { .. }) => return Err(InflateError::TooLarge { max }),
            Err(error) => return Err(error.into()),
        }
        inflate_frame(&mut decoder, &mut input, &mut out, max)?;
    }
    Ok(out)
}

/// Inflates the frame whose header the decoder has read.
fn inflate_frame(
    decoder: &mut FrameDecoder,
    input: &mut &[u8],
    out: &mut Vec<u8>,
    max: usize,
) -> Result<(), InflateError> {
    // A claim is worth room only as far as it may come true.
    let claim = decoder.content_size();
    let before = out.len();
    match usize::try_from(claim) {
        Ok(claim) if claim <= max - out.len() => out.reserve_exact(claim),
        _ => return Err(InflateError::TooLarge { max }),
    }
    loop {
        let finished = decoder.decode_blocks(&mut *input, BlockDecodingStrategy::UptoBlocks(1))?;
        if decoder.can_collect() > max - out.len() {
            return Err(InflateError::TooLarge { max });
        }
        decoder.collect_to_writer(&mut *out).map_err(|error| corrupt(error.to_string()))?;
        if finished {
            break;
        }
    }
    // 0 stands for "not said", too.
    if claim > 0 && (out.len() - before) as u64 != claim {
        return Err(corrupt("it does not have the size that it claims"));
    }
    match decoder.get_checksum_from_data() {
        Some(checksum) if Some(checksum) != decoder.get_calculated_checksum() => {
            Err(corrupt("its checksum does not match"))
        }
        _ => Ok(()),
    }
}

fn corrupt(what: impl Into<String>) -> InflateError {
    InflateError::Corrupt { what: what.into() }
}

#[cfg(test)]
mod tests {
    use ruzstd::encoding::{CompressionLevel, compress_to_vec};

    use super::super::testing::Random;
    use super::*;

    const MAX: usize = 4 * 1024 * 1024;

    /// Magic number, no flags, a window of 2 MiB; blocks follow.
    const HEADER: [u8; 6] = [0x28, 0xB5, 0x2F, 0xFD, 0, 0x58];

    /// A block of `size` bytes (at most 128 KiB) that are all the same: four bytes on the wire.
    fn run(size: u32, last: bool) -> [u8; 4] {
        let [a, b, c, _] = (size << 3 | 1 << 1 | u32::from(last)).to_le_bytes();
        [a, b, c, b'x']
    }

    /// Text with repetitions near and far, so that all kinds of blocks occur.
    fn text(random: &mut Random, length: usize) -> Vec<u8> {
        let mut text = Vec::with_capacity(length + 1000);
        while text.len() < length {
            let count = 1 + random.below(500);
            match random.below(3) {
                0 => text.extend(random.bytes(count)),
                1 => text.extend(random.bytes(count).iter().map(|byte| b'a' + byte % 20)),
                _ => {
                    let from = random.below(text.len() + 1);
                    let to = (from + count).min(text.len());
                    text.extend_from_within(from..to);
                }
            }
        }
        text.truncate(length);
        text
    }

    fn compressed(text: &[u8]) -> Vec<u8> {
        compress_to_vec(text, CompressionLevel::Fastest)
    }

    #[test]
    fn what_was_compressed_comes_out() {
        for (seed, length) in
            [0, 1, 5, 1000, 128 * 1024, 128 * 1024 + 1, 700_000, 3_000_000].into_iter().enumerate()
        {
            let text = text(&mut Random::new(seed as u64), length);
            let frame = compressed(&text);
            assert!(inflate(&frame, MAX).unwrap() == text);
            assert!(inflate(&frame, length).unwrap() == text, "exactly the limit");
            if length > 0 {
                assert_eq!(inflate(&frame, length - 1), Err(InflateError::TooLarge { max: length - 1 }));
            }
            let plain = compress_to_vec(&text[..], CompressionLevel::Uncompressed);
            assert!(inflate(&plain, MAX).unwrap() == text);
        }
    }

    #[test]
    fn several_frames_are_one_payload() {
        let skippable = [&[0x50, 0x2A, 0x4D, 0x18, 3, 0, 0, 0][..], b"abc"].concat();
        let frames = [compressed(b"one "), skippable.clone(), compressed(b""), compressed(b"two")].concat();
        assert_eq!(inflate(&frames, 7).unwrap(), b"one two");
        assert_eq!(inflate(&frames, 6), Err(InflateError::TooLarge { max: 6 }));
        assert_eq!(inflate(&skippable, MAX).unwrap(), b"");
        assert!(matches!(inflate(&skippable[..10], MAX), Err(InflateError::Corrupt { .. })));
    }

    #[test]
    fn the_claimed_size_may_be_there_or_not() {
        // One segment, a claim of one byte: five; the claim is right, too small, too large.
        for (claim, expected) in [(5, Ok(b"xxxxx".to_vec())), (255, Err(())), (4, Err(()))] {
            let frame = [&HEADER[..4], &[0x20, claim], &run(5, true)].concat();
            assert_eq!(inflate(&frame, 1000).map_err(|_| ()), expected, "{claim}");
        }
    }

    #[test]
    fn a_bomb_stops_at_the_bound() {
        // 25 GiB in 800 KB.
        let mut bomb = HEADER.to_vec();
        for _ in 0..200_000 {
            bomb.extend_from_slice(&run(128 * 1024, false));
        }
        bomb.extend_from_slice(&run(1, true));
        assert_eq!(inflate(&bomb, MAX), Err(InflateError::TooLarge { max: MAX }));

        let mut decoder = FrameDecoder::new();
        let mut input = &bomb[..];
        let mut out = Vec::new();
        decoder.reset(&mut input).unwrap();
        assert!(inflate_frame(&mut decoder, &mut input, &mut out, MAX).is_err());
        assert!(out.capacity() <= MAX * 2);
        let read = bomb.len() - input.len();
        assert!(read <= 4 * (MAX / (128 * 1024) + 32), "it stopped after {read} bytes");

        // Honest about its size, and dishonest about its window.
        for header in [
            [&HEADER[..4], &[0xE0], &(1u64 << 40).to_le_bytes()].concat(),
            [&HEADER[..4], &[0, 0xF8]].concat(),
        ] {
            let frame = [&header[..], &run(5, true)].concat();
            assert_eq!(inflate(&frame, MAX), Err(InflateError::TooLarge { max: MAX }));
        }
    }

    #[test]
    fn what_is_cut_off_or_damaged_is_an_error_that_says_so() {
        assert_eq!(inflate(b"", MAX).unwrap_err().to_string(), "the payload is not sound zstd: it is empty");
        assert!(
            inflate(b"[{\"type\":\"text\"}]", MAX)
                .unwrap_err()
                .to_string()
                .starts_with("the payload is not sound zstd: ")
        );
        assert_eq!(
            InflateError::TooLarge { max: 9 }.to_string(),
            "the payload needs more than the limit of 9 bytes to inflate (see --max-message)"
        );
        let mut frame = compressed(&text(&mut Random::new(1), 3000));
        for cut in 0..frame.len() {
            assert!(matches!(inflate(&frame[..cut], MAX), Err(InflateError::Corrupt { .. })), "cut at {cut}");
        }
        assert!(inflate(&[&frame[..], b"tail"].concat(), MAX).is_err());
        let last = frame.len() - 1;
        frame[last] ^= 1;
        assert_eq!(inflate(&frame, MAX), Err(corrupt("its checksum does not match")));
    }

    /// A decoder that panicked would end the whole program.
    #[test]
    fn damage_anywhere_is_survived() {
        for seed in 0..ROUNDS {
            let mut random = Random::new(seed);
            let length = random.below(6000);
            let mut frame = compressed(&text(&mut random, length));
            for _ in 0..1 + random.below(4) {
                let at = random.below(frame.len());
                frame[at] =
                    if random.chance(2) { random.next() as u8 } else { frame[at] ^ 1 << random.below(8) };
            }
            if let Ok(out) = inflate(&frame, 1_000_000) {
                assert!(out.len() <= 1_000_000);
            }
        }
    }

    const ROUNDS: u64 = 1000;
}
