//! The design that is given on the command line: by its name, or as a team's own file.

use std::borrow::Cow;
use std::path::Path;

use holdover_model::design::{Design, NAMED};

use crate::Problem;

/// A design with the text that it was read from.
pub(crate) struct Written {
    pub(crate) design: Design,
    pub(crate) text: Cow<'static, str>,
}

impl Written {
    /// A named design, or one from a file: whatever ends in `.toml` is a file. `argument` is only
    /// used in errors.
    fn read(argument: &str, name: &str) -> Result<Self, Problem> {
        let path = Path::new(name);
        if path.extension().is_none_or(|extension| extension != "toml") {
            let design = Design::named(name)
                .map_err(|error| format!("{argument}: {error}; or FILE.toml"))?;
            let named = NAMED.iter().find(|(known, _)| *known == name);
            let (_, text) = named.expect("a named design has a text");
            return Ok(Self { design, text: Cow::Borrowed(text) });
        }
        let text = std::fs::read_to_string(name).map_err(|error| format!("{name}: {error}"))?;
        let mut design = Design::from_toml(name, &text)?;
        if design.name.is_empty() {
            design.name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        }
        Ok(Self { design, text: Cow::Owned(text) })
    }
}

/// A named design, or one from a file. `argument` is only used in errors.
pub(crate) fn design(argument: &str, name: &str) -> Result<Design, Problem> {
    Ok(Written::read(argument, name)?.design)
}

/// Which design, and what is demanded of it.
#[derive(clap::Args)]
pub(crate) struct DesignFlags {
    /// Which design: a name, or a file that ends in .toml.
    #[arg(value_name = "NAME|FILE")]
    design: String,
    /// Demand another guarantee than the design claims, such as fenced-from=grant.
    #[arg(long, value_name = "CLAIM=VALUE")]
    demand: Vec<String>,
}

impl DesignFlags {
    /// The design as it is written.
    pub(crate) fn written(&self) -> Result<Written, Problem> {
        Written::read("NAME", &self.design)
    }

    /// The design as it is written, with what is demanded for what it claims.
    pub(crate) fn demanded(&self) -> Result<Design, Problem> {
        self.demanding(self.written()?.design)
    }

    /// A design with what is demanded for what it claims.
    pub(crate) fn demanding(&self, mut design: Design) -> Result<Design, Problem> {
        for demand in &self.demand {
            design.guarantee =
                design.guarantee.demand(demand).map_err(|error| format!("--demand: {error}"))?;
        }
        Ok(design)
    }

    /// The same on a command line.
    pub(crate) fn as_arguments(&self) -> String {
        let demands = self.demand.iter().map(|demand| format!(" --demand {demand}"));
        std::iter::once(self.design.clone()).chain(demands).collect()
    }
}
