//! Two-phase commit, with the rules of TLA+'s TwoPhase: messages are never removed.

use std::hash::{Hash, Hasher};

use crate::stateright::{Model, Property};

/// Five bit sets of so many bits and two states of two bits fill the 64 bits that are hashed.
pub const MOST_MANAGERS: u8 = 12;

/// A set of managers.
type Managers = u16;

/// The transaction manager's state, and the set of decisions that it has sent.
const INIT: u8 = 0;
const COMMITTED: u8 = 1;
const ABORTED: u8 = 2;

pub struct TwoPhaseCommit {
    pub managers: u8,
}

/// A manager that is in none of the first three sets is working.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct State {
    prepared: Managers,
    committed: Managers,
    aborted: Managers,
    /// The managers whose prepared message the transaction manager has received.
    known_prepared: Managers,
    /// The managers that have sent a prepared message.
    sent_prepared: Managers,
    transaction: u8,
    /// The union of COMMITTED and ABORTED, as they were sent.
    sent_decisions: u8,
}

impl Hash for State {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        let sets =
            [self.prepared, self.committed, self.aborted, self.known_prepared, self.sent_prepared];
        let mut word = u64::from(self.transaction | self.sent_decisions << 2);
        for (index, set) in sets.into_iter().enumerate() {
            word |= u64::from(set) << (4 + index * MOST_MANAGERS as usize);
        }
        hasher.write_u64(word);
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    ManagerPrepares(u8),
    ManagerChoosesAbort(u8),
    ManagerReceivesCommit(u8),
    ManagerReceivesAbort(u8),
    TransactionManagerReceivesPrepared(u8),
    TransactionManagerCommits,
    TransactionManagerAborts,
}

impl Model for TwoPhaseCommit {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        vec![State::default()]
    }

    fn actions(&self, s: &State, actions: &mut Vec<Action>) {
        let undecided = s.transaction == INIT;
        for manager in 0..self.managers {
            let bit = 1 << manager;
            if (s.prepared | s.committed | s.aborted) & bit == 0 {
                actions.push(Action::ManagerPrepares(manager));
                actions.push(Action::ManagerChoosesAbort(manager));
            }
            if s.sent_decisions & COMMITTED != 0 && s.committed & bit == 0 {
                actions.push(Action::ManagerReceivesCommit(manager));
            }
            if s.sent_decisions & ABORTED != 0 && s.aborted & bit == 0 {
                actions.push(Action::ManagerReceivesAbort(manager));
            }
            if undecided && s.sent_prepared & !s.known_prepared & bit != 0 {
                actions.push(Action::TransactionManagerReceivesPrepared(manager));
            }
        }
        if undecided {
            if s.known_prepared == (1 << self.managers) - 1 {
                actions.push(Action::TransactionManagerCommits);
            }
            actions.push(Action::TransactionManagerAborts);
        }
    }

    fn next_state(&self, s: &State, action: Action) -> Option<State> {
        let mut next = *s;
        match action {
            Action::ManagerPrepares(manager) => {
                next.prepared |= 1 << manager;
                next.sent_prepared |= 1 << manager;
            }
            Action::ManagerChoosesAbort(manager) => next.aborted |= 1 << manager,
            Action::ManagerReceivesCommit(manager) => {
                next.prepared &= !(1 << manager);
                next.aborted &= !(1 << manager);
                next.committed |= 1 << manager;
            }
            Action::ManagerReceivesAbort(manager) => {
                next.prepared &= !(1 << manager);
                next.committed &= !(1 << manager);
                next.aborted |= 1 << manager;
            }
            Action::TransactionManagerReceivesPrepared(manager) => {
                next.known_prepared |= 1 << manager;
            }
            Action::TransactionManagerCommits => {
                next.transaction = COMMITTED;
                next.sent_decisions |= COMMITTED;
            }
            Action::TransactionManagerAborts => {
                next.transaction = ABORTED;
                next.sent_decisions |= ABORTED;
            }
        }
        Some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![Property::always("Consistent", |_, s: &State| s.aborted == 0 || s.committed == 0)]
    }
}
