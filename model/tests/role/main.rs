//! The roles together, message by message: the stories of the two articles, and what each
//! role does when things arrive late, twice or not at all.

mod cluster;
mod identity;
mod takeover;
