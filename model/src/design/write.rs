//! A design as TOML: its name, what it claims, and what differs from the safe defaults.

use std::fmt::Write;

use toml::{Table, Value};

use crate::design::{Design, SECTIONS, guarantee::Guarantee};

/// Writes a design so that the [reader](super::read) gives it back.
pub(super) fn write(design: &Design) -> String {
    let (ours, defaults) = (table(design), table(&Design::default()));
    let mut text = String::new();
    for key in ["name", "summary", "source", "expect"] {
        let _ = writeln!(text, "{key} = {}", ours[key]);
    }
    let claims = Guarantee::SECTION.settings.iter().map(|claim| claim.name);
    let claims = claims.map(|claim| (claim, &ours[Guarantee::SECTION.name][claim]));
    write_section(&mut text, Guarantee::SECTION.name, claims);
    for section in SECTIONS {
        let settings = section.settings.iter().map(|setting| setting.name);
        let chosen = settings
            .map(|setting| (setting, &ours[section.name][setting]))
            .filter(|(setting, value)| **value != defaults[section.name][*setting]);
        write_section(&mut text, section.name, chosen);
    }
    text
}

fn table(design: &Design) -> Table {
    Table::try_from(design).expect("a design is plain data")
}

fn write_section<'a>(
    text: &mut String,
    name: &str,
    settings: impl Iterator<Item = (&'a str, &'a Value)>,
) {
    for (index, (setting, value)) in settings.enumerate() {
        if index == 0 {
            let _ = writeln!(text, "\n[{name}]");
        }
        let _ = writeln!(text, "{setting} = {value}");
    }
}
