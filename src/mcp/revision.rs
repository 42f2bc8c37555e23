//! Revisions of the protocol, and what each one has.

/// A revision. Later revisions are greater.
///
/// There are two eras. In the *handshake era* a host opens a session with `initialize` and the
/// revision is the session's. The *modern era*, since 2026-07-28, has no handshake: every request
/// names its revision itself, so one connection may carry both.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs, reason = "each is named after its date")]
pub enum Revision {
    V2024_11_05,
    V2025_03_26,
    V2025_06_18,
    V2025_11_25,
    V2026_07_28,
}

/// The latest of the handshake era: what is spoken before a host has said anything, and with
/// hosts that ask for the unknown.
pub const LATEST: Revision = Revision::V2025_11_25;

/// The modern era, as far as it is known here.
pub const MODERN: Revision = Revision::V2026_07_28;

/// The answer to `initialize` with `requested`: the same if it is a known revision of the
/// handshake era, else the latest of that era. The host then decides whether it stays. Never a
/// modern one, even if asked for: a host that gets it stops speaking the era it has just opened.
pub fn negotiate(requested: &str) -> Revision {
    Revision::ALL
        .into_iter()
        .find(|revision| !revision.is_modern() && revision.as_str() == requested)
        .unwrap_or(LATEST)
}

impl Revision {
    /// All of them, oldest first.
    pub const ALL: [Self; 5] =
        [Self::V2024_11_05, Self::V2025_03_26, Self::V2025_06_18, Self::V2025_11_25, Self::V2026_07_28];

    /// As it is spelled in `protocolVersion`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::V2024_11_05 => "2024-11-05",
            Self::V2025_03_26 => "2025-03-26",
            Self::V2025_06_18 => "2025-06-18",
            Self::V2025_11_25 => "2025-11-25",
            Self::V2026_07_28 => "2026-07-28",
        }
    }

    /// The modern era: no handshake, no session, no request from us to a host.
    pub fn is_modern(self) -> bool {
        self >= Self::V2026_07_28
    }

    /// Several messages in one array; one revision only.
    pub fn has_batches(self) -> bool {
        self == Self::V2025_03_26
    }

    /// Audio content.
    pub fn has_audio(self) -> bool {
        self >= Self::V2025_03_26
    }

    /// `annotations` of tools.
    pub fn has_annotations(self) -> bool {
        self >= Self::V2025_03_26
    }

    /// The `completions` capability.
    pub fn has_completions(self) -> bool {
        self >= Self::V2025_03_26
    }

    /// `message` in progress notifications.
    pub fn has_progress_message(self) -> bool {
        self >= Self::V2025_03_26
    }

    /// `structuredContent` and `outputSchema`.
    pub fn has_structured_content(self) -> bool {
        self >= Self::V2025_06_18
    }

    /// `resource_link` content.
    pub fn has_resource_links(self) -> bool {
        self >= Self::V2025_06_18
    }

    /// `title` beside `name`.
    pub fn has_titles(self) -> bool {
        self >= Self::V2025_06_18
    }

    /// `_meta` of tools, resources and prompts.
    pub fn has_meta(self) -> bool {
        self >= Self::V2025_06_18
    }

    /// `icons`.
    pub fn has_icons(self) -> bool {
        self >= Self::V2025_11_25
    }

    /// Elicitation.
    pub fn has_elicitation(self) -> bool {
        self >= Self::V2025_06_18
    }

    /// Tools in sampling, and with them several content blocks in one message of it.
    pub fn has_sampling_tools(self) -> bool {
        self >= Self::V2025_11_25
    }

    /// `mode` of elicitation, and with it the mode `url`.
    pub fn has_elicitation_modes(self) -> bool {
        self >= Self::V2025_11_25
    }

    /// An `elicitationId` in the mode `url`; one revision only.
    pub fn has_elicitation_ids(self) -> bool {
        self == Self::V2025_11_25
    }

    /// Tasks as part of the core, with `execution` of tools and a `task` in a request; one
    /// revision only. Later ones have them as an extension.
    pub fn has_core_tasks(self) -> bool {
        self == Self::V2025_11_25
    }

    /// `resultType` in every result, and the server's name in its `_meta`.
    pub fn has_result_type(self) -> bool {
        self.is_modern()
    }

    /// `ttlMs` and `cacheScope` in the results of lists, of reading and of discovery.
    pub fn has_cache_hints(self) -> bool {
        self.is_modern()
    }

    /// Any JSON value as structured content, any JSON Schema for it, and boolean schemas of
    /// properties; before that, objects alone.
    pub fn has_any_schema(self) -> bool {
        self.is_modern()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_revisions_are_echoed_and_others_get_the_latest() {
        for revision in Revision::ALL.into_iter().filter(|revision| !revision.is_modern()) {
            assert_eq!(negotiate(revision.as_str()), revision);
        }
        for unknown in ["", "2024-11-04", "2026-07-28", "DRAFT-2025-v2", "2025-06-18 "] {
            assert_eq!(negotiate(unknown), Revision::V2025_11_25, "{unknown}");
        }
    }

    #[test]
    fn each_revision_has_what_its_changelog_says() {
        let table = [
            // batches, audio, structured content, icons
            (Revision::V2024_11_05, [false, false, false, false]),
            (Revision::V2025_03_26, [true, true, false, false]),
            (Revision::V2025_06_18, [false, true, true, false]),
            (Revision::V2025_11_25, [false, true, true, true]),
            (Revision::V2026_07_28, [false, true, true, true]),
        ];
        for (revision, [batches, audio, structured, icons]) in table {
            assert_eq!(revision.has_batches(), batches, "{revision:?}");
            for has in [Revision::has_audio, Revision::has_annotations, Revision::has_completions] {
                assert_eq!(has(revision), audio, "{revision:?}");
            }
            assert_eq!(revision.has_progress_message(), audio, "{revision:?}");
            for has in [Revision::has_structured_content, Revision::has_resource_links, Revision::has_titles]
            {
                assert_eq!(has(revision), structured, "{revision:?}");
            }
            assert_eq!(revision.has_meta(), structured, "{revision:?}");
            assert_eq!(revision.has_elicitation(), structured, "{revision:?}");
            assert_eq!(revision.has_icons(), icons, "{revision:?}");
            assert_eq!(revision.has_elicitation_modes(), icons, "{revision:?}");
            assert_eq!(revision.has_sampling_tools(), icons, "{revision:?}");
            let is_core = revision == Revision::V2025_11_25;
            for has in [Revision::has_core_tasks, Revision::has_elicitation_ids] {
                assert_eq!(has(revision), is_core, "{revision:?}");
            }
            for has in [Revision::has_result_type, Revision::has_cache_hints, Revision::has_any_schema] {
                assert_eq!(has(revision), revision == MODERN, "{revision:?}");
            }
        }
        assert!(Revision::ALL.is_sorted());
    }
}
