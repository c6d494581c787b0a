//! What an expression may ask about: the request, and where it has been answered, the answer.
//!
//! This file must not know where a request comes from.

use crate::policy::domain;
use crate::policy::rules::fields::Fields;
use crate::policy::rules::kind::Kind;
use cel::common::types::{CelDouble, CelInt, CelList, CelString};
use cel::common::value::{CowVal, Val};
use cel::context::VariableResolver;
use http::HeaderMap;

/// A request.
#[derive(Clone, Copy, Debug)]
pub struct Facts<'a> {
    pub method: &'a str,
    /// `http` or `https`.
    pub scheme: &'a str,
    /// Normalised.
    pub host: &'a str,
    pub port: u16,
    /// From the slash to the question mark.
    pub path: &'a str,
    /// Behind the question mark, as it came.
    pub query: &'a str,
    /// As they go to the origin.
    pub headers: &'a HeaderMap,
    /// The client's label; empty without.
    pub client: &'a str,
    /// `Pace-Tag`; empty without.
    pub tag: &'a str,
}

/// Its answer.
#[derive(Clone, Copy, Debug)]
pub struct ResponseFacts<'a> {
    pub status: u16,
    pub headers: &'a HeaderMap,
}

/// When an expression is evaluated, and so what it may ask about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// Before the request is sent.
    Request,
    /// Its answer's head is there.
    Response,
    /// The same, about what the request was charged.
    Charge,
}

/// One evaluation's surroundings.
#[derive(Clone, Copy, Debug)]
pub struct Moment<'a> {
    pub facts: &'a Facts<'a>,
    pub response: Option<&'a ResponseFacts<'a>>,
    pub charged: f64,
    /// Somebody goes through a map: it must be there whole.
    pub whole: bool,
}

/// A name, what it is, and from when on there is one.
pub type Variable = (&'static str, fn() -> Kind, Stage);

/// All of them.
pub const VARIABLES: &[Variable] = &[
    ("method", || Kind::Text, Stage::Request),
    ("scheme", || Kind::Text, Stage::Request),
    ("host", || Kind::Text, Stage::Request),
    ("port", || Kind::Whole, Stage::Request),
    ("path", || Kind::Text, Stage::Request),
    ("query", texts, Stage::Request),
    ("url", || Kind::Text, Stage::Request),
    ("headers", texts, Stage::Request),
    ("client", || Kind::Text, Stage::Request),
    ("tag", || Kind::Text, Stage::Request),
    ("domain", || Kind::Text, Stage::Request),
    ("domains", || Kind::List(Box::new(Kind::Text)), Stage::Request),
    ("response.status", || Kind::Whole, Stage::Response),
    ("response.headers", texts, Stage::Response),
    ("charged", || Kind::Decimal, Stage::Charge),
];

fn texts() -> Kind {
    Kind::Map(Box::new(Kind::Text))
}

impl<'a> Moment<'a> {
    /// A request's, before it is sent.
    pub fn request(facts: &'a Facts<'a>) -> Moment<'a> {
        Moment { facts, response: None, charged: 0.0, whole: false }
    }

    fn fields<'b>(&self, fields: Fields<'a>) -> CowVal<'b, 'b>
    where
        'a: 'b,
    {
        if self.whole { CowVal::owned(fields.whole()) } else { CowVal::owned(fields) }
    }
}

impl VariableResolver for Moment<'_> {
    fn resolve<'b>(&'b self, variable: &str) -> Option<CowVal<'b, 'b>> {
        let facts = self.facts;
        let text = |text: &'b str| Some(CowVal::owned(CelString::from(text)));
        match variable {
            "method" => text(facts.method),
            "scheme" => text(facts.scheme),
            "host" => text(facts.host),
            "path" => text(facts.path),
            "client" => text(facts.client),
            "tag" => text(facts.tag),
            "domain" => text(domain::registrable(facts.host)),
            "port" => Some(CowVal::owned(CelInt::from(i64::from(facts.port)))),
            "url" => Some(CowVal::owned(CelString::from(facts.url()))),
            "domains" => {
                let names = domain::chain(facts.host);
                let names = names.map(|name| Box::new(CelString::from(name)) as Box<dyn Val + 'b>);
                Some(CowVal::owned(CelList::from(names.collect::<Vec<_>>())))
            }
            "query" => Some(self.fields(Fields::Query(facts.query))),
            "headers" => Some(self.fields(Fields::Headers(facts.headers))),
            "response.status" => {
                self.response.map(|it| CowVal::owned(CelInt::from(i64::from(it.status))))
            }
            "response.headers" => self.response.map(|it| self.fields(Fields::Headers(it.headers))),
            "charged" => Some(CowVal::owned(CelDouble::from(self.charged))),
            _ => None,
        }
    }
}

impl Facts<'_> {
    /// The whole address, without the scheme's own port.
    fn url(&self) -> String {
        let host = match self.host.contains(':') {
            true => format!("[{}]", self.host),
            false => self.host.to_owned(),
        };
        let port = match (self.scheme, self.port) {
            ("http", 80) | ("https", 443) => String::new(),
            (_, port) => format!(":{port}"),
        };
        let mark = if self.query.is_empty() { "" } else { "?" };
        format!("{}://{host}{port}{}{mark}{}", self.scheme, self.path, self.query)
    }
}
