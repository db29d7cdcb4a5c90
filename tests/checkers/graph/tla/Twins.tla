---- MODULE Twins ----
\* Two actions lead from 0 to 1, a third one back, a fourth one changes nothing at 1.
EXTENDS Naturals
VARIABLE x
Init == x = 0
Up == x = 0 /\ x' = 1
AlsoUp == x = 0 /\ x' = 1
Down == x = 1 /\ x' = 0
Rest == x = 1 /\ x' = 1
Out == x = 1 /\ x' = 2
Next == Up \/ AlsoUp \/ Down \/ Rest \/ Out

None == Init /\ [][Next]_x
StrongTwins == None /\ SF_x(Up) /\ SF_x(AlsoUp) /\ WF_x(Down)
WeakRest == None /\ WF_x(Up) /\ WF_x(Rest)
StrongRest == None /\ WF_x(Up) /\ SF_x(Rest)
StrongOut == None /\ WF_x(Up) /\ SF_x(Out)
WeakOut == None /\ WF_x(Up) /\ WF_x(Out)
WeakOutAndDown == None /\ WF_x(Up) /\ WF_x(Out) /\ WF_x(Down)

Leaves == TRUE ~> x = 2
OneAgain == []<>(x = 1)
ZeroAgain == []<>(x = 0)
StaysOut == <>[](x = 2)
StaysUp == <>[](x >= 1)
====
