//! Times and sizes as people write them.

use std::time::Duration;

use crate::limits::{FLAG_MESSAGE_MAX, FLAG_MESSAGE_MIN, FLAG_TIME_MAX};

/// The units of a time and their nanoseconds, in Go's spelling (which knows both signs for micro).
const TIME_UNITS: [(&str, u128); 8] = [
    ("ns", 1),
    ("us", 1_000),
    ("µs", 1_000),
    ("μs", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60 * 1_000_000_000),
    ("h", 3600 * 1_000_000_000),
];

/// A time in Go's syntax: numbers, each with a unit and perhaps a fraction (`300ms`, `1.5s`,
/// `1h30m`), or a bare `0`. The error is a clause that fits behind "the value".
pub fn duration(text: &str) -> Result<Duration, String> {
    if text == "0" {
        return Ok(Duration::ZERO);
    }
    let malformed = || "is not a time such as 300ms, 1.5s or 1h30m".to_string();
    let mut total: u128 = 0;
    let mut rest = text;
    while !rest.is_empty() {
        let (whole, after) = digits(rest);
        let (fraction, after) = after.strip_prefix('.').map_or(("", after), digits);
        if whole.is_empty() && fraction.is_empty() {
            return Err(malformed());
        }
        let unit_end = after.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(after.len());
        let (unit, after) = after.split_at(unit_end);
        if unit.is_empty() {
            return Err(format!("has no unit: {text}s, {text}m?"));
        }
        let (_, scale) = TIME_UNITS.iter().find(|(name, _)| *name == unit).ok_or_else(malformed)?;
        total = nanoseconds(whole, fraction, *scale)
            .and_then(|part| total.checked_add(part))
            .filter(|total| *total <= FLAG_TIME_MAX.as_nanos())
            .ok_or_else(|| format!("is more than {}h", FLAG_TIME_MAX.as_secs() / 3600))?;
        rest = after;
    }
    match u64::try_from(total) {
        Ok(total) if !text.is_empty() => Ok(Duration::from_nanos(total)),
        _ => Err(malformed()),
    }
}

/// The leading decimal digits and what follows them.
fn digits(text: &str) -> (&str, &str) {
    text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()))
}

/// `whole.fraction` units of `scale` nanoseconds, cut to whole nanoseconds; none if it overflows.
fn nanoseconds(whole: &str, fraction: &str, scale: u128) -> Option<u128> {
    let whole: u128 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    // An hour has 3.6e12 nanoseconds: digits after the fifteenth change nothing.
    let fraction = &fraction[..fraction.len().min(15)];
    let parts: u128 = if fraction.is_empty() { 0 } else { fraction.parse().ok()? };
    let part = parts * scale / 10_u128.pow(fraction.len() as u32);
    whole.checked_mul(scale)?.checked_add(part)
}

/// A number of things, at least one. The error is a clause that fits behind "the value".
pub fn count(text: &str) -> Result<usize, String> {
    match text.parse::<u32>() {
        Ok(0) => Err("leaves room for none".into()),
        Ok(count) => Ok(count as usize),
        Err(_) => Err("is not a number such as 64".into()),
    }
}

/// A size in bytes, or in K, M or G of 1024 each (`512K`, `64M`, `1GiB`). The error is a clause
/// that fits behind "the value".
pub fn size(text: &str) -> Result<usize, String> {
    let (number, unit) = digits(text);
    let scale: u64 = match unit.to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" | "kib" => 1 << 10,
        "m" | "mib" => 1 << 20,
        "g" | "gib" => 1 << 30,
        _ => return Err("is not a size such as 512K, 64M or 1GiB".into()),
    };
    if number.is_empty() {
        return Err("is not a size such as 512K, 64M or 1GiB".into());
    }
    number
        .parse::<u64>()
        .ok()
        .and_then(|number| number.checked_mul(scale))
        .and_then(|bytes| usize::try_from(bytes).ok())
        .filter(|bytes| (FLAG_MESSAGE_MIN..=FLAG_MESSAGE_MAX).contains(bytes))
        .ok_or_else(|| format!("is not between {}K and {}M", FLAG_MESSAGE_MIN >> 10, FLAG_MESSAGE_MAX >> 20))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_that_are_right() {
        for (text, nanoseconds) in [
            ("0", 0),
            ("0s", 0),
            ("1ns", 1),
            ("7us", 7_000),
            ("7µs", 7_000),
            ("7μs", 7_000),
            ("300ms", 300_000_000),
            ("1.5s", 1_500_000_000),
            ("1.s", 1_000_000_000),
            (".5s", 500_000_000),
            ("5m", 300_000_000_000),
            ("1h30m", 5_400_000_000_000),
            ("1h0m0.5s", 3_600_500_000_000),
            ("1s1s", 2_000_000_000),
            ("0.0000000019s", 1),
            ("0.333333333333333333333h", 1_199_999_999_999),
            ("8760h", 8760 * 3_600_000_000_000),
        ] {
            assert_eq!(duration(text), Ok(Duration::from_nanos(nanoseconds)), "{text}");
        }
    }

    #[test]
    fn times_that_are_wrong() {
        for text in [
            "", " ", "s", ".s", "5 s", "-5s", "+5s", "1e3s", "5S", "5sec", "5d", "1.2.3s", "0x5s", "abc",
            "5s ", "∞h",
        ] {
            assert!(duration(text).is_err(), "{text:?}");
        }
        assert_eq!(duration("30"), Err("has no unit: 30s, 30m?".into()));
        assert_eq!(duration("1m30"), Err("has no unit: 1m30s, 1m30m?".into()));
        for text in [
            "8761h",
            "99999999999999999999999999999999999999999h",
            "340282366920938463463374607431768211455h",
        ] {
            assert_eq!(duration(text), Err("is more than 8760h".into()), "{text}");
        }
    }

    #[test]
    fn sizes() {
        for (text, bytes) in [
            ("1024", 1024),
            ("65536", 65536),
            ("64K", 65536),
            ("64kib", 65536),
            ("64M", 64 << 20),
            ("10MiB", 10 << 20),
            ("1g", 1 << 30),
            ("1048576b", 1 << 20),
        ] {
            assert_eq!(size(text), Ok(bytes), "{text}");
        }
        for text in ["", "M", "-1M", "1.5M", "64MB", "64 M", "1T", "0", "1023", "3G", "99999999999999999999"]
        {
            assert!(size(text).is_err(), "{text:?}");
        }
    }
}
