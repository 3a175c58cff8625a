//! How much is searched where many designs are judged, and with what.

use holdover_model::check::Scope;
use holdover_model::design::Design;

use crate::Problem;
use crate::bounds::BoundFlags;

/// Within which bounds, and what it may take.
#[derive(clap::Args)]
pub(crate) struct SearchFlags {
    /// Within small bounds instead of the portfolio.
    #[arg(long)]
    small: bool,
    /// How many designs are searched at once; as many as there are cores, if not given.
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// How much memory each of these searches may take.
    #[arg(long, value_name = "N", default_value_t = 1024)]
    memory_mib: usize,
    #[command(flatten)]
    bounds: BoundFlags,
}

/// The same, once it is known to be possible.
pub(crate) struct Search {
    pub(crate) scope: Scope,
    pub(crate) threads: usize,
    pub(crate) memory_mib_max: usize,
}

impl Search {
    /// Says at the start what is searched, and with what.
    pub(crate) fn announce(&self, command: &str, design: &Design) {
        let Self { scope, threads, memory_mib_max } = self;
        eprintln!(
            "holdover {} {command} design={} bounds={} threads={threads} memory_mib={memory_mib_max}",
            env!("CARGO_PKG_VERSION"),
            design.name,
            scope.bounds(design).len(),
        );
    }
}

impl SearchFlags {
    pub(crate) fn search(&self) -> Result<Search, Problem> {
        let scope = match (self.bounds.own()?, self.small) {
            (Some(_), true) => {
                return Err(
                    "--small: there are bounds of your own already; give one of both".into()
                );
            }
            (Some(own), false) => Scope::Own(vec![own]),
            (None, true) => Scope::Small,
            (None, false) => Scope::Portfolio,
        };
        let threads = crate::threads(self.threads)?;
        let memory_mib_max = crate::memory_mib(self.memory_mib)?;
        Ok(Search { scope, threads, memory_mib_max })
    }
}
