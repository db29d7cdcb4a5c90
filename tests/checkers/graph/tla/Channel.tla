---- MODULE Channel ----
\* A message is sent again and again over a channel that may lose it.
VARIABLES inFlight, received
vars == <<inFlight, received>>
Init == inFlight = FALSE /\ received = FALSE
Send == ~inFlight /\ ~received /\ inFlight' = TRUE /\ UNCHANGED received
Lose == inFlight /\ inFlight' = FALSE /\ UNCHANGED received
Receive == inFlight /\ received' = TRUE /\ inFlight' = FALSE
Next == Send \/ Lose \/ Receive

None == Init /\ [][Next]_vars
Weak == None /\ WF_vars(Send) /\ WF_vars(Receive)
StrongReceive == None /\ WF_vars(Send) /\ SF_vars(Receive)
OnlyStrongReceive == None /\ SF_vars(Receive)

Arrives == TRUE ~> received
ChannelEmpties == inFlight ~> ~inFlight
EmptyAgain == []<>(~inFlight)
StaysReceived == <>[]received
====
