//! Raft, with the rules of kspec's `examples/raft.py`: messages are in flight until they are
//! received or lost.
//!
//! The messages in flight are a sorted vector: there are few, and a state is copied often.

use std::hash::{Hash, Hasher};

use crate::stateright::{Model, Property};

pub const MOST_NODES: u8 = 5;
pub const MOST_ENTRIES: u8 = 4;

#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    pub elections: u8,
    pub entries: u8,
    pub losses: u8,
    pub restarts: u8,
}

pub struct Raft<const NODES: usize> {
    pub bounds: Bounds,
}

/// The term of each entry, 0 after the last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Log([u8; MOST_ENTRIES as usize]);

impl Log {
    fn len(self) -> u8 {
        self.0.iter().take_while(|&&term| term != 0).count() as u8
    }

    /// The term of the last entry of a prefix, 0 if it is empty.
    fn last_term(self, length: u8) -> u8 {
        if length == 0 {
            0
        } else {
            self.0[length as usize - 1]
        }
    }

    /// The term of the entry after a prefix, 0 if there is none.
    fn after(self, length: u8) -> u8 {
        self.0.get(length as usize).copied().unwrap_or(0)
    }

    /// The prefix of a length with one more entry.
    fn replaced(mut self, length: u8, term: u8) -> Self {
        self.0[length as usize] = term;
        self.0[length as usize + 1..].fill(0);
        self
    }

