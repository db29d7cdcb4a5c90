//! The variant kip-320 of kspec's model `replication`, with its three properties.
//!
//! A broker is 8 bytes and so is all that is not a broker's, so that a state of three brokers is
//! 32 bytes. Leaders and epochs are stored plus one: 0 is no leader, and no epoch yet.

use std::hash::{Hash, Hasher};

use crate::stateright::{Model, Property};

pub const MOST_RECORDS_IN_LOG: u8 = 4;
pub const LAST_EPOCH: u8 = 4;
const NO_LEADER: u8 = 0;

#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    pub log_size: u8,
    pub max_records: u8,
    pub max_epoch: u8,
}

pub struct Kip320<const BROKERS: usize> {
    pub bounds: Bounds,
}

/// A set of brokers.
type Brokers = u8;

/// A record: its id in the low half, its leader epoch in the high half.
type Record = u8;

fn record(id: u8, epoch: u8) -> Record {
    id | epoch << 4
}

fn epoch_of(record: Record) -> u8 {
    record >> 4
}

/// Who leads (plus one) and who is in sync.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct LeaderAndIsr(u8);

impl LeaderAndIsr {
    fn new(leader: u8, isr: Brokers) -> Self {
        Self(leader << 4 | isr)
    }

    fn leader(self) -> u8 {
        self.0 >> 4
    }

    fn isr(self) -> Brokers {
        self.0 & 0xf
    }

    fn has(self, broker: usize) -> bool {
        self.0 & 1 << broker != 0
    }
}

/// A broker's log, and its view of the partition.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Broker {
    /// The record at each offset below the end, 0 elsewhere.
    records: [Record; MOST_RECORDS_IN_LOG as usize],
    end: u8,
    hw: u8,
    epoch: u8,
    view: LeaderAndIsr,
}

impl Broker {
    fn append(&mut self, record: Record) {
        self.records[self.end as usize] = record;
        self.end += 1;
    }

    fn truncate_to(&mut self, offset: u8) {
        for kept in offset..self.end {
            self.records[kept as usize] = 0;
        }
        self.end = self.end.min(offset);
        self.hw = self.hw.min(offset);
    }

    fn agrees_at(&self, offset: u8, other: &Broker) -> bool {
        offset < self.end
            && offset < other.end
            && self.records[offset as usize] == other.records[offset as usize]
    }

    /// The offset after the last one at which both logs hold the same record.
    fn end_of_agreement(&self, other: &Broker) -> u8 {
        let ends = self.end.min(other.end);
        (0..ends).rev().find(|&offset| self.agrees_at(offset, other)).map_or(0, |last| last + 1)
    }

    fn word(&self) -> u64 {
        let [a, b, c, d] = self.records;
        u64::from_ne_bytes([a, b, c, d, self.end, self.hw, self.epoch, self.view.0])
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct State<const BROKERS: usize> {
    brokers: [Broker; BROKERS],
    /// The controller's truth; its epoch is that of the last request.
    quorum: LeaderAndIsr,
    /// Every request ever sent, by leader epoch.
    requests: [LeaderAndIsr; LAST_EPOCH as usize + 1],
    next_epoch: u8,
    next_record: u8,
}

impl<const BROKERS: usize> Hash for State<BROKERS> {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        for broker in &self.brokers {
            hasher.write_u64(broker.word());
        }
        let [a, b, c, d, e] = self.requests;
        let rest = [a.0, b.0, c.0, d.0, e.0, self.quorum.0, self.next_epoch, self.next_record];
        hasher.write_u64(u64::from_ne_bytes(rest));
    }
}

impl<const BROKERS: usize> State<BROKERS> {
    fn presumes_leadership(&self, broker: usize) -> bool {
        self.brokers[broker].view.leader() == broker as u8 + 1
    }

    /// Whether both name this leader, in one epoch.
    fn follows_epoch(&self, follower: usize, leader: usize) -> bool {
        let (ours, theirs) = (&self.brokers[follower], &self.brokers[leader]);
        self.presumes_leadership(leader)
            && ours.view.leader() == leader as u8 + 1
            && ours.epoch == theirs.epoch
    }

