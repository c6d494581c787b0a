//! The presets: named sets of window, repeats and answers.

/// The preset a request runs under.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Preset {
    /// Hold and repeat inside the window.
    Transparent,
    /// The same for somebody who watches: 45 s, attempts of 15 s.
    Interactive,
    /// The same for an archive: 1 h, attempts of 300 s.
    Archive,
    /// For APIs: a 403 may be a limit, and two repeats are enough.
    Api,
    /// A plain proxy: no hold, no repeat, nothing learnt.
    Off,
}

impl Preset {
    /// Every preset.
    pub const ALL: [Preset; 5] =
        [Preset::Transparent, Preset::Interactive, Preset::Archive, Preset::Api, Preset::Off];

    /// The word in configuration, headers and proxy users.
    pub const fn word(self) -> &'static str {
        match self {
            Preset::Transparent => "transparent",
            Preset::Interactive => "interactive",
            Preset::Archive => "archive",
            Preset::Api => "api",
            Preset::Off => "off",
        }
    }

    /// The preset of a word, in any case.
    pub fn named(word: &str) -> Option<Preset> {
        Preset::ALL.into_iter().find(|preset| preset.word().eq_ignore_ascii_case(word))
    }
}
