------------------------------ MODULE snapshot ------------------------------
\* The snapshot of Chandy and Lamport, with the rules of kspec's examples/snapshot.py.
EXTENDS Integers, Sequences

CONSTANTS nodes, coins, capacity

VARIABLES has, channels, recorded, underWay, closed

vars == <<has, channels, recorded, underWay, closed>>

Nodes == 0 .. nodes - 1
NotRecorded == -1

Init ==
    /\ has = [n \in Nodes |-> coins]
    /\ channels = [a \in Nodes |-> [b \in Nodes |-> <<>>]]
    /\ recorded = [n \in Nodes |-> NotRecorded]
    /\ underWay = [n \in Nodes |-> 0]
    /\ closed = [a \in Nodes |-> [b \in Nodes |-> FALSE]]

\* Every channel of a node gets a marker.
WithMarkers(all, n) ==
    [all EXCEPT ![n] = [b \in Nodes |-> IF b = n THEN @[b] ELSE Append(@[b], "marker")]]

SendCoin(a, b) ==
    /\ a # b
    /\ has[a] > 0
    /\ Len(channels[a][b]) < capacity
    /\ has' = [has EXCEPT ![a] = @ - 1]
    /\ channels' = [channels EXCEPT ![a][b] = Append(@, "coin")]
    /\ UNCHANGED <<recorded, underWay, closed>>

StartSnapshot(n) ==
    /\ recorded[n] = NotRecorded
    /\ recorded' = [recorded EXCEPT ![n] = has[n]]
    /\ channels' = WithMarkers(channels, n)
    /\ UNCHANGED <<has, underWay, closed>>

ReceiveCoin(a, b) ==
    /\ channels[a][b] # <<>>
    /\ Head(channels[a][b]) = "coin"
    /\ has' = [has EXCEPT ![b] = @ + 1]
    /\ channels' = [channels EXCEPT ![a][b] = Tail(@)]
    /\ underWay' = IF recorded[b] # NotRecorded /\ ~closed[a][b]
                   THEN [underWay EXCEPT ![b] = @ + 1] ELSE underWay
    /\ UNCHANGED <<recorded, closed>>

ReceiveMarker(a, b) ==
    /\ channels[a][b] # <<>>
    /\ Head(channels[a][b]) = "marker"
    /\ closed' = [closed EXCEPT ![a][b] = TRUE]
    /\ LET rest == [channels EXCEPT ![a][b] = Tail(@)]
       IN IF recorded[b] = NotRecorded
          THEN /\ recorded' = [recorded EXCEPT ![b] = has[b]]
               /\ channels' = WithMarkers(rest, b)
          ELSE channels' = rest /\ UNCHANGED recorded
    /\ UNCHANGED <<has, underWay>>

Next ==
    \/ \E n \in Nodes : StartSnapshot(n)
    \/ \E a, b \in Nodes : SendCoin(a, b) \/ ReceiveCoin(a, b) \/ ReceiveMarker(a, b)

Spec == Init /\ [][Next]_vars

RECURSIVE Sum(_, _)
Sum(f, n) == IF n < 0 THEN 0 ELSE f[n] + Sum(f, n - 1)

SnapshotIsConsistent ==
    (\A a, b \in Nodes : a # b => closed[a][b]) =>
        Sum(recorded, nodes - 1) + Sum(underWay, nodes - 1) = nodes * coins
=============================================================================
