//! What a program in some language is made of.

/// Files that count by their names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sources {
    /// Extensions of the files that are loaded or built.
    pub extensions: &'static [&'static str],
    /// The manifests: they say what else is needed and how it is run.
    pub manifests: &'static [&'static str],
}

/// Lock files are left out: the tools that start a program rewrite them, and a start would bring
/// about the next one. So are data files: a tool process may write its own.
const LANGUAGES: &[Sources] = &[
    Sources {
        extensions: &["py", "pyi"],
        manifests: &["pyproject.toml", "requirements.txt", "setup.cfg", ".python-version"],
    },
    Sources {
        extensions: &["js", "mjs", "cjs", "jsx", "ts", "mts", "cts", "tsx"],
        manifests: &[
            "package.json",
            "tsconfig.json",
            "jsconfig.json",
            "deno.json",
            "deno.jsonc",
            "bunfig.toml",
        ],
    },
    Sources { extensions: &["go"], manifests: &["go.mod", "go.work"] },
    Sources { extensions: &["rs"], manifests: &["Cargo.toml", "rust-toolchain.toml", "rust-toolchain"] },
    Sources { extensions: &["rb"], manifests: &["Gemfile"] },
    Sources { extensions: &["php"], manifests: &["composer.json"] },
    Sources { extensions: &["pl", "pm"], manifests: &["cpanfile"] },
    Sources { extensions: &["lua"], manifests: &[] },
    Sources { extensions: &["sh", "bash", "zsh"], manifests: &[] },
    Sources { extensions: &["jl"], manifests: &["Project.toml"] },
    Sources { extensions: &["R", "r"], manifests: &["DESCRIPTION"] },
];

impl Sources {
    /// Nothing: the file itself is watched in any case.
    pub const NONE: Sources = Sources { extensions: &[], manifests: &[] };

    /// What the program belongs to whose entry file has this extension.
    pub fn of(extension: &str) -> Sources {
        let knows = |sources: &&Sources| sources.extensions.contains(&extension);
        LANGUAGES.iter().find(knows).copied().unwrap_or(Sources::NONE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_language_has_all_its_extensions() {
        assert_eq!(Sources::of("ts"), Sources::of("mjs"));
        assert!(Sources::of("ts").extensions.contains(&"tsx"));
        assert!(Sources::of("py").manifests.contains(&"pyproject.toml"));
        assert_eq!(Sources::of("txt"), Sources::NONE);
        assert_eq!(Sources::of(""), Sources::NONE);
    }

    #[test]
    fn no_extension_stands_for_two_languages() {
        let mut all: Vec<_> = LANGUAGES.iter().flat_map(|sources| sources.extensions).collect();
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), count);
    }
}
