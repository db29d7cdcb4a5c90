---- MODULE Lamp ----
\* A lamp is switched on and off as one likes, until it breaks.
VARIABLES on, broken
vars == <<on, broken>>
Init == on = FALSE /\ broken = FALSE
Switch == ~broken /\ on' = ~on /\ UNCHANGED broken
BurnOut == on /\ ~broken /\ broken' = TRUE /\ UNCHANGED on
Next == Switch \/ BurnOut

None == Init /\ [][Next]_vars
WeakBoth == None /\ WF_vars(Switch) /\ WF_vars(BurnOut)
WeakTogether == None /\ WF_vars(Switch \/ BurnOut)
WeakSwitch == None /\ WF_vars(Switch)
StrongBurn == None /\ SF_vars(BurnOut)
WeakAndStrong == None /\ WF_vars(Switch) /\ SF_vars(BurnOut)

Breaks == TRUE ~> broken
OnAgain == []<>on
StaysBroken == <>[]broken
StaysOff == <>[](~on)
====
