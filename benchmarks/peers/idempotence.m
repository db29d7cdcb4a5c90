-- An idempotent producer and one partition: versions 2.5 (first: 1), 4.5 (first: 2) and zero-first
-- (first: 0), and, with numbered: 0, no idempotence. Written from docs/idempotence.md and
-- docs/rules-idempotence.md, to compare the number of states.
const
  records: 3;
  in_flight: 2;
  elections: 1;
  disconnects: 1;
  timeouts: 1;
  expirations: 0;
  others: 0;
  first: 2; -- without state a leader accepts: 0: only 0; 1: any number; 2: any if the log had records
  numbered: 1; -- 0: no idempotence
  epochs: 6; -- more than any of these bounds needs
  longest: 12; -- a log that is longer than any of these bounds needs
type
  Term: 0..elections;
  Id: 0..records-1;
  Number: -1..records; -- -1: none
  Epoch: -1..epochs; -- -1: none
  Offset: -1..longest; -- -1: none
  Place: 0..in_flight-1;
  Waiting: 0..disconnects; -- one more than needed, so that the type is not empty
  Phase: enum { queued, sent, retried, acknowledged, expired };
  Answer: enum { none, success, not_leader, out_of_order };
  Batch: record
    phase: Phase;
    epoch: Epoch;
    number: Number;
    changed: boolean;
    again: boolean;
    offset: Offset;
  end;
  Request: record
    used: boolean;
    id: Id;
    epoch: Epoch;
    number: Number;
    answer: Answer;
    offset: Offset;
  end;
  Entry: record id: Id; epoch: Epoch; number: Number; end;
var
  batch: array[Id] of Batch;
  epoch: Epoch; -- the producer's, as the next seven
  next: Number;
  last: Number;
  unresolved: Number;
  bump: boolean;
  leader: Term;
  wire: array[Term] of array[Place] of Request;
  late: array[Waiting] of Request;
  log: array[0..longest-1] of Entry;
  log_end: 0..longest;
  committed: 0..longest;
  forgotten: 0..longest;
  term: Term;
  lost: 0..disconnects;
  timed_out: 0..timeouts;
  expiries: 0..expirations;

-- queues -------------------------------------------------------------------------------------------

function length(t: Term): 0..in_flight;
var n: 0..in_flight;
begin
  n := 0;
  for p: Place do if wire[t][p].used then n := n + 1; end; end;
  return n;
end;

procedure nobody(var r: Request);
begin
  clear r;
  r.used := false;
  r.epoch := -1;
  r.number := -1;
  r.offset := -1;
end;

procedure drop_first(t: Term);
begin
  for p: Place do
    if p < in_flight - 1 then wire[t][p] := wire[t][p + 1]; else nobody(wire[t][p]); end;
  end;
end;

procedure drop_late();
begin
  for w: Waiting do
    if w < disconnects then late[w] := late[w + 1]; else nobody(late[w]); end;
  end;
end;

-- the place of the first request without an answer; in_flight: there is none
function unanswered(t: Term): 0..in_flight;
begin
  for p: Place do if wire[t][p].used & wire[t][p].answer = none then return p; end; end;
  return in_flight;
end;

-- the producer -------------------------------------------------------------------------------------

function flying(i: Id): boolean;
begin
  return batch[i].phase = sent | batch[i].phase = retried;
end;

-- the batch at the head of the queue; records: there is none
function head(): 0..records;
begin
  for i: Id do if batch[i].phase = retried then return i; end; end;
  for i: Id do if batch[i].phase = queued then return i; end; end;
  return records;
end;

function room(): boolean;
begin
  if in_flight = 1 then return forall t: Term do !wire[t][0].used end; end;
  return length(leader) < in_flight;
end;

function may_send(): boolean;
var h: 0..records;
begin
  h := head();
  if h = records | !room() then return false; end;
  if numbered = 0 then return true; end;
  if bump then return false; end;
  if batch[h].phase = queued then return unresolved = -1; end;
  return !exists i: Id do i < h & flying(i) end;
end;

