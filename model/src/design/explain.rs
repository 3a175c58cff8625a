//! What a setting is for, what real systems do about it, and where that is told.
//!
//! ```
//! use holdover_model::design::explain::explain;
//!
//! let explanation = explain("fence.check")?;
//! assert_eq!(explanation.values[0].name, "current-epoch");
//! println!("{explanation}");
//! # Ok::<(), holdover_model::design::DesignError>(())
//! ```

use std::fmt;

use serde::Serialize;

use crate::design::DesignError;
use crate::design::cost::{Cost, effort};
use crate::design::setting::SettingId;

/// The two articles, whose cases the reference protocol answers.
const FENCING: &str = "the stale-worker article";
const IDENTITY: &str = "the operation-identity article";

/// One setting in words.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Explanation {
    /// Its section.
    pub section: &'static str,
    /// Its name in the section.
    pub setting: &'static str,
    /// What it decides.
    pub meaning: String,
    /// Its values; the first one is what holds if nothing is said.
    pub values: Vec<ValueExplanation>,
    /// The words of which a list can be given instead of a value.
    pub listable: &'static [&'static str],
    /// What real systems do.
    pub in_practice: &'static str,
    /// What a change costs, if its team says nothing else; nothing for a claim.
    pub to_change: Option<CostExplanation>,
    /// The articles and reports that tell of it.
    pub source: String,
}

/// One value in words.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct ValueExplanation {
    /// Its name in the file.
    pub name: &'static str,
    /// What it means.
    pub meaning: String,
}

/// The cost of a change in words.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct CostExplanation {
    /// How much it is.
    pub cost: Cost,
    /// What changes that cost as much have in common.
    pub meaning: &'static str,
    /// Why a change of this setting is one of them.
    pub reason: &'static str,
}

/// Explains a setting: `section.setting`, or the setting alone where only one section has it.
///
/// # Errors
///
/// When there is no such setting, or several sections have one of that name: one line with
/// what would be accepted.
pub fn explain(name: &str) -> Result<Explanation, DesignError> {
    SettingId::named(name).map(in_words)
}

/// Every setting in words, in the order of a design file.
pub fn explain_all() -> impl Iterator<Item = Explanation> {
    SettingId::all().map(in_words)
}

fn in_words(id: SettingId) -> Explanation {
    let (name, setting) = (id.to_string(), id.setting());
    let (_, in_practice, sources) = PRACTICE
        .iter()
        .find(|(known, ..)| *known == name)
        .unwrap_or_else(|| panic!("{name} has no explanation"));
    let values = setting
        .values
        .iter()
        .map(|value| ValueExplanation { name: value.name, meaning: plain(value.meaning) });
    let to_change = effort(id).map(|(effort, reason)| CostExplanation {
        cost: effort.cost(),
        meaning: effort.meaning(),
        reason,
    });
    Explanation {
        section: id.section().name,
        setting: setting.name,
        meaning: plain(setting.meaning),
        values: values.collect(),
        listable: setting.listable,
        in_practice,
        to_change,
        source: sources.join("; "),
    }
}

/// A documentation comment on one line.
fn plain(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}.{}", self.section, self.setting)?;
        writeln!(f, "  {}", self.meaning)?;
        let width = self.values.iter().map(|value| value.name.len()).max().unwrap_or(0);
        writeln!(f, "\nvalues")?;
        for (index, value) in self.values.iter().enumerate() {
            let default = if index == 0 { " (default)" } else { "" };
            writeln!(f, "  {:width$}  {}{default}", value.name, value.meaning)?;
        }
        if !self.listable.is_empty() {
            writeln!(f, "  or a list of {}", self.listable.join(", "))?;
        }
        writeln!(f, "\nin practice\n  {}", self.in_practice)?;
        if let Some(CostExplanation { cost, meaning, reason }) = &self.to_change {
            writeln!(f, "\nto change it\n  costs {cost}: {meaning}\n  {reason}")?;
        }
        write!(f, "\nfrom\n  {}", self.source)
    }
}

