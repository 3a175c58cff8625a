//! The strict reader: a design out of TOML, or one line that says where the text is wrong and
//! what would be accepted.
//!
//! A setting that is misspelt and ignored is a safeguard that is off without anybody having
//! switched it off (`milvus-io/milvus#53449`), so nothing unknown is let through.

use std::ops::Range;

use serde::Deserialize;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::design::changeable::{Costs, Part};
use crate::design::cost::Cost;
use crate::design::setting::SettingSet;
use crate::design::vocabulary::{Section, Setting};
use crate::design::{Design, DesignError, sections};
use crate::invariant::InvariantId;

/// What stands before the first section.
const HEAD: &[&str] = &["name", "summary", "source", EXPECT, FIXED];
const EXPECT: &str = "expect";
const FIXED: &str = "fixed";

/// The table of what changes cost.
const COST: &str = "cost";

/// No more than this of a wrong word is repeated.
const WORD_CHARS_MAX: usize = 40;

/// Reads a design. `file` is only used in errors.
pub(super) fn read(file: &str, text: &str) -> Result<Design, DesignError> {
    let malformed = |(span, problem): Wrong| DesignError::Malformed {
        file: file.into(),
        line: line_of(text, span.start),
        problem,
    };
    let table = DeTable::parse(text).map_err(|error| malformed(not_toml(text, &error)))?;
    check_document(table.get_ref()).map_err(malformed)?;
    Design::deserialize(toml::de::Deserializer::from(table))
        .map_err(|error| malformed((error.span().unwrap_or(0..0), one_line(error.message()))))
}

/// Where the text is wrong, and what the problem is.
type Wrong = (Range<usize>, String);

fn line_of(text: &str, offset: usize) -> usize {
    let before = text.as_bytes().iter().take(offset);
    before.filter(|byte| **byte == b'\n').count() + 1
}

