//! One line of the log, for a person or for a program that gathers logs.

use std::time::Duration;

use crate::ids::Generation;
use crate::jsonrpc::json::{Object, write_str};
use crate::log::{Format, Level};

/// Who says something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// We.
    Pmcp,
    /// A tool process, by printing it.
    Tool(Generation),
}

/// One line with its newline. As JSON it is one object; `wall` is the time since 1970.
pub(super) fn log_line(format: Format, wall: Duration, source: Source, level: Level, text: &str) -> Vec<u8> {
    let mut line = Vec::with_capacity(text.len() + 96);
    match (format, source) {
        (Format::Text, Source::Pmcp) => line.extend_from_slice(crate::log::line(level, text).as_bytes()),
        (Format::Text, Source::Tool(_)) => {
            line.extend_from_slice(b"tool: ");
            line.extend_from_slice(text.as_bytes());
        }
        (Format::Json, source) => {
            let mut object = Object::open(&mut line);
            object.text("time", &utc(wall));
            object.text("level", level.as_str());
            match source {
                Source::Pmcp => object.text("source", "pmcp"),
                Source::Tool(generation) => {
                    object.text("source", "tool");
                    object.number("generation", generation.0);
                }
            }
            write_str(object.member("message"), text.trim_end());
            object.close();
        }
    }
    line.push(b'\n');
    line
}

/// A time since 1970 as RFC 3339 has it, in UTC and with milliseconds.
fn utc(wall: Duration) -> String {
    const DAY: u64 = 24 * 3600;
    let (days, second) = (wall.as_secs() / DAY, wall.as_secs() % DAY);
    // Counted in eras of 400 years, all of one length, from a 1st of March on: then the day that a
    // year may have more is its last.
    let days = days + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    // Five months of 153 days repeat from March on.
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    let millis = wall.subsec_millis();
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{millis:03}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_spelled_as_calendars_have_them() {
        for (seconds, expected) in [
            (0, "1970-01-01T00:00:00.007Z"),
            (951_782_399, "2000-02-28T23:59:59.007Z"),
            (951_782_400, "2000-02-29T00:00:00.007Z"),
            (951_868_800, "2000-03-01T00:00:00.007Z"),
            (1_709_210_096, "2024-02-29T12:34:56.007Z"),
            (1_735_689_599, "2024-12-31T23:59:59.007Z"),
            (1_735_689_600, "2025-01-01T00:00:00.007Z"),
            (4_107_542_400, "2100-03-01T00:00:00.007Z"),
        ] {
            assert_eq!(utc(Duration::from_millis(seconds * 1000 + 7)), expected);
        }
    }

    #[test]
    fn a_line_for_a_program_is_one_object_whatever_it_says() {
        let tool = Source::Tool(Generation(2));
        let said = "two\nlines, \"quoted\", \u{1b}[31mred\u{1b}[0m\r";
        for (source, text) in [(Source::Pmcp, said), (tool, said), (tool, "")] {
            let line = log_line(Format::Json, Duration::ZERO, source, Level::Info, text);
            let (end, line) = line.split_last().unwrap();
            assert!(*end == b'\n' && !line.iter().any(u8::is_ascii_control));
            let object: serde_json::Value = serde_json::from_slice(line).unwrap();
            let mut expected = serde_json::json!({
                "time": "1970-01-01T00:00:00.000Z",
                "level": "info",
                "source": "pmcp",
                "message": text.trim_end(),
            });
            if source == tool {
                expected["source"] = "tool".into();
                expected["generation"] = 2.into();
            }
            assert_eq!(object, expected);
        }
    }

    #[test]
    fn a_line_for_a_person_is_as_it_was_said() {
        let line = |source| log_line(Format::Text, Duration::ZERO, source, Level::Warning, "odd");
        assert_eq!(line(Source::Pmcp), b"pmcp: warning: odd\n");
        assert_eq!(line(Source::Tool(Generation(2))), b"tool: odd\n");
    }
}
