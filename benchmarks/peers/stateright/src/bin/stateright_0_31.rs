//! The command with Stateright 0.31.

use std::process::ExitCode;

use stateright_0_31 as stateright;

#[path = "../command.rs"]
mod command;
#[path = "../kip_320.rs"]
mod kip_320;
#[path = "../paxos.rs"]
mod paxos;
#[path = "../raft.rs"]
mod raft;
#[path = "../snapshot.rs"]
mod snapshot;
#[path = "../two_phase_commit.rs"]
mod two_phase_commit;

fn main() -> ExitCode {
    command::main()
}
