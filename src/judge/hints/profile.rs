//! What the fields of some hosts mean, where it can't be guessed: `retry_after.profiles`.

use crate::judge::hints::moment::Unit;
use http::HeaderName;
use std::collections::HashMap;

/// The fields of a host. What they don't name isn't read there, `Retry-After` and `RateLimit` apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Profile {
    /// Fields that say when there is more, and how.
    pub waits: Vec<(HeaderName, Unit)>,
    /// Fields that say how much is left. None: the usual ones.
    pub left: Vec<HeaderName>,
}

/// All profiles, by host or by what hosts end in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Profiles {
    hosts: HashMap<String, Profile>,
    /// Of all hosts below a name.
    below: HashMap<String, Profile>,
}

impl Profiles {
    /// Adds the profile of a host, or with `*.example` of all hosts below.
    pub fn add(&mut self, pattern: &str, profile: Profile) {
        match pattern.strip_prefix("*.") {
            Some(above) => self.below.insert(above.to_owned(), profile),
            None => self.hosts.insert(pattern.to_owned(), profile),
        };
    }

    /// The profile of a host: its own, else that of the longest ending.
    pub fn of(&self, host: &str) -> Option<&Profile> {
        let mut above = host.match_indices('.').map(|(dot, _)| &host[dot + 1..]);
        let inherited = || above.find_map(|name| self.below.get(name));
        self.hosts.get(host).or_else(inherited)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hosts_own_profile_wins_over_that_of_the_longest_ending() {
        let mut profiles = Profiles::default();
        let named = |name: &'static str| Profile {
            waits: vec![(HeaderName::from_static(name), Unit::Seconds)],
            left: Vec::new(),
        };
        for (pattern, name) in [("a.b.test", "own"), ("*.b.test", "near"), ("*.test", "far")] {
            profiles.add(pattern, named(name));
        }
        let check = |host, want: Option<&str>| {
            let got = profiles.of(host).map(|profile| profile.waits[0].0.as_str());
            assert_eq!(got, want, "{host}");
        };
        check("a.b.test", Some("own"));
        check("c.b.test", Some("near"));
        check("x.a.b.test", Some("near"));
        check("b.test", Some("far"));
        check("test", None);
        check("other.example", None);
    }
}
