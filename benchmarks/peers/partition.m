-- One partition of Kafka: the versions kafka-0.10 (fenced: 0) and kafka-2.1 (fenced: 1).
-- Written from docs/partition.md and docs/rules-partition.md, to compare the number of states.
-- An epoch cache is an array from leader epoch to start offset; -1: the cache has no such entry.
const
  brokers: 3;
  records: 1;
  acks: -1;
  min_insync: 2;
  unclean: 0;
  flush_each_record: 0;
  crashes: 1;
  power_losses: 0;
  disk_losses: 0;
  cut_offs: 0;
  leader_moves: 0;
  slow_followers: 1;
  fenced: 1; -- 1: requests carry the leader epoch (KIP-320), and a follower truncates by epoch
  kept: 0; -- 1: check AcknowledgedRecordsKept
  epochs: 2 * (crashes + power_losses + disk_losses + cut_offs) + leader_moves;
type
  Broker: 0..brokers-1;
  Leader: -1..brokers-1; -- -1: there is none
  Epoch: 0..epochs;
  Known: -1..epochs; -- -1: the broker knows of no decision
  Id: 0..records-1;
  Offset: 0..records;
  Bound: -1..records; -- -1: unknown
  Members: array[Broker] of boolean;
  Cache: array[Epoch] of Bound;
  Item: record id: Id; epoch: Epoch; end;
  Decision: record sent: boolean; leader: Leader; isr: Members; end;
  Leadership: record isr: Members; ends: array[Broker] of Bound; since: Epoch; end;
  Replica: record
    log_end: Offset;
    log: array[Id] of Item;
    cache: Cache;
    hw: Offset;
    up: boolean;
    epoch: Known;
    leader: Leader;
    truncates: boolean;
    leads: boolean;
    state: Leadership;
  end;
var
  replica: array[Broker] of Replica;
  inbox: array[Broker] of array[Epoch] of Decision;
  epoch: Epoch; -- the controller's, with its leader and ISR
  leader: Leader;
  isr: Members;
  dead: Members; -- those that the controller has fenced
  acknowledged: array[Id] of boolean;
  readable: Offset;
  could_read: array[Id] of Id;
  lower_end_listed: boolean;
  produced: Offset;
  crashed: 0..crashes;
  powerless: 0..power_losses;
  diskless: 0..disk_losses;
  cut_off: 0..cut_offs;
  moved: 0..leader_moves;

-- sets ---------------------------------------------------------------------------------------------

function size(m: Members): 0..brokers;
var n: 0..brokers;
begin
  n := 0;
  for b: Broker do if m[b] then n := n + 1; end; end;
  return n;
end;

function equal(m: Members; o: Members): boolean;
begin
  return forall b: Broker do m[b] = o[b] end;
end;

-- the epoch cache ----------------------------------------------------------------------------------

function latest(c: Cache): Known;
var found: Known;
begin
  found := -1;
  for e: Epoch do if c[e] != -1 then found := e; end; end;
  return found;
end;

procedure note_epoch(b: Broker; e: Epoch; start: Offset);
begin
  if latest(replica[b].cache) = e & replica[b].cache[e] <= start then return; end;
  for other: Epoch do
    if other >= e | replica[b].cache[other] >= start then replica[b].cache[other] := -1; end;
  end;
  replica[b].cache[e] := start;
end;

procedure truncate_to(b: Broker; offset: Offset);
begin
  if offset < replica[b].log_end then
    for i: Id do if i >= offset then clear replica[b].log[i]; end; end;
    replica[b].log_end := offset;
  end;
  for e: Epoch do
    if replica[b].cache[e] >= replica[b].log_end then replica[b].cache[e] := -1; end;
  end;
  if replica[b].hw > replica[b].log_end then replica[b].hw := replica[b].log_end; end;
end;

