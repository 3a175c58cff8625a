//! Every kind of fault: what it means, how hard generated plans make it, where it has happened.
//!
//! The ranges here are those from which [`Plan::generate`](crate::plan::Plan::generate) draws,
//! log-uniformly. `FAULTS.md` is [`to_markdown`], and a test keeps it so.

use std::fmt::Write as _;

use super::FaultKind;

/// From where to where generated plans draw a field of a fault.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Range {
    /// The smallest value.
    pub min: u64,
    /// The largest value.
    pub max: u64,
}

/// How long faults last, and processes stay down.
pub const LASTS_US: Range = Range { min: 20_000, max: 1_800_000 };
/// How much later packets are, and messages come again.
pub const EXTRA_US: Range = Range { min: 20_000, max: 900_000 };
/// How often a machine crashes in a row.
pub const CRASHES: Range = Range { min: 2, max: 4 };
/// How long it is down each time.
pub const CRASH_DOWN_US: Range = Range { min: 5_000, max: 300_000 };
/// How long it is up in between.
pub const CRASH_UP_US: Range = Range { min: 1_000, max: 300_000 };
/// By how much a wall clock is set, forward or back.
pub const STEP_US: Range = Range { min: 1_000, max: 5_000_000 };
/// By how many millionths clocks drift, fast or slow. Beyond what is left of an oscillator in a
/// healthy machine, because a lease of a second is as short in a plan.
pub const DRIFT_PPM: Range = Range { min: 100, max: 300_000 };
/// How much passes over a slow link in a second.
pub const BYTES_PER_S: Range = Range { min: 2_000, max: 500_000 };
/// How many datagrams in a hundred something happens to.
pub const PERCENT: Range = Range { min: 5, max: 100 };
/// How many messages in a row are lost.
pub const MESSAGES: Range = Range { min: 1, max: 4 };

/// How many bytes of a torn write survive.
pub const TORN_BYTES: Range = Range { min: 1, max: 256 };
/// By how much a slow disk slows each call down.
pub const DISK_US: Range = Range { min: 1_000, max: 64_000 };
/// How many bytes are left on a disk that fills up.
pub const FREE_BYTES: Range = Range { min: 1, max: 1_024 };
/// How old the backup of a restore is.
pub const BACKUP_AGE_US: Range = Range { min: 1_000, max: 1_000_000 };

/// What there is to know about a kind of fault.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// What happens.
    pub meaning: &'static str,
    /// The fields that plans draw, and from where to where.
    pub ranges: &'static [(&'static str, Range)],
    /// Where it happens outside of a simulation.
    pub real_case: &'static str,
}

/// What there is to know about a kind of fault.
pub fn entry(kind: FaultKind) -> Entry {
    match kind {
        FaultKind::Freeze => FREEZE,
        FaultKind::Stall => STALL,
        FaultKind::Crash => CRASH,
        FaultKind::CrashLoop => CRASH_LOOP,
        FaultKind::ClockStep => CLOCK_STEP,
        FaultKind::ClockDrift => CLOCK_DRIFT,
        FaultKind::Partition => PARTITION,
        FaultKind::PartitionOneWay => PARTITION_ONE_WAY,
        FaultKind::PartitionGroups => PARTITION_GROUPS,
        FaultKind::Delay => DELAY,
        FaultKind::Late => LATE,
        FaultKind::SlowLink => SLOW_LINK,
        FaultKind::Reset => RESET,
        FaultKind::LoseRequest => LOSE_REQUEST,
        FaultKind::LoseResponse => LOSE_RESPONSE,
        FaultKind::LoseDatagrams => LOSE_DATAGRAMS,
        FaultKind::DuplicateDatagrams => DUPLICATE_DATAGRAMS,
        FaultKind::ReorderDatagrams => REORDER_DATAGRAMS,
        FaultKind::LoseMessage => LOSE_MESSAGE,
        FaultKind::Redeliver => REDELIVER,
        FaultKind::Tear => TEAR,
        FaultKind::Fail => FAIL,
        FaultKind::Slow => SLOW,
        FaultKind::Fill => FILL,
        FaultKind::Restore => RESTORE,
    }
}

/// The catalogue as a page.
pub fn to_markdown() -> String {
    let mut page = String::from(
        "# Faults\n\n\
         Everything that can go wrong in a simulated world. In a plan each has a trigger: a time, a \
         named point in\nthe code, a packet that is about to leave, an event. Every trigger works \
         with every fault.\n\n\
         The ranges are those from which `holdover sweep` draws by default, log-uniformly: every \
         doubling is equally\nlikely. Times are in microseconds (`_us`). A plan that is written by \
         hand may go beyond them.\n\n\
         This page is rendered from `sim/src/fault/catalogue.rs`: `HOLDOVER_RENDER=1 cargo test -p \
         holdover-tests\n--test faults data`.\n",
    );
    for kind in FaultKind::ALL {
        let Entry { meaning, ranges, real_case } = entry(*kind);
        let _ = write!(page, "\n## `{kind}`\n\n{meaning}\n\n");
        for (field, Range { min, max }) in ranges {
            let _ = writeln!(page, "* `{field}`: {min} to {max}");
        }
        if !ranges.is_empty() {
            page.push('\n');
        }
        let _ = writeln!(page, "In the field: {real_case}");
    }
    page
}

