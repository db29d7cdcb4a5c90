//! Single-decree Paxos, with the rules of kspec's `examples/paxos.py`: messages are never removed.
//!
//! Every set of messages is a set of bits, one for each message that can be sent.

use std::hash::{Hash, Hasher};

use crate::stateright::{Model, Property};

pub const MOST_ACCEPTORS: u8 = 5;

/// Stored plus one: 0 is no ballot, no vote.
type Ballot = u8;

/// A vote: 0 for none, or one more than `ballot * values + value`.
type Vote = u8;

#[derive(Clone, Copy, Debug)]
pub struct Paxos {
    pub acceptors: u8,
    pub ballots: u8,
    pub values: u8,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct State {
    promised: [Ballot; MOST_ACCEPTORS as usize],
    voted: [Vote; MOST_ACCEPTORS as usize],
    /// The ballots whose prepare message was sent.
    prepares: u8,
    /// By acceptor, ballot and reported vote.
    promises: u128,
    /// By ballot and value.
    accepts: u32,
    /// By acceptor, ballot and value.
    accepted: u128,
}

impl Hash for State {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        let [a, b, c, d, e] = self.promised;
        let [v, w, x, y, z] = self.voted;
        hasher.write_u64(u64::from_ne_bytes([a, b, c, d, e, v, w, x]));
        hasher.write_u64(
            u64::from_ne_bytes([y, z, self.prepares, 0, 0, 0, 0, 0])
                | u64::from(self.accepts) << 32,
        );
        hasher.write_u128(self.promises);
        hasher.write_u128(self.accepted);
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    Prepare { ballot: u8 },
    Promise { acceptor: u8, ballot: u8 },
    Accept { ballot: u8, value: u8 },
    Vote { acceptor: u8, ballot: u8, value: u8 },
}

impl Paxos {
    fn quorum(&self) -> u32 {
        u32::from(self.acceptors) / 2 + 1
    }

    fn proposal(&self, ballot: u8, value: u8) -> u8 {
        ballot * self.values + value
    }

    fn votes(&self) -> u32 {
        1 + u32::from(self.ballots) * u32::from(self.values)
    }

    fn promise(&self, acceptor: u8, ballot: u8, vote: Vote) -> u32 {
        (u32::from(acceptor) * u32::from(self.ballots) + u32::from(ballot)) * self.votes()
            + u32::from(vote)
    }

    fn accepted(&self, acceptor: u8, proposal: u8) -> u32 {
        u32::from(acceptor) * (self.votes() - 1) + u32::from(proposal)
    }

    /// Whether each size of the sets of bits is enough.
    pub fn fits(&self) -> bool {
        u32::from(self.acceptors) * u32::from(self.ballots) * self.votes() <= 128
            && self.votes() <= 32
    }

    /// The votes that were reported to a ballot, each as often as it was.
    fn reported<'a>(&'a self, s: &'a State, ballot: u8) -> impl Iterator<Item = Vote> + Clone + 'a {
        (0..self.acceptors).filter_map(move |acceptor| {
            let first = self.promise(acceptor, ballot, 0);
            let bits = s.promises >> first & ((1 << self.votes()) - 1);
            (bits != 0).then(|| bits.trailing_zeros() as Vote)
        })
    }

    /// The ballot of a vote, plus one; 0 for none.
    fn ballot_of(&self, vote: Vote) -> Ballot {
        if vote == 0 {
            0
        } else {
            (vote - 1) / self.values + 1
        }
    }

    /// Whether in some quorum nobody has voted, or the highest vote is one for this value.
    fn is_safe(&self, s: &State, ballot: u8, value: u8) -> bool {
        let reported = self.reported(s, ballot);
        let reaches = |highest: Ballot| {
            reported.clone().filter(|&vote| self.ballot_of(vote) <= highest).count() as u32
                >= self.quorum()
        };
        reaches(0)
            || reported
                .clone()
                .filter(|&vote| vote != 0 && (vote - 1) % self.values == value)
                .any(|vote| reaches(self.ballot_of(vote)))
    }

    fn is_chosen(&self, s: &State, ballot: u8, value: u8) -> bool {
        let proposal = self.proposal(ballot, value);
        let votes =
            (0..self.acceptors).filter(|&a| s.accepted >> self.accepted(a, proposal) & 1 != 0);
        votes.count() as u32 >= self.quorum()
    }

    fn one_value_is_chosen(&self, s: &State) -> bool {
        let is_chosen =
            |value: &u8| (0..self.ballots).any(|ballot| self.is_chosen(s, ballot, *value));
        (0..self.values).filter(is_chosen).count() <= 1
    }
}

impl Model for Paxos {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        vec![State::default()]
    }

    fn actions(&self, s: &State, actions: &mut Vec<Action>) {
        for ballot in 0..self.ballots {
            if s.prepares >> ballot & 1 == 0 {
                actions.push(Action::Prepare { ballot });
            }
            for acceptor in 0..self.acceptors {
                let promised = s.promised[acceptor as usize];
                if s.prepares >> ballot & 1 != 0 && ballot + 1 > promised {
                    actions.push(Action::Promise { acceptor, ballot });
                }
                for value in 0..self.values {
                    let proposal = self.proposal(ballot, value);
                    if s.accepts >> proposal & 1 != 0
                        && ballot + 1 >= promised
                        && s.accepted >> self.accepted(acceptor, proposal) & 1 == 0
                    {
                        actions.push(Action::Vote { acceptor, ballot, value });
                    }
                }
            }
            let sent = s.accepts >> self.proposal(ballot, 0) & ((1 << self.values) - 1) != 0;
            if !sent && self.reported(s, ballot).count() as u32 >= self.quorum() {
                for value in (0..self.values).filter(|&value| self.is_safe(s, ballot, value)) {
                    actions.push(Action::Accept { ballot, value });
                }
            }
        }
    }

    fn next_state(&self, s: &State, action: Action) -> Option<State> {
        let mut next = *s;
        match action {
            Action::Prepare { ballot } => next.prepares |= 1 << ballot,
            Action::Promise { acceptor, ballot } => {
                let index = acceptor as usize;
                next.promised[index] = ballot + 1;
                next.promises |= 1 << self.promise(acceptor, ballot, s.voted[index]);
            }
            Action::Accept { ballot, value } => next.accepts |= 1 << self.proposal(ballot, value),
            Action::Vote { acceptor, ballot, value } => {
                let (index, proposal) = (acceptor as usize, self.proposal(ballot, value));
                next.promised[index] = ballot + 1;
                next.voted[index] = proposal + 1;
                next.accepted |= 1 << self.accepted(acceptor, proposal);
            }
        }
        Some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![Property::always("OneValueChosen", |model: &Paxos, s: &State| {
            model.one_value_is_chosen(s)
        })]
    }
}