fn not_toml(text: &str, error: &toml::de::Error) -> Wrong {
    let span = error.span().unwrap_or(0..0);
    let found = text.get(span.clone()).unwrap_or_default();
    let message = one_line(error.message());
    let problem = match found.trim() {
        "" => message,
        found => format!("{}: {message}", quoted(found)),
    };
    (span, problem)
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn check_document(document: &DeTable<'_>) -> Result<(), Wrong> {
    for (key, value) in document {
        let name: &str = key.get_ref();
        if HEAD.contains(&name) {
            check_head(name, value)?;
        } else if name == COST {
            check_costs(value)?;
        } else if let Some(section) = sections().find(|section| section.name == name) {
            check_section(section, value)?;
        } else {
            return Err((key.span(), unknown_key(name)));
        }
    }
    Ok(())
}

fn unknown_key(name: &str) -> String {
    if let Some(home) = sections().find(|section| section.setting(name).is_some()) {
        return format!("{} is a setting of [{}], not of a design", quoted(name), home.name);
    }
    let sections = sections().map(|section| section.name);
    let known = HEAD.iter().copied().chain(sections).chain([COST]);
    refusal(name, "a section of a design", known)
}

fn check_head(name: &str, value: &Spanned<DeValue<'_>>) -> Result<(), Wrong> {
    let expected = match value.get_ref() {
        DeValue::Array(_) if name == EXPECT => {
            let known: Vec<_> = InvariantId::ALL.iter().map(|id| id.as_str()).collect();
            return check_words(name, "an invariant", value, &known);
        }
        DeValue::Array(parts) if name == FIXED => return check_fixed(parts),
        DeValue::String(_) if name != EXPECT && name != FIXED => return Ok(()),
        _ if name == EXPECT => "a list of invariants",
        _ if name == FIXED => "a list of settings and sections",
        _ => "a text",
    };
    let found = kind(value.get_ref());
    Err((value.span(), format!("{name}: expected {expected}, found {found}")))
}

/// A list of settings and sections, none of them twice.
fn check_fixed(parts: &[Spanned<DeValue<'_>>]) -> Result<(), Wrong> {
    let mut seen = SettingSet::default();
    for part in parts {
        let problem = match part.get_ref() {
            DeValue::String(name) => match Part::named(name) {
                Ok(part) if seen.or(part.settings()) == seen => format!("{part} is listed twice"),
                Ok(part) => {
                    seen = seen.or(part.settings());
                    continue;
                }
                Err(error) => error.to_string(),
            },
            other => format!("expected a list of words, found {} in it", kind(other)),
        };
        return Err((part.span(), format!("{FIXED}: {problem}")));
    }
    Ok(())
}

/// A table of settings and sections, with a cost each.
fn check_costs(value: &Spanned<DeValue<'_>>) -> Result<(), Wrong> {
    let DeValue::Table(table) = value.get_ref() else {
        let found = kind(value.get_ref());
        return Err((value.span(), format!("{COST}: expected a table [{COST}], found {found}")));
    };
    let mut costs = Costs::default();
    for (key, value) in table {
        let name: &str = key.get_ref();
        let found = match value.get_ref() {
            DeValue::Integer(number) => {
                let cost = u8::from_str_radix(number.as_str(), number.radix());
                if let Some(cost) = cost.ok().and_then(Cost::new) {
                    let said = costs.say(name, cost);
                    said.map_err(|problem| (key.span(), format!("{COST}: {problem}")))?;
                    continue;
                }
                short(&number.to_string()).into()
            }
            // A dotted name without quotes is a table in a table.
            DeValue::Table(inner) => {
                let setting = inner.keys().next().map_or("", |key| key.get_ref());
                format!("a table; write {} with quotes", quoted(&format!("{name}.{setting}")))
            }
            other => kind(other),
        };
        let expected = format!("expected a whole number from 1 to {}", Cost::MAX);
        return Err((value.span(), format!("{COST}: {}: {expected}, found {found}", quoted(name))));
    }
    Ok(())
}

fn check_section(section: &Section, value: &Spanned<DeValue<'_>>) -> Result<(), Wrong> {
    let DeValue::Table(table) = value.get_ref() else {
        let (name, found) = (section.name, kind(value.get_ref()));
        return Err((value.span(), format!("{name}: expected a section [{name}], found {found}")));
    };
    for (key, value) in table {
        let name: &str = key.get_ref();
        match section.setting(name) {
            Some(setting) => check_setting(section, setting, value)?,
            None => return Err((key.span(), unknown_setting(section, name))),
        }
    }
    Ok(())
}

fn unknown_setting(section: &Section, name: &str) -> String {
    let elsewhere = sections().find(|other| other.setting(name).is_some());
    let problem = match elsewhere {
        Some(home) => format!("{} is a setting of [{}]", quoted(name), home.name),
        None => refusal(name, "a setting", section.settings.iter().map(|setting| setting.name)),
    };
    format!("{}: {problem}", section.name)
}

fn check_setting(
    section: &Section,
    setting: &Setting,
    value: &Spanned<DeValue<'_>>,
) -> Result<(), Wrong> {
    let name = format!("{}.{}", section.name, setting.name);
    match value.get_ref() {
        DeValue::Boolean(_) if setting.is_truth() => Ok(()),
        DeValue::Array(_) if !setting.listable.is_empty() => {
            check_words(&name, "a field of an intent", value, setting.listable)
        }
        DeValue::String(word) if !setting.is_truth() => {
            if setting.values.iter().any(|value| value.name == *word) {
                return Ok(());
            }
            let accepted = setting.values.iter().map(|value| value.name);
            let problem = refusal(word, "a value", accepted);
            let or = match setting.listable {
                [] => String::new(),
                listable => format!(", or a list of {}", listable.join(", ")),
            };
            Err((value.span(), format!("{name}: {problem}{or}")))
        }
        other => {
            let words: Vec<_> = setting.values.iter().map(|value| value.name).collect();
            let words = words.join(", ");
            let (expected, accepted) = match (setting.is_truth(), setting.listable.is_empty()) {
                (true, _) => ("true or false", String::new()),
                (false, true) => ("a word", format!("; accepted: {words}")),
                (false, false) => ("a word or a list", format!("; accepted: {words}")),
            };
            let found = kind(other);
            Err((value.span(), format!("{name}: expected {expected}, found {found}{accepted}")))
        }
    }
}

/// A list of different words, all of them known.
fn check_words(
    name: &str,
    what: &str,
    value: &Spanned<DeValue<'_>>,
    known: &[&str],
) -> Result<(), Wrong> {
    let mut seen: Vec<&str> = Vec::new();
    for element in value.get_ref().as_array().into_iter().flatten() {
        let problem = match element.get_ref() {
            DeValue::String(word) if !known.contains(&&**word) => {
                refusal(word, what, known.iter().copied())
            }
            DeValue::String(word) if seen.contains(&&**word) => {
                format!("{} is listed twice", quoted(word))
            }
            DeValue::String(word) => {
                seen.push(word);
                continue;
            }
            other => format!("expected a list of words, found {} in it", kind(other)),
        };
        return Err((element.span(), format!("{name}: {problem}")));
    }
    Ok(())
}

/// That a word is not known, the nearest one that is, and all that are.
pub(super) fn refusal<'a>(
    word: &str,
    what: &str,
    accepted: impl Iterator<Item = &'a str>,
) -> String {
    let accepted: Vec<_> = accepted.collect();
    let near = match nearest(word, &accepted) {
        Some(near) => format!("; did you mean {near:?}?"),
        None => ";".into(),
    };
    format!("{} is not {what}{near} accepted: {}", quoted(word), accepted.join(", "))
}

/// The known word that differs least, if it does not differ much.
fn nearest<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    if word.chars().count() > WORD_CHARS_MAX {
        return None;
    }
    let word = word.to_lowercase().replace(['_', ' '], "-");
    known
        .iter()
        .map(|known| (strsim::damerau_levenshtein(&word, known), known))
        .filter(|(distance, known)| *distance <= (known.len() / 3).max(2))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, known)| *known)
}

fn quoted(word: &str) -> String {
    let short = short(word);
    let rest = if short.len() < word.len() { "..." } else { "" };
    format!("{short:?}{rest}")
}

fn short(word: &str) -> &str {
    word.char_indices().nth(WORD_CHARS_MAX).map_or(word, |(end, _)| &word[..end])
}

fn kind(value: &DeValue<'_>) -> String {
    match value {
        DeValue::Integer(_) => "an integer".into(),
        DeValue::Array(_) => "a list".into(),
        DeValue::String(_) => "a text".into(),
        other => format!("a {}", other.type_str()),
    }
}
