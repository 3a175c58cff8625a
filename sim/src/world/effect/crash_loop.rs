//! A machine that crashes again and again.

use super::{Core, State};
use crate::fault::Fault;

impl Core {
    /// One phase of a crash loop is over: the machine was down, or up in between.
    pub(super) fn go_on_crashing(&mut self, fault: Fault, was_up: bool) {
        let Fault::CrashLoop { host, times, down_us, up_us } = fault else { return };
        if was_up {
            // What was written before this moment has left.
            self.flush();
            self.crash(self.host_of(&host));
            let fault = Fault::CrashLoop { host, times, down_us, up_us };
            self.put_on(fault, State::Plain, down_us);
        } else if times > 1 {
            let fault = Fault::CrashLoop { host, times: times - 1, down_us, up_us };
            self.put_on(fault, State::Rests, up_us);
        }
    }
}