    fn is_true_leader(&self, broker: usize) -> bool {
        self.quorum.leader() == broker as u8 + 1
            && self.presumes_leadership(broker)
            && self.brokers[broker].epoch == self.next_epoch
    }

    fn hw_has_reached_current_epoch(&self, leader: usize) -> bool {
        let leader = &self.brokers[leader];
        if leader.hw < leader.end {
            epoch_of(leader.records[leader.hw as usize]) + 1 == leader.epoch
        } else {
            leader.hw == leader.end
        }
    }

    fn sends(&mut self, decision: LeaderAndIsr) {
        self.quorum = decision;
        self.requests[self.next_epoch as usize] = decision;
        self.next_epoch += 1;
    }

    fn changes_isr(&mut self, leader: usize, isr: Brokers) {
        self.brokers[leader].view = LeaderAndIsr::new(leader as u8 + 1, isr);
        self.quorum = LeaderAndIsr::new(self.quorum.leader(), isr);
    }

    /// Whether each member holds the leader's record at each offset below the leader's hw.
    fn committed_records_are_held(&self, leader: usize, members: LeaderAndIsr) -> bool {
        let leader = &self.brokers[leader];
        (0..BROKERS).filter(|&member| members.has(member)).all(|member| {
            (0..leader.hw).all(|offset| self.brokers[member].agrees_at(offset, leader))
        })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    ControllerShrinksIsr { broker: u8 },
    ControllerElects { broker: u8 },
    BecomeLeader { request: u8 },
    LeaderWrites { leader: u8 },
    LeaderShrinksIsr { leader: u8, follower: u8 },
    LeaderExpandsIsr { leader: u8, follower: u8 },
    LeaderAdvancesHw { leader: u8 },
    BecomeFollowerAndTruncate { follower: u8, request: u8 },
    FollowerFetches { leader: u8, follower: u8 },
}

impl<const BROKERS: usize> Model for Kip320<BROKERS> {
    type State = State<BROKERS>;
    type Action = Action;

    fn init_states(&self) -> Vec<Self::State> {
        vec![State {
            brokers: [Broker::default(); BROKERS],
            quorum: LeaderAndIsr::new(NO_LEADER, (1 << BROKERS) - 1),
            requests: Default::default(),
            next_epoch: 0,
            next_record: 0,
        }]
    }

    fn actions(&self, s: &Self::State, actions: &mut Vec<Action>) {
        for request in 0..s.next_epoch {
            let named = s.requests[request as usize].leader();
            if named == NO_LEADER {
                continue;
            }
            let leader = named as usize - 1;
            if request + 1 > s.brokers[leader].epoch {
                actions.push(Action::BecomeLeader { request });
            }
            if !s.presumes_leadership(leader) || s.brokers[leader].epoch != request + 1 {
                continue;
            }
            for follower in 0..BROKERS {
                if follower != leader && request + 1 > s.brokers[follower].epoch {
                    let follower = follower as u8;
                    actions.push(Action::BecomeFollowerAndTruncate { follower, request });
                }
            }
        }
        for index in 0..BROKERS {
            let broker = index as u8;
            if s.next_epoch <= self.bounds.max_epoch {
                let leads = s.quorum.leader() == broker + 1;
                if leads || s.quorum.has(index) {
                    actions.push(Action::ControllerShrinksIsr { broker });
                }
                if s.quorum.has(index) && !leads {
                    actions.push(Action::ControllerElects { broker });
                }
            }
            if s.presumes_leadership(index) {
                self.actions_of_leader(s, index, actions);
            }
        }
    }

