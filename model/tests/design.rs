//! The strict reader and the writer of designs: every error is one line that helps, every
//! text is either a design or refused, and what is written is read back.

use holdover_model::design::binds::Binds;
use holdover_model::design::change::Change;
use holdover_model::design::edit::edit;
use holdover_model::design::explain::explain;
use holdover_model::design::setting::SettingId;
use holdover_model::design::{Design, NAMED, sections};
use holdover_model::invariant::InvariantId;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};

#[track_caller]
fn refusal(text: &str) -> String {
    let error = Design::from_toml("ours.toml", text).unwrap_err().to_string();
    assert_eq!(error.lines().count(), 1, "{error}");
    error
}

#[test]
fn an_unknown_value_is_refused_with_its_line_the_nearest_and_all_values() {
    let text = "name = \"ours\"\n\n[guarantee]\nfenced-from = \"ready\"\n\n[fence]\ncheck = \"curent-epoch\"\n";
    assert_eq!(
        refusal(text),
        "ours.toml:7: fence.check: \"curent-epoch\" is not a value; did you mean \
         \"current-epoch\"? accepted: current-epoch, at-least-highest-seen, any-higher"
    );
}

#[test]
fn every_kind_of_mistake_is_told_in_one_line() {
    for (text, parts) in [
        ("[fenec]\n", &["ours.toml:1:", "\"fenec\"", "did you mean \"fence\"?", "approval"][..]),
        ("\nnmae = \"x\"\n", &["ours.toml:2:", "did you mean \"name\"?"]),
        ("check = \"any-higher\"\n", &["ours.toml:1:", "a setting of [fence]"]),
        ("[fence]\nchekc = \"x\"\n", &["ours.toml:2: fence:", "did you mean \"check\"?"]),
        ("[fence]\nbinds = []\n", &["ours.toml:2: fence:", "a setting of [identity]"]),
        ("[fence]\ncheck = 7\n", &["ours.toml:2: fence.check: expected a word, found an integer"]),
        ("[fence]\ncheck = []\n", &["fence.check: expected a word, found a list", "any-higher"]),
        ("fence = \"on\"\n", &["ours.toml:1: fence: expected a section [fence], found a text"]),
        ("[[fence]]\n", &["fence: expected a section [fence], found a list"]),
        ("name = 1.5\n", &["name: expected a text, found a float"]),
        ("expect = true\n", &["expect: expected a list of invariants, found a boolean"]),
        ("expect = [\"no-stale-efect\"]\n", &["expect:", "did you mean \"no-stale-effect\"?"]),
        (
            "expect = [\n1,\n]\n",
            &["ours.toml:2: expect: expected a list of words, found an integer"],
        ),
        (
            "expect = [\"no-stale-effect\",\n\"no-stale-effect\"]\n",
            &["ours.toml:2: expect: \"no-stale-effect\" is listed twice"],
        ),
        ("[guarantee]\nexpiry = \"true\"\n", &["guarantee.expiry: expected true or false"]),
        (
            "[guarantee]\nfenced-from = \"redy\"\n",
            &["guarantee.fenced-from:", "did you mean \"ready\"?", "accepted: ready, grant"],
        ),
        ("[guarantee]\nfenced = 1\n", &["ours.toml:2: guarantee: \"fenced\" is not a setting"]),
        ("[identity]\nbinds = [\"targt\"]\n", &["identity.binds:", "did you mean \"target\"?"]),
        (
            "[identity]\nbinds = \"some\"\n",
            &["identity.binds:", "every-field, or a list of run-id"],
        ),
        ("[identity]\nbinds = {}\n", &["identity.binds: expected a word or a list"]),
        ("fixed = \"fence\"\n", &["fixed: expected a list of settings and sections, found a text"]),
        ("fixed = [\n3]\n", &["ours.toml:2: fixed: expected a list of words, found an integer"]),
        (
            "fixed = [\"fence.chekc\"]\n",
            &[
                "fixed: \"fence.chekc\" is not a setting or a section; did you mean \"fence.check\"?",
            ],
        ),
        ("fixed = [\"fenec\"]\n", &["did you mean \"fence\"?", "accepted: authority, lease"]),
        ("fixed = [\"fence\",\n\"check\"]\n", &["ours.toml:2: fixed: fence.check is listed twice"]),
        ("fixed = [\"guarantee\"]\n", &["fixed: \"guarantee\" is what is claimed", "--demand"]),
        ("fixed = [\"expiry\"]\n", &["fixed: \"expiry\" is what is claimed", "--demand"]),
        ("cost = 3\n", &["ours.toml:1: cost: expected a table [cost], found an integer"]),
        ("[cost]\nfence = 0\n", &["ours.toml:2: cost: \"fence\": expected a whole number from 1"]),
        ("[cost]\nfence = 101\n", &["a whole number from 1 to 100, found 101"]),
        ("[cost]\nfence = -1\n", &["a whole number from 1 to 100, found -1"]),
        ("[cost]\nfence = 1.5\n", &["a whole number from 1 to 100, found a float"]),
        ("[cost]\nfence.check = 3\n", &["found a table; write \"fence.check\" with quotes"]),
        ("[cost]\ncheck = 3\nchek = 4\n", &["ours.toml:3: cost: \"chek\" is not a setting"]),
        (
            "[cost]\ncheck = 3\n\"fence.check\" = 4\n",
            &["ours.toml:3: cost: the cost of fence.check is given twice"],
        ),
        ("[cost]\n\"guarantee.expiry\" = 3\n", &["cost: \"guarantee.expiry\" is what is claimed"]),
        ("cots = 3\n", &["did you mean \"cost\"?"]),
        ("[fence]\n\n[fence]\n", &["ours.toml:3:", "duplicate key"]),
        ("name = \"a\"\nname = \"b\"\n", &["ours.toml:2:", "\"name\"", "duplicate key"]),
        ("name = \"a\n", &["ours.toml:1:"]),
        ("name\n", &["ours.toml:1:"]),
        ("[fence\n", &["ours.toml:1:"]),
        ("name = 99999999999999999999999999\n", &["ours.toml:1:", "name"]),
        ("\u{0}", &["ours.toml:1:"]),
    ] {
        let error = refusal(text);
        for part in parts {
            assert!(error.contains(part), "{text:?}: no {part:?} in {error}");
        }
    }
}

