//! Texts that are no intent, and what the client is told.

use holdover_model::intent::{Intent, IntentError, SealedIntent};

use crate::ARTICLE;

fn refusal(text: &str) -> (usize, usize, String) {
    // `SealedIntent` is read through the same door.
    serde_json::from_str::<SealedIntent>(text).unwrap_err();
    match Intent::from_json(text) {
        Err(IntentError::Text { line, column, problem }) => (line, column, problem),
        other => panic!("{text}: {other:?}"),
    }
}

/// The article's record with one part replaced.
fn with(part: &str, replacement: &str) -> String {
    assert_eq!(ARTICLE.matches(part).count(), 1, "{part}");
    ARTICLE.replace(part, replacement)
}

/// (name, as it is written in [`ARTICLE`]) of every field.
const FIELDS: [(&str, &str); 14] = [
    ("run_id", r#""run_id": "cc-9021","#),
    ("step_id", r#""step_id": "rotate-webhook","#),
    ("principal", r#""principal": "claude-code-release","#),
    (
        "target",
        r#""target": {
        "system": "payments",
        "environment": "production",
        "resource": "webhook/account-418"
    },"#,
    ),
    ("system", r#""system": "payments","#),
    ("environment", r#""environment": "production","#),
    (
        "resource",
        r#",
        "resource": "webhook/account-418""#,
    ),
    ("method", r#""method": "update_destination","#),
    (
        "payload_hash",
        r#""payload_hash": "sha256:39f5eca38fc40dbfc03f9efa08735ae4c678c0e98d594f106814872b250cde0d","#,
    ),
    ("expected_version", r#""expected_version": {"incarnation": 1, "version": 27},"#),
    ("incarnation", r#""incarnation": 1, "#),
    ("version", r#", "version": 27"#),
    ("approval_id", r#""approval_id": "approval-552","#),
    (
        "policy_version",
        r#",
    "policy_version": "policy-2026-09-06.4""#,
    ),
];

#[test]
fn fields_of_an_attempt_are_refused() {
    for volatile in ["dispatched_at", "trace_span", "retry_count", "worker_pid"] {
        let (line, column, problem) =
            refusal(&with(r#""run_id""#, &format!(r#""{volatile}": 1, "run_id""#)));
        assert_eq!((line, column), (2, 6 + volatile.len()));
        assert_eq!(
            problem,
            format!(
                "unknown field \"{volatile}\": what describes an attempt (dispatch time, trace \
                 span, retry count, process id) is no part of the intended effect; expected only \
                 run_id, step_id, principal, target, method, payload_hash, expected_version, \
                 approval_id, policy_version"
            ),
        );
    }
}

#[test]
fn unknown_fields_are_refused_at_every_depth() {
    let (_, _, problem) = refusal(&with(r#""system""#, r#""tenant": "t", "system""#));
    assert!(problem.starts_with("target: unknown field \"tenant\""), "{problem}");
    assert!(problem.ends_with("expected only system, environment, resource"), "{problem}");

    let (_, _, problem) = refusal(&with(r#""version""#, r#""etag": "x", "version""#));
    assert!(problem.starts_with("expected_version: unknown field \"etag\""), "{problem}");
    assert!(problem.ends_with("expected only incarnation, version"), "{problem}");

    // A name is a name only in its own spelling.
    for near in ["Run_id", "run_id ", "run\\u0000_id", "runId", ""] {
        refusal(&with(r#""run_id""#, &format!(r#""{near}""#)));
    }
}

#[test]
fn a_field_written_twice_is_refused_however_it_is_escaped() {
    for (name, member) in FIELDS {
        let whole = with(member, member);
        let first = name.chars().next().unwrap();
        let escaped = format!("\\u{:04x}{}", u32::from(first), &name[1..]);
        let escaped = member.replacen(name, &escaped, 1);
        for (first, second) in [(member, member), (member, &*escaped), (&*escaped, &*escaped)] {
            let both = match (first.starts_with(','), first.ends_with(", ") || first.ends_with(','))
            {
                (false, false) => format!("{first}, {second}"),
                _ => format!("{first} {second}"),
            };
            let (_, _, problem) = refusal(&whole.replace(member, &both));
            let expected =
                format!("duplicate field \"{name}\": expected once, however it is escaped");
            assert!(problem.ends_with(&expected), "{both}: {problem}");
        }
        // Escaped once is the same field, not another one.
        Intent::from_json(&with(member, &escaped)).unwrap();
    }
}

#[test]
fn an_absent_field_is_refused() {
    for (name, member) in FIELDS {
        let (_, _, problem) = refusal(&with(member, ""));
        let expected = format!("missing field \"{name}\": no field has a default");
        assert!(problem.contains(&expected), "{name}: {problem}");
        assert_eq!(problem.contains("write null"), name == "expected_version", "{problem}");
    }
    refusal("{}");
}

#[test]
fn null_is_for_the_expected_version_only() {
    let version = r#"{"incarnation": 1, "version": 27}"#;
    let intent = Intent::from_json(&with(version, "null")).unwrap();
    assert_eq!(intent.expected_version, None);

    for (part, field) in [
        (r#""cc-9021""#, "run_id: "),
        (r#""claude-code-release""#, "principal: "),
        (r#""production""#, "target: environment: "),
        (r#""approval-552""#, "approval_id: "),
    ] {
        let (_, _, problem) = refusal(&with(part, "null"));
        assert_eq!(problem, format!("{field}invalid type: null, expected a string"));
    }
}

#[test]
fn only_exact_whole_numbers_are_numbers() {
    for number in ["0", "27", "9007199254740991"] {
        Intent::from_json(&with("27", number)).unwrap().seal().unwrap();
    }
    let accepted = "expected a whole number from 0 to 2^53-1 (9007199254740991), without sign, \
                    fraction or exponent";
    for (number, found) in [
        ("9007199254740992", "the number 9007199254740992 is too large"),
        ("9007199254740993", "the number 9007199254740993 is too large"),
        ("18446744073709551615", "the number 18446744073709551615 is too large"),
        (
            "18446744073709551616",
            "the number has a sign, a fraction or an exponent, or is too large",
        ),
        (
            "100000000000000000000000000000",
            "the number has a sign, a fraction or an exponent, or is too large",
        ),
        ("27.0", "the number has a sign, a fraction or an exponent, or is too large"),
        ("27.5", "the number has a sign, a fraction or an exponent, or is too large"),
        ("2.7e1", "the number has a sign, a fraction or an exponent, or is too large"),
        ("27e0", "the number has a sign, a fraction or an exponent, or is too large"),
        ("1E2", "the number has a sign, a fraction or an exponent, or is too large"),
        ("1e-400", "the number has a sign, a fraction or an exponent, or is too large"),
        ("-0", "the number has a sign, a fraction or an exponent, or is too large"),
        ("-0.0", "the number has a sign, a fraction or an exponent, or is too large"),
        ("-1", "the number -1 is negative"),
        ("-27", "the number -27 is negative"),
        ("\"27\"", "invalid type: string \"27\""),
        ("true", "invalid type: boolean `true`"),
        ("null", "invalid type: null"),
        ("[27]", "invalid type: sequence"),
        ("{}", "invalid type: map"),
    ] {
        let (line, _, problem) = refusal(&with("27", number));
        assert_eq!(problem, format!("expected_version: version: {found}, {accepted}"), "{number}");
        assert_eq!(line, 12, "{number}");
    }
    for number in ["1e400", "-1e400", "027", "+27", "0x1b", ".5", "27.", "NaN", "Infinity", "-"] {
        let (line, _, problem) = refusal(&with("27", number));
        assert!(problem.starts_with("expected_version"), "{number}: {problem}");
        assert_eq!(line, 12, "{number}");
    }
}

#[test]
fn a_version_alone_names_no_state() {
    let (_, _, problem) = refusal(&with(r#"{"incarnation": 1, "version": 27}"#, "27"));
    assert_eq!(
        problem,
        "expected_version: invalid type: integer `27`, expected an object with incarnation, version",
    );
}

/// A derived reader would take these: the values in the order of the fields.
#[test]
fn an_array_is_not_an_object() {
    let expected = "invalid type: sequence, expected an object with";
    let (_, _, problem) = refusal(r#"["cc-9021", "rotate-webhook"]"#);
    assert!(problem.starts_with(expected), "{problem}");
    let (_, _, problem) = refusal(&with(r#"{"incarnation": 1, "version": 27}"#, "[1, 27]"));
    assert!(problem.starts_with(&format!("expected_version: {expected}")), "{problem}");
    let target = FIELDS[3].1;
    let (_, _, problem) =
        refusal(&with(target, r#""target": ["payments", "production", "webhook/account-418"],"#));
    assert!(problem.starts_with(&format!("target: {expected}")), "{problem}");
}

#[test]
fn half_a_character_is_refused() {
    for lone in ["\\ud83d", "\\ude00", "\\ud83dx", "\\ud83d\\ud83d", "\\ud83d\\u0041", "\\uDEAD"] {
        let (line, _, problem) = refusal(&with("cc-9021", lone));
        assert_eq!(line, 2);
        assert!(problem.starts_with("run_id: "), "{problem}");
        refusal(&with("\"run_id\"", &format!("\"run_id{lone}\"")));
    }
    let intent = Intent::from_json(&with("cc-9021", "\\ud83d\\ude00")).unwrap();
    assert_eq!(intent.run_id.as_str(), "\u{1f600}");
}

#[test]
fn only_one_whole_record_is_accepted() {
    for trailing in ["{}", "x", ",", "\0", "null", ARTICLE] {
        let (_, _, problem) = refusal(&format!("{ARTICLE}{trailing}"));
        assert_eq!(problem, "trailing characters");
    }
    for cut in (0..ARTICLE.len()).filter(|&cut| ARTICLE.is_char_boundary(cut)) {
        refusal(&ARTICLE[..cut]);
    }
    for text in ["", " ", "null", "7", "\"cc-9021\"", "\u{feff}{}", "{'run_id': 1}", "{,}"] {
        refusal(text);
    }
    refusal(&with(r#""run_id""#, r#"/* run */ "run_id""#));
    refusal(&with(r#""policy-2026-09-06.4""#, r#""policy-2026-09-06.4","#));
    Intent::from_json(&format!(" \n\t\r{ARTICLE} \n\t\r")).unwrap();
}

/// Objects are closed, so nesting is refused where it starts and costs no stack.
#[test]
fn deep_nesting_is_refused() {
    let deep = 1_000_000;
    for open in ["[", "{\"a\":", "{\"target\":", "{\"expected_version\":"] {
        refusal(&open.repeat(deep));
        for part in [r#""cc-9021""#, r#""payments""#, r#"{"incarnation": 1, "version": 27}"#, "27"]
        {
            refusal(&with(part, &open.repeat(deep)));
        }
    }
}

/// A client gets its mistake back, not its whole text.
#[test]
fn a_refusal_is_short() {
    let long = "\u{1f600}secret".repeat(100_000);
    for text in [
        with("27", &format!("{long:?}")),
        with("\"run_id\"", &format!("{long:?}")),
        format!("{long:?}"),
    ] {
        let (_, _, problem) = refusal(&text);
        assert!(problem.chars().count() < 450, "{problem}");
        assert!(problem.contains(" ... ") && problem.contains("expected"), "{problem}");
    }
}

#[test]
fn a_refusal_says_where() {
    let error = Intent::from_json(&with("27", "27.0")).unwrap_err();
    assert_eq!(
        error.to_string(),
        "not an intent (line 12, column 58): expected_version: version: the number has a \
         sign, a fraction or an exponent, or is too large, expected a whole number from 0 to 2^53-1 (9007199254740991), without sign, \
         fraction or exponent",
    );
}
