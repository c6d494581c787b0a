//! The functions an expression may call: what they take, what they give, and those of our own.
//!
//! This file must not know which variables there are.

use crate::policy::domain;
use crate::policy::rules::kind::Kind;
use cel::common::types::{
    CelDouble, CelInt, CelList, CelString, DOUBLE_TYPE, INT_TYPE, MAP_TYPE, STRING_TYPE,
};
use cel::common::value::{CowVal, Val};
use cel::{DeclarationError, Env, ExecutionError};

/// One function.
pub struct Signature {
    pub name: &'static str,
    /// What it is called on, if it is called on something: `host.endsWith(".org")`.
    pub on: Option<Takes>,
    pub takes: &'static [Takes],
    pub gives: fn() -> Kind,
    /// How it is written.
    pub shown: &'static str,
}

/// What an argument may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Takes {
    Text,
    Number,
    /// Text, or a number.
    Scalar,
    /// Text, a list or a map.
    Sized,
    /// A map to texts.
    Fields,
}

impl Takes {
    /// Whether an argument is of this kind.
    pub fn fits(self, kind: &Kind) -> bool {
        match (self, kind) {
            (_, Kind::Anything) => true,
            (Takes::Text, kind) => *kind == Kind::Text,
            (Takes::Number, kind) => kind.is_number(),
            (Takes::Scalar, kind) => *kind == Kind::Text || kind.is_number(),
            (Takes::Sized, kind) => matches!(kind, Kind::Text | Kind::List(_) | Kind::Map(_)),
            (Takes::Fields, Kind::Map(of)) => **of == Kind::Text,
            (Takes::Fields, _) => false,
        }
    }

    /// In words.
    pub const fn word(self) -> &'static str {
        match self {
            Takes::Text => "text",
            Takes::Number => "a number",
            Takes::Scalar => "text or a number",
            Takes::Sized => "text, a list or a map",
            Takes::Fields => "headers or query",
        }
    }
}

use Takes::{Number, Scalar, Sized, Text};

const TRUTH: fn() -> Kind = || Kind::Truth;
const WHOLE: fn() -> Kind = || Kind::Whole;
const DECIMAL: fn() -> Kind = || Kind::Decimal;
const TEXT: fn() -> Kind = || Kind::Text;
const TEXTS: fn() -> Kind = || Kind::List(Box::new(Kind::Text));

/// All of them. What else the language has is not for rules.
#[rustfmt::skip]
pub const FUNCTIONS: &[Signature] = &[
    Signature { name: "startsWith", on: Some(Text), takes: &[Text], gives: TRUTH, shown: "text.startsWith(text)" },
    Signature { name: "endsWith", on: Some(Text), takes: &[Text], gives: TRUTH, shown: "text.endsWith(text)" },
    Signature { name: "contains", on: Some(Text), takes: &[Text], gives: TRUTH, shown: "text.contains(text)" },
    Signature { name: "lower", on: Some(Text), takes: &[], gives: TEXT, shown: "text.lower()" },
    Signature { name: "split", on: Some(Text), takes: &[Text], gives: TEXTS, shown: "text.split(separator)" },
    Signature { name: "get", on: Some(Takes::Fields), takes: &[Text, Text], gives: TEXT,
        shown: "headers.get(name, default)" },
    Signature { name: "size", on: Some(Sized), takes: &[], gives: WHOLE, shown: "text.size()" },
    Signature { name: "size", on: None, takes: &[Sized], gives: WHOLE, shown: "size(text)" },
    Signature { name: "number", on: None, takes: &[Scalar, Number], gives: DECIMAL, shown: "number(text, default)" },
    Signature { name: "number", on: None, takes: &[Scalar], gives: DECIMAL, shown: "number(text)" },
    Signature { name: "int", on: None, takes: &[Scalar], gives: WHOLE, shown: "int(number)" },
    Signature { name: "double", on: None, takes: &[Scalar], gives: DECIMAL, shown: "double(number)" },
    Signature { name: "string", on: None, takes: &[Scalar], gives: TEXT, shown: "string(number)" },
    Signature { name: "host_of", on: None, takes: &[Text], gives: TEXT, shown: "host_of(url)" },
    Signature { name: "registrable_domain", on: None, takes: &[Text], gives: TEXT, shown: "registrable_domain(host)" },
    Signature { name: "domain_chain", on: None, takes: &[Text], gives: TEXTS, shown: "domain_chain(host)" },
];

