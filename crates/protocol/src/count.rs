//! Counted nouns in messages: `1 entry`, `1,204 entries`.

/// A number with its noun, in the plural unless it is one. The noun is given in the singular and
/// ends as regular ones do: `entry`, `object class`, `index`, `change`.
pub fn counted(number: u64, noun: &str) -> String {
    match number {
        1 => format!("1 {noun}"),
        _ => format!("{} {}", grouped(number), plural(noun)),
    }
}

/// The digits of a number in groups of three.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

fn plural(noun: &str) -> String {
    let ends = |endings: &[&str]| endings.iter().any(|it| noun.ends_with(it));
    match noun.strip_suffix('y') {
        Some(stem) if !ends(&["ay", "ey", "oy", "uy"]) => format!("{stem}ies"),
        _ if ends(&["s", "x", "z", "ch", "sh"]) => format!("{noun}es"),
        _ => format!("{noun}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_one_is_singular() {
        for (number, noun, text) in [
            (0, "entry", "0 entries"),
            (1, "entry", "1 entry"),
            (2, "object class", "2 object classes"),
            (999, "index", "999 indexes"),
            (1_000, "search", "1,000 searches"),
            (12_345_678, "key", "12,345,678 keys"),
            (u64::MAX, "change", "18,446,744,073,709,551,615 changes"),
        ] {
            assert_eq!(counted(number, noun), text);
        }
    }
}
