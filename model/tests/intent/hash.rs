//! Which bytes are hashed, and what changes the hash.

use std::collections::HashMap;

use holdover_model::intent::{Intent, IntentError, PayloadHash, Target};
use sha2::{Digest, Sha256};

use crate::{ARTICLE, LARGEST_EXACT, article, state};

/// Frozen: whoever stored a hash of this edition must find the same intent under it.
#[test]
fn the_articles_record_has_these_bytes_and_this_hash() {
    let bytes = concat!(
        r#"{"approval_id":"approval-552","#,
        r#""expected_version":{"incarnation":1,"version":27},"#,
        r#""method":"update_destination","#,
        r#""payload_hash":"sha256:39f5eca38fc40dbfc03f9efa08735ae4c678c0e98d594f106814872b250cde0d","#,
        r#""policy_version":"policy-2026-09-06.4","#,
        r#""principal":"claude-code-release","#,
        r#""run_id":"cc-9021","#,
        r#""step_id":"rotate-webhook","#,
        r#""target":{"environment":"production","resource":"webhook/account-418","system":"payments"}}"#,
    );
    let hash = "sha256:e3926b51b223c0958d0b47d93be5f4db28c16ad01994ddb7bfe2230e25de6f27";

    let sealed = article().seal().unwrap();
    assert_eq!(std::str::from_utf8(sealed.canonical_bytes()).unwrap(), bytes);
    assert_eq!(sealed.hash().to_string(), hash);

    let computed_apart = Sha256::digest(format!("holdover/intent/v1\0{bytes}"));
    assert_eq!(sealed.hash().as_bytes(), computed_apart.as_slice());
}

#[test]
fn the_text_and_the_record_are_the_same_intent() {
    assert_eq!(Intent::from_json(ARTICLE).unwrap(), article());
}

#[test]
fn the_order_of_the_fields_does_not_matter() {
    let reversed = r#"{
        "policy_version": "policy-2026-09-06.4", "approval_id": "approval-552",
        "expected_version": {"version": 27, "incarnation": 1},
        "payload_hash": "sha256:39f5eca38fc40dbfc03f9efa08735ae4c678c0e98d594f106814872b250cde0d",
        "method": "update_destination",
        "target": {
            "resource": "webhook/account-418", "environment": "production", "system": "payments"
        },
        "principal": "claude-code-release", "step_id": "rotate-webhook", "run_id": "cc-9021"
    }"#;
    assert_eq!(
        Intent::from_json(reversed).unwrap().seal().unwrap().hash(),
        article().seal().unwrap().hash(),
    );
}

#[test]
fn every_changed_field_is_another_intent() {
    let target = |change: fn(&mut Target)| {
        let mut intent = article();
        change(&mut intent.target);
        intent
    };
    let variants = [
        ("nothing", article()),
        ("run_id", Intent { run_id: "cc-9022".into(), ..article() }),
        ("step_id", Intent { step_id: "rotate-webhook-2".into(), ..article() }),
        ("principal", Intent { principal: "claude-code".into(), ..article() }),
        ("target.system", target(|t| t.system = "billing".into())),
        ("target.environment", target(|t| t.environment = "staging".into())),
        ("target.resource", target(|t| t.resource = "webhook/account-419".into())),
        ("method", Intent { method: "delete_destination".into(), ..article() }),
        ("payload_hash", Intent { payload_hash: PayloadHash::of(b"other"), ..article() }),
        ("no version", Intent { expected_version: None, ..article() }),
        ("incarnation", Intent { expected_version: Some(state(2, 27)), ..article() }),
        ("version", Intent { expected_version: Some(state(1, 28)), ..article() }),
        ("swapped version", Intent { expected_version: Some(state(27, 1)), ..article() }),
        ("zero version", Intent { expected_version: Some(state(0, 0)), ..article() }),
        ("approval_id", Intent { approval_id: "approval-553".into(), ..article() }),
        ("policy_version", Intent { policy_version: "policy-2026-09-06.5".into(), ..article() }),
        ("case", Intent { principal: "Claude-code-release".into(), ..article() }),
        ("space", Intent { principal: "claude-code-release ".into(), ..article() }),
        ("empty", Intent { principal: String::new(), ..article() }),
    ];
    let mut seen = HashMap::new();
    for (change, intent) in variants {
        let hash = intent.seal().unwrap().hash();
        if let Some(other) = seen.insert(hash, change) {
            panic!("{change} and {other} have the same hash");
        }
    }
}

#[test]
fn no_version_is_written_as_null() {
    let sealed = Intent { expected_version: None, ..article() }.seal().unwrap();
    let text = std::str::from_utf8(sealed.canonical_bytes()).unwrap();
    assert!(text.contains(r#""expected_version":null,"#), "{text}");
}

/// Two spellings of one text are two texts: normalising inside the hash would let an
/// approval for one name cover another.
#[test]
fn unicode_is_not_normalised() {
    let composed = Intent { principal: "caf\u{e9}".into(), ..article() }.seal().unwrap();
    let decomposed = Intent { principal: "cafe\u{301}".into(), ..article() }.seal().unwrap();
    assert_ne!(composed.canonical_bytes(), decomposed.canonical_bytes());
    assert_ne!(composed.hash(), decomposed.hash());
}

#[test]
fn numbers_are_sealed_only_while_they_are_exact() {
    let with = |state| Intent { expected_version: Some(state), ..article() }.seal();

    let sealed = with(state(LARGEST_EXACT, LARGEST_EXACT)).unwrap();
    let text = std::str::from_utf8(sealed.canonical_bytes()).unwrap();
    let exact = r#""expected_version":{"incarnation":9007199254740991,"version":9007199254740991}"#;
    assert!(text.contains(exact), "{text}");

    for beyond in [LARGEST_EXACT + 1, LARGEST_EXACT + 2, u64::MAX] {
        for (state, name) in [
            (state(beyond, 1), "expected_version.incarnation"),
            (state(1, beyond), "expected_version.version"),
        ] {
            let error = with(state).unwrap_err();
            assert!(
                matches!(error, IntentError::Inexact { field, value } if field == name && value == beyond)
            );
            assert_eq!(
                error.to_string(),
                format!(
                    "{name} is {beyond}: canonical JSON keeps whole numbers exact only up to \
                     2^53-1 (9007199254740991)"
                ),
            );
        }
    }
}

/// Otherwise `a/b` in `c` and `a` in `b/c` would be two intents on one resource.
#[test]
fn two_targets_are_never_one_resource() {
    let at = |system: &str, environment: &str| {
        let target = Target {
            system: system.into(),
            environment: environment.into(),
            resource: "webhook/account-418".into(),
        };
        Intent { target, ..article() }.seal()
    };
    assert_eq!(
        at("payments/eu", "production").unwrap_err().to_string(),
        "target.system is \"payments/eu\": a slash would let it run into the next part of the \
         resource's name; only target.resource may have slashes",
    );
    let error = at("payments", "eu/production").unwrap_err().to_string();
    assert!(error.starts_with("target.environment is \"eu/production\""), "{error}");
}
