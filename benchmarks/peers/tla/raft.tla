-------------------------------- MODULE raft --------------------------------
\* Raft, with the rules of kspec's examples/raft.py: a message is in flight until it is received or lost.
EXTENDS Integers, Sequences, FiniteSets

CONSTANTS nodes, elections, entries, losses, restarts

VARIABLES term, voted, role, log, commit, votes, matched, sent, elected, lost, restarted

vars == <<term, voted, role, log, commit, votes, matched, sent, elected, lost, restarted>>

Nodes == 0 .. nodes - 1
Nobody == -1

Max(a, b) == IF a > b THEN a ELSE b
Min(a, b) == IF a < b THEN a ELSE b
LastTerm(l) == IF l = <<>> THEN 0 ELSE l[Len(l)]
Majority(n) == 2 * n > nodes
NoMatches == [n \in Nodes |-> 0]

RequestVote(t, a, b, last, len) ==
    [type |-> "request", term |-> t, source |-> a, to |-> b, last |-> last, length |-> len]
Vote(t, a, b) == [type |-> "vote", term |-> t, source |-> a, to |-> b]
AppendRequest(t, a, b, len, last, some, c) ==
    [type |-> "append", term |-> t, source |-> a, to |-> b, length |-> len, last |-> last,
     entries |-> some, commit |-> c]
Appended(t, a, b, len) ==
    [type |-> "appended", term |-> t, source |-> a, to |-> b, length |-> len]

Init ==
    /\ term = [n \in Nodes |-> 0]
    /\ voted = [n \in Nodes |-> Nobody]
    /\ role = [n \in Nodes |-> "follower"]
    /\ log = [n \in Nodes |-> <<>>]
    /\ commit = [n \in Nodes |-> 0]
    /\ votes = [n \in Nodes |-> {}]
    /\ matched = [n \in Nodes |-> NoMatches]
    /\ sent = {}
    /\ elected = 0
    /\ lost = 0
    /\ restarted = 0

VotedIn(n, t) == IF term[n] = t THEN voted[n] ELSE Nobody

\* The node follows in a term that is not below its own; `vote` is its vote in that term.
Follows(n, t, vote) ==
    /\ term' = [term EXCEPT ![n] = t]
    /\ voted' = [voted EXCEPT ![n] = vote]
    /\ role' = [role EXCEPT ![n] = "follower"]
    /\ votes' = [votes EXCEPT ![n] = {}]
    /\ matched' = [matched EXCEPT ![n] = NoMatches]

Budgets == <<elected, lost, restarted>>

StartElection(n) ==
    /\ role[n] # "leader"
    /\ elected < elections
    /\ elected' = elected + 1
    /\ term' = [term EXCEPT ![n] = @ + 1]
    /\ voted' = [voted EXCEPT ![n] = n]
    /\ role' = [role EXCEPT ![n] = "candidate"]
    /\ votes' = [votes EXCEPT ![n] = {n}]
    /\ sent' = sent \union
        {RequestVote(term[n] + 1, n, to, LastTerm(log[n]), Len(log[n])) : to \in Nodes \ {n}}
    /\ UNCHANGED <<log, commit, matched, lost, restarted>>

Grants(m) ==
    LET own == log[m.to]
    IN  /\ m.term >= term[m.to]
        /\ VotedIn(m.to, m.term) \in {Nobody, m.source}
        /\ \/ m.last > LastTerm(own)
           \/ m.last = LastTerm(own) /\ m.length >= Len(own)

GrantVote(m) ==
    /\ m.type = "request"
    /\ Grants(m)
    /\ Follows(m.to, m.term, m.source)
    /\ sent' = (sent \ {m}) \union {Vote(m.term, m.to, m.source)}
    /\ UNCHANGED <<log, commit, Budgets>>

RefuseVote(m) ==
    /\ m.type = "request"
    /\ ~Grants(m)
    /\ IF m.term > term[m.to]
       THEN Follows(m.to, m.term, Nobody)
       ELSE UNCHANGED <<term, voted, role, votes, matched>>
    /\ sent' = sent \ {m}
    /\ UNCHANGED <<log, commit, Budgets>>

ReceiveVote(m) ==
    /\ m.type = "vote"
    /\ votes' = IF m.term = term[m.to] /\ role[m.to] = "candidate"
                THEN [votes EXCEPT ![m.to] = @ \union {m.source}] ELSE votes
    /\ sent' = sent \ {m}
    /\ UNCHANGED <<term, voted, role, log, commit, matched, Budgets>>

Win(n) ==
    /\ role[n] = "candidate"
    /\ Majority(Cardinality(votes[n]))
    /\ role' = [role EXCEPT ![n] = "leader"]
    /\ votes' = [votes EXCEPT ![n] = {}]
    /\ matched' = [matched EXCEPT ![n] = NoMatches]
    /\ UNCHANGED <<term, voted, log, commit, sent, Budgets>>

LeaderAppends(n) ==
    /\ role[n] = "leader"
    /\ Len(log[n]) < entries
    /\ log' = [log EXCEPT ![n] = @ \o <<term[n]>>]
    /\ UNCHANGED <<term, voted, role, commit, votes, matched, sent, Budgets>>

