---- MODULE Semaphore ----
\* Two processes enter a critical section one at a time; nobody orders them.
EXTENDS Naturals
VARIABLE at
Processes == {0, 1}
Init == at = [p \in Processes |-> "idle"]
Ask(p) == at[p] = "idle" /\ at' = [at EXCEPT ![p] = "waiting"]
Enter(p) == /\ at[p] = "waiting" /\ \A q \in Processes : at[q] # "critical"
            /\ at' = [at EXCEPT ![p] = "critical"]
Leave(p) == at[p] = "critical" /\ at' = [at EXCEPT ![p] = "idle"]
Next == \E p \in Processes : Ask(p) \/ Enter(p) \/ Leave(p)

None == Init /\ [][Next]_at
Weak == None /\ \A p \in Processes : WF_at(Enter(p)) /\ WF_at(Leave(p))
StrongEnter == None /\ \A p \in Processes : SF_at(Enter(p)) /\ WF_at(Leave(p))
StrongWhole == None /\ SF_at(\E p \in Processes : Enter(p)) /\ \A p \in Processes : WF_at(Leave(p))
StrongOnly == None /\ \A p \in Processes : SF_at(Enter(p))

FirstEnters == (at[0] = "waiting") ~> (at[0] = "critical")
SomeoneEnters == (\E p \in Processes : at[p] = "waiting") ~> (\E p \in Processes : at[p] = "critical")
FirstIdleAgain == []<>(at[0] # "critical")
====