-- OffsetsForLeaderEpoch: the offset where an epoch ended, -1 if the cache does not know ...
function end_of(c: Cache; wanted: Known; log_end: Offset): Bound;
begin
  if wanted = -1 | wanted > latest(c) then return -1; end;
  if wanted = latest(c) then return log_end; end;
  for e: Epoch do if e > wanted & c[e] != -1 then return c[e]; end; end;
  error "an epoch below the latest has a successor";
end;

-- ... and the epoch of the response: the greatest that is known and not newer.
function answered(c: Cache; wanted: Known): Known;
var found: Known;
begin
  found := wanted;
  for e: Epoch do if e <= wanted & c[e] != -1 then found := e; end; end;
  return found;
end;

-- the leader ---------------------------------------------------------------------------------------

procedure advance_hw(b: Broker);
var reached: Bound;
begin
  reached := replica[b].log_end;
  for m: Broker do
    if m != b & replica[b].state.isr[m] & replica[b].state.ends[m] < reached then
      reached := replica[b].state.ends[m];
    end;
  end;
  if reached <= replica[b].hw then return; end;
  for i: Id do
    if i >= replica[b].hw & i < reached & acks = -1 & size(replica[b].state.isr) >= min_insync
       & replica[b].log[i].epoch >= replica[b].state.since then
      acknowledged[replica[b].log[i].id] := true;
    end;
    if i >= readable & i < reached then could_read[i] := replica[b].log[i].id; end;
  end;
  if readable < reached then readable := reached; end;
  replica[b].hw := reached;
end;

function may_write_isr(b: Broker): boolean;
begin
  return epoch = replica[b].epoch & equal(isr, replica[b].state.isr);
end;

function fetches(l: Broker; f: Broker): boolean;
begin
  return l != f & replica[l].leads & replica[f].leader = l & !replica[f].truncates
    & (fenced = 1 -> replica[f].epoch = replica[l].epoch)
    & (fenced = 0 -> replica[f].log_end <= replica[l].log_end);
end;

function joins(l: Broker; f: Broker): boolean;
begin
  return !replica[l].state.isr[f] & replica[f].log_end >= replica[l].hw & may_write_isr(l)
    & (fenced = 1 -> replica[f].log_end >= replica[l].cache[latest(replica[l].cache)]);
end;

procedure count(l: Broker; f: Broker);
var expands: boolean;
begin
  expands := joins(l, f);
  replica[l].state.ends[f] := replica[f].log_end;
  if expands then replica[l].state.isr[f] := true; isr[f] := true; end;
  advance_hw(l);
end;

-- the controller -----------------------------------------------------------------------------------

procedure inform(b: Broker);
begin
  if leader != -1 then
    inbox[b][epoch].sent := true;
    inbox[b][epoch].leader := leader;
    inbox[b][epoch].isr := isr;
  end;
end;

procedure decide(chosen: Leader);
begin
  epoch := epoch + 1;
  leader := chosen;
  for b: Broker do if replica[b].up & !dead[b] then inform(b); end; end;
end;

function may_lead(b: Broker): boolean;
begin
  if exists m: Broker do isr[m] & !dead[m] end | unclean = 0 then return isr[b] & !dead[b]; end;
  return !dead[b];
end;

procedure elect(b: Broker);
var clean: boolean;
begin
  clean := isr[b];
  for m: Broker do isr[m] := (clean & isr[m] & !dead[m]) | (!clean & m = b); end;
  decide(b);
end;

procedure unfence(b: Broker);
begin
  dead[b] := false;
  if leader = -1 & may_lead(b) then elect(b);
  elsif !inbox[b][epoch].sent & replica[b].epoch < epoch then inform(b);
  end;
end;

procedure forget(b: Broker; e: Epoch);
begin
  for other: Epoch do if other <= e then clear inbox[b][other]; end; end;
end;

procedure stop(b: Broker);
begin
  replica[b].up := false;
  replica[b].epoch := -1;
  replica[b].leader := -1;
  replica[b].truncates := false;
  replica[b].leads := false;
  clear replica[b].state;
  clear inbox[b];
