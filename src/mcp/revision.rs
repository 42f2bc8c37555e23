//! Revisions of the protocol, and what each one has.

/// A revision that is opened with `initialize`. Later revisions are greater.
///
/// The revision 2026-07-28 has no handshake and names itself in every request; it will be one
/// more variant here, and is then chosen per message instead of by [`negotiate`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs, reason = "each is named after its date")]
pub enum Revision {
    V2024_11_05,
    V2025_03_26,
    V2025_06_18,
    V2025_11_25,
}

/// What is spoken before a host has said anything, and with hosts that ask for the unknown.
pub const LATEST: Revision = Revision::V2025_11_25;

/// The answer to a host that asks for `requested`: the same if it is known, else the latest. The
/// host then decides whether it stays.
pub fn negotiate(requested: &str) -> Revision {
    Revision::ALL.into_iter().find(|revision| revision.as_str() == requested).unwrap_or(LATEST)
}

impl Revision {
    /// All of them, oldest first.
    pub const ALL: [Self; 4] = [Self::V2024_11_05, Self::V2025_03_26, Self::V2025_06_18, Self::V2025_11_25];

    /// As it is spelled in `protocolVersion`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::V2024_11_05 => "2024-11-05",
            Self::V2025_03_26 => "2025-03-26",
            Self::V2025_06_18 => "2025-06-18",
            Self::V2025_11_25 => "2025-11-25",
        }
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
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_revisions_are_echoed_and_others_get_the_latest() {
        for revision in Revision::ALL {
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
            assert_eq!(revision.has_icons(), icons, "{revision:?}");
        }
    }
}
