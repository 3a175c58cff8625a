//! A team's own design file with other values, and nothing else touched.
//!
//! A file that is written anew loses what its readers need: comments, order, layout. So only the
//! bytes of a value are replaced, at the place where the reader found it, and what is missing gets
//! a line of its own. Everything else is the same text because it is never taken apart.
//!
//! ```
//! use holdover_model::design::Design;
//! use holdover_model::design::edit::{diff, edit};
//!
//! let ours = "[fence]\ncheck = \"at-least-highest-seen\"  # as in the paper\n";
//! let design = Design::from_toml("ours.toml", ours).unwrap();
//! let change = design.alternatives("fence.check".parse().unwrap())[0];
//! let edited = edit(ours, &[change]).unwrap();
//! assert_eq!(edited, "[fence]\ncheck = \"current-epoch\"  # as in the paper\n");
//! assert!(diff(ours, &edited).contains("\n+check = \"current-epoch\"  # as in the paper\n"));
//! ```

use std::borrow::Cow;
use std::ops::Range;

use similar::TextDiff;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::design::change::Change;
use crate::design::{Design, DesignError};

/// How many lines around a change are shown.
const CONTEXT_LINES: usize = 3;

/// The text of a design file with these changes, of settings or of claims.
///
/// A value that stands in the file is replaced where it stands; a list is written anew on one line.
/// A value that does not is added to its section, and the section at the end if it is missing, too.
/// What the file says already, if only by saying nothing, is left alone.
///
/// # Errors
///
/// When the text is not a design.
///
/// # Panics
///
/// When a setting cannot have the value that it is to have.
pub fn edit(text: &str, changes: &[Change]) -> Result<String, DesignError> {
    let mut design = Design::from_toml("the design", text)?;
    let mut text = text.to_owned();
    for change in changes {
        if design.value(change.setting) != change.to {
            let (place, new) = splice(&text, *change);
            text.replace_range(place, &new);
            design = design.with(*change);
        }
    }
    let edited = Design::from_toml("the edited design", &text)?;
    assert_eq!(edited, design, "what was edited is not what was to be:\n{text}");
    Ok(text)
}

/// The lines in which two texts differ, marked with `-` and `+`, and a few around them.
pub fn diff(before: &str, after: &str) -> String {
    TextDiff::from_lines(before, after).unified_diff().context_radius(CONTEXT_LINES).to_string()
}

/// Which bytes of a design's text a change replaces, and with what.
fn splice(text: &str, change: Change) -> (Range<usize>, String) {
    let document = DeTable::parse(text).expect("the text was read before");
    let (section, setting) = (change.setting.section().name, change.setting.setting().name);
    let Some((_, written)) = find(document.get_ref(), section) else {
        return (text.len()..text.len(), new_section(text, change));
    };
    let table = written.get_ref().as_table().expect("a section is a table");
    if let Some((_, value)) = find(table, setting) {
        return (value.span(), change.to.to_string());
    }
    let last = table.iter().max_by_key(|(_, value)| value.span().end);
    let line = format!("{setting} = {}", change.to);
    // What stands where a section begins tells how it is written.
    match (&text[written.span()], last) {
        (inline, None) if inline.starts_with('{') => {
            let after_brace = written.span().start + 1;
            (after_brace..after_brace, format!(" {line} "))
        }
        (inline, Some((_, value))) if inline.starts_with('{') => {
            (value.span().end..value.span().end, format!(", {line}"))
        }
        (header, None) if header.starts_with('[') => line_after(text, written.span(), &line),
        (header, Some((key, value))) if header.starts_with('[') => {
            line_after(text, key.span().start..value.span().end, &line)
        }
        (dotted, last) => {
            let (key, value) = last.expect("a dotted section is made by its settings");
            let line = format!("{dotted}.{line}");
            line_after(text, key.span().start..value.span().end, &line)
        }
    }
}

type Entry<'a, 'i> = (&'a Spanned<Cow<'i, str>>, &'a Spanned<DeValue<'i>>);