procedure retry(i: Id);
begin
  batch[i].phase := retried;
  batch[i].again := true;
end;

function gap(i: Id): boolean;
begin
  if unresolved != -1 then return batch[i].number = unresolved; end;
  return !batch[i].changed & batch[i].number = last + 1;
end;

function oldest(): 0..records;
begin
  for i: Id do
    if batch[i].phase != acknowledged & batch[i].phase != expired then return i; end;
  end;
  return records;
end;

-- the leader ---------------------------------------------------------------------------------------

function known(): boolean;
begin
  return forgotten < log_end;
end;

function latest(): Epoch;
begin
  return log[log_end - 1].epoch;
end;

-- the offset of the same batch among the last in_flight of the latest epoch
function duplicate(r: Request): Offset;
var seen: 0..longest; o: Offset;
begin
  if numbered = 0 | !known() then return -1; end;
  if r.epoch != latest() then return -1; end;
  seen := 0;
  o := log_end - 1;
  while o >= forgotten & seen < in_flight do
    if log[o].epoch = latest() then
      if log[o].number = r.number then return o; end;
      seen := seen + 1;
    end;
    o := o - 1;
  end;
  return -1;
end;

function fits(r: Request): boolean;
begin
  if numbered = 0 then return true; end;
  if !known() then
    return r.number = 0 | first = 1 | (first = 2 & (log_end > 0 | others > 0));
  end;
  if r.epoch != latest() then return r.number = 0; end;
  return r.number = log[log_end - 1].number + 1;
end;

function old(r: Request): boolean;
begin
  return numbered = 1 & known() & r.epoch < latest();
end;

procedure append(r: Request);
begin
  log[log_end].id := r.id;
  log[log_end].epoch := r.epoch;
  log[log_end].number := r.number;
  log_end := log_end + 1;
end;

-- rules --------------------------------------------------------------------------------------------

startstate begin
  for i: Id do
    clear batch[i];
    batch[i].phase := queued;
    batch[i].epoch := -1;
    batch[i].number := -1;
    batch[i].offset := -1;
  end;
  epoch := 0; next := 0; last := -1; unresolved := -1; bump := false; leader := 0;
  for t: Term do for p: Place do nobody(wire[t][p]); end; end;
  for w: Waiting do nobody(late[w]); end;
  for o: 0..longest-1 do clear log[o]; log[o].epoch := -1; log[o].number := -1; end;
  log_end := 0; committed := 0; forgotten := 0; term := 0;
  lost := 0; timed_out := 0; expiries := 0;
end;

rule "producer sends" may_send() ==>
var i: Id; p: Place;
begin
  i := head();
  if numbered = 1 & batch[i].phase = queued then
    batch[i].epoch := epoch;
    batch[i].number := next;
    next := next + 1;
  end;
  batch[i].phase := sent;
  batch[i].changed := false;
  p := length(leader);
  wire[leader][p].used := true;
  wire[leader][p].id := i;
  wire[leader][p].epoch := batch[i].epoch;
  wire[leader][p].number := batch[i].number;
  wire[leader][p].answer := none;
  wire[leader][p].offset := -1;
end;

