//! The help texts, written by hand in `help/*.txt`.

/// What help can be had about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Topic {
    /// The program.
    Pmcp,
    /// `pmcp run`.
    Run,
    /// `pmcp dev`.
    Dev,
    /// `pmcp doctor`.
    Doctor,
    /// `pmcp health`.
    Health,
}

impl Topic {
    /// The topics that `pmcp help` takes, by name.
    pub const NAMED: [(&str, Topic); 4] =
        [("run", Topic::Run), ("dev", Topic::Dev), ("doctor", Topic::Doctor), ("health", Topic::Health)];

    /// The whole text, with its last newline.
    pub const fn text(self) -> &'static str {
        match self {
            Topic::Pmcp => include_str!("help/pmcp.txt"),
            Topic::Run => include_str!("help/run.txt"),
            Topic::Dev => include_str!("help/dev.txt"),
            Topic::Doctor => include_str!("help/doctor.txt"),
            Topic::Health => include_str!("help/health.txt"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::bridge::ReloadMode;
    use crate::cli::flag::Flag;
    use crate::cli::quantity;
    use crate::cli::{access, args};
    use crate::limits;
    use crate::log;

    /// Every `--flag` and `-f` that a text mentions.
    fn mentioned(text: &str) -> BTreeSet<String> {
        text.split(|c: char| c.is_whitespace() || ",;()[]|'\"".contains(c))
            .map(|word| word.trim_end_matches(['.', ':']))
            .filter(|word| word.starts_with('-') && word.contains(char::is_alphabetic))
            .map(|word| word.split('=').next().unwrap_or(word).to_string())
            .collect()
    }

    fn spelled(flags: &[Flag]) -> BTreeSet<String> {
        let mut all = BTreeSet::new();
        for flag in flags {
            all.insert(format!("--{}", flag.long()));
            all.extend(flag.short().map(|short| format!("-{short}")));
        }
        all
    }

    #[test]
    fn a_commands_text_holds_exactly_the_flags_that_are_parsed() {
        let of_run: Vec<Flag> = Flag::ALL.into_iter().filter(|flag| !Flag::DEV.contains(flag)).collect();
        assert_eq!(mentioned(Topic::Run.text()), spelled(&of_run));
        assert_eq!(mentioned(Topic::Dev.text()), spelled(&Flag::ALL));
        assert_eq!(mentioned(Topic::Doctor.text()), spelled(&Flag::DOCTOR));
        assert_eq!(mentioned(Topic::Health.text()), spelled(&Flag::HEALTH));
        assert_eq!(mentioned(Topic::Pmcp.text()), spelled(&[Flag::Help, Flag::Version]));
    }

    #[test]
    fn a_flag_that_takes_a_value_names_it_and_a_switch_does_not() {
        for (topic, flags) in [
            (Topic::Run, &Flag::ALL[..]),
            (Topic::Dev, &Flag::ALL),
            (Topic::Doctor, &Flag::DOCTOR),
            (Topic::Health, &Flag::HEALTH),
        ] {
            for &flag in flags.iter().filter(|flag| topic == Topic::Dev || !Flag::DEV.contains(flag)) {
                let spelling = format!("--{}", flag.long());
                let line = topic.text().lines().find(|line| line.contains(&spelling)).expect("a line");
                let next = line.split_once(&spelling).expect("the flag").1;
                match flag.value() {
                    Some(value) => assert!(next.starts_with(&format!(" {value}")), "{line}"),
                    None => assert!(next.starts_with("  "), "{line}"),
                }
            }
        }
    }

    /// The word after `default` behind a flag's name, up to the next flag.
    fn default_of<'a>(text: &'a str, flag: &str) -> &'a str {
        let after = text.split_once(&format!("--{flag} ")).expect("the flag").1;
        let after = after.split_once("\n  -").map_or(after, |(own, _)| own);
        let default = after.split_once("default ").expect("a default").1;
        default.split([' ', ')', ',', ';', '\n']).next().expect("a word")
    }

    #[test]
    fn the_defaults_in_the_texts_are_the_defaults() {
        for text in [Topic::Run.text(), Topic::Dev.text()] {
            assert_eq!(quantity::size(default_of(text, "max-message")), Ok(limits::MESSAGE_MAX));
            assert_eq!(quantity::duration(default_of(text, "start-timeout")), Ok(limits::START_TIMEOUT));
            assert_eq!(quantity::duration(default_of(text, "build-timeout")), Ok(limits::BUILD_TIMEOUT));
            assert_eq!(quantity::duration(default_of(text, "call-timeout")), Ok(limits::CALL_TIMEOUT));
            assert_eq!(quantity::duration(default_of(text, "grace")), Ok(limits::GRACE));
            assert_eq!(quantity::duration(default_of(text, "drain")), Ok(limits::DRAIN));
            assert_eq!(default_of(text, "port"), limits::HTTP_PORT.to_string());
            assert_eq!(default_of(text, "connections-max"), limits::HTTP_CONNECTIONS.to_string());
            assert_eq!(default_of(text, "sessions-max"), limits::HTTP_SESSIONS.to_string());
            assert_eq!(default_of(text, "processes-max"), limits::HTTP_PROCESSES.to_string());
            assert_eq!(quantity::duration(default_of(text, "session-idle")), Ok(limits::HTTP_SESSION_IDLE));
            assert_eq!(quantity::duration(default_of(text, "input-timeout")), Ok(limits::INPUT_TIMEOUT));
            assert_eq!(quantity::duration(default_of(text, "cancel-grace")), Ok(limits::CANCEL_GRACE));
            assert_eq!(quantity::count(default_of(text, "tasks-max")), Ok(limits::TASKS_MAX));
            assert_eq!(args::reload_mode(default_of(text, "hot-reload")), Ok(ReloadMode::default()));
            assert_eq!(args::log_format(default_of(text, "log-format")), Ok(log::Format::default()));
            assert_eq!(access::in_flight(default_of(text, "max-in-flight")), Ok(limits::IN_FLIGHT));
            assert_eq!(default_of(text, "server-version"), crate::cli::settings::SERVER_VERSION);
        }
        assert_eq!(
            quantity::duration(default_of(Topic::Health.text(), "timeout")),
            Ok(limits::HEALTH_TIMEOUT)
        );
        assert!(Topic::Health.text().contains(&format!("(default 127.0.0.1:{})", limits::HTTP_PORT)));
        assert_eq!(quantity::duration(default_of(Topic::Dev.text(), "poll")), Ok(limits::POLL));
        assert_eq!(default_of(Topic::Run.text(), "log-level"), args::log_level_default(false).as_str());
        assert_eq!(default_of(Topic::Dev.text(), "log-level"), args::log_level_default(true).as_str());
    }

    #[test]
    fn a_text_fits_a_terminal_and_gives_an_example() {
        for topic in [Topic::Pmcp, Topic::Run, Topic::Dev, Topic::Doctor, Topic::Health] {
            let text = topic.text();
            assert!(text.lines().all(|line| line.chars().count() <= 80), "{topic:?}");
            assert!(text.contains("\nExample:\n") && text.ends_with('\n'), "{topic:?}");
        }
    }
}
