//! What a client asks for: `Pace-…` fields, `Prefer`, the user part of a proxy URL.
//!
//! Input: lines `name: value`; the values of `proxy-authorization` are users.

use http::header::{HeaderMap, HeaderName, HeaderValue};
use pacegate::policy::preset::Preset;
use pacegate::policy::user::ProxyUser;
use pacegate::policy::wishes::{BadWish, Wishes};
use std::time::Duration;

pub fn body(data: &[u8]) {
    let mut headers = HeaderMap::new();
    let mut of_users = Vec::new();
    for line in data.split(|byte| *byte == b'\n').take(64) {
        let colon = line.iter().position(|byte| *byte == b':').unwrap_or(line.len());
        let (name, value) = (&line[..colon], line.get(colon + 1..).unwrap_or_default());
        let value = value.strip_prefix(b" ").unwrap_or(value);
        if name.eq_ignore_ascii_case(b"proxy-authorization") {
            of_users.extend(user(value));
        } else if let (Ok(name), Ok(value)) =
            (HeaderName::from_bytes(name), HeaderValue::from_bytes(value))
        {
            headers.append(name, value);
        }
    }
    let own = checked(Wishes::of_headers(&headers));
    for theirs in of_users {
        let both = own.clone().unwrap_or_default().over(theirs.clone());
        sound(&both);
        granted(&both);
        assert_eq!(theirs.clone().over(Wishes::default()), theirs);
        assert_eq!(Wishes::default().over(theirs.clone()), theirs);
    }
}

/// What comes of a user as it was written; and the same user encoded and read again is the same.
fn user(value: &[u8]) -> Option<Wishes> {
    let bare = ProxyUser::parse(value);
    let (name, secret) = match (&bare, std::str::from_utf8(value)) {
        (Ok(user), _) => (written(user), user.secret.clone()),
        (Err(_), Ok(text)) => {
            let (name, secret) = text.split_once(':').unwrap_or((text, ""));
            (name.to_owned(), secret.to_owned())
        }
        (Err(_), Err(_)) => return None,
    };
    let of_parts = ProxyUser::of_parts(&name, &secret);
    for padding in ["=", ""] {
        let encoded = format!("Basic {}", base64(format!("{name}:{secret}").as_bytes(), padding));
        // A colon in the name would be the one before the secret.
        if !name.contains(':') {
            assert_eq!(ProxyUser::parse(encoded.as_bytes()), of_parts);
        }
    }
    let user = of_parts.ok()?;
    assert!(user.name.as_ref().is_none_or(|name| (1..=128).contains(&name.len())));
    assert!(user.name.as_ref().is_none_or(|name| !name.contains(char::is_control)));
    assert!(user.options.len() <= 16);
    let other = ProxyUser { secret: String::new(), ..user.clone() };
    assert_eq!(format!("{user:?}"), format!("{other:?}"), "the secret shows");
    checked(Wishes::of_user(&user))
}

/// The user part again.
fn written(user: &ProxyUser) -> String {
    let name = user.name.clone().unwrap_or_default();
    user.options.iter().fold(name, |name, (key, value)| format!("{name};{key}={value}"))
}

fn base64(bytes: &[u8], padding: &str) -> String {
    const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for group in bytes.chunks(3) {
        let mut word = [0; 4];
        word[1..=group.len()].copy_from_slice(group);
        let word = u32::from_be_bytes(word);
        for place in 0..=group.len() {
            text.push(char::from(DIGITS[(word >> (18 - 6 * place)) as usize & 63]));
        }
        text.push_str(&padding.repeat(3 - group.len()));
    }
    text
}

fn checked(read: Result<Wishes, BadWish>) -> Option<Wishes> {
    match read {
        Ok(wishes) => {
            sound(&wishes);
            granted(&wishes);
            Some(wishes)
        }
        Err(bad) => {
            let said = bad.to_string();
            assert!(said.len() < 600 && !said.contains(char::is_control), "{said:?}");
            assert!(!bad.place.is_empty() && !bad.want.is_empty());
            None
        }
    }
}

/// Whatever was asked for is within bounds.
fn sound(wishes: &Wishes) {
    let spans = [wishes.deadline, wishes.window, wishes.timeout];
    assert!(spans.iter().flatten().all(|span| *span <= DAY), "{wishes:?}");
    assert!(wishes.timeout.is_none_or(|timeout| !timeout.is_zero()));
    assert!(wishes.retry.as_ref().is_none_or(|wish| {
        wish.only.len() <= 32 && wish.extra.is_none_or(|extra| extra < 100)
    }));
    let plain = |byte: u8| byte.is_ascii_graphic();
    let tag = wishes.tag.as_ref();
    assert!(tag.is_none_or(|tag| (1..=64).contains(&tag.len()) && tag.bytes().all(plain)));
    if let (Some(wait), Some(deadline)) = (wishes.prefer_wait, wishes.deadline) {
        assert_eq!(Duration::from_secs(wait).min(DAY), deadline);
    }
}

/// Nobody gets a longer window than there is, and who isn't trusted nothing that is faster.
fn granted(wishes: &Wishes) {
    let (most, least) = (Duration::from_secs(600), Duration::from_secs(5));
    for trusted in [true, false] {
        let granted = wishes.clone().granted(trusted, most, least);
        assert!(granted.window.is_none_or(|window| window <= most));
        assert!(trusted || granted.preset != Some(Preset::Off));
        assert!(trusted || granted.timeout.is_none_or(|timeout| timeout >= least));
        assert_eq!(granted.deadline, wishes.deadline);
        assert_eq!(granted.clone().granted(trusted, most, least), granted);
    }
}

const DAY: Duration = Duration::from_secs(86_400);
