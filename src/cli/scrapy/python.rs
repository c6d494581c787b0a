//! Reads assignments of literals from a Python file: `NAME = 8`, `NAME = {"a": [1, 2]}`. Nothing is
//! executed, and nothing but text is looked at.
//!
//! This file must not know what the names are good for.

use crate::cli::scrapy::literal::Literal;

/// A name at the file's top level, and what it is set to.
#[derive(Clone, Debug, PartialEq)]
pub struct Assignment {
    pub name: String,
    pub value: Literal,
    pub line: usize,
}

/// What a file says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reading {
    /// In order; of two with one name the later counts.
    pub assignments: Vec<Assignment>,
    /// Names that are changed in a way that isn't read (in a block, `+=`, `x["y"] =`), and where.
    pub changed: Vec<(String, usize)>,
}

impl Reading {
    /// What a name is set to in the end.
    pub fn get(&self, name: &str) -> Option<&Assignment> {
        self.assignments.iter().rev().find(|assignment| assignment.name == name)
    }
}

/// Reads a file's text. What is no assignment of a literal is passed over.
pub fn read(text: &str) -> Reading {
    let mut reader = Reader { text, at: 0, counted: (0, 1) };
    let mut reading = Reading::default();
    while reader.at < text.len() {
        reader.statement(&mut reading);
    }
    reading
}

struct Reader<'a> {
    text: &'a str,
    /// Always at a character's beginning.
    at: usize,
    /// Where lines were counted last, and how many there were.
    counted: (usize, usize),
}

impl<'a> Reader<'a> {
    /// One logical line.
    fn statement(&mut self, reading: &mut Reading) {
        let first = self.text[..self.at].chars().next_back().is_none_or(|last| last == '\n');
        let indented = self.skip_blank() && first;
        let (start, line) = (self.at, self.line());
        let name = self.word();
        if name.is_empty() {
            return self.skip_statement(start);
        }
        self.skip_blank();
        match (indented, self.rest().as_bytes()) {
            (false, [b'=', next, ..]) if *next != b'=' => self.at += 1,
            (false, [b':', ..]) if self.annotation() => {}
            (_, [b'=', next, ..]) if *next != b'=' => {
                reading.changed.push((name.to_owned(), line));
                return self.skip_statement(start);
            }
            (_, [b'[' | b'.', ..] | [b'+' | b'-' | b'*' | b'|', b'=', ..]) => {
                reading.changed.push((name.to_owned(), line));
                return self.skip_statement(start);
            }
            _ => return self.skip_statement(start),
        }
        let value = self.value(0, &['\n', ';']);
        reading.assignments.push(Assignment { name: name.to_owned(), value, line });
        let end = self.at;
        self.skip_statement(end);
    }

    /// `: int =`, up to the value.
    fn annotation(&mut self) -> bool {
        let line = self.rest().lines().next().unwrap_or_default();
        let place = line.find('=').filter(|place| line.as_bytes().get(place + 1) != Some(&b'='));
        let place = place.filter(|place| !line[..*place].contains(['(', '#', '"', '\'']));
        self.at += place.map_or(0, |place| place + 1);
        place.is_some()
    }