/// Of every setting: what real systems do, and who tells of it.
const PRACTICE: &[(&str, &str, &[&str])] = &[
    (
        "guarantee.fenced-from",
        "A co-located ownership record fences from the grant, a fence that is pushed before the \
         successor starts from its readiness, and a destination that keeps the highest token it \
         has seen only from the successor's first write.",
        &[FENCING, "Kleppmann, How to do distributed locking (2016)"],
    ),
    (
        "guarantee.expiry",
        "Tokens alone say nothing of expiry: they fence the old holder when a successor comes. \
         Only a destination that knows the lease's end can refuse an expired holder without one.",
        &[FENCING, "etcd-io/etcd#11456"],
    ),
    (
        "guarantee.revocation",
        "Lock services free the lock; whether the resource hears of it is another question.",
        &[FENCING],
    ),
    (
        "guarantee.automatic-takeover",
        "Where the provider has no fencing field and no conditional write, careful systems stop, \
         reconcile and ask a person; STONITH confirms the kill before it fails over.",
        &[FENCING, "Pacemaker STONITH"],
    ),
    (
        "guarantee.stable-identity",
        "Ledgers and client-made keys that outlive a try keep one id for one intent; SDKs that \
         make a key per call do not.",
        &[IDENTITY, "AWS SDK idempotency tokens"],
    ),
    (
        "guarantee.definite-outcomes",
        "A status code cannot say whether there was an effect; class it as failed before any \
         effect, committed, or unknown. Most clients promise nothing of the kind.",
        &[FENCING, IDENTITY, "ietf-wg-httpapi/idempotency#41"],
    ),
    (
        "guarantee.rejects-invented-epochs",
        "A destination that only compares numbers admits whoever writes a higher one. Where tokens \
         travel among services that trust one another, that is accepted; where a caller can choose \
         its token, it is not.",
        &[FENCING, "Kleppmann, How to do distributed locking (2016)"],
    ),
    (
        "authority.epoch",
        "ZooKeeper (czxid), etcd (create revision) and Kafka (InitProducerId) count every \
         acquisition. Some lock tables count changes of owner only. SET NX PX, advisory locks \
         and lock clients with random record versions have no ordered token at all.",
        &[FENCING, "sliceworkz/eventstore#176", "awslabs/amazon-dynamodb-lock-client#1"],
    ),
    (
        "authority.durability",
        "Consensus stores persist before they reply. A counter in Redis or in memory goes back \
         when the process or its last second of writes is lost.",
        &[FENCING, "etcd-io/etcd#16028", "oxia-db/oxia#87"],
    ),
    (
        "authority.restore",
        "A snapshot restore takes the revision back and issues it again; etcd got a revision \
         bump for that, others put an incarnation into the high bits.",
        &["etcd-io/etcd#16028", "etcd-io/etcd#16029"],
    ),
    (
        "authority.time",
        "Lock rows are often dated by the client. A client that stalls between reading its clock \
         and writing takes a lock that is over on arrival.",
        &["lukas-krecan/ShedLock#132", FENCING],
    ),
    (
        "authority.takeover",
        "DynamoDB's lock client compares and sets. Rescuers that go by age hand a long job to a \
         second producer; controllers with a stale cache act on what was true.",
        &["hexpm/hexpm#1825", "argoproj/argo-workflows#16294", "OptimalBits/bull#308"],
    ),
    (
        "authority.release",
        "A `finally` block that deletes the lock's key deletes the successor's; the Lua \
         compare-and-delete compares a value that is new with every acquisition.",
        &["twentyhq/twenty#25661", "nexspence/nexspence#223"],
    ),
    (
        "lease.expiry-judged-by",
        "ZooKeeper expires sessions on the server. Redlock and SET PX trust the worker to stop \
         in time by its own clock. Kubernetes' challengers wait a term of their own.",
        &["etcd-io/etcd#10811", "Kubernetes coordination.k8s.io/Lease", "Redlock"],
    ),
    (
        "lease.renewal",
        "Renewing from a thread of its own keeps a stuck worker's lease for ever; not renewing at \
         all lets a visibility timeout pass under work that is healthy.",
        &["celery/kombu#337", "langchain-ai/langgraph#7213", "OptimalBits/bull#308"],
    ),
    (
        "lease.proof-after-reconnect",
        "A leader that reconnects and reasserts its old ephemeral node believes what the server \
         is about to delete. A new session has to mean a new epoch.",
        &["apache/curator#1211"],
    ),
    (
        "fence.enforced-at",
        "HDFS journals, Kafka brokers and conditional writes enforce it where the data is. A \
         check in the adapter leaves a gap before the call; a proxy cannot recall what it passed \
         on.",
        &[FENCING, "etcd-io/etcd#10811", "pravega/pravega#2052"],
    ),
    (
        "fence.check",
        "Comparing for equality with the current record also refuses invented epochs. Remembering \
         the highest token seen lets the old holder in until the successor writes.",
        &[FENCING, "Kleppmann, How to do distributed locking (2016)", "Chubby sequencers"],
    ),
    (
        "fence.advance",
        "HDFS has a quorum of journals promise the new epoch before the first write; etcd \
         compares the lock's create revision in the very transaction that writes; others let \
         the first write carry the news.",
        &[FENCING, "HDFS Quorum Journal Manager", "etcd transactions"],
    ),
    (
        "fence.in-flight-writes",
        "A store that installs the fence while an old write is already inside lets that write \
         land after the new owner has read. InitProducerId aborts the open transaction.",
        &["pravega/pravega#2052", "Kafka InitProducerId"],
    ),
    (
        "fence.completion",
        "By-id convenience calls skip the comparison of tries, because their callers cannot know \
         it: a report from an old try then completes a new one.",
        &["cadence-workflow/cadence#1214", "temporalio/temporal#10135", "OptimalBits/bull#308"],
    ),
    (
        "fence.misconfigured",
        "A mistyped mode that falls back to shared access is a fence that is off. Probe it: a \
         deliberately stale write has to be refused before anything is served.",
        &["milvus-io/milvus#53449", "coollabsio/maxio#20"],
    ),
    (
        "identity.allocated-by",
        "Run id and time, counters that restart at one, short hashes and JSON-RPC ids all \
         collide. A key that is new with every try is unique and of no use.",
        &[IDENTITY, "twitter-archive/snowflake#6", "modelcontextprotocol/python-sdk#3060"],
    ),
    (
        "identity.claim",
        "Two requests that both look, both find nothing and both insert need a unique index in \
         the store; a check in the application passes every sequential test.",
        &[IDENTITY, "mastodon/mastodon#37879"],
    ),
    (
        "identity.claimed",
        "Middleware that records the response after the handler has run has nothing to show to \
         a duplicate that comes in between, or after a crash.",
        &["Nine-Minds/alga-psa#1590", "mitos-run/mitos#240", IDENTITY],
    ),
    (
        "identity.on-mismatch",
        "Stripe refuses a key that comes with other parameters, and so does the Idempotency-Key \
         draft (422). Checkpoint look-ups by id alone return the other operation's result.",
        &[IDENTITY, "google/adk-js#670", "draft-ietf-httpapi-idempotency-key-header"],
    ),
    (
        "identity.retention",
        "Keys are pruned after a day at Stripe, after eight hours or ten minutes at AWS, and a \
         retry that comes later runs again; others refuse what they no longer know.",
        &["Stripe idempotency keys", "DynamoDB ClientRequestToken", "SQS FIFO deduplication"],
    ),
    (
        "identity.carried",
        "An operation id that ends in the transcript or at the gateway does not stop a proxy, a \
         consumer or the provider from executing twice.",
        &[IDENTITY, "akash-network/console#3449"],
    ),
    (
        "identity.answers-matched-by",
        "A JSON-RPC id only has to differ from the sender's own outstanding ids. Where sessions \
         are pooled and every client begins with 1, the second call takes the first one's place \
         in the table and gets its answer.",
        &["modelcontextprotocol/python-sdk#3060", "cloudflare/agents#1632"],
    ),
    (
        "identity.binds",
        "A fingerprint over the body misses a target in the URL; an empty body makes all \
         cancellations equal.",
        &[IDENTITY, "Universal-Commerce-Protocol/samples#166"],
    ),
    (
        "recovery.on-timeout",
        "Clients that count a timeout as a failure retry under a new key or roll back what their \
         peers have; clients that count it as success report effects that never were.",
        &[FENCING, "akash-network/console#3449", "marmot-protocol/mdk#1577"],
    ),
    (
        "recovery.reconcile-by",
        "Equal content is not identity: somebody else may have written the same, or have written \
         something else since.",
        &["mem9-ai/drive9#904", "openclaw/openclaw#88206"],
    ),
    (
        "recovery.stored-outcome",
        "Caching every answer replays a failure that had no effect for a day; caching successes \
         only runs an effect again whose answer was a 504.",
        &["ietf-wg-httpapi/idempotency#41", "LabsCrypt/remitlend#1329"],
    ),
    (
        "recovery.resend",
        "Streamable HTTP clients send a POST again when a session has expired; librdkafka sends a \
         batch again under an epoch that it raised itself.",
        &["confluentinc/librdkafka#4953", "rmcp reinit_on_expired_session"],
    ),
    (
        "recovery.conflict-after-unknown",
        "A conditional write whose first answer was lost meets its own effect on the retry: a 412 \
         has to be read back before it counts as a loss.",
        &["S3 conditional writes"],
    ),
    (
        "destination.dedupe",
        "Kafka keeps sequence numbers per producer, Stripe keys, outbox consumers event ids. \
         Many APIs keep nothing.",
        &[IDENTITY, "Particular/docs.particular.net#1816"],
    ),
    (
        "destination.version",
        "A version that starts at one again in a resource that was deleted and made anew matches \
         what a stale holder expects.",
        &["mem9-ai/drive9#904", FENCING],
    ),
    (
        "destination.receipt",
        "An inbox row that is written after the effect is lost with the process in between.",
        &["Particular/docs.particular.net#1816", "Nine-Minds/alga-psa#1590"],
    ),
    (
        "destination.conditions",
        "Some object stores accept If-Match and If-None-Match and ignore them.",
        &["stackitcloud/terraform-provider-stackit#1534", "coollabsio/maxio#20"],
    ),
    (
        "destination.rejected-write",
        "Record rejected writes too, without copying secrets or entire payloads into the log.",
        &[FENCING],
    ),
    (
        "approval.bound-to",
        "An approval that names a request number covers whatever comes under that number next. \
         MCP asks servers to bind request state to a digest of the parameters that matter.",
        &[IDENTITY, "modelcontextprotocol SEP-3182"],
    ),
    (
        "approval.use",
        "Single use is not given by a signed state; the server has to enforce it.",
        &["Model Context Protocol 2026-07-28, requestState"],
    ),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::design::Design;

    #[test]
    fn every_setting_is_explained_once() {
        for explanation in explain_all() {
            assert!(!explanation.meaning.is_empty() && !explanation.in_practice.is_empty());
            assert!(!explanation.source.is_empty());
            let id = SettingId::of(explanation.section, explanation.setting);
            assert_eq!(explanation.to_change.is_none(), id.is_claim(), "{id}");
            if let Some(CostExplanation { cost, reason, .. }) = &explanation.to_change {
                assert_eq!(*cost, Design::default().cost(id));
                let said = explanation.to_string();
                assert!(said.contains(&format!("costs {cost}: ")) && said.contains(reason), "{id}");
            }
            let name = format!("{}.{}", explanation.section, explanation.setting);
            assert_eq!(PRACTICE.iter().filter(|(known, ..)| *known == name).count(), 1, "{name}");
        }
    }

    #[test]
    fn an_unknown_setting_is_refused_with_the_nearest() {
        let error = explain("fence.chekc").unwrap_err().to_string();
        assert!(error.contains("did you mean \"fence.check\"?"), "{error}");
        assert_eq!(explain("check").unwrap(), explain("fence.check").unwrap());
    }
}
