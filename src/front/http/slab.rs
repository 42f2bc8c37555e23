//! Values under numbers that are never used twice, found without a search.

/// The values. A key holds a place and how often that place had been used before.
#[derive(Debug)]
pub struct Slab<T> {
    places: Vec<(u32, Option<T>)>,
    free: Vec<u32>,
}

/// The name of a value in a [`Slab`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    place: u32,
    use_: u32,
}

impl Key {
    /// Its place, which another value may have after this one is gone.
    pub fn place(self) -> usize {
        self.place as usize
    }
}

impl<T> Slab<T> {
    /// Holds nothing.
    pub const fn new() -> Self {
        Self { places: Vec::new(), free: Vec::new() }
    }

    /// How many values there are.
    pub fn len(&self) -> usize {
        self.places.len() - self.free.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds a value.
    pub fn insert(&mut self, value: T) -> Key {
        let place = self.free.pop().unwrap_or_else(|| {
            self.places.push((0, None));
            // There are far fewer places than numbers for them.
            (self.places.len() - 1) as u32
        });
        let (use_, slot) = &mut self.places[place as usize];
        *slot = Some(value);
        Key { place, use_: *use_ }
    }

    /// Takes a value out.
    pub fn remove(&mut self, key: Key) -> Option<T> {
        let (use_, slot) = self.places.get_mut(key.place())?;
        let value = slot.take_if(|_| *use_ == key.use_)?;
        *use_ = use_.wrapping_add(1);
        self.free.push(key.place);
        Some(value)
    }

    /// A value.
    pub fn get(&self, key: Key) -> Option<&T> {
        let (use_, slot) = self.places.get(key.place())?;
        slot.as_ref().filter(|_| *use_ == key.use_)
    }

    /// A value, to change it.
    pub fn get_mut(&mut self, key: Key) -> Option<&mut T> {
        let (use_, slot) = self.places.get_mut(key.place())?;
        slot.as_mut().filter(|_| *use_ == key.use_)
    }

    /// The keys of all values.
    pub fn keys(&self) -> impl Iterator<Item = Key> {
        self.places
            .iter()
            .enumerate()
            .filter(|(_, (_, slot))| slot.is_some())
            .map(|(place, (use_, _))| Key { place: place as u32, use_: *use_ })
    }
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_finds_its_own_value_and_no_later_one() {
        let mut slab = Slab::new();
        let a = slab.insert("a");
        let b = slab.insert("b");
        assert_eq!((slab.get(a), slab.get(b), slab.len()), (Some(&"a"), Some(&"b"), 2));
        assert_eq!(slab.remove(a), Some("a"));
        assert_eq!((slab.remove(a), slab.get(a), slab.len()), (None, None, 1));
        let c = slab.insert("c");
        assert_eq!(c.place(), a.place());
        assert_eq!((slab.get(a), slab.get(c)), (None, Some(&"c")));
        assert!(slab.get_mut(a).is_none() && slab.remove(a).is_none());
        assert_eq!(slab.keys().collect::<Vec<_>>(), [c, b]);
    }
}
