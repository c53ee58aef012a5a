//! Compares the output printed in a page with the real output of the command.
//!
//! Words must agree, figures need not: a run of digits with points, commas and colons counts as one
//! figure, and units of sizes and times as one unit. `…` stands for any text, as a whole line for
//! any number of lines. The lines of the page must be printed in their order; a page may leave
//! lines out.

/// Returns the first line of the page that is not printed behind the lines before it; `None` when
/// all are.
pub fn missing<'a>(shown: &'a [String], printed: &str) -> Option<&'a str> {
    let mut lines = printed.lines();
    shown.iter().map(String::as_str).find(|shown| {
        let is_any = shown.trim().is_empty() || shown.trim() == "…";
        !is_any && !lines.any(|line| agree(shown, line))
    })
}

fn agree(shown: &str, printed: &str) -> bool {
    let printed = plain(printed);
    let shown = plain(shown);
    let mut parts = shown.split('…');
    let Some(first) = parts.next() else {
        return true;
    };
    let Some(mut rest) = printed.strip_prefix(first) else {
        return false;
    };
    let mut parts: Vec<&str> = parts.collect();
    let Some(last) = parts.pop() else {
        return rest.is_empty();
    };
    for part in parts {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

/// Returns a line with `0` for each figure, one space between words, and `unit` for each unit.
fn plain(line: &str) -> String {
    let mut words = Vec::new();
    for word in line.split_whitespace() {
        let mut text = String::new();
        let mut was_digit = false;
        for c in word.chars() {
            let goes_on = was_digit && matches!(c, '0'..='9' | '.' | ',' | ':' | '-' | 'Z');
            was_digit = goes_on || c.is_ascii_digit();
            if !goes_on {
                text.push(if was_digit { '0' } else { c });
            }
        }
        let bare = text.trim_end_matches([',', ';', ')']);
        let after = &text[bare.len()..];
        let follows_figure = words.last().is_some_and(|it: &String| it.ends_with('0'));
        if follows_figure && UNITS.contains(&bare) {
            text = format!("unit{after}");
        }
        words.push(text);
    }
    words.join(" ")
}

const UNITS: [&str; 10] = ["B", "KiB", "MiB", "GiB", "TiB", "us", "ms", "s", "min", "h"];