    fn next_state(&self, s: &Self::State, action: Action) -> Option<Self::State> {
        let mut next = *s;
        match action {
            Action::ControllerShrinksIsr { broker } => {
                let (leader, isr) = (s.quorum.leader(), s.quorum.isr());
                let without = isr & !(1 << broker);
                next.sends(if leader == broker + 1 {
                    LeaderAndIsr::new(NO_LEADER, if without == 0 { isr } else { without })
                } else {
                    LeaderAndIsr::new(leader, without)
                });
            }
            Action::ControllerElects { broker } => {
                next.sends(LeaderAndIsr::new(broker + 1, s.quorum.isr()));
            }
            Action::BecomeLeader { request } => {
                let decision = s.requests[request as usize];
                let leader = &mut next.brokers[decision.leader() as usize - 1];
                leader.epoch = request + 1;
                leader.view = decision;
            }
            Action::LeaderWrites { leader } => {
                let leader = &mut next.brokers[leader as usize];
                leader.append(record(s.next_record, leader.epoch - 1));
                next.next_record += 1;
            }
            Action::LeaderShrinksIsr { leader, follower } => {
                let isr = s.brokers[leader as usize].view.isr() & !(1 << follower);
                next.changes_isr(leader as usize, isr);
            }
            Action::LeaderExpandsIsr { leader, follower } => {
                let isr = s.brokers[leader as usize].view.isr() | 1 << follower;
                next.changes_isr(leader as usize, isr);
            }
            Action::LeaderAdvancesHw { leader } => next.brokers[leader as usize].hw += 1,
            Action::BecomeFollowerAndTruncate { follower, request } => {
                let decision = s.requests[request as usize];
                let leader = &s.brokers[decision.leader() as usize - 1];
                let follower = &mut next.brokers[follower as usize];
                follower.truncate_to(follower.end_of_agreement(leader));
                follower.epoch = request + 1;
                follower.view = decision;
            }
            Action::FollowerFetches { leader, follower } => {
                let leader = &s.brokers[leader as usize];
                let follower = &mut next.brokers[follower as usize];
                follower.append(leader.records[follower.end as usize]);
                follower.hw = leader.hw.min(follower.end);
            }
        }
        Some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("WeakIsr", |_, s: &State<BROKERS>| {
                (0..BROKERS)
                    .filter(|&leader| s.presumes_leadership(leader))
                    .all(|leader| s.committed_records_are_held(leader, s.brokers[leader].view))
            }),
            Property::always("StrongIsr", |_, s: &State<BROKERS>| {
                (0..BROKERS)
                    .filter(|&leader| s.presumes_leadership(leader))
                    .all(|leader| s.committed_records_are_held(leader, s.quorum))
            }),
            Property::always("LeaderInIsr", |_, s: &State<BROKERS>| {
                s.quorum.leader() == NO_LEADER || s.quorum.has(s.quorum.leader() as usize - 1)
            }),
        ]
    }
}

impl<const BROKERS: usize> Kip320<BROKERS> {
    /// What a broker that presumes leadership can do, and its followers with it.
    fn actions_of_leader(&self, s: &State<BROKERS>, index: usize, actions: &mut Vec<Action>) {
        let (leader, own) = (index as u8, &s.brokers[index]);
        if s.next_record < self.bounds.max_records && own.end < self.bounds.log_size {
            actions.push(Action::LeaderWrites { leader });
        }
        let holds_hw = |member: usize| s.brokers[member].end > own.hw;
        let isr_holds_hw = || {
            (0..BROKERS)
                .filter(|&member| own.view.has(member))
                .all(|member| s.follows_epoch(member, index) && holds_hw(member))
        };
        if holds_hw(index) && isr_holds_hw() {
            actions.push(Action::LeaderAdvancesHw { leader });
        }
        let may_change_isr = s.is_true_leader(index);
        let may_expand_isr = may_change_isr && s.hw_has_reached_current_epoch(index);
        for (member, other) in s.brokers.iter().enumerate() {
            let follower = member as u8;
            let follows = s.follows_epoch(member, index);
            let behind = other.end < own.end;
            if own.view.has(member) {
                if may_change_isr && member != index && (behind || !follows) {
                    actions.push(Action::LeaderShrinksIsr { leader, follower });
                }
            } else if may_expand_isr && follows && other.end >= own.hw {
                actions.push(Action::LeaderExpandsIsr { leader, follower });
            }
            if follows && behind {
                actions.push(Action::FollowerFetches { leader, follower });
            }
        }
    }
}
