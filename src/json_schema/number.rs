//! Numbers as they are written, exact however many digits they have.

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};

/// A number as its decimal digits: `0.DIGITS` times ten to the power of `point`. Neither its first
/// nor its last digit is a zero, so that each number has one form; zero has no digits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Decimal<'a> {
    is_negative: bool,
    /// The digits, which a dot may cut in two.
    head: &'a [u8],
    tail: &'a [u8],
    point: i64,
}

impl<'a> Decimal<'a> {
    /// Reads a JSON number.
    pub(super) fn parse(text: &'a str) -> Self {
        let (is_negative, text) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
        let (digits, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let (head, tail) = digits.split_once('.').unwrap_or((digits, ""));
        let is_zero = |digit: &&u8| **digit == b'0';
        let leading = |digits: &[u8]| digits.iter().take_while(is_zero).count();
        let trailing = |digits: &[u8]| digits.iter().rev().take_while(is_zero).count();
        let (mut head, mut tail) = (head.as_bytes(), tail.as_bytes());
        head = &head[leading(head)..];
        let mut point = head.len() as i64;
        if head.is_empty() {
            let zeros = leading(tail);
            tail = &tail[zeros..];
            point = -(zeros as i64);
        }
        tail = &tail[..tail.len() - trailing(tail)];
        if tail.is_empty() {
            head = &head[..head.len() - trailing(head)];
        }
        if head.is_empty() && tail.is_empty() {
            return Self { is_negative: false, head, tail, point: 0 };
        }
        // An exponent that no i64 holds is beyond all that numbers are compared with.
        let far = if exponent.starts_with('-') { i64::MIN } else { i64::MAX };
        let point = point.saturating_add(exponent.parse().unwrap_or(far));
        Self { is_negative, head, tail, point }
    }

    fn digits(self) -> impl Iterator<Item = u8> + use<'a> {
        self.head.iter().chain(self.tail).copied()
    }

    fn len(self) -> usize {
        self.head.len() + self.tail.len()
    }

    fn is_zero(self) -> bool {
        self.len() == 0
    }

    /// Whether there is nothing behind the dot once it is written out.
    pub(super) fn is_integer(self) -> bool {
        self.len() as i64 <= self.point || self.is_zero()
    }

    /// Whether it is this many times some integer. Exact for a divisor of up to 37 digits; with a
    /// longer one only zero is a multiple.
    pub(super) fn is_multiple_of(self, divisor: Decimal<'_>) -> bool {
        if self.is_zero() {
            return true;
        }
        let (Some(modulus), false) = (divisor.mantissa(), divisor.is_zero()) else { return false };
        // How many zeros this number has behind its digits in units of the divisor's last digit.
        let zeros = (self.point.saturating_sub(self.len() as i64))
            .saturating_sub(divisor.point.saturating_sub(divisor.len() as i64));
        if zeros < 0 {
            // Its last digit, which is no zero, lies behind that of any multiple.
            return false;
        }
        let step = |rest: u128, digit: u8| (rest * 10 + u128::from(digit - b'0')) % modulus;
        let mut rest = self.digits().fold(0, step);
        // A number below 2 to the power of 128 has no more twos and fives in it than that.
        for _ in 0..zeros.min(128) {
            rest = step(rest, b'0');
        }
        rest == 0
    }

    /// Its digits as a number that can be multiplied by ten.
    fn mantissa(self) -> Option<u128> {
        let add = |sum: u128, digit: u8| sum * 10 + u128::from(digit - b'0');
        (self.len() <= 37).then(|| self.digits().fold(0, add))
    }

    /// A count: what is no whole number is cut, what is too large is the largest.
    pub(super) fn count(self) -> usize {
        if self.is_negative || self.point <= 0 {
            return 0;
        }
        let digits = self.digits().chain(std::iter::repeat(b'0')).take(self.point.min(21) as usize);
        digits.fold(0usize, |sum, digit| sum.saturating_mul(10).saturating_add(usize::from(digit - b'0')))
    }
}

