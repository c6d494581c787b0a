//! What a request asks for: the scopes that must all allow it, and what it spends in each.

use crate::pace::quota::Cost;
use crate::pace::scope::Scope;

/// One scope of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    pub scope: Scope,
    /// What it spends of the scope's quota, if there is one.
    pub cost: Cost,
    /// Whether the scope learns from what the attempt comes to.
    pub learns: bool,
}

/// The scopes of a request, at least one, no two the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claims {
    pub first: Asked,
    /// Empty for nearly all requests: nothing is allocated.
    pub rest: Vec<Asked>,
}

impl Asked {
    /// A scope that learns, at the cost of one request.
    pub fn new(scope: Scope) -> Asked {
        Asked { scope, cost: Cost::ONE, learns: true }
    }
}

impl Claims {
    /// The most scopes a request may have.
    pub const MOST: usize = 16;

    /// One scope alone.
    pub fn of(scope: Scope) -> Claims {
        Claims { first: Asked::new(scope), rest: Vec::new() }
    }

    /// Some scopes in order of importance; `None` for none. What is named twice counts once, at the
    /// higher cost, and learns if it does in one place; beyond [`Claims::MOST`] none count.
    pub fn new(asked: impl IntoIterator<Item = Asked>) -> Option<Claims> {
        let mut asked = asked.into_iter();
        let mut claims = Claims { first: asked.next()?, rest: Vec::new() };
        asked.for_each(|asked| claims.add(asked));
        Some(claims)
    }

    /// One more, as [`Claims::new`] has it.
    pub fn add(&mut self, asked: Asked) {
        let mut known = std::iter::once(&mut self.first).chain(&mut self.rest);
        if let Some(known) = known.find(|known| known.scope == asked.scope) {
            known.cost = known.cost.max(asked.cost);
            known.learns |= asked.learns;
        } else if self.len() < Claims::MOST {
            self.rest.push(asked);
        }
    }

    /// All of them, the first first.
    pub fn iter(&self) -> impl Iterator<Item = &Asked> {
        std::iter::once(&self.first).chain(&self.rest)
    }

    /// How many there are; never none.
    #[expect(clippy::len_without_is_empty, reason = "there is always one")]
    pub fn len(&self) -> usize {
        1 + self.rest.len()
    }

    /// Whether there is only one.
    pub fn is_single(&self) -> bool {
        self.rest.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_scope_is_claimed_twice_and_their_number_is_bounded() {
        let asked = |name: &str| Asked::new(Scope::named(name).unwrap());
        let dear = Asked { cost: Cost::new(2.5).unwrap(), learns: false, ..asked("a") };
        let mut claims = Claims::new([asked("a"), asked("b"), dear]).unwrap();
        assert_eq!((claims.len(), claims.first.cost.amount()), (2, 2.5));
        assert!(claims.first.learns);
        (0..100).for_each(|number| claims.add(asked(&format!("n{number}"))));
        assert_eq!(claims.len(), Claims::MOST);
        assert_eq!(Claims::new([]), None);
        assert!(Claims::of(Scope::named("a").unwrap()).is_single());
    }
}