end;

-- rules --------------------------------------------------------------------------------------------

startstate begin
  clear replica; clear inbox; clear epoch; clear dead; clear acknowledged; clear readable;
  clear could_read; clear lower_end_listed; clear produced;
  clear crashed; clear powerless; clear diskless; clear cut_off; clear moved;
  leader := 0;
  for b: Broker do
    isr[b] := true;
    replica[b].up := true;
    replica[b].epoch := 0;
    replica[b].leader := 0;
    replica[0].state.isr[b] := true;
  end;
  replica[0].leads := true;
  replica[0].cache[0] := 0;
end;

ruleset b: Broker do
  rule "leader appends" produced < records & replica[b].leads
    & (acks = -1 -> size(replica[b].state.isr) >= min_insync) ==>
  var at: Offset;
  begin
    at := replica[b].log_end;
    replica[b].log[at].id := produced;
    replica[b].log[at].epoch := replica[b].epoch;
    note_epoch(b, replica[b].epoch, at);
    replica[b].log_end := at + 1;
    if acks != -1 then acknowledged[produced] := true; end;
    produced := produced + 1;
    advance_hw(b);
  end;

  rule "record is dropped" produced < records & acks = 0 & !replica[b].leads
    & (leader = b | exists o: Broker do replica[o].leader = b end) ==>
  begin
    acknowledged[produced] := true;
    produced := produced + 1;
  end;

  rule "leader lists lower end" replica[b].leads & leader = b & replica[b].epoch = epoch
    & replica[b].hw < readable ==>
  begin lower_end_listed := true; end;

  rule "broker crashes" crashed < crashes & replica[b].up ==>
  begin crashed := crashed + 1; stop(b); end;

  ruleset flushed: Offset do
    rule "broker loses power" powerless < power_losses & replica[b].up
      & flushed <= replica[b].log_end
      & (flushed = replica[b].log_end | flush_each_record = 0) ==>
    begin powerless := powerless + 1; stop(b); truncate_to(b, flushed); end;
  end;

  rule "broker loses disk" diskless < disk_losses & replica[b].up ==>
  begin diskless := diskless + 1; stop(b); truncate_to(b, 0); end;

  ruleset checkpoint: Offset do
    rule "broker restarts" !replica[b].up & dead[b] & checkpoint <= replica[b].hw ==>
    begin replica[b].up := true; replica[b].hw := checkpoint; unfence(b); end;
  end;

  rule "controller unfences broker" dead[b] & replica[b].up ==>
  begin unfence(b); end;

  rule "controller moves leadership" moved < leader_moves & leader != -1 & leader != b
    & isr[b] & !dead[b] ==>
  begin moved := moved + 1; elect(b); end;

  rule "controller fences follower" !dead[b] & leader != b
    & (replica[b].up -> cut_off < cut_offs) ==>
  begin
    if replica[b].up then cut_off := cut_off + 1; end;
    dead[b] := true;
    if isr[b] & size(isr) > 1 then isr[b] := false; decide(leader); end;
  end;

  ruleset chosen: Leader do
    rule "controller fences leader" !dead[b] & leader = b & chosen != b
      & (replica[b].up -> cut_off < cut_offs)
      & (chosen != -1 -> !dead[chosen] & (isr[chosen] |
          (unclean = 1 & !exists m: Broker do m != b & isr[m] & !dead[m] end)))
      & (chosen = -1 -> !exists m: Broker do m != b & !dead[m] & (isr[m] | unclean = 1) end) ==>
    begin
      if replica[b].up then cut_off := cut_off + 1; end;
      dead[b] := true;
      if chosen = -1 then decide(chosen); else elect(chosen); end;
    end;
  end;

  ruleset e: Epoch do
    rule "broker becomes leader" !dead[b] & inbox[b][e].sent & inbox[b][e].leader = b ==>
    begin
      if !replica[b].leads then
        clear replica[b].state;
        replica[b].state.since := e;
        replica[b].leads := true;
      end;
      replica[b].state.isr := inbox[b][e].isr;
      replica[b].epoch := e;
      replica[b].leader := b;
      replica[b].truncates := false;
      forget(b, e);
      if fenced = 1 then note_epoch(b, e, replica[b].log_end); end;
      advance_hw(b);
    end;

    rule "broker becomes follower" !dead[b] & inbox[b][e].sent & inbox[b][e].leader != b ==>
    var known: boolean;
    begin
      known := replica[b].leader = inbox[b][e].leader;
      replica[b].epoch := e;
      replica[b].leader := inbox[b][e].leader;
      replica[b].leads := false;
      clear replica[b].state;
      forget(b, e);
      if fenced = 1 then
        replica[b].truncates := replica[b].log_end > 0;
        if !replica[b].truncates then truncate_to(b, 0); end;
      elsif !known then truncate_to(b, replica[b].hw);
      end;
    end;
  end;
