-- Two-phase commit, with the rules of TLA+'s TwoPhase: messages are never removed.
const N: 7;
type
  Manager: 1..N;
  Managers: array[Manager] of boolean;
  Phase: enum { working, prepared, committed, aborted };
  Transaction: enum { undecided, commit, abort };
var
  rm: array[Manager] of Phase;
  tm: Transaction;
  known_prepared: Managers; -- what the transaction manager has received
  sent_prepared: Managers;
  sent_commit, sent_abort: boolean;

startstate begin
  for m: Manager do
    rm[m] := working;
    known_prepared[m] := false;
    sent_prepared[m] := false;
  end;
  tm := undecided;
  sent_commit := false;
  sent_abort := false;
end;

ruleset m: Manager do
  rule "manager prepares" rm[m] = working ==>
  begin
    rm[m] := prepared;
    sent_prepared[m] := true;
  end;

  rule "manager chooses abort" rm[m] = working ==>
  begin
    rm[m] := aborted;
  end;

  rule "manager receives commit" sent_commit & rm[m] != committed ==>
  begin
    rm[m] := committed;
  end;

  rule "manager receives abort" sent_abort & rm[m] != aborted ==>
  begin
    rm[m] := aborted;
  end;

  rule "transaction manager receives prepared"
    tm = undecided & sent_prepared[m] & !known_prepared[m] ==>
  begin
    known_prepared[m] := true;
  end;
end;

rule "transaction manager commits"
  tm = undecided & forall m: Manager do known_prepared[m] end ==>
begin
  tm := commit;
  sent_commit := true;
end;

rule "transaction manager aborts" tm = undecided ==>
begin
  tm := abort;
  sent_abort := true;
end;

-- two passes over the managers: over the pairs of managers, rumur takes more than twice the time
invariant "Consistent"
  !(exists m: Manager do rm[m] = aborted end & exists m: Manager do rm[m] = committed end);
