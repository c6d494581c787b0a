//! The presets: named sets of window, repeats and answers.

use crate::judge::again::{After, Wish};
use crate::judge::verdict::Class;

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
    /// Hold, and leave repeats to the client.
    Scrapy,
    /// Hold for the pace, and never for a pause: whoever asks meanwhile hears how long it lasts.
    Strict,
    /// A plain proxy: no hold, no repeat, nothing learnt.
    Off,
}

impl Preset {
    /// Every preset.
    pub const ALL: [Preset; 7] = [
        Preset::Transparent,
        Preset::Interactive,
        Preset::Archive,
        Preset::Api,
        Preset::Scrapy,
        Preset::Strict,
        Preset::Off,
    ];

    /// The word in configuration, headers and proxy users.
    pub const fn word(self) -> &'static str {
        match self {
            Preset::Transparent => "transparent",
            Preset::Interactive => "interactive",
            Preset::Archive => "archive",
            Preset::Api => "api",
            Preset::Scrapy => "scrapy",
            Preset::Strict => "strict",
            Preset::Off => "off",
        }
    }

    /// The preset of a word, in any case.
    pub fn named(word: &str) -> Option<Preset> {
        Preset::ALL.into_iter().find(|preset| preset.word().eq_ignore_ascii_case(word))
    }

    /// What is repeated, of what the client wishes for.
    pub fn repeats(self, wish: Option<&Wish>) -> Wish {
        match self {
            Preset::Transparent
            | Preset::Interactive
            | Preset::Archive
            | Preset::Api
            | Preset::Off => wish.cloned().unwrap_or_default(),
            Preset::Scrapy => wish.cloned().unwrap_or(Wish { extra: Some(0), only: Vec::new() }),
            Preset::Strict => {
                let extra = wish.and_then(|wish| wish.extra).unwrap_or(STRICT_REPEATS);
                Wish { extra: Some(extra.min(STRICT_REPEATS)), only: STRICT.to_vec() }
            }
        }
    }

    /// Whether a pause is answered, with what is left of it, instead of being waited for.
    pub const fn answers_pauses(self) -> bool {
        match self {
            Preset::Strict => true,
            Preset::Transparent
            | Preset::Interactive
            | Preset::Archive
            | Preset::Api
            | Preset::Scrapy
            | Preset::Off => false,
        }
    }
}

/// Spec section 7: what has no answer, and what says that somebody behind has none.
const STRICT: [After; 6] = [
    After::Status(502, 504),
    After::Class(Class::ConnectTimeout),
    After::Class(Class::ResponseTimeout),
    After::Class(Class::Reset),
    After::Class(Class::Truncated),
    After::Class(Class::Soft),
];
const STRICT_REPEATS: u32 = 2;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_preset_says_what_is_repeated_and_a_client_may_want_less() {
        let wish = |extra| Wish { extra, only: Vec::new() };
        let all = wish(None);
        assert_eq!(Preset::Transparent.repeats(None), all);
        assert_eq!(Preset::Scrapy.repeats(None).extra, Some(0));
        assert_eq!(Preset::Scrapy.repeats(Some(&wish(Some(3)))).extra, Some(3));
        for (wished, extra) in [(None, 2), (Some(0), 0), (Some(9), 2)] {
            let strict = Preset::Strict.repeats(wished.map(|extra| wish(Some(extra))).as_ref());
            assert_eq!((strict.extra, strict.only.len()), (Some(extra), 6));
        }
    }
}