end;

ruleset l: Broker; f: Broker do
  rule "leader shrinks ISR" replica[l].leads & f != l & replica[l].state.isr[f]
    & replica[l].state.ends[f] != replica[l].log_end
    & (replica[f].up -> slow_followers = 1) & may_write_isr(l) ==>
  begin
    replica[l].state.isr[f] := false;
    isr[f] := false;
    advance_hw(l);
  end;

  rule "leader counts fetch" fetches(l, f)
    & (replica[l].state.ends[f] != replica[f].log_end | joins(l, f)) ==>
  begin count(l, f); end;

  -- The response has the high watermark from before the fetch is counted.
  rule "follower fetches" fetches(l, f)
    & (replica[f].log_end < replica[l].log_end
       | (replica[l].state.ends[f] = replica[f].log_end & replica[l].hw != replica[f].hw)) ==>
  var hw: Offset;
  begin
    hw := replica[l].hw;
    count(l, f);
    for i: Id do
      if i >= replica[f].log_end & i < replica[l].log_end then
        replica[f].log[i] := replica[l].log[i];
        note_epoch(f, replica[l].log[i].epoch, i);
      end;
    end;
    if replica[f].log_end < replica[l].log_end then replica[f].log_end := replica[l].log_end; end;
    if hw < replica[f].log_end then replica[f].hw := hw;
    else replica[f].hw := replica[f].log_end;
    end;
  end;

  rule "follower truncates by epoch" replica[l].leads & replica[f].leader = l
    & replica[f].truncates & replica[f].epoch = replica[l].epoch ==>
  var wanted: Known; common: Known; theirs: Bound; own: Bound;
  begin
    wanted := latest(replica[f].cache);
    theirs := end_of(replica[l].cache, wanted, replica[l].log_end);
    common := answered(replica[l].cache, wanted);
    own := end_of(replica[f].cache, common, replica[f].log_end);
    replica[f].truncates := theirs != -1 & own != -1
      & answered(replica[f].cache, common) != common;
    if theirs = -1 then truncate_to(f, replica[f].hw);
    elsif own = -1 | (!replica[f].truncates & theirs < own) then truncate_to(f, theirs);
    else truncate_to(f, own);
    end;
  end;

  rule "follower truncates to leader's end" fenced = 0 & l != f & replica[l].leads
    & replica[f].leader = l & replica[f].log_end > replica[l].log_end ==>
  begin truncate_to(f, replica[l].log_end); end;
end;

invariant "HwWithinLog" forall b: Broker do replica[b].hw <= replica[b].log_end end;

invariant "AcknowledgedRecordsKept" kept = 1 ->
  forall b: Broker do replica[b].leads & leader = b & replica[b].epoch = epoch ->
    forall r: Id do acknowledged[r] ->
      exists i: Id do i < replica[b].log_end & replica[b].log[i].id = r end
    end
  end;
