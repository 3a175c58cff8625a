//! A design as TOML: what it is, what it claims, and what differs from the safe defaults, or
//! everything.

use std::fmt::Write;

use toml::{Table, Value};

use crate::design::{Design, guarantee::Guarantee, sections};

/// How much is written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Extent {
    /// Claims, and the settings that differ from the defaults.
    Differences,
    /// Every setting; those that differ are marked.
    Everything,
}

/// Writes a design so that the [reader](super::read) gives it back.
pub(super) fn write(design: &Design, extent: Extent) -> String {
    let (ours, defaults) = (table(design), table(&Design::default()));
    let mut text = String::new();
    for key in ["name", "summary", "source", "expect", "fixed"] {
        if let Some(value) = ours.get(key) {
            let _ = writeln!(text, "{key} = {value}");
        }
    }
    for section in sections() {
        let is_claim = section.name == Guarantee::SECTION.name;
        let mut is_first = true;
        for setting in section.settings {
            let value = &ours[section.name][setting.name];
            let differs = *value != defaults[section.name][setting.name];
            if extent == Extent::Differences && !is_claim && !differs {
                continue;
            }
            if std::mem::take(&mut is_first) {
                let _ = writeln!(text, "\n[{}]", section.name);
            }
            let mark = match extent {
                Extent::Everything if differs => "  # not the default",
                _ => "",
            };
            let _ = writeln!(text, "{} = {value}{mark}", setting.name);
        }
    }
    if let Some(Value::Table(costs)) = ours.get("cost") {
        let _ = write!(text, "\n[cost]\n{costs}");
    }
    text
}

fn table(design: &Design) -> Table {
    Table::try_from(design).expect("a design is plain data")
}
