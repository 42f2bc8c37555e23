//! Inflating zstd payloads (RFC 8878), bounded whatever they claim.

use std::fmt;

use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

/// Decoders should support windows of up to this size (RFC 8878, section 3.1.1.1.2).
const WINDOW_MIN: usize = 8 * 1024 * 1024;

/// Decoded at a time before the output takes it.
const STEP: usize = 512 * 1024;

/// Why a payload could not be inflated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InflateError {
    /// There is more in it than may come out.
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
                write!(f, "the payload inflates to more than the limit of {max} bytes (see --max-message)")
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
/// the output, what a frame calls its window (2 to 8 MiB with the usual compressors) and a step.
pub fn inflate(bytes: &[u8], max: usize) -> Result<Vec<u8>, InflateError> {
    let mut input = bytes;
    let mut out = Vec::new();
    let mut decoder = FrameDecoder::new();
    decoder.set_max_window_size(max.max(WINDOW_MIN) as u64);
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
    match usize::try_from(claim) {
        Ok(claim) if claim <= max - out.len() => out.reserve_exact(claim),
        _ => return Err(InflateError::TooLarge { max }),
    }
    loop {
        let finished = decoder.decode_blocks(&mut *input, BlockDecodingStrategy::UptoBytes(STEP))?;
        if decoder.can_collect() > max - out.len() {
            return Err(InflateError::TooLarge { max });
        }
        decoder.collect_to_writer(&mut *out).map_err(|error| corrupt(error.to_string()))?;
        if finished {
            break;
        }
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
