---- MODULE Clerk ----
\* A clerk serves two customers in turns; a turn is taken even for one who was served before.
EXTENDS Naturals
VARIABLES served, turn
vars == <<served, turn>>
Customers == {0, 1}
Init == served = {} /\ turn = 0
Serve(c) == served' = served \cup {c} /\ turn' = 1 - turn
Next == \E c \in Customers : Serve(c)

None == Init /\ [][Next]_vars
WeakEach == None /\ \A c \in Customers : WF_vars(Serve(c))
WeakWhole == None /\ WF_vars(\E c \in Customers : Serve(c))
StrongWhole == None /\ SF_vars(\E c \in Customers : Serve(c))

BothServed == TRUE ~> served = Customers
SomeoneServed == TRUE ~> served # {}
TurnsPass == []<>(turn = 1)
FirstStays == <>[](0 \in served)
====