#[test]
fn a_wrong_word_without_end_is_not_repeated_without_end() {
    let error = refusal(&format!("[fence]\ncheck = \"{}\"\n", "é".repeat(100_000)));
    assert!(error.len() < 300, "{}", error.len());
}

#[test]
fn nothing_nests_so_deep_that_the_reader_fails() {
    for (open, close) in [("[", "]"), ("{a=", "}"), ("[{a=", "}]")] {
        for depth in [100, 100_000] {
            refusal(&format!("name = {}1{}\n", open.repeat(depth), close.repeat(depth)));
            refusal(&format!("name = {}\n", open.repeat(depth)));
        }
    }
    refusal(&format!("{}a = 1\n", "a.".repeat(100_000)));
    refusal(&format!("[{}a]\n", "a.".repeat(100_000)));
    refusal(&"[a]\n".repeat(100_000));
}

#[test]
fn what_stands_in_a_design_is_what_is_written() {
    let design = Design::named("highest-seen").unwrap();
    let written = design.to_toml();
    assert!(written.contains("check = \"at-least-highest-seen\"\n"), "{written}");
    assert!(written.contains("[guarantee]\nfenced-from = \"ready\"\n"), "{written}");
    assert!(!written.contains("enforced-at"), "a default is not written: {written}");
    assert_eq!(Design::from_toml("again", &written).unwrap(), design);
}

#[test]
fn what_a_team_says_of_changes_is_kept_by_every_format() {
    let text = "fixed = [\"advance\", \"destination\"]\n\
                cost = { lease = 100, \"lease.renewal\" = 0x10, check = 7 }\n";
    let design = Design::from_toml("ours.toml", text).unwrap();
    let setting = |name| SettingId::named(name).unwrap();
    for (name, is_fixed) in [
        ("fence.advance", true),
        ("fence.check", false),
        ("destination.dedupe", true),
        ("destination.version", true),
    ] {
        assert_eq!(design.is_fixed(setting(name)), is_fixed, "{name}");
    }
    for (name, cost) in [
        ("lease.expiry-judged-by", 100),
        ("lease.renewal", 16),
        ("fence.check", 7),
        ("fence.advance", Design::default().cost(setting("fence.advance")).get()),
    ] {
        assert_eq!(design.cost(setting(name)).get(), cost, "{name}");
    }
    for written in [design.to_toml(), design.to_toml_in_full(), toml::to_string(&design).unwrap()] {
        assert_eq!(Design::from_toml("again", &written).unwrap(), design, "{written}");
        assert_eq!(toml::from_str::<Design>(&written).unwrap(), design, "{written}");
    }
    let json = serde_json::to_string(&design).unwrap();
    assert_eq!(serde_json::from_str::<Design>(&json).unwrap(), design, "{json}");
}

