//! How bounds, values and long sentences are put where there are many of them.

use holdover_model::check::{Bounds, Budget};
use holdover_model::design::binds::Binds;
use holdover_model::design::change::{Change, SettingValue};

/// How wide a line may be.
const COLUMNS: usize = 110;

/// Bounds in words: how many, and the one in which most can happen.
pub(super) fn bounds(bounds: &[Bounds]) -> String {
    match (bounds, bounds.iter().max_by_key(|bounds| happenings(bounds))) {
        ([only], _) => only.to_string(),
        (several, Some(largest)) => format!("{} bounds, the largest {largest}", several.len()),
        (_, None) => "no bounds".into(),
    }
}

/// How much there is to happen within a bound.
fn happenings(bounds: &Bounds) -> u32 {
    let budgets: u32 = Budget::ALL.iter().map(|budget| u32::from(bounds.budgets[*budget])).sum();
    let counts: u32 =
        [bounds.workers, bounds.resources, bounds.operations].map(u32::from).iter().sum();
    budgets + counts + bounds.attempts_max
}

/// A number of things.
pub(super) fn count(n: usize, what: &str) -> String {
    match n {
        1 => format!("1 {what}"),
        _ => format!("{n} {what}s"),
    }
}

/// A value as short as it can be said.
pub(super) fn value(value: SettingValue) -> String {
    let SettingValue::Fields(binds) = value else { return value.to_string() };
    let (covered, missing): (Vec<&str>, Vec<&str>) =
        Binds::FIELDS.iter().partition(|field| binds.names().any(|name| name == **field));
    match missing.as_slice() {
        [] => "every field".into(),
        few if few.len() <= covered.len() => format!("every field but {}", few.join(", ")),
        _ => format!("only {}", covered.join(", ")),
    }
}

/// A change as short as it can be said.
pub(super) fn change(change: Change) -> String {
    match change.to {
        SettingValue::Fields(_) => format!("{}: {}", change.setting, value(change.to)),
        _ => change.to_string(),
    }
}

/// A text in lines that are not too long, all but the first with so many blanks before them.
pub(super) fn paragraph(text: &str, indent: usize) -> String {
    let mut folded = String::new();
    let mut column = 0;
    for (index, word) in text.split(' ').enumerate() {
        let length = word.chars().count();
        if column > indent && column + 1 + length > COLUMNS {
            folded.truncate(folded.trim_end().len());
            folded.push('\n');
            folded.push_str(&" ".repeat(indent));
            column = indent;
        } else if index > 0 {
            folded.push(' ');
            column += 1;
        }
        folded.push_str(word);
        column += length;
    }
    folded
}

#[cfg(test)]
mod tests {
    use holdover_model::design::Design;

    use super::*;

    #[test]
    fn a_paragraph_keeps_every_word_and_no_line_is_too_long() {
        let words = "the holder of epoch 2 was ready ".repeat(10);
        let text = format!("  load-bearing   {words}and {}", "x".repeat(2 * COLUMNS));
        let folded = paragraph(&text, 17);
        assert!(folded.split_whitespace().eq(text.split_whitespace()));
        assert!(folded.starts_with("  load-bearing   the holder"), "{folded}");
        let lines: Vec<_> = folded.lines().collect();
        assert!(lines.len() > 3, "{folded}");
        for (index, line) in lines.iter().enumerate() {
            // A word is not broken, however long.
            assert!(line.len() <= COLUMNS || line.trim().starts_with("xx"), "{folded}");
            assert!(index == 0 || line.starts_with(&" ".repeat(17)), "{folded}");
            assert!(!line.ends_with(' '), "{folded}");
        }
        assert_eq!(paragraph("short", 17), "short");
    }

    #[test]
    fn fields_are_said_by_those_that_are_fewer() {
        let said = |line: &str| {
            let design = Design::from_toml("binds", line).unwrap();
            let setting = "identity.binds".parse().unwrap();
            change(Change { setting, to: design.value(setting) })
        };
        assert_eq!(said(""), "identity.binds: every field");
        assert_eq!(
            said("identity.binds = [\"run-id\", \"method\"]"),
            "identity.binds: only run-id, method"
        );
        let but_one = format!("identity.binds = {:?}", &Binds::FIELDS[1..]);
        assert_eq!(said(&but_one), "identity.binds: every field but run-id");
    }

    #[test]
    fn of_several_bounds_the_largest_is_named() {
        let small = Bounds::default();
        let large = Bounds::default().with(Budget::Losses, 2);
        assert_eq!(bounds(std::slice::from_ref(&small)), small.to_string());
        let both = bounds(&[large.clone(), small]);
        assert_eq!(both, format!("2 bounds, the largest {large}"));
    }
}
