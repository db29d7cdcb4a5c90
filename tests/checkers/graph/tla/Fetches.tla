---- MODULE Fetches ----
\* Two followers fetch from either of two leaders; a fetch moves the follower to that leader.
EXTENDS Naturals
VARIABLES at, last
vars == <<at, last>>
Leaders == {0, 1}
Followers == {0, 1}
Init == at = [f \in Followers |-> 0] /\ last = 0
Fetch(l, f) == at[f] # l /\ at' = [at EXCEPT ![f] = l] /\ last' = f
Next == \E l \in Leaders, f \in Followers : Fetch(l, f)

None == Init /\ [][Next]_vars
WeakEach == None /\ \A l \in Leaders, f \in Followers : WF_vars(Fetch(l, f))
StrongEach == None /\ \A l \in Leaders, f \in Followers : SF_vars(Fetch(l, f))
WeakByFollower == None /\ \A f \in Followers : WF_vars(\E l \in Leaders : Fetch(l, f))
WeakWhole == None /\ WF_vars(\E l \in Leaders, f \in Followers : Fetch(l, f))

SecondFetches == []<>(last = 1)
FirstMoves == []<>(at[0] = 1)
SomeoneMoves == TRUE ~> at # [f \in Followers |-> 0]
FirstStays == <>[](at[0] = 0)
====
