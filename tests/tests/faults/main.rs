//! Every fault, shown by its effect on code that knows nothing of it.

mod chaos;
mod clock;
mod data;
mod message;
mod network;
mod process;
mod sample;
mod scene;
mod triggered;
