//! Which members of an object or elements of an array have been looked at, for those rules that are
//! about all others.

/// A set of positions.
#[derive(Clone, Debug, Default)]
pub(super) struct Marks {
    all: bool,
    words: Vec<u64>,
}

impl Marks {
    pub(super) fn mark(&mut self, index: usize) {
        if self.words.len() <= index / 64 {
            self.words.resize(index / 64 + 1, 0);
        }
        if let Some(word) = self.words.get_mut(index / 64) {
            *word |= 1 << (index % 64);
        }
    }

    pub(super) fn mark_all(&mut self) {
        self.all = true;
    }

    pub(super) fn has(&self, index: usize) -> bool {
        self.all || self.words.get(index / 64).is_some_and(|word| word >> (index % 64) & 1 == 1)
    }

    pub(super) fn merge(&mut self, other: &Marks) {
        self.all |= other.all;
        if self.words.len() < other.words.len() {
            self.words.resize(other.words.len(), 0);
        }
        self.words.iter_mut().zip(&other.words).for_each(|(word, other)| *word |= other);
    }
}
