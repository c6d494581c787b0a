//! Which scopes a request is counted under where no rule and no client says anything: the kind of
//! scope, as it is configured.
//!
//! This file must not know what a scope allows, nor how names become addresses.

use crate::pace::claims::{Asked, Claims};
use crate::pace::scope::{Host, Scope};
use crate::policy::domain::{chain, registrable};
use std::net::IpAddr;

/// What shares a pace by default, and who learns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Scoping {
    pub kind: Kind,
    pub learn: Learn,
}

/// What shares a pace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    #[default]
    Host,
    /// `shop.example:8080`
    HostPort,
    /// The registrable domain, for all hosts below it.
    Domain,
    /// The host and each of its parents up to the registrable domain: all must allow.
    Chain,
    /// The address: for all hosts that are there.
    Address,
}

/// Which of several scopes learn from what an attempt comes to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Learn {
    /// Of names one below another the narrowest only: a page's trouble is its host's, not its domain's.
    #[default]
    Narrowest,
    All,
}

impl Scoping {
    /// The scopes of a request to `host`. `address`: where it is, if the kind is by address and that
    /// is known; else the host stands for it.
    pub fn claims(self, host: &Host, port: u16, address: Option<IpAddr>) -> Claims {
        let own = Scope::of(host);
        match self.kind {
            Kind::Host => Claims::of(own),
            Kind::HostPort => Claims::of(Scope::of_port(host, port)),
            Kind::Domain => Claims::of(parent(registrable(host.as_str()), own)),
            Kind::Address => {
                Claims::of(address.map_or(own, |address| Scope::of(&Host::from_ip(address))))
            }
            Kind::Chain => {
                let mut claims = Claims::of(own.clone());
                let parents: Vec<&str> = chain(host.as_str()).collect();
                for name in parents.into_iter().rev().skip(1) {
                    claims.add(Asked::new(parent(name, own.clone())));
                }
                self.choose_learners(&mut claims);
                claims
            }
        }
    }

    /// Whether it has to be known where a host is.
    pub fn goes_by_address(self) -> bool {
        self.kind == Kind::Address
    }

    /// Takes the lesson from those that are not to learn.
    pub fn choose_learners(self, claims: &mut Claims) {
        if claims.is_single() || self.learn == Learn::All {
            return;
        }
        let names: Vec<Scope> = claims.iter().map(|asked| asked.scope.clone()).collect();
        for asked in std::iter::once(&mut claims.first).chain(&mut claims.rest) {
            asked.learns &= !names.iter().any(|name| is_below(name.as_str(), asked.scope.as_str()));
        }
    }
}

/// Whether a name is another with labels before it.
fn is_below(name: &str, wide: &str) -> bool {
    name.strip_suffix(wide).is_some_and(|labels| labels.ends_with('.'))
}

fn parent(name: &str, own: Scope) -> Scope {
    match name == own.as_str() {
        true => own,
        false => Scope::named(name).unwrap_or(own),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(kind: Kind, host: &str, want: &[&str]) {
        let scoping = Scoping { kind, learn: Learn::Narrowest };
        let place = Some("192.0.2.7".parse().unwrap());
        let claims = scoping.claims(&Host::parse(host).unwrap(), 8080, place);
        let found: Vec<&str> = claims.iter().map(|asked| asked.scope.as_str()).collect();
        assert_eq!(found, want, "{kind:?} {host}");
        let learners = claims.iter().filter(|asked| asked.learns).count();
        assert_eq!((learners, claims.first.learns), (1, true), "the narrowest learns");
    }

    #[test]
    fn every_kind_has_its_scopes_the_narrowest_first() {
        let host = "a.books.toscrape.com";
        check(Kind::Host, host, &[host]);
        check(Kind::HostPort, host, &["a.books.toscrape.com:8080"]);
        check(Kind::Domain, host, &["toscrape.com"]);
        check(Kind::Chain, host, &[host, "books.toscrape.com", "toscrape.com"]);
        check(Kind::Address, host, &["192.0.2.7"]);
        check(Kind::Domain, "toscrape.com", &["toscrape.com"]);
        check(Kind::Chain, "toscrape.com", &["toscrape.com"]);
        check(Kind::HostPort, "2001:db8::1", &["[2001:db8::1]:8080"]);
        check(Kind::Chain, "192.0.2.9", &["192.0.2.9"]);
    }

    #[test]
    fn without_a_known_address_the_host_stands_for_it() {
        let scoping = Scoping { kind: Kind::Address, learn: Learn::All };
        let claims = scoping.claims(&Host::parse("shop.example").unwrap(), 80, None);
        assert_eq!(claims.first.scope.as_str(), "shop.example");
    }

    #[test]
    fn all_learn_if_they_are_to_and_names_side_by_side_always_do() {
        let host = Host::parse("books.toscrape.com").unwrap();
        let all = Scoping { kind: Kind::Chain, learn: Learn::All }.claims(&host, 80, None);
        assert!(all.iter().all(|asked| asked.learns));
        let asked = |name| Asked::new(Scope::named(name).unwrap());
        let mut beside = Claims::new(["mytoscrape.com", "toscrape.com"].map(asked)).unwrap();
        Scoping::default().choose_learners(&mut beside);
        assert!(beside.iter().all(|asked| asked.learns));
    }
}
