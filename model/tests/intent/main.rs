//! The intent record: what is one intent, what is another, and what is none.

mod hash;
mod properties;
mod record;
mod rfc8785;
mod text;

use holdover_model::intent::{Intent, PayloadHash, Target};
use holdover_model::resource::{Incarnation, ResourceVersion, Version};

/// 2^53-1, the largest number up to which canonical JSON is exact.
const LARGEST_EXACT: u64 = 9_007_199_254_740_991;

/// The record that the article about operation identity shows, as a client writes it.
const ARTICLE: &str = r#"{
    "run_id": "cc-9021",
    "step_id": "rotate-webhook",
    "principal": "claude-code-release",
    "target": {
        "system": "payments",
        "environment": "production",
        "resource": "webhook/account-418"
    },
    "method": "update_destination",
    "payload_hash": "sha256:39f5eca38fc40dbfc03f9efa08735ae4c678c0e98d594f106814872b250cde0d",
    "expected_version": {"incarnation": 1, "version": 27},
    "approval_id": "approval-552",
    "policy_version": "policy-2026-09-06.4"
}"#;

/// What the article's intent writes.
const PAYLOAD: &[u8] = b"https://hooks.example/account-418/next";

/// The same record, built from its parts.
fn article() -> Intent {
    Intent {
        run_id: "cc-9021".into(),
        step_id: "rotate-webhook".into(),
        principal: "claude-code-release".into(),
        target: Target {
            system: "payments".into(),
            environment: "production".into(),
            resource: "webhook/account-418".into(),
        },
        method: "update_destination".into(),
        payload_hash: PayloadHash::of(PAYLOAD),
        expected_version: Some(state(1, 27)),
        approval_id: "approval-552".into(),
        policy_version: "policy-2026-09-06.4".into(),
    }
}

fn state(incarnation: u64, version: u64) -> ResourceVersion {
    ResourceVersion { incarnation: Incarnation(incarnation), version: Version(version) }
}