impl Ord for Decimal<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self.is_negative, other.is_negative) {
            (true, false) => return Ordering::Less,
            (false, true) => return Ordering::Greater,
            _ => {}
        }
        let larger = match (self.is_zero(), other.is_zero()) {
            (false, false) => self.point.cmp(&other.point).then_with(|| self.digits().cmp(other.digits())),
            (self_zero, other_zero) => other_zero.cmp(&self_zero),
        };
        if self.is_negative { larger.reverse() } else { larger }
    }
}

impl PartialOrd for Decimal<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Decimal<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Decimal<'_> {}

impl Hash for Decimal<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.is_negative.hash(state);
        self.point.hash(state);
        self.digits().for_each(|digit| digit.hash(state));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jsonrpc::json::proof::random;

    #[test]
    fn all_spellings_of_a_number_are_one() {
        for same in [
            &["0", "-0", "0.0", "0e9", "-0.000E-3"][..],
            &["1", "1.0", "10e-1", "0.1e1", "0.001E+3", "100e-2"],
            &["-120", "-1.2e2", "-0.12e3", "-120.00"],
            &["123456789012345678901234567890", "1.2345678901234567890123456789e29"],
        ] {
            for (one, other) in same.iter().flat_map(|one| same.iter().map(move |other| (one, other))) {
                assert_eq!(Decimal::parse(one), Decimal::parse(other), "{one} {other}");
            }
            assert!(same.iter().all(|one| Decimal::parse(one).is_integer()));
        }
        for fraction in
            ["0.5", "1e-1", "1.00001", "123456789012345678901234567890.5", "1e-99999999999999999999"]
        {
            assert!(!Decimal::parse(fraction).is_integer(), "{fraction}");
        }
    }

    #[test]
    fn the_order_of_numbers() {
        let ordered = [
            "-1e400",
            "-1e99",
            "-10.5",
            "-10",
            "-9.99",
            "-1e-9",
            "0",
            "1e-400",
            "0.09",
            "0.1",
            "0.11",
            "1",
            "2",
            "9.9",
            "10",
            "100",
            "9007199254740992",
            "9007199254740993",
            "1e99",
            "1e400",
            "1e99999999999999999999",
        ];
        for (at, one) in ordered.iter().enumerate() {
            for (other_at, other) in ordered.iter().enumerate() {
                assert_eq!(
                    Decimal::parse(one).cmp(&Decimal::parse(other)),
                    at.cmp(&other_at),
                    "{one} {other}"
                );
            }
        }
    }

    #[test]
    fn multiples() {
        for (number, divisor, expected) in [
            ("0", "7", true),
            ("21", "7", true),
            ("-21", "7", true),
            ("22", "7", false),
            ("4.5", "1.5", true),
            ("35", "1.5", false),
            ("0.0075", "0.0001", true),
            ("0.00751", "0.0001", false),
            ("0.3", "0.1", true),
            ("1e308", "0.123456789", false),
            ("1e308", "0.5", true),
            ("12391239123", "1e-8", true),
            ("9007199254740992", "3", false),
            ("9007199254740994", "2", true),
            ("1e9999999999", "1024", true),
            ("1e9999999999", "3", false),
            ("3", "1e400", false),
            ("1", "0", false),
            ("99999999999999999999999999999999999999999999999999", "9", true),
        ] {
            assert_eq!(
                Decimal::parse(number).is_multiple_of(Decimal::parse(divisor)),
                expected,
                "{number} {divisor}"
            );
        }
        let mut seed = 3;
        for _ in 0..10_000 {
            let (one, other) = (random(&mut seed, 5000), 1 + random(&mut seed, 60));
            let scaled = format!("{}.{:03}", one / 1000, one % 1000);
            let divisor = format!("{}e-3", other);
            assert_eq!(
                Decimal::parse(&scaled).is_multiple_of(Decimal::parse(&divisor)),
                one % other == 0,
                "{scaled} {divisor}"
            );
        }
    }

    #[test]
    fn counts() {
        for (text, count) in [
            ("0", 0),
            ("7", 7),
            ("2.0", 2),
            ("1.2e1", 12),
            ("-3", 0),
            ("0.5", 0),
            ("120", 120),
            ("1e30", usize::MAX),
        ] {
            assert_eq!(Decimal::parse(text).count(), count, "{text}");
        }
    }
}