#[test]
fn a_format_without_strictness_takes_no_claim_for_a_setting_either() {
    for (text, part) in [
        ("fixed = [\"guarantee.expiry\"]", "what is claimed"),
        ("fixed = [\"fenec\"]", "not a setting or a section"),
        ("cost.expiry = 3", "what is claimed"),
        ("cost.fence = 0", "from 1 to 100"),
    ] {
        let error = toml::from_str::<Design>(text).unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    }
}

#[test]
fn a_design_that_says_nothing_of_changes_is_stored_as_it_was() {
    let bytes = postcard::to_stdvec(&Design::default()).unwrap();
    let section_bytes: usize = sections().map(|section| section.settings.len()).sum();
    // Three empty texts, an empty list, one byte per setting, and a second one for the fields.
    assert_eq!(bytes.len(), 4 + section_bytes + 1);
    for says in ["fixed = [\"fence\"]", "cost.fence = 3"] {
        let design = Design::from_toml("ours.toml", says).unwrap();
        assert!(postcard::to_stdvec(&design).unwrap().len() > bytes.len(), "{says}");
    }
}

#[test]
fn the_sections_are_what_a_design_is_made_of() {
    let table = toml::Table::try_from(Design::default()).unwrap();
    let (mut count, mut named) = (0, Vec::new());
    for section in sections() {
        let fields = table[section.name].as_table().unwrap();
        assert_eq!(fields.len(), section.settings.len(), "{}", section.name);
        for setting in section.settings {
            let default = match &fields[setting.name] {
                toml::Value::Boolean(is) => is.to_string(),
                value => value.as_str().unwrap().to_owned(),
            };
            assert_eq!(default, setting.values[0].name, "{}.{}", section.name, setting.name);
            let full = format!("{}.{}", section.name, setting.name);
            assert_eq!(explain(&full).unwrap().setting, setting.name);
            count += setting.values.len();
        }
        named.push(section.name);
    }
    assert_eq!(table.len(), named.len() + 4, "name, summary, source, expect and the sections");
    assert!(count > 80, "{count}");
}

#[test]
fn every_value_is_somebodys_practice() {
    let designs = NAMED.iter().map(|(name, text)| Design::from_toml(name, text).unwrap());
    let zoo: Vec<_> = designs.map(|design| toml::Table::try_from(design).unwrap()).collect();
    for section in sections() {
        for setting in section.settings {
            for value in setting.values {
                let is_used = zoo.iter().any(|design| match &design[section.name][setting.name] {
                    toml::Value::Boolean(is) => is.to_string() == value.name,
                    chosen => chosen.as_str() == Some(value.name),
                });
                let full = format!("{}.{}", section.name, setting.name);
                assert!(is_used, "no named design has {full} = {:?}", value.name);
            }
            let is_listed = zoo.iter().any(|design| design[section.name][setting.name].is_array());
            assert!(setting.listable.is_empty() || is_listed, "{}", setting.name);
        }
    }
}

#[test]
fn the_zoo_is_large_sorted_and_each_design_is_its_own() {
    assert!(NAMED.len() >= 45, "{}", NAMED.len());
    assert!(NAMED.is_sorted_by_key(|(name, _)| *name));
    for (name, text) in NAMED {
        let design = Design::from_toml(name, text).unwrap();
        assert!(design.summary.matches(['.', '?']).count() >= 2, "{name}: two sentences");
    }
}

#[test]
fn what_somebody_elses_system_fixes_is_said_with_the_reason() {
    let mut fixed = 0;
    for (name, text) in NAMED {
        let design = Design::from_toml(name, text).unwrap();
        if !design.fixed.is_empty() {
            let lines: Vec<_> = text.lines().collect();
            let place = lines.iter().position(|line| line.starts_with("fixed = ")).unwrap();
            assert!(lines[place - 1].starts_with("# "), "{name}: no reason above `fixed`");
            fixed += 1;
        }
    }
    assert!(fixed >= 3, "{fixed}");
}