const FREEZE: Entry = Entry {
    meaning: "The process stops as by SIGSTOP and later goes on. Its kernel lives: it \
                      acknowledges segments and completes handshakes. At the thaw all overdue \
                      timers fire at once.",
    ranges: &[("for_us", LASTS_US)],
    real_case: "A collection of garbage that stops the world for longer than a lease \
                        lasts (Kleppmann, How to do distributed locking, 2016); a virtual machine \
                        that is migrated; a laptop lid.",
};

const STALL: Entry = Entry {
    meaning: "The next task that reaches a named point stops there, while all other tasks \
                      of its process live on.",
    ranges: &[("for_us", LASTS_US)],
    real_case: "A worker whose heartbeat runs in a thread of its own is stuck in a lock or \
                        a slow call: the detector sees it alive. Gray failure (Huang et al., \
                        HotOS 2017).",
};

const CRASH: Entry = Entry {
    meaning: "The machine loses power and boots again later. Its peers see silence, not \
                      a reset, until it is up. Memory and unsynced writes are gone; what it had \
                      sent is still on its way.",
    ranges: &[("restart_after_us", LASTS_US)],
    real_case: "Power, a kernel panic, a node that is evicted, kill -9 in a container.",
};

const CRASH_LOOP: Entry = Entry {
    meaning: "The machine crashes several times in a row, each time before it has got \
                      far.",
    ranges: &[("times", CRASHES), ("down_us", CRASH_DOWN_US), ("up_us", CRASH_UP_US)],
    real_case: "CrashLoopBackOff: a record that cannot be replayed, a probe that is too \
                        strict, a machine that runs out of memory while it recovers.",
};

const CLOCK_STEP: Entry = Entry {
    meaning: "The wall clock is set forward or back at once and stays so; at time 0 that is an \
                      offset for the whole run. The monotonic clock, and with it every timer, does \
                      not notice.",
    ranges: &[("by_us", STEP_US)],
    real_case: "NTP corrects a clock that was far off; a leap second (Cloudflare DNS, \
                        1 January 2017: time went backwards); an operator sets the time.",
};

const CLOCK_DRIFT: Entry = Entry {
    meaning: "Both clocks run fast or slow for a time, and keep what they have gained or \
                      lost by its end.",
    ranges: &[("ppm", DRIFT_PPM), ("for_us", LASTS_US)],
    real_case: "Oscillators differ by tens of ppm and change with the temperature; Spanner \
                        (OSDI 2012) assumes 200 ppm. A clock inside an overcommitted virtual \
                        machine can be off by far more.",
};

const PARTITION: Entry = Entry {
    meaning: "Nothing passes between two groups of hosts. A TCP segment that would cross \
                      arrives after the end, as if sent again; a datagram is lost.",
    ranges: &[("for_us", LASTS_US)],
    real_case: "GitHub, 21 October 2018: 43 seconds without a link between two coasts, and \
                        writes on both of them.",
};

const PARTITION_ONE_WAY: Entry = Entry {
    meaning: "Nothing passes from one host to another; the other direction is open.",
    ranges: &[("for_us", LASTS_US)],
    real_case: "A switch that fails for some ports and directions only (Cloudflare, \
                        2 November 2020: A Byzantine failure in the real world); a firewall rule \
                        for one direction.",
};

const PARTITION_GROUPS: Entry = Entry {
    meaning: "The network falls into several parts at once. Hosts in none of them are \
                      heard by all.",
    ranges: &[("for_us", LASTS_US)],
    real_case: "A core switch reboots and each rack is alone; a bridge node that can reach \
                        both sides is what makes it interesting (Alquraan et al., An Analysis of \
                        Network-Partitioning Failures, OSDI 2018).",
};

const DELAY: Entry = Entry {
    meaning: "Everything from one host to another takes longer.",
    ranges: &[("extra_us", EXTRA_US), ("for_us", LASTS_US)],
    real_case: "Queues in a congested switch, a route through another continent, TCP that \
                        sends again after a loss.",
};

const LATE: Entry = Entry {
    meaning: "One packet with data arrives much later. What follows on its connection \
                      waits behind it; all else overtakes it.",
    ranges: &[("extra_us", EXTRA_US)],
    real_case: "GitHub, 22 December 2012: packets were held for a minute and a half and \
                        then delivered. The write that comes after its lease.",
};

