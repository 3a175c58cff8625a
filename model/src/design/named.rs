//! The designs that come with this crate, one file each in `model/designs/`.

macro_rules! designs {
    ($($name:literal),* $(,)?) => {
        /// Name and text of every named design.
        pub const NAMED: &[(&str, &str)] =
            &[$(($name, include_str!(concat!("../../designs/", $name, ".toml")))),*];
    };
}

designs! {
    "co-located-gate",
    "push-before-ready",
    "highest-seen",
    "adapter-check",
    "run-and-millisecond",
    "timeout-means-failed",
}