/// A document with any choice of settings and values.
fn document() -> impl Strategy<Value = String> {
    let lines = sections().flat_map(|section| {
        section.settings.iter().flat_map(move |setting| {
            setting.values.iter().map(move |value| {
                let quote = if setting.is_truth() { "" } else { "\"" };
                (section.name, setting.name, format!("{quote}{}{quote}", value.name))
            })
        })
    });
    let lines: Vec<_> = lines.collect();
    let count = lines.len();
    let fields = subsequence(Binds::FIELDS.to_vec(), 0..=Binds::FIELDS.len());
    let expect = subsequence(InvariantId::ALL.to_vec(), 0..=3);
    let settings: Vec<_> = SettingId::all().filter(|id| !id.is_claim()).collect();
    let fixed = subsequence(settings.clone(), 0..=3);
    let costs = prop::collection::btree_map(select(settings), 1..=100_i64, 0..=3);
    let changes = (fixed, costs);
    (subsequence(lines, 0..count), ".{0,40}", prop::option::of(fields), expect, changes).prop_map(
        |(lines, name, fields, expect, (fixed, costs))| {
            let mut document = toml::Table::new();
            document.insert("name".into(), name.into());
            let fixed: Vec<_> = fixed.iter().map(ToString::to_string).collect();
            document.insert("fixed".into(), fixed.into());
            let costs: toml::Table =
                costs.into_iter().map(|(id, cost)| (id.to_string(), cost.into())).collect();
            document.insert("cost".into(), costs.into());
            let expect: Vec<_> = expect.iter().map(|id| id.as_str().to_owned()).collect();
            document.insert("expect".into(), expect.into());
            for (section, setting, value) in lines {
                let section = document
                    .entry(section)
                    .or_insert_with(|| toml::Table::new().into())
                    .as_table_mut()
                    .unwrap();
                let value =
                    format!("value = {value}").parse::<toml::Table>().unwrap()["value"].clone();
                section.insert(setting.into(), value);
            }
            if let Some(fields) = fields {
                let identity = document
                    .entry("identity")
                    .or_insert_with(|| toml::Table::new().into())
                    .as_table_mut()
                    .unwrap();
                let fields: Vec<_> = fields.into_iter().map(str::to_owned).collect();
                identity.insert("binds".into(), fields.into());
            }
            toml::to_string(&document).unwrap()
        },
    )
}

/// Any choice of changes of the safe design.
fn changes() -> impl Strategy<Value = Vec<Change>> {
    let safe = Design::default();
    let all: Vec<_> = SettingId::all().flat_map(|setting| safe.alternatives(setting)).collect();
    let count = all.len();
    subsequence(all, 0..count)
}

/// These changes as a design file: in sections, in inline tables or in dotted names.
fn laid_out(changes: &[Change], layout: &str, newline: &str) -> String {
    let mut lines = vec!["name = 'x' # a comment".to_owned(), String::new()];
    for section in sections() {
        let name = section.name;
        let of_section = changes.iter().filter(|change| change.setting.section().name == name);
        let said: Vec<_> = of_section
            .map(|change| format!("{} = {}", change.setting.setting().name, change.to))
            .collect();
        match layout {
            _ if said.is_empty() => {}
            "dotted" => lines.extend(said.iter().map(|one| format!(" {name} . {one} # dotted"))),
            "inline" => lines.push(format!("{name} = {{ {} }} # inline", said.join(", "))),
            _ => {
                lines.push(format!("[{name}] # a head"));
                lines.extend(said.iter().map(|one| format!("{one} # a line")));
                lines.push("# the end".into());
            }
        }
    }
    lines.push(String::new());
    lines.join(newline)
}

/// Values of every type that TOML has.
fn value() -> impl Strategy<Value = String> {
    select(vec![
        "1",
        "-0",
        "1e400",
        "nan",
        "-inf",
        "0x7fffffffffffffffffff",
        "true",
        "\"\"",
        "'x'",
        "[]",
        "[[]]",
        "{}",
        "{ a.b = 1 }",
        "1979-05-27",
        "07:32:00",
        "\"\"\"\n\"\"\"",
        "\"\\ud800\"",
        "=",
        "[1, \"a\"]",
        "99999999999999999999",
        "\"current-epoch\"",
        "1979-13-45T99:99:99Z",
    ])
    .prop_map(str::to_owned)
}