const SLOW_LINK: Entry = Entry {
    meaning: "Packets pass one after the other, each in the time that its size takes.",
    ranges: &[("bytes_per_s", BYTES_PER_S), ("for_us", LASTS_US)],
    real_case: "A card that has fallen back to 10 Mbit/s, a backup that takes the line, \
                        throttling by a cloud's provider.",
};

const RESET: Entry = Entry {
    meaning: "All established connections between two hosts are reset; both ends find \
                      them broken.",
    ranges: &[],
    real_case: "A load balancer that is replaced, a gateway that forgets idle connections \
                        (after 350 seconds at AWS).",
};

const LOSE_REQUEST: Entry = Entry {
    meaning: "The next data that a client sends on a connection that it opened vanishes, \
                      and both ends find the connection reset. The server never saw it.",
    ranges: &[],
    real_case: "The connection breaks on the way there. To the client it looks exactly \
                        like the next one.",
};

const LOSE_RESPONSE: Entry = Entry {
    meaning: "The next data that a server sends back vanishes, and both ends find the \
                      connection reset. The server did the work.",
    ranges: &[],
    real_case: "The reason why payment interfaces have idempotency keys: the card was \
                        charged and the answer was lost.",
};

const LOSE_DATAGRAMS: Entry = Entry {
    meaning: "Some datagrams vanish.",
    ranges: &[("percent", PERCENT), ("for_us", LASTS_US)],
    real_case: "UDP promises nothing (RFC 768); a full buffer drops without a word. Health \
                        checks and gossip are the first to go.",
};

const DUPLICATE_DATAGRAMS: Entry = Entry {
    meaning: "Some datagrams arrive twice.",
    ranges: &[("percent", PERCENT), ("for_us", LASTS_US)],
    real_case: "Two paths that are both used, a retransmission on the link layer (RFC 8085, \
                        section 3.3).",
};

const REORDER_DATAGRAMS: Entry = Entry {
    meaning: "Some datagrams take longer and are overtaken by others.",
    ranges: &[("percent", PERCENT), ("extra_us", EXTRA_US), ("for_us", LASTS_US)],
    real_case: "Load that is balanced over several paths (RFC 4737): an old \"I am alive\" \
                        arrives after the silence.",
};

const LOSE_MESSAGE: Entry = Entry {
    meaning: "The next messages of a kind vanish, and neither end is told: the connection \
                      lives on.",
    ranges: &[("times", MESSAGES)],
    real_case: "A proxy or a broker accepts a message and drops it: an overflow, a filter, \
                        a queue without persistence that restarts.",
};

const REDELIVER: Entry = Entry {
    meaning: "The next message of a kind is delivered, and delivered again some time \
                      later.",
    ranges: &[("after_us", EXTRA_US)],
    real_case: "Queues that deliver at least once do this whenever an acknowledgement is \
                        late: Amazon SQS after its visibility timeout, Kafka after a rebalance.",
};

const TEAR: Entry = Entry {
    meaning: "The machine loses power in the middle of a write to its disk: the first bytes of \
              the last write survive although it was not synced, but never all of them.",
    ranges: &[("kept_bytes", TORN_BYTES), ("restart_after_us", LASTS_US)],
    real_case: "A write of several sectors is not atomic, so logs end in half a record after a \
                power failure; a store that does not look for that reads garbage, or refuses to \
                start.",
};

const FAIL: Entry = Entry {
    meaning: "Writes to a disk and syncs fail with an input/output error; reads work.",
    ranges: &[("for_us", LASTS_US)],
    real_case: "A dying device, a volume that lost its path. PostgreSQL used to try a failed \
                fsync again and believe its second, empty success (2018).",
};

const SLOW: Entry = Entry {
    meaning: "Each write to a disk and each sync blocks the process that asks for it.",
    ranges: &[("by_us", DISK_US), ("for_us", LASTS_US)],
    real_case: "A noisy neighbour, a full write cache, a RAID that is rebuilt. A lease holder \
                that hangs in fsync is the pause from which stale writes come.",
};

const FILL: Entry = Entry {
    meaning: "A disk has only so much room left. A write that fits in part is written in part.",
    ranges: &[("free_bytes", FREE_BYTES), ("for_us", LASTS_US)],
    real_case: "Logs that nobody rotates, until somebody makes room.",
};

const RESTORE: Entry = Entry {
    meaning: "The machine is lost, and its disk is replaced by an older backup of it. Plans are \
              drawn only for an authority that has its store for itself: no design can make good \
              for effects that a destination has forgotten.",
    ranges: &[("age_us", BACKUP_AGE_US), ("restart_after_us", LASTS_US)],
    real_case: "A cluster rebuilt from its snapshot issues again what it had issued since \
                (etcd-io/etcd#16028).",
};