ruleset t: Term do
  rule "producer completes batch" wire[t][0].used & wire[t][0].answer = success ==>
  var i: Id; o: Offset;
  begin
    i := wire[t][0].id;
    o := wire[t][0].offset;
    if numbered = 1 & batch[i].number > last then last := batch[i].number; end;
    if o + 1 > committed then committed := o + 1; end;
    if batch[i].phase = sent then
      batch[i].phase := acknowledged;
      batch[i].epoch := -1;
      batch[i].number := -1;
      batch[i].changed := false;
      batch[i].again := false;
      batch[i].offset := o;
    end;
    drop_first(t);
  end;

  rule "producer retries batch" wire[t][0].used & wire[t][0].answer = not_leader
    & batch[wire[t][0].id].phase = sent ==>
  begin retry(wire[t][0].id); drop_first(t); end;

  rule "producer handles out of order" wire[t][0].used & wire[t][0].answer = out_of_order
    & batch[wire[t][0].id].phase = sent ==>
  begin
    if gap(wire[t][0].id) then bump := true; end;
    retry(wire[t][0].id);
    drop_first(t);
  end;

  rule "producer ignores error" wire[t][0].used & wire[t][0].answer != none
    & wire[t][0].answer != success & batch[wire[t][0].id].phase = expired ==>
  begin drop_first(t); end;

  rule "deposed leader refuses" t < term & unanswered(t) < in_flight ==>
  begin wire[t][unanswered(t)].answer := not_leader; end;

  rule "connection is lost" lost < disconnects & wire[t][0].used ==>
  var p: 0..in_flight; w: Waiting;
  begin
    p := unanswered(t);
    if t = term & p < in_flight then
      w := 0;
      while late[w].used do w := w + 1; end;
      late[w] := wire[t][p];
    end;
    for q: Place do
      if wire[t][q].used & batch[wire[t][q].id].phase = sent then retry(wire[t][q].id); end;
    end;
    for q: Place do nobody(wire[t][q]); end;
    lost := lost + 1;
  end;
end;

rule "producer expires batch" timed_out < timeouts & oldest() < records & !bump ==>
var i: Id;
begin
  i := oldest();
  batch[i].phase := expired;
  batch[i].changed := false;
  if numbered = 1 & batch[i].again & batch[i].number + 1 > unresolved then
    unresolved := batch[i].number + 1;
  end;
  timed_out := timed_out + 1;
end;

rule "producer resolves sequences" unresolved != -1 & !exists i: Id do flying(i) end ==>
begin
  unresolved := -1;
  if next != last + 1 then bump := true; end;
end;

rule "producer bumps epoch" bump ==>
begin
  epoch := epoch + 1;
  next := 0;
  for i: Id do
    if flying(i) then
      batch[i].epoch := epoch;
      batch[i].number := next;
      batch[i].changed := true;
      next := next + 1;
    end;
  end;
  last := -1;
  unresolved := -1;
  bump := false;
end;

rule "producer learns leader" leader < term ==>
begin leader := term; end;

rule "leader appends" unanswered(term) < in_flight & !old(wire[term][unanswered(term)])
  & fits(wire[term][unanswered(term)]) ==>
var p: Place;
begin
  p := unanswered(term);
  append(wire[term][p]);
  wire[term][p].answer := success;
  wire[term][p].offset := log_end - 1;
end;

rule "leader appends late request" late[0].used & !old(late[0]) & fits(late[0]) ==>
begin append(late[0]); drop_late(); end;

rule "leader answers duplicate" unanswered(term) < in_flight
  & duplicate(wire[term][unanswered(term)]) != -1 ==>
var p: Place;
begin
  p := unanswered(term);
  wire[term][p].offset := duplicate(wire[term][p]);
  wire[term][p].answer := success;
end;

rule "leader refuses number" unanswered(term) < in_flight
  & duplicate(wire[term][unanswered(term)]) = -1 & !fits(wire[term][unanswered(term)]) ==>
begin wire[term][unanswered(term)].answer := out_of_order; end;

rule "brokers forget producer" expiries < expirations & known() ==>
begin
  forgotten := log_end;
  expiries := expiries + 1;
end;

ruleset o: 0..longest do
  rule "controller elects leader" term < elections & committed <= o & o <= log_end ==>
  begin
    term := term + 1;
    for q: 0..longest-1 do
      if q >= o then clear log[q]; log[q].epoch := -1; log[q].number := -1; end;
    end;
    log_end := o;
    if forgotten > o then forgotten := o; end;
    for t: Term do
      for p: Place do
        if wire[t][p].used & wire[t][p].offset >= o then
          wire[t][p].answer := not_leader;
          wire[t][p].offset := -1;
        end;
      end;
    end;
    for w: Waiting do nobody(late[w]); end;
  end;
end;

invariant "AcknowledgedRecordsWritten" forall i: Id do batch[i].phase = acknowledged ->
    batch[i].offset < log_end & log[batch[i].offset].id = i
  end;