LeaderSends(n, to, length) ==
    /\ role[n] = "leader"
    /\ n # to
    /\ matched[n][to] <= length
    /\ length <= Len(log[n])
    /\ \A m \in sent :
        /\ ~(m.type = "append" /\ m.source = n /\ m.to = to)
        /\ ~(m.type = "appended" /\ m.source = to /\ m.to = n)
    /\ sent' = sent \union
        {AppendRequest(term[n], n, to, length, LastTerm(SubSeq(log[n], 1, length)),
                SubSeq(log[n], length + 1, Min(length + 1, Len(log[n]))), commit[n])}
    /\ UNCHANGED <<term, voted, role, log, commit, votes, matched, Budgets>>

Agrees(m) ==
    /\ m.length <= Len(log[m.to])
    /\ IF m.length = 0 THEN TRUE ELSE log[m.to][m.length] = m.last

FollowerAppends(m) ==
    /\ m.type = "append"
    /\ m.term >= term[m.to]
    /\ Agrees(m)
    /\ LET own == log[m.to]
           length == m.length + Len(m.entries)
           has == length <= Len(own) /\ SubSeq(own, m.length + 1, length) = m.entries
       IN  /\ log' = [log EXCEPT ![m.to] =
                        IF has THEN own ELSE SubSeq(own, 1, m.length) \o m.entries]
           /\ commit' = [commit EXCEPT ![m.to] = Max(@, Min(m.commit, length))]
           /\ sent' = (sent \ {m}) \union {Appended(m.term, m.to, m.source, length)}
    /\ Follows(m.to, m.term, VotedIn(m.to, m.term))
    /\ UNCHANGED Budgets

FollowerRefuses(m) ==
    /\ m.type = "append"
    /\ m.term >= term[m.to]
    /\ ~Agrees(m)
    /\ Follows(m.to, m.term, VotedIn(m.to, m.term))
    /\ sent' = sent \ {m}
    /\ UNCHANGED <<log, commit, Budgets>>

FollowerDiscards(m) ==
    /\ m.type = "append"
    /\ m.term < term[m.to]
    /\ sent' = sent \ {m}
    /\ UNCHANGED <<term, voted, role, log, commit, votes, matched, Budgets>>

ReceiveResponse(m) ==
    /\ m.type = "appended"
    /\ matched' = IF m.term = term[m.to] /\ role[m.to] = "leader"
                  THEN [matched EXCEPT ![m.to][m.source] = Max(@, m.length)] ELSE matched
    /\ sent' = sent \ {m}
    /\ UNCHANGED <<term, voted, role, log, commit, votes, Budgets>>

LeaderCommits(n, length) ==
    /\ role[n] = "leader"
    /\ commit[n] < length
    /\ length <= Len(log[n])
    /\ Majority(1 + Cardinality({other \in Nodes : matched[n][other] >= length}))
    /\ log[n][length] = term[n]
    /\ commit' = [commit EXCEPT ![n] = length]
    /\ UNCHANGED <<term, voted, role, log, votes, matched, sent, Budgets>>

Lose(m) ==
    /\ lost < losses
    /\ lost' = lost + 1
    /\ sent' = sent \ {m}
    /\ UNCHANGED <<term, voted, role, log, commit, votes, matched, elected, restarted>>

Restart(n) ==
    /\ restarted < restarts
    /\ restarted' = restarted + 1
    /\ Follows(n, term[n], voted[n])
    /\ commit' = [commit EXCEPT ![n] = 0]
    /\ UNCHANGED <<log, sent, elected, lost>>

Next ==
    \/ \E n \in Nodes :
        \/ StartElection(n) \/ Win(n) \/ LeaderAppends(n) \/ Restart(n)
        \/ \E length \in 0 .. entries :
            LeaderCommits(n, length) \/ \E to \in Nodes : LeaderSends(n, to, length)
    \/ \E m \in sent :
        \/ GrantVote(m) \/ RefuseVote(m) \/ ReceiveVote(m)
        \/ FollowerAppends(m) \/ FollowerRefuses(m) \/ FollowerDiscards(m)
        \/ ReceiveResponse(m) \/ Lose(m)

Spec == Init /\ [][Next]_vars

ElectionSafety ==
    \A a, b \in Nodes :
        a # b /\ role[a] = "leader" /\ role[b] = "leader" => term[a] # term[b]

LogMatching ==
    \A a, b \in Nodes : \A k \in 1 .. Min(Len(log[a]), Len(log[b])) :
        log[a][k] = log[b][k] => SubSeq(log[a], 1, k) = SubSeq(log[b], 1, k)

LeaderCompleteness ==
    \A n, leader \in Nodes :
        role[leader] = "leader" /\ term[leader] >= term[n] =>
            /\ commit[n] <= Len(log[leader])
            /\ SubSeq(log[leader], 1, commit[n]) = SubSeq(log[n], 1, commit[n])

StateMachineSafety ==
    \A a, b \in Nodes :
        LET c == Min(commit[a], commit[b]) IN SubSeq(log[a], 1, c) = SubSeq(log[b], 1, c)
=============================================================================