    fn agrees_up_to(self, other: Log, length: u8) -> bool {
        self.0[..length as usize] == other.0[..length as usize]
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Role {
    #[default]
    Follower,
    Candidate,
    Leader,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Node {
    term: u8,
    /// The candidate plus one, 0 for nobody.
    voted: u8,
    role: Role,
    commit: u8,
    /// The set of nodes that have voted for it.
    votes: u8,
    log: Log,
    matched: [u8; MOST_NODES as usize],
}

impl Node {
    fn voted_in(&self, term: u8) -> u8 {
        if self.term == term {
            self.voted
        } else {
            0
        }
    }

    fn follows(&mut self, term: u8) {
        self.voted = self.voted_in(term);
        self.term = term;
        self.role = Role::Follower;
        self.votes = 0;
        self.matched = Default::default();
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    RequestVote,
    Vote,
    Append,
    Appended,
}

/// Fields that a kind does not have are 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Message {
    kind: Kind,
    term: u8,
    source: u8,
    to: u8,
    length: u8,
    last_term: u8,
    /// The term of the entry that it carries, 0 for none.
    entry: u8,
    commit: u8,
}

impl Message {
    fn new(kind: Kind, term: u8, source: u8, to: u8) -> Self {
        Self { kind, term, source, to, length: 0, last_term: 0, entry: 0, commit: 0 }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State<const NODES: usize> {
    nodes: [Node; NODES],
    /// In ascending order.
    sent: Vec<Message>,
    elections: u8,
    lost: u8,
    restarted: u8,
}

impl<const NODES: usize> Hash for State<NODES> {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        hasher.write_u32(u32::from_ne_bytes([self.elections, self.lost, self.restarted, 0]));
        for node in &self.nodes {
            let [a, b, c, d] = node.log.0;
            let own = [node.term, node.voted, node.role as u8, node.commit, a, b, c, d];
            hasher.write_u64(u64::from_ne_bytes(own));
            let [a, b, c, d, e] = node.matched;
            hasher.write_u64(u64::from_ne_bytes([a, b, c, d, e, node.votes, 0, 0]));
        }
        for m in &self.sent {
            let fields =
                [m.kind as u8, m.term, m.source, m.to, m.length, m.last_term, m.entry, m.commit];
            hasher.write_u64(u64::from_ne_bytes(fields));
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    StartElection { node: u8 },
    Win { node: u8 },
    ClientAppends { node: u8 },
    Send { node: u8, to: u8, length: u8 },
    Commit { node: u8, length: u8 },
    Restart { node: u8 },
    Receive(Message),
    Lose(Message),
}

impl<const NODES: usize> State<NODES> {
    fn send(&mut self, message: Message) {
        if let Err(place) = self.sent.binary_search(&message) {
            self.sent.insert(place, message);
        }
    }

    fn take(&mut self, message: Message) {
        if let Ok(place) = self.sent.binary_search(&message) {
            self.sent.remove(place);
        }
    }

    /// Whether a leader waits for a follower.
    fn is_busy(&self, leader: u8, follower: u8) -> bool {
        self.sent.iter().any(|m| match m.kind {
            Kind::Append => (m.source, m.to) == (leader, follower),
            Kind::Appended => (m.source, m.to) == (follower, leader),
            _ => false,
        })
    }

    fn receives(&mut self, m: Message) {
        self.take(m);
        let node = &mut self.nodes[m.to as usize];
        match m.kind {
            Kind::RequestVote => {
                let is_current = m.term >= node.term;
                let is_free =
                    matches!(node.voted_in(m.term), voted if voted == 0 || voted == m.source + 1);
                let length = node.log.len();
                let own_end = (node.log.last_term(length), length);
                if is_current && is_free && (m.last_term, m.length) >= own_end {
                    node.follows(m.term);
                    node.voted = m.source + 1;
                    self.send(Message::new(Kind::Vote, m.term, m.to, m.source));
                } else if m.term > node.term {
                    node.follows(m.term);
                }
            }
            Kind::Vote => {
                if m.term == node.term && node.role == Role::Candidate {
                    node.votes |= 1 << m.source;
                }
            }
            Kind::Append => {
                if m.term < node.term {
                    return;
                }
                node.follows(m.term);
                let agrees = m.length == 0
                    || (m.length <= node.log.len() && node.log.last_term(m.length) == m.last_term);
                if !agrees {
                    return;
                }
                let length = m.length + u8::from(m.entry != 0);
                if m.entry != 0 && node.log.after(m.length) != m.entry {
                    node.log = node.log.replaced(m.length, m.entry);
                }
                node.commit = node.commit.max(m.commit.min(length));
                let response = Message::new(Kind::Appended, m.term, m.to, m.source);
                self.send(Message { length, ..response });
            }
            Kind::Appended => {
                if m.term == node.term && node.role == Role::Leader {
                    let matched = &mut node.matched[m.source as usize];
                    *matched = m.length.max(*matched);
                }
            }
        }
    }
}

impl<const NODES: usize> Model for Raft<NODES> {
    type State = State<NODES>;
    type Action = Action;

    fn init_states(&self) -> Vec<Self::State> {
        let nodes = [Node::default(); NODES];
        vec![State { nodes, sent: Vec::new(), elections: 0, lost: 0, restarted: 0 }]
    }

    fn actions(&self, s: &Self::State, actions: &mut Vec<Action>) {
        for (index, own) in s.nodes.iter().enumerate() {
            let node = index as u8;
            if own.role != Role::Leader && s.elections < self.bounds.elections {
                actions.push(Action::StartElection { node });
            }
            if own.role == Role::Candidate && 2 * own.votes.count_ones() as usize > NODES {
                actions.push(Action::Win { node });
            }
            if own.role == Role::Leader {
                self.actions_of_leader(s, node, actions);
            }
            if s.restarted < self.bounds.restarts {
                actions.push(Action::Restart { node });
            }
        }
        for &message in &s.sent {
            actions.push(Action::Receive(message));
            if s.lost < self.bounds.losses {
                actions.push(Action::Lose(message));
            }
        }
    }

    fn next_state(&self, s: &Self::State, action: Action) -> Option<Self::State> {
        let mut next = s.clone();
        match action {
            Action::StartElection { node } => {
                next.elections += 1;
                let own = &mut next.nodes[node as usize];
                own.term += 1;
                own.voted = node + 1;
                own.role = Role::Candidate;
                own.votes = 1 << node;
                let (term, log) = (own.term, own.log);
                let length = log.len();
                let last_term = log.last_term(length);
                for to in (0..NODES as u8).filter(|&to| to != node) {
                    let request = Message::new(Kind::RequestVote, term, node, to);
                    next.send(Message { length, last_term, ..request });
                }
            }
            Action::Win { node } => {
                let own = &mut next.nodes[node as usize];
                own.role = Role::Leader;
                own.votes = 0;
                own.matched = Default::default();
            }
            Action::ClientAppends { node } => {
                let own = &mut next.nodes[node as usize];
                own.log = own.log.replaced(own.log.len(), own.term);
            }
            Action::Send { node, to, length } => {
                let own = &s.nodes[node as usize];
                next.send(Message {
                    length,
                    last_term: own.log.last_term(length),
                    entry: own.log.after(length),
                    commit: own.commit,
                    ..Message::new(Kind::Append, own.term, node, to)
                });
            }
            Action::Commit { node, length } => next.nodes[node as usize].commit = length,
            Action::Restart { node } => {
                let own = &mut next.nodes[node as usize];
                own.follows(own.term);
                own.commit = 0;
                next.restarted += 1;
            }
            Action::Receive(message) => next.receives(message),
            Action::Lose(message) => {
                next.take(message);
                next.lost += 1;
            }
        }
        Some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("ElectionSafety", |_, s: &State<NODES>| {
                every_pair(s, |one, other| {
                    one.role != Role::Leader || other.role != Role::Leader || one.term != other.term
                })
            }),
            Property::always("LogMatching", |_, s: &State<NODES>| {
                every_pair(s, |one, other| {
                    (0..one.log.len().min(other.log.len())).all(|place| {
                        one.log.after(place) != other.log.after(place)
                            || one.log.agrees_up_to(other.log, place)
                    })
                })
            }),
            Property::always("LeaderCompleteness", |_, s: &State<NODES>| {
                every_pair(s, |one, leader| {
                    leader.role != Role::Leader
                        || leader.term < one.term
                        || one.log.agrees_up_to(leader.log, one.commit)
                })
            }),
            Property::always("StateMachineSafety", |_, s: &State<NODES>| {
                every_pair(s, |one, other| {
                    one.log.agrees_up_to(other.log, one.commit.min(other.commit))
                })
            }),
        ]
    }
}

/// Whether a claim holds for every two different nodes.
fn every_pair<const NODES: usize>(s: &State<NODES>, claim: impl Fn(&Node, &Node) -> bool) -> bool {
    s.nodes
        .iter()
        .enumerate()
        .all(|(a, one)| s.nodes.iter().enumerate().all(|(b, other)| a == b || claim(one, other)))
}

impl<const NODES: usize> Raft<NODES> {
    fn actions_of_leader(&self, s: &State<NODES>, node: u8, actions: &mut Vec<Action>) {
        let own = &s.nodes[node as usize];
        let length = own.log.len();
        if length < self.bounds.entries {
            actions.push(Action::ClientAppends { node });
        }
        for to in (0..NODES as u8).filter(|&to| to != node && !s.is_busy(node, to)) {
            for length in own.matched[to as usize]..=length {
                actions.push(Action::Send { node, to, length });
            }
        }
        for length in own.commit + 1..=length {
            let holders = own.matched.iter().filter(|&&matched| matched >= length).count();
            if 2 * (1 + holders) > NODES && own.log.last_term(length) == own.term {
                actions.push(Action::Commit { node, length });
            }
        }
    }
}