fn find<'a, 'i>(table: &'a DeTable<'i>, name: &str) -> Option<Entry<'a, 'i>> {
    table.iter().find(|(key, _)| key.get_ref() == name)
}

/// A line of its own below what stands at a place, as far to the right.
fn line_after(text: &str, place: Range<usize>, line: &str) -> (Range<usize>, String) {
    let begins = text[..place.start].rfind('\n').map_or(0, |newline| newline + 1);
    let indent = &text[begins..];
    let indent = &indent[..indent.len() - indent.trim_start_matches([' ', '\t']).len()];
    let rest = text[place.end..].lines().next().unwrap_or_default();
    let end = place.end + rest.len();
    (end..end, format!("{}{indent}{line}", newline(text)))
}

/// What has to be added to the end of a text for a section that is not there.
fn new_section(text: &str, change: Change) -> String {
    let newline = newline(text);
    let gap = match text {
        "" => String::new(),
        _ if text.ends_with(&newline.repeat(2)) => String::new(),
        _ if text.ends_with('\n') => newline.into(),
        _ => newline.repeat(2),
    };
    let (section, setting) = (change.setting.section().name, change.setting.setting().name);
    format!("{gap}[{section}]{newline}{setting} = {}{newline}", change.to)
}

/// How the lines of a text end.
fn newline(text: &str) -> &'static str {
    match text.find('\n') {
        Some(end) if text[..end].ends_with('\r') => "\r\n",
        _ => "\n",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::design::NAMED;
    use crate::design::setting::SettingId;

    /// A change as a file says it: `fence.check = "any-higher"`.
    fn change(line: &str) -> Change {
        let read = Design::from_toml("change", line).unwrap();
        let setting = line.split('=').next().unwrap().trim().parse().unwrap();
        Change { setting, to: read.value(setting) }
    }

    #[track_caller]
    fn becomes(before: &str, lines: &[&str], after: &str) {
        let changes: Vec<_> = lines.iter().map(|line| change(line)).collect();
        assert_eq!(edit(before, &changes).unwrap(), after);
    }

    #[test]
    fn every_change_of_every_named_design_is_that_change_and_no_other() {
        for (name, text) in NAMED {
            let design = Design::from_toml(name, text).unwrap();
            let changes: Vec<_> =
                SettingId::all().flat_map(|setting| design.alternatives(setting)).collect();
            for change in &changes {
                let edited = edit(text, &[*change]).unwrap();
                assert_eq!(Design::from_toml(name, &edited).unwrap(), design.with(*change));
                let before: Vec<_> = text.lines().collect();
                let gone = before.iter().filter(|line| !edited.lines().any(|kept| kept == **line));
                assert!(gone.count() <= 1, "{name}: {change}: more than one line is gone");
                assert_eq!(edit(&edited, &[*change]).unwrap(), edited, "twice is once");
            }
            // All at once; of those of one setting the last one counts.
            let edited = edit(text, &changes).unwrap();
            let wanted = design.with_all(changes.iter().copied());
            assert_eq!(Design::from_toml(name, &edited).unwrap(), wanted);
        }
    }

    #[test]
    fn a_value_is_replaced_where_it_stands() {
        let check = &["fence.check = \"current-epoch\""];
        for (before, after) in [
            ("fence.check = \"any-higher\"", "fence.check = \"current-epoch\""),
            (
                "# ours\n\t[ fence ] # kept\n  'check'  =  'any-higher'\t# why \n# end",
                "# ours\n\t[ fence ] # kept\n  'check'  =  \"current-epoch\"\t# why \n# end",
            ),
            (
                "fence = { check = 'any-higher' , advance = 'with-grant' } # x\n",
                "fence = { check = \"current-epoch\" , advance = 'with-grant' } # x\n",
            ),
            (
                "fence . check = 'any-higher'\r\nname = 'x'\r\n",
                "fence . check = \"current-epoch\"\r\nname = 'x'\r\n",
            ),
            ("\u{feff}[fence]\ncheck = 'any-higher'", "\u{feff}[fence]\ncheck = \"current-epoch\""),
        ] {
            becomes(before, check, after);
        }
        becomes(
            "[identity]\nbinds = [\n  'run-id', # this\n  'target',\n] # those\n",
            &["identity.binds = [\"run-id\"]"],
            "[identity]\nbinds = [\"run-id\"] # those\n",
        );
        becomes(
            "[guarantee]\nexpiry = true # not any more\n",
            &["guarantee.expiry = false"],
            "[guarantee]\nexpiry = false # not any more\n",
        );
    }

    #[test]
    fn what_is_missing_gets_a_line_of_its_own_in_its_section() {
        let advance = &["fence.advance = \"on-first-write\""];
        for (before, after) in [
            (
                "[fence] # head\n\n# next\n[lease]\n",
                "[fence] # head\nadvance = \"on-first-write\"\n\n# next\n[lease]\n",
            ),
            (
                "[fence]\n  check = 'any-higher' # c\n# d\n[lease]\n",
                "[fence]\n  check = 'any-higher' # c\n  advance = \"on-first-write\"\n# d\n[lease]\n",
            ),
            (
                "[fence]\r\ncheck = 'any-higher'",
                "[fence]\r\ncheck = 'any-higher'\r\nadvance = \"on-first-write\"",
            ),
            (
                " fence.check = 'any-higher' # c\nname = 'x'\n",
                " fence.check = 'any-higher' # c\n fence.advance = \"on-first-write\"\nname = 'x'\n",
            ),
            ("fence = {} # c\n", "fence = { advance = \"on-first-write\" } # c\n"),
            (
                "fence = { check = 'any-higher' }\n",
                "fence = { check = 'any-higher', advance = \"on-first-write\" }\n",
            ),
            (
                "fence = {\n  check = 'any-higher', # c\n}\n",
                "fence = {\n  check = 'any-higher', advance = \"on-first-write\", # c\n}\n",
            ),
        ] {
            becomes(before, advance, after);
        }
        becomes(
            "[identity]\nbinds = [\n  'run-id',\n  'target',\n] # those\n",
            &["identity.claim = \"lookup-then-insert\""],
            "[identity]\nbinds = [\n  'run-id',\n  'target',\n] # those\n\
             claim = \"lookup-then-insert\"\n",
        );
    }

    #[test]
    fn a_missing_section_comes_last_and_comments_stay_with_what_they_are_about() {
        let both = &["lease.renewal = \"none\"", "lease.proof-after-reconnect = \"kept\""];
        let lease = "[lease]\nrenewal = \"none\"\nproof-after-reconnect = \"kept\"\n";
        for before in ["", "name = 'x'\n\n", "[fence]\n# check = 'any-higher'\n\n"] {
            becomes(before, both, &format!("{before}{lease}"));
        }
        for before in ["name = 'x'\n", "[fence]\n# check = 'any-higher'\n"] {
            becomes(before, both, &format!("{before}\n{lease}"));
        }
        becomes("name = 'x'", both, &format!("name = 'x'\n\n{lease}"));
    }

    #[test]
    fn what_holds_already_is_not_written_down() {
        let safe = "name = 'x'\n# nothing is said of the fence\n";
        becomes(safe, &["fence.check = \"current-epoch\""], safe);
    }

    #[test]
    fn a_text_that_is_no_design_is_refused_as_the_reader_does() {
        let error = edit("[fenec]\n", &[]).unwrap_err().to_string();
        assert!(error.contains("the design:1: \"fenec\""), "{error}");
    }

    #[test]
    fn a_diff_shows_the_lines_around_a_change_and_no_others() {
        let before = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n";
        let after = before.replace('6', "six");
        assert_eq!(diff(before, &after), "@@ -3,7 +3,7 @@\n 3\n 4\n 5\n-6\n+six\n 7\n 8\n 9\n");
        assert_eq!(diff(before, before), "");
    }
}
