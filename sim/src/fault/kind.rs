//! The kinds of fault, by name.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{DiskFault, Fault};

macro_rules! kinds {
    ($($kind:ident = $name:literal),* $(,)?; disk: $($disk:ident = $disk_name:literal),* $(,)?) => {
        /// A kind of fault: what it is, without whom it strikes and how hard.
        #[derive(
            Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize,
        )]
        #[allow(missing_docs, reason = "each is described at the fault and in the catalogue")]
        pub enum FaultKind {
            $(#[serde(rename = $name)] $kind,)*
            $(#[serde(rename = $disk_name)] $disk),*
        }

        impl FaultKind {
            /// Every kind.
            pub const ALL: &'static [Self] = &[$(Self::$kind,)* $(Self::$disk),*];

            /// The name, as plans have it: a dot leads into a table of its own.
            pub fn name(self) -> &'static str {
                match self { $(Self::$kind => $name,)* $(Self::$disk => $disk_name),* }
            }
        }

        impl Fault {
            /// Which kind of fault it is.
            pub fn kind(&self) -> FaultKind {
                match self {
                    $(Self::$kind { .. } => FaultKind::$kind,)*
                    Self::Disk(fault) => fault.kind(),
                }
            }
        }

        impl DiskFault {
            /// Which kind of fault it is.
            pub fn kind(&self) -> FaultKind {
                match self { $(Self::$disk { .. } => FaultKind::$disk),* }
            }
        }
    };
}

kinds! {
    Freeze = "freeze",
    Stall = "stall",
    Crash = "crash",
    CrashLoop = "crash-loop",

    ClockStep = "clock-step",
    ClockDrift = "clock-drift",

    Partition = "partition",
    PartitionOneWay = "partition-one-way",
    PartitionGroups = "partition-groups",
    Delay = "delay",
    Late = "late",
    SlowLink = "slow-link",
    Reset = "reset",
    LoseRequest = "lose-request",
    LoseResponse = "lose-response",
    LoseDatagrams = "lose-datagrams",
    DuplicateDatagrams = "duplicate-datagrams",
    ReorderDatagrams = "reorder-datagrams",

    LoseMessage = "lose-message",
    Redeliver = "redeliver";

    disk:
    Tear = "disk.tear",
    Fail = "disk.fail",
    Slow = "disk.slow",
    Fill = "disk.fill",
    Restore = "disk.restore",
}

impl fmt::Display for FaultKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
