//! The snapshot of Chandy and Lamport, with the rules of kspec's `examples/snapshot.py`.

use std::hash::{Hash, Hasher};

use crate::stateright::{Model, Property};

/// A coin is a bit that is 0 and a marker one that is 1, the oldest lowest; a 1 above them ends it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Channel(u16);

const COIN: u16 = 0;
const MARKER: u16 = 1;

impl Channel {
    const EMPTY: Channel = Channel(1);

    fn len(self) -> u32 {
        15 - self.0.leading_zeros()
    }

    fn first(self) -> Option<u16> {
        (self != Self::EMPTY).then_some(self.0 & 1)
    }

    fn append(&mut self, what: u16) {
        let len = self.len();
        self.0 = (self.0 ^ 1 << len) | what << len | 2 << len;
    }

    fn drop_first(&mut self) {
        self.0 >>= 1;
    }
}

const NOT_RECORDED: u8 = u8::MAX;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Node<const NODES: usize> {
    coins: u8,
    recorded: u8,
    under_way: u8,
    /// The nodes whose marker was received.
    closed: u8,
    /// The channel to each node.
    channels: [Channel; NODES],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct State<const NODES: usize>([Node<NODES>; NODES]);

impl<const NODES: usize> Hash for State<NODES> {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        for node in &self.0 {
            let own = u32::from_ne_bytes([node.coins, node.recorded, node.under_way, node.closed]);
            let words =
                node.channels.iter().fold(0, |word, channel| word << 16 | u64::from(channel.0));
            hasher.write_u64(words);
            hasher.write_u32(own);
        }
    }
}

pub struct Snapshot<const NODES: usize> {
    pub coins: u8,
    pub capacity: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    Send { node: u8, to: u8 },
    Start { node: u8 },
    Receive { sender: u8, node: u8 },
}

impl<const NODES: usize> State<NODES> {
    fn records(&mut self, index: usize) {
        let node = &mut self.0[index];
        node.recorded = node.coins;
        for (to, channel) in node.channels.iter_mut().enumerate() {
            if to != index {
                channel.append(MARKER);
            }
        }
    }

    fn is_complete(&self) -> bool {
        let all = (1u8 << NODES) - 1;
        self.0.iter().enumerate().all(|(index, node)| node.closed == all & !(1 << index))
    }

    fn in_snapshot(&self) -> u32 {
        self.0.iter().map(|node| u32::from(node.recorded) + u32::from(node.under_way)).sum()
    }
}

impl<const NODES: usize> Model for Snapshot<NODES> {
    type State = State<NODES>;
    type Action = Action;

    fn init_states(&self) -> Vec<Self::State> {
        let node = Node {
            coins: self.coins,
            recorded: NOT_RECORDED,
            under_way: 0,
            closed: 0,
            channels: [Channel::EMPTY; NODES],
        };
        vec![State([node; NODES])]
    }

    fn actions(&self, s: &Self::State, actions: &mut Vec<Action>) {
        for (index, own) in s.0.iter().enumerate() {
            let node = index as u8;
            if own.recorded == NOT_RECORDED {
                actions.push(Action::Start { node });
            }
            for (other, channel) in own.channels.iter().enumerate() {
                let to = other as u8;
                if own.coins > 0 && other != index && channel.len() < u32::from(self.capacity) {
                    actions.push(Action::Send { node, to });
                }
                if *channel != Channel::EMPTY {
                    actions.push(Action::Receive { sender: node, node: to });
                }
            }
        }
    }

    fn next_state(&self, s: &Self::State, action: Action) -> Option<Self::State> {
        let mut next = *s;
        match action {
            Action::Send { node, to } => {
                let node = &mut next.0[node as usize];
                node.coins -= 1;
                node.channels[to as usize].append(COIN);
            }
            Action::Start { node } => next.records(node as usize),
            Action::Receive { sender, node } => {
                let (from, index) = (sender as usize, node as usize);
                let channel = &mut next.0[from].channels[index];
                let first = channel.first()?;
                channel.drop_first();
                let has_recorded = s.0[index].recorded != NOT_RECORDED;
                if first == MARKER {
                    if !has_recorded {
                        next.records(index);
                    }
                    next.0[index].closed |= 1 << sender;
                } else {
                    next.0[index].coins += 1;
                    if has_recorded && s.0[index].closed & 1 << sender == 0 {
                        next.0[index].under_way += 1;
                    }
                }
            }
        }
        Some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![Property::always("SnapshotIsConsistent", |model: &Self, s: &State<NODES>| {
            !s.is_complete() || s.in_snapshot() == NODES as u32 * u32::from(model.coins)
        })]
    }
}