/// Either a design or one line; never a panic.
fn is_judged(text: &str) {
    if let Err(error) = Design::from_toml("ours.toml", text) {
        let error = error.to_string();
        assert_eq!(error.lines().count(), 1, "{error}");
        assert!(error.starts_with("ours.toml:"), "{error}");
        assert!(!error.chars().any(char::is_control), "{error:?}");
    }
}

proptest! {
    #[test]
    fn every_design_survives_a_round_trip(text in document()) {
        let design = Design::from_toml("ours.toml", &text).unwrap();
        let written = design.to_toml();
        prop_assert_eq!(Design::from_toml("again", &written).unwrap(), design, "{}", written);
    }

    #[test]
    fn an_edited_file_is_the_changed_design_and_keeps_every_other_word(
        before in changes(),
        after in changes(),
        layout in select(vec!["sections", "inline", "dotted"]),
        newline in select(vec!["\n", "\r\n"]),
        is_cut in any::<bool>(),
    ) {
        // The later of two values of a setting is the one that counts, and TOML has each once.
        let safe = Design::default();
        let with = |design: &Design, changes: &[Change]| {
            changes.iter().fold(design.clone(), |design, change| design.with(*change))
        };
        let written = laid_out(&safe.differences(&with(&safe, &before)), layout, newline);
        let text = if is_cut { written.trim_end() } else { &written };
        let design = Design::from_toml("ours.toml", text).unwrap();
        let edited = edit(text, &after).unwrap();
        prop_assert_eq!(Design::from_toml("again", &edited).unwrap(), with(&design, &after));
        prop_assert_eq!(edited.matches('#').count(), text.matches('#').count());
        let bare = edited.matches('\n').count() - edited.matches("\r\n").count();
        let is_unix = newline == "\n" || !text.contains('\n');
        prop_assert!(is_unix || bare == 0, "{:?}", edited);
        let gone = text.lines().filter(|line| !edited.lines().any(|kept| kept == *line)).count();
        prop_assert!(gone <= after.len(), "{} lines are gone", gone);
    }

    #[test]
    fn any_bytes_are_judged(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        is_judged(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn any_text_of_toml_like_pieces_is_judged(
        pieces in prop::collection::vec(
            prop_oneof![
                value(),
                select(vec![
                    "[", "]", "[[", "]]", "{", "}", "=", " = ", ".", ",", "\n", "\r\n", "\"", "'",
                    "\"\"\"", "#", "\\", "\u{feff}", "\u{0}", "fence", "check", "name", "expect",
                    "guarantee", "identity", "binds", "fixed", "cost", "é",
                ]).prop_map(str::to_owned),
            ],
            0..30,
        )
    ) {
        is_judged(&pieces.concat());
    }

    #[test]
    fn a_value_of_any_type_is_judged(
        (section, setting) in select(
            sections()
                .flat_map(|section| section.settings.iter().map(|s| (section.name, s.name)))
                .collect::<Vec<_>>()
        ),
        value in value(),
    ) {
        is_judged(&format!("[{section}]\n{setting} = {value}\n"));
        is_judged(&format!("{section} = {value}\n"));
        is_judged(&format!("name = {value}\nexpect = {value}\n"));
        is_judged(&format!("fixed = {value}\n"));
        is_judged(&format!("fixed = [{value}]\n"));
        is_judged(&format!("cost = {value}\n"));
        is_judged(&format!("cost.{setting} = {value}\n"));
    }

    #[test]
    fn a_truncated_or_damaged_file_is_judged(
        (name, text) in select(NAMED.to_vec()),
        cut in any::<prop::sample::Index>(),
        noise in any::<char>(),
    ) {
        let cut = cut.index(text.len() + 1);
        let kept = String::from_utf8_lossy(&text.as_bytes()[..cut]).into_owned();
        is_judged(&kept);
        let rest = String::from_utf8_lossy(&text.as_bytes()[cut..]).into_owned();
        is_judged(&format!("{kept}{noise}{rest}"));
        prop_assert!(Design::from_toml(name, text).is_ok());
    }
}
