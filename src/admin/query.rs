//! The words of a request's target: segments and parameters, decoded, and nothing that isn't known.

/// `%41` is `A`; nothing for what is no UTF-8, or a `%` without its digits.
pub fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        rest = after;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let [high, low, after @ ..] = after else { return None };
        let digit = |byte: &u8| char::from(*byte).to_digit(16);
        bytes.push((digit(high)? * 16 + digit(low)?) as u8);
        rest = after;
    }
    String::from_utf8(bytes).ok()
}

/// What [`decoded`] makes the text again, wherever in a target it stands.
pub fn encoded(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    let one = |byte: u8| match plain(byte) {
        true => char::from(byte).to_string(),
        false => format!("%{byte:02X}"),
    };
    text.bytes().map(one).collect()
}

/// The values of these parameters, in their order.
///
/// # Errors
/// What is wrong: another name, one that is there twice, or a value that can't be decoded.
pub fn parameters<const N: usize>(
    query: Option<&str>,
    names: [&str; N],
) -> Result<[Option<String>; N], String> {
    let mut values = [const { None }; N];
    for part in query.unwrap_or_default().split('&').filter(|part| !part.is_empty()) {
        let (name, value) = part.split_once('=').unwrap_or((part, ""));
        let Some(place) = names.iter().position(|known| *known == name) else {
            let known = if N == 0 { "none".to_owned() } else { names.join(", ") };
            return Err(format!("unknown parameter; known here: {known}"));
        };
        let value = decoded(value).ok_or_else(|| format!("{}: not decodable", names[place]))?;
        if values[place].replace(value).is_some() {
            return Err(format!("{}: given twice", names[place]));
        }
    }
    Ok(values)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_encoded_decodes_to_itself(text: String) {
            let there = encoded(&text);
            prop_assert!(!there.contains(['/', '?', '&', '=', '#', ' ']));
            prop_assert_eq!(decoded(&there), Some(text));
        }
    }

    #[test]
    fn parameters_are_known_decodable_and_there_once() {
        let both = |query| parameters(query, ["limit", "after"]);
        assert_eq!(both(None), Ok([None, None]));
        let (limit, after) = (Some("5".to_owned()), Some("a/b".to_owned()));
        assert_eq!(both(Some("after=a%2fb&limit=5")), Ok([limit, after]));
        assert!(both(Some("limit=1&limit=1")).is_err_and(|why| why.contains("twice")));
        assert!(both(Some("x=1")).is_err_and(|why| why.contains("known here: limit, after")));
        for bad in ["after=%", "after=%zz", "after=%ff", "after=%4"] {
            assert!(both(Some(bad)).is_err(), "{bad}");
        }
        assert!(parameters(Some("x"), []).is_err());
    }
}