    /// A value up to one of the ends; code where it is no literal.
    fn value(&mut self, depth: usize, ends: &[char]) -> Literal {
        let blank = |reader: &mut Reader<'a>| {
            if ends.contains(&'\n') { reader.skip_blank() } else { reader.skip_lines() }
        };
        blank(self);
        let start = self.at;
        if depth < DEPTH
            && let Some(literal) = self.literal(depth)
        {
            blank(self);
            if self.peek().is_none_or(|next| ends.contains(&next) || next == '#') {
                return literal;
            }
        }
        self.at = start;
        self.skip_code(ends);
        Literal::Code(self.text[start..self.at].trim_end().to_owned())
    }

    fn literal(&mut self, depth: usize) -> Option<Literal> {
        match self.peek()? {
            '[' => self.items(depth, ']').map(Literal::List),
            '(' => self.parentheses(depth),
            '{' => self.braces(depth),
            '-' => {
                self.at += 1;
                self.number().map(|number| Literal::Number(-number))
            }
            first if first.is_ascii_digit() || first == '.' => self.number().map(Literal::Number),
            '"' | '\'' => self.texts().map(Literal::Text),
            _ => {
                let start = self.at;
                match self.word() {
                    "None" => Some(Literal::None),
                    "True" => Some(Literal::Bool(true)),
                    "False" => Some(Literal::Bool(false)),
                    _ => {
                        self.at = start;
                        self.texts().map(Literal::Text)
                    }
                }
            }
        }
    }

    fn items(&mut self, depth: usize, end: char) -> Option<Vec<Literal>> {
        self.at += 1;
        let mut items = Vec::new();
        loop {
            self.skip_lines();
            if self.take(end) {
                return Some(items);
            }
            items.push(self.value(depth + 1, &[',', end]));
            self.skip_lines();
            if !self.take(',') && self.peek() != Some(end) {
                return None;
            }
        }
    }

    /// A tuple; or a value in parentheses.
    fn parentheses(&mut self, depth: usize) -> Option<Literal> {
        let start = self.at;
        let mut items = self.items(depth, ')')?;
        let inner = self.text[start..self.at - 1].trim_end();
        let one = items.len() == 1 && !inner.ends_with(',');
        Some(if one { items.remove(0) } else { Literal::List(items) })
    }

    /// A dictionary or a set.
    fn braces(&mut self, depth: usize) -> Option<Literal> {
        self.at += 1;
        let (mut pairs, mut items) = (Vec::new(), Vec::new());
        loop {
            self.skip_lines();
            if self.take('}') {
                return match (pairs.is_empty(), items.is_empty()) {
                    (_, true) => Some(Literal::Map(pairs)),
                    (true, false) => Some(Literal::List(items)),
                    (false, false) => None,
                };
            }
            let key = self.value(depth + 1, &[':', ',', '}']);
            self.skip_lines();
            match self.take(':') {
                true => pairs.push((key, self.value(depth + 1, &[',', '}']))),
                false => items.push(key),
            }
            self.skip_lines();
            if !self.take(',') && self.peek() != Some('}') {
                return None;
            }
        }
    }

    fn number(&mut self) -> Option<f64> {
        let rest = self.rest();
        let mut before = ' ';
        let length = rest
            .find(|next: char| {
                let sign = matches!(next, '+' | '-') && matches!(before, 'e' | 'E');
                before = next;
                !(next.is_ascii_alphanumeric() || matches!(next, '.' | '_') || sign)
            })
            .unwrap_or(rest.len());
        self.at += length;
        let digits = rest[..length].replace('_', "").to_ascii_lowercase();
        let whole = |radix, digits| u32::from_str_radix(digits, radix).ok().map(f64::from);
        match digits.get(..2) {
            Some("0x") => whole(16, &digits[2..]),
            Some("0o") => whole(8, &digits[2..]),
            Some("0b") => whole(2, &digits[2..]),
            _ if digits.starts_with(|first: char| first.is_ascii_digit() || first == '.') => {
                digits.parse().ok().filter(|number: &f64| number.is_finite())
            }
            _ => None,
        }
    }

    /// One string, or several side by side, which are one.
    fn texts(&mut self) -> Option<String> {
        let mut whole = self.string()?;
        loop {
            let end = self.at;
            self.skip_lines();
            match self.string() {
                Some(more) => whole.push_str(&more),
                None => {
                    self.at = end;
                    return Some(whole);
                }
            }
        }
    }

    fn string(&mut self) -> Option<String> {
        let start = self.at;
        let prefix = self.word().to_ascii_lowercase();
        let known = matches!(prefix.as_str(), "" | "r" | "u" | "b" | "rb" | "br");
        let Some((quote, body)) = self.quoted().filter(|_| known) else {
            self.at = start;
            return None;
        };
        let body = &body[quote..body.len() - quote];
        if prefix.contains('r') { Some(body.to_owned()) } else { unescape(body) }
    }

    /// A quoted text with its quotes, and how many there are at each end.
    fn quoted(&mut self) -> Option<(usize, &'a str)> {
        let rest = self.rest();
        let quote = rest.chars().next().filter(|first| matches!(first, '"' | '\''))?;
        let three: String = [quote; 3].iter().collect();
        let width = if rest.starts_with(&three) { 3 } else { 1 };
        let (mut escaped, mut at) = (false, width);
        for next in rest[width..].chars() {
            if !escaped && rest[at..].starts_with(&three[..width]) {
                self.at += at + width;
                return Some((width, &rest[..at + width]));
            }
            if next == '\n' && width == 1 && !escaped {
                return None;
            }
            escaped = next == '\\' && !escaped;
            at += next.len_utf8();
        }
        None
    }

    /// Passes over code up to one of the ends outside brackets and strings.
    fn skip_code(&mut self, ends: &[char]) {
        let mut depth = 0_usize;
        while let Some(next) = self.peek() {
            match next {
                _ if depth == 0 && ends.contains(&next) => return,
                '#' if depth == 0 && ends.contains(&'\n') => return,
                '#' => self.skip_comment(),
                '"' | '\'' if self.quoted().is_some() => {}
                '\\' => self.skip_characters(2),
                _ => {
                    match next {
                        '(' | '[' | '{' => depth += 1,
                        ')' | ']' | '}' => depth = depth.saturating_sub(1),
                        _ => {}
                    }
                    self.skip_characters(1);
                }
            }
        }
    }

    /// Goes on after the logical line that `start` is in.
    fn skip_statement(&mut self, start: usize) {
        self.at = start;
        self.skip_code(&['\n', ';']);
        self.skip_comment();
        self.skip_characters(1);
    }

    /// Spaces, and line ends after a backslash. Whether there were any.
    fn skip_blank(&mut self) -> bool {
        let start = self.at;
        loop {
            let rest = self.rest();
            let length = rest.len() - rest.trim_start_matches([' ', '\t', '\r', '\x0c']).len();
            self.at += length;
            match self.rest().strip_prefix("\\\n").or(self.rest().strip_prefix("\\\r\n")) {
                Some(rest) => self.at = self.text.len() - rest.len(),
                None => return self.at > start,
            }
        }
    }

    /// Spaces, line ends and comments: inside brackets.
    fn skip_lines(&mut self) -> bool {
        let start = self.at;
        loop {
            self.skip_blank();
            match self.peek() {
                Some('\n') => self.at += 1,
                Some('#') => self.skip_comment(),
                _ => return self.at > start,
            }
        }
    }

    fn skip_comment(&mut self) {
        if self.peek() == Some('#') {
            let rest = self.rest();
            self.at += rest.find('\n').unwrap_or(rest.len());
        }
    }

    fn skip_characters(&mut self, count: usize) {
        self.at += self.rest().chars().take(count).map(char::len_utf8).sum::<usize>();
    }

    fn word(&mut self) -> &'a str {
        let rest = self.rest();
        let length = rest.find(|next: char| !(next.is_alphanumeric() || next == '_'));
        let length = length.unwrap_or(rest.len());
        self.at += length;
        &rest[..length]
    }

    fn take(&mut self, wanted: char) -> bool {
        let there = self.peek() == Some(wanted);
        self.at += if there { wanted.len_utf8() } else { 0 };
        there
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn line(&mut self) -> usize {
        let (from, line) = self.counted;
        let more = self.text[from..self.at].bytes().filter(|byte| *byte == b'\n').count();
        self.counted = (self.at, line + more);
        line + more
    }
}

/// The escapes that settings have a use for; others make it no literal.
fn unescape(body: &str) -> Option<String> {
    let (mut text, mut rest) = (String::new(), body.chars());
    while let Some(next) = rest.next() {
        match next {
            '\\' => match rest.next()? {
                '\n' => {}
                'n' => text.push('\n'),
                't' => text.push('\t'),
                same @ ('\\' | '\'' | '"') => text.push(same),
                _ => return None,
            },
            other => text.push(other),
        }
    }
    Some(text)
}

/// Deeper than any setting.
const DEPTH: usize = 32;
