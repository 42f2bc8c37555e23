//! What was probably meant.

/// The candidate nearest to a mistyped word, if one is near enough to be worth a hint.
pub fn nearest<'a>(typed: &str, candidates: &[&'a str]) -> Option<&'a str> {
    let typed = typed.to_lowercase();
    let near = |candidate: &str| {
        // Half a word is a fair abbreviation: --inst for --instructions.
        if typed.len() >= 3 && candidate.starts_with(&typed) {
            return Some(0);
        }
        let most = typed.chars().count().max(candidate.chars().count()).div_ceil(3);
        Some(distance(&typed, candidate)).filter(|distance| *distance <= most)
    };
    candidates
        .iter()
        .filter_map(|candidate| near(candidate).map(|distance| (distance, candidate)))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| *candidate)
}

/// How many characters must be inserted, dropped, replaced or swapped with their neighbour.
fn distance(left: &str, right: &str) -> usize {
    let right: Vec<char> = right.chars().collect();
    // Three rows of the table are enough: a swap looks back two.
    let mut before: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=right.len()).collect();
    let mut previous = None;
    for (row, left_char) in left.chars().enumerate() {
        let mut current = vec![row + 1];
        for (column, &right_char) in right.iter().enumerate() {
            let replaced = above[column] + usize::from(left_char != right_char);
            let mut least = replaced.min(above[column + 1] + 1).min(current[column] + 1);
            if column > 0 && previous == Some(right_char) && left_char == right[column - 1] {
                least = least.min(before[column - 1] + 1);
            }
            current.push(least);
        }
        before = std::mem::replace(&mut above, current);
        previous = Some(left_char);
    }
    above[right.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances() {
        for (left, right, expected) in [
            ("", "", 0),
            ("", "abc", 3),
            ("abc", "", 3),
            ("grace", "grace", 0),
            ("grce", "grace", 1),
            ("garce", "grace", 1),
            ("gracee", "grace", 1),
            ("kitten", "sitting", 3),
            ("dve", "dev", 1),
            ("rnu", "run", 1),
        ] {
            assert_eq!(distance(left, right), expected, "{left} {right}");
        }
    }

    #[test]
    fn only_what_is_near_is_suggested() {
        let words = ["runtime", "socket", "name", "call-timeout", "start-timeout"];
        assert_eq!(nearest("runtim", &words), Some("runtime"));
        assert_eq!(nearest("call-timout", &words), Some("call-timeout"));
        assert_eq!(nearest("timeout", &words), None);
        assert_eq!(nearest("star", &words), Some("start-timeout"));
        assert_eq!(nearest("Socket", &words), Some("socket"));
        assert_eq!(nearest("x", &words), None);
        assert_eq!(nearest("", &words), None);
        assert_eq!(nearest("port", &words), None);
    }
}
