//! What the tests of this room share.

/// Marsaglia's xorshift: the same numbers in every run.
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// Less than `bound`.
    pub(super) fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next() >> 16).unwrap_or(0) % bound
    }

    #[cfg(feature = "bridge")]
    pub(super) fn chance(&mut self, one_in: usize) -> bool {
        self.below(one_in) == 0
    }

    #[cfg(feature = "bridge")]
    pub(super) fn bytes(&mut self, length: usize) -> Vec<u8> {
        (0..length).map(|_| (self.next() >> 24) as u8).collect()
    }
}

/// The ways to hand `length` bytes in: whole, byte by byte, and cut in two at every place.
pub(super) fn cuttings(length: usize) -> impl Iterator<Item = Vec<usize>> {
    let halves = (1..length).map(move |cut| vec![cut, length - cut]);
    [vec![length], vec![1; length]].into_iter().chain(halves)
}