/// The language with our own functions.
pub fn environment() -> Result<Env, DeclarationError> {
    let mut env = Env::stdlib();
    env.add_member_overload("lower", "text_lower", STRING_TYPE, vec![], lower)?;
    env.add_member_overload("split", "text_split", STRING_TYPE, vec![STRING_TYPE], split)?;
    env.add_member_overload("get", "map_get", MAP_TYPE, vec![STRING_TYPE, STRING_TYPE], get)?;
    env.add_overload("host_of", "host_of_text", vec![STRING_TYPE], host_of)?;
    env.add_overload("registrable_domain", "registrable_domain_text", vec![STRING_TYPE], domain)?;
    env.add_overload("domain_chain", "domain_chain_text", vec![STRING_TYPE], chain)?;
    for (of, kind) in [("text", STRING_TYPE), ("whole", INT_TYPE), ("decimal", DOUBLE_TYPE)] {
        env.add_overload("number", &format!("number_{of}"), vec![kind.to_owned()], number)?;
        for (or, default) in [("whole", INT_TYPE), ("decimal", DOUBLE_TYPE)] {
            let id = format!("number_{of}_{or}");
            env.add_overload("number", &id, vec![kind.to_owned(), default], number)?;
        }
    }
    Ok(env)
}

type Arguments<'b, 'v> = Vec<CowVal<'b, 'v>>;
type Given<'b, 'v> = Result<CowVal<'b, 'v>, ExecutionError>;

fn lower<'b, 'v>(arguments: Arguments<'b, 'v>) -> Given<'b, 'v> {
    Ok(owned(text(&arguments, 0).to_ascii_lowercase()))
}

fn split<'b, 'v>(arguments: Arguments<'b, 'v>) -> Given<'b, 'v> {
    let (whole, separator) = (text(&arguments, 0), text(&arguments, 1));
    let parts: Vec<&str> = match separator.is_empty() {
        true => vec![whole],
        false => whole.split(separator).take(PARTS).collect(),
    };
    Ok(list(parts.into_iter().map(str::to_owned)))
}

fn get<'b, 'v>(arguments: Arguments<'b, 'v>) -> Given<'b, 'v> {
    let (map, name) = (&arguments[0], &arguments[1]);
    let found = match map.as_indexer() {
        Some(fields) => fields.get(name.as_ref()).ok().map(CowVal::into_owned),
        None => None,
    };
    Ok(CowVal::Owned(found.unwrap_or_else(|| arguments[2].clone().into_owned())))
}

/// A number that is one; else the default, and without one an error.
fn number<'b, 'v>(arguments: Arguments<'b, 'v>) -> Given<'b, 'v> {
    let found = arguments.iter().find_map(|argument| amount(argument.as_ref()));
    let missing = || {
        let shown: String = text(&arguments, 0).chars().take(SHOWN).collect();
        ExecutionError::function_error("number", format!("\"{shown}\" is no number"))
    };
    found.map(|number| CowVal::owned(CelDouble::from(number))).ok_or_else(missing)
}

/// The number a value is, or a text says. None that is infinite, or not one.
pub fn amount(value: &(dyn Val + '_)) -> Option<f64> {
    let number = if let Some(whole) = value.downcast_ref::<CelInt>() {
        *whole.inner() as f64
    } else if let Some(decimal) = value.downcast_ref::<CelDouble>() {
        *decimal.inner()
    } else {
        value.downcast_ref::<CelString<'_>>()?.inner().trim().parse().ok()?
    };
    number.is_finite().then_some(number)
}

fn host_of<'b, 'v>(arguments: Arguments<'b, 'v>) -> Given<'b, 'v> {
    Ok(owned(host_in(text(&arguments, 0))))
}

fn domain<'b, 'v>(arguments: Arguments<'b, 'v>) -> Given<'b, 'v> {
    Ok(owned(domain::registrable(text(&arguments, 0)).to_owned()))
}

fn chain<'b, 'v>(arguments: Arguments<'b, 'v>) -> Given<'b, 'v> {
    Ok(list(domain::chain(text(&arguments, 0)).take(PARTS).map(str::to_owned)))
}

/// The host of a URL, in lower case and as an A-label; nothing where there is none. What has no
/// scheme is read as if it had one: APIs take both.
fn host_in(url: &str) -> String {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#', '\\']).next().unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or_default();
    if let Some((address, _)) = host.strip_prefix('[').and_then(|inner| inner.split_once(']')) {
        return address.to_ascii_lowercase();
    }
    let host = host.split(':').next().unwrap_or_default().trim();
    let host = host.strip_suffix('.').unwrap_or(host);
    // Nearly all hosts are plain already; the full rules cost microseconds.
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b".-_".contains(&byte);
    match host.bytes().all(plain) {
        true => host.to_ascii_lowercase(),
        false => idna::domain_to_ascii(host).unwrap_or_default(),
    }
}

fn text<'a>(arguments: &'a [CowVal<'_, '_>], place: usize) -> &'a str {
    let argument = arguments.get(place).and_then(|it| it.downcast_ref::<CelString<'_>>());
    argument.map_or("", |text| text.inner())
}

fn owned<'b, 'v>(text: String) -> CowVal<'b, 'v> {
    CowVal::owned(CelString::from(text))
}

fn list<'b, 'v>(texts: impl Iterator<Item = String>) -> CowVal<'b, 'v> {
    let texts = texts.map(|text| Box::new(CelString::from(text)) as Box<dyn Val + 'v>);
    CowVal::owned(CelList::from(texts.collect::<Vec<_>>()))
}

/// A text's parts, at most.
const PARTS: usize = 200;
const SHOWN: usize = 40;
