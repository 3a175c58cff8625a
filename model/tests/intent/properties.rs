//! What holds for every record and every text.

use std::fmt::Write;

use holdover_model::intent::{Intent, IntentError, PayloadHash, Target};
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::Value;

use crate::{ARTICLE, LARGEST_EXACT, state};

/// Any text, and often a text that looks like JSON or like its neighbour.
fn text() -> impl Strategy<Value = String> {
    let likely = prop::sample::select(vec!["", "a", "b", "\"", "\\", "\",\"b\":\"", "null", "\0"]);
    let any = vec(any::<char>(), 0..8).prop_map(String::from_iter);
    prop_oneof![likely.prop_map(str::to_owned), any]
}

fn slashless() -> impl Strategy<Value = String> {
    text().prop_map(|text| text.replace('/', "-"))
}

fn number() -> impl Strategy<Value = u64> {
    prop_oneof![0..3_u64, 0..=LARGEST_EXACT, LARGEST_EXACT - 2..=LARGEST_EXACT]
}

prop_compose! {
    fn target()(system in slashless(), environment in slashless(), resource in text()) -> Target {
        Target { system, environment, resource }
    }
}

prop_compose! {
    fn intent()(
        [run_id, step_id, principal, method, approval_id, policy_version] in
            [text(), text(), text(), text(), text(), text()],
        target in target(),
        payload in vec(any::<u8>(), 0..3),
        expected in prop::option::of((number(), number())),
    ) -> Intent {
        Intent {
            run_id: run_id.as_str().into(),
            step_id: step_id.as_str().into(),
            principal,
            target,
            method,
            payload_hash: PayloadHash::of(&payload),
            expected_version: expected.map(|(incarnation, version)| state(incarnation, version)),
            approval_id: approval_id.as_str().into(),
            policy_version,
        }
    }
}

/// Writes JSON as differently as it allows: other spaces, fields in another order,
/// characters escaped.
fn written_otherwise(value: &Value, choices: &mut impl Iterator<Item = u8>) -> String {
    let mut choose = |out: &mut String, texts: [&str; 4]| {
        out.push_str(texts[usize::from(choices.next().unwrap() % 4)]);
    };
    let mut out = String::new();
    choose(&mut out, ["", " ", "\n", "\r\t"]);
    match value {
        Value::Object(members) => {
            let mut members: Vec<_> = members.iter().collect();
            members.sort_by_cached_key(|_| choices.next());
            let members = members.into_iter().map(|(name, value)| {
                let name = written_otherwise(&Value::from(name.as_str()), choices);
                format!("{name} :{}", written_otherwise(value, choices))
            });
            out = format!("{out}{{{}}}", members.collect::<Vec<_>>().join(","));
        }
        Value::String(text) => {
            out.push('"');
            for character in text.chars() {
                match (choices.next().unwrap() % 2, character) {
                    (0, _) | (_, '\0'..' ' | '"' | '\\') => {
                        for unit in character.encode_utf16(&mut [0; 2]) {
                            write!(out, "\\u{unit:04X}").unwrap();
                        }
                    }
                    _ => out.push(character),
                }
            }
            out.push('"');
        }
        other => out += &other.to_string(),
    }
    out
}

const PARTS: &str = concat!(
    r#" " \ , : { } [ ] null true 0 1 - . e1 1e400 9007199254740991 9007199254740992 "#,
    r#"\u0061 \ud83d \u00E9 \n // "run_id": "version":1, "retry_count":2, "system":"a/b" "#,
);

/// A record with parts of it overwritten, mostly by other parts of records.
fn nearly_a_record() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        4 => prop::sample::select(PARTS.split(' ').collect::<Vec<_>>()).prop_map(str::to_owned),
        1 => any::<char>().prop_map(String::from),
    ];
    let edits = vec((any::<prop::sample::Index>(), 0..6_usize, part), 1..4);
    (prop_oneof![Just(ARTICLE.to_owned()), intent().prop_map(|intent| json(&intent))], edits)
        .prop_map(|(text, edits)| {
            let mut characters: Vec<char> = text.chars().collect();
            for (at, removed, part) in edits {
                let start = at.index(characters.len() + 1);
                let end = (start + removed).min(characters.len());
                characters.splice(start..end, part.chars());
            }
            characters.into_iter().collect()
        })
}

fn json(intent: &Intent) -> String {
    serde_json::to_string(intent).unwrap()
}

proptest! {
    #[test]
    fn a_record_survives_its_text(intent in intent()) {
        let sealed = intent.clone().seal().unwrap();
        let canonical = std::str::from_utf8(sealed.canonical_bytes()).unwrap();
        for text in [&json(&intent), canonical] {
            let read = Intent::from_json(text).unwrap().seal().unwrap();
            prop_assert_eq!(read.record(), sealed.record());
            prop_assert_eq!(read.canonical_bytes(), sealed.canonical_bytes());
            prop_assert_eq!(read.hash(), sealed.hash());
        }
    }

    #[test]
    fn it_does_not_matter_how_the_text_is_written(
        intent in intent(),
        choices in vec(any::<u8>(), 1..300),
    ) {
        let value = serde_json::to_value(&intent).unwrap();
        let text = written_otherwise(&value, &mut choices.into_iter().cycle());
        let read = Intent::from_json(&text).unwrap();
        prop_assert_eq!(read.seal().unwrap(), intent.seal().unwrap());
    }

    #[test]
    fn two_intents_share_their_bytes_only_if_they_are_equal(one in intent(), other in intent()) {
        let (first, second) = (one.clone().seal().unwrap(), other.clone().seal().unwrap());
        prop_assert_eq!(first.canonical_bytes() == second.canonical_bytes(), one == other);
        prop_assert_eq!(first.hash() == second.hash(), one == other);
    }

    /// A text that moves from one field to its neighbour is another intent.
    #[test]
    fn fields_do_not_run_into_each_other(intent in intent(), left in text(), right in text()) {
        prop_assume!(left != right);
        let one = Intent { method: left.clone(), principal: right.clone(), ..intent.clone() };
        let other = Intent { method: right, principal: left, ..intent };
        prop_assert_ne!(one.seal().unwrap().hash(), other.seal().unwrap().hash());
    }

    #[test]
    fn no_text_makes_the_reader_panic(bytes in vec(any::<u8>(), 0..200), text in any::<String>()) {
        let _ = Intent::from_json(&String::from_utf8_lossy(&bytes));
        let _ = Intent::from_json(&text);
        let _ = serde_json::from_slice::<Intent>(&bytes);
        let _ = postcard::from_bytes::<Intent>(&bytes);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4096))]

    /// The rule behind every refusal: whoever canonicalises the text with any other library
    /// gets the bytes that are hashed here.
    #[test]
    fn what_is_accepted_hashes_as_it_was_written(text in nearly_a_record()) {
        match Intent::from_json(&text).map(Intent::seal) {
            Ok(Ok(sealed)) => {
                let value: Value = serde_json::from_str(&text).unwrap();
                let canonical = serde_json_canonicalizer::to_vec(&value).unwrap();
                prop_assert_eq!(sealed.canonical_bytes(), canonical);
            }
            Ok(Err(error)) => prop_assert!(matches!(error, IntentError::Slash { .. }), "{error}"),
            Err(error) => {
                prop_assert!(matches!(error, IntentError::Text { line: 1.., .. }), "{error}");
            }
        }
    }
}
