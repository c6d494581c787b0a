//! Header fields and query parameters as maps of an expression, looked up where they lie: nothing is
//! copied that is not asked for.
//!
//! This file must not know which of them are of interest.

use cel::ExecutionError;
use cel::common::traits::{Container, Indexer, Sizer};
use cel::common::types::{CelInt, CelMap, CelMapKey, CelString, MAP_TYPE, Type};
use cel::common::value::{CowVal, Val};
use http::HeaderMap;
use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

/// A map from texts to texts.
#[derive(Clone, Copy, Debug)]
pub enum Fields<'a> {
    /// By their names in lower case; several lines of one are one, with commas between
    /// (RFC 9110 §5.3). Bytes that are no text are replaced.
    Headers(&'a HeaderMap),
    /// What stands behind the question mark, decoded; of several of one name the first.
    Query(&'a str),
}

impl<'a> Fields<'a> {
    /// What `name` has.
    pub fn value(&self, name: &str) -> Option<Cow<'a, str>> {
        match self {
            Fields::Headers(headers) => field(headers, name),
            Fields::Query(query) => {
                let found = pairs(query).find(|(key, _)| decoded(key) == name);
                found.map(|(_, value)| decoded(value))
            }
        }
    }

    /// All of it, at most [`MOST`] entries, for expressions that go through it.
    pub fn whole(self) -> CelMap<'a> {
        let mut map: HashMap<CelMapKey<'a>, Box<dyn Val + 'a>> = HashMap::new();
        let mut add = |name: String, value: Cow<'a, str>| {
            let value: Box<dyn Val + 'a> = Box::new(CelString::from(value));
            map.entry(CelMapKey::from(name)).or_insert(value);
        };
        match self {
            Fields::Headers(headers) => {
                for name in headers.keys().take(MOST) {
                    let value = field(headers, name.as_str()).unwrap_or_default();
                    add(name.as_str().to_owned(), value);
                }
            }
            Fields::Query(query) => {
                for (name, value) in pairs(query).take(MOST) {
                    add(decoded(name).into_owned(), decoded(value));
                }
            }
        }
        CelMap::from(map)
    }

    fn size(&self) -> usize {
        match self {
            Fields::Headers(headers) => headers.keys_len(),
            Fields::Query(query) => pairs(query).count(),
        }
    }

    fn found(&self, name: &dyn Val) -> Result<CelString<'a>, ExecutionError> {
        let name = name.downcast_ref::<CelString<'_>>().map_or("", |name| name.inner());
        let missing = || ExecutionError::NoSuchKey(Arc::new(name.to_owned()));
        self.value(name).map(CelString::from).ok_or_else(missing)
    }
}

fn field<'a>(headers: &'a HeaderMap, name: &str) -> Option<Cow<'a, str>> {
    let mut lines =
        headers.get_all(name).iter().map(|line| String::from_utf8_lossy(line.as_bytes()));
    let first = lines.next()?;
    Some(lines.fold(first, |all, line| Cow::Owned(format!("{all}, {line}"))))
}

fn pairs(query: &str) -> impl Iterator<Item = (&str, &str)> {
    let parts = query.split('&').filter(|part| !part.is_empty());
    parts.map(|part| part.split_once('=').unwrap_or((part, "")))
}

/// As forms are written: `+` is a space, `%41` is `A` (WHATWG URL §5.1).
fn decoded(text: &str) -> Cow<'_, str> {
    if !text.bytes().any(|byte| byte == b'+' || byte == b'%') {
        return Cow::Borrowed(text);
    }
    let bytes = text.as_bytes();
    let digit = |at: usize| bytes.get(at).and_then(|byte| char::from(*byte).to_digit(16));
    let (mut plain, mut at) = (Vec::with_capacity(bytes.len()), 0);
    while let Some(byte) = bytes.get(at) {
        let escaped = (*byte == b'%').then(|| digit(at + 1).zip(digit(at + 2))).flatten();
        at += if escaped.is_some() { 3 } else { 1 };
        plain.push(match (escaped, byte) {
            (Some((high, low)), _) => (high * 16 + low) as u8,
            (None, b'+') => b' ',
            (None, byte) => *byte,
        });
    }
    Cow::Owned(String::from_utf8_lossy(&plain).into_owned())
}

impl Val for Fields<'_> {
    fn get_type(&self) -> &Type {
        &MAP_TYPE
    }

    fn cel_type() -> &'static Type {
        &MAP_TYPE
    }

    fn as_container(&self) -> Option<&dyn Container> {
        Some(self)
    }

    fn as_indexer<'b, 'v>(&'b self) -> Option<&'b (dyn Indexer + 'v)>
    where
        Self: 'v,
    {
        Some(self)
    }

    fn as_sizer(&self) -> Option<&dyn Sizer> {
        Some(self)
    }

    fn clone_as_boxed<'v>(&self) -> Box<dyn Val + 'v>
    where
        Self: 'v,
    {
        Box::new(*self)
    }
}

impl Container for Fields<'_> {
    fn contains(&self, name: &dyn Val) -> Result<bool, ExecutionError> {
        Ok(self.found(name).is_ok())
    }
}

impl Indexer for Fields<'_> {
    fn get<'b, 'v>(&'b self, name: &dyn Val) -> Result<CowVal<'b, 'v>, ExecutionError>
    where
        Self: 'v,
    {
        self.found(name).map(CowVal::owned)
    }

    fn steal<'v>(self: Box<Self>, name: &dyn Val) -> Result<Box<dyn Val + 'v>, ExecutionError>
    where
        Self: 'v,
    {
        self.found(name).map(|text| Box::new(text) as Box<dyn Val + 'v>)
    }
}

impl Sizer for Fields<'_> {
    fn size(&self) -> CelInt {
        CelInt::from(Fields::size(self) as i64)
    }
}

/// So many entries are gone through: what a request brings must not make an expression long.
const MOST: usize = 200;
