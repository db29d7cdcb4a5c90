------------------------------- MODULE paxos -------------------------------
\* Single-decree Paxos, with the rules of kspec's examples/paxos.py: messages are never removed.
EXTENDS Integers, FiniteSets

CONSTANTS acceptors, ballots, values

VARIABLES promised, voted, value, sent

vars == <<promised, voted, value, sent>>

Acceptors == 0 .. acceptors - 1
Ballots == 0 .. ballots - 1
Values == 0 .. values - 1
Quorum == acceptors \div 2 + 1

Prepare(b) == [type |-> "prepare", ballot |-> b]
Promise(a, b, vb, v) ==
    [type |-> "promise", acceptor |-> a, ballot |-> b, voted |-> vb, value |-> v]
Accept(b, v) == [type |-> "accept", ballot |-> b, value |-> v]
Accepted(a, b, v) == [type |-> "accepted", acceptor |-> a, ballot |-> b, value |-> v]

Init ==
    /\ promised = [a \in Acceptors |-> -1]
    /\ voted = [a \in Acceptors |-> -1]
    /\ value = [a \in Acceptors |-> -1]
    /\ sent = {}

ProposerPrepares(b) ==
    /\ Prepare(b) \notin sent
    /\ sent' = sent \union {Prepare(b)}
    /\ UNCHANGED <<promised, voted, value>>

AcceptorPromises(a, b) ==
    /\ Prepare(b) \in sent
    /\ b > promised[a]
    /\ promised' = [promised EXCEPT ![a] = b]
    /\ sent' = sent \union {Promise(a, b, voted[a], value[a])}
    /\ UNCHANGED <<voted, value>>

\* In some quorum nobody has voted, or the highest vote is one for this value.
IsSafe(promises, v) ==
    \E highest \in {-1} \union {m.voted : m \in {p \in promises : p.value = v}} :
        Cardinality({m \in promises : m.voted <= highest}) >= Quorum

ProposerRequestsVotes(b, v) ==
    /\ \A w \in Values : Accept(b, w) \notin sent
    /\ LET promises == {m \in sent : m.type = "promise" /\ m.ballot = b}
       IN Cardinality(promises) >= Quorum /\ IsSafe(promises, v)
    /\ sent' = sent \union {Accept(b, v)}
    /\ UNCHANGED <<promised, voted, value>>

AcceptorVotes(a, b, v) ==
    /\ Accept(b, v) \in sent
    /\ b >= promised[a]
    /\ Accepted(a, b, v) \notin sent
    /\ promised' = [promised EXCEPT ![a] = b]
    /\ voted' = [voted EXCEPT ![a] = b]
    /\ value' = [value EXCEPT ![a] = v]
    /\ sent' = sent \union {Accepted(a, b, v)}

Next ==
    \/ \E b \in Ballots : ProposerPrepares(b)
    \/ \E a \in Acceptors, b \in Ballots : AcceptorPromises(a, b)
    \/ \E b \in Ballots, v \in Values : ProposerRequestsVotes(b, v)
    \/ \E a \in Acceptors, b \in Ballots, v \in Values : AcceptorVotes(a, b, v)

Spec == Init /\ [][Next]_vars

Chosen ==
    {v \in Values : \E b \in Ballots :
        Cardinality({a \in Acceptors : Accepted(a, b, v) \in sent}) >= Quorum}

OneValueChosen == Cardinality(Chosen) <= 1
=============================================================================
