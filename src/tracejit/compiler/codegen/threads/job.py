"""Handing a job to the pool, as LLVM text: whether it is worth it, and how that is learned."""

TEXT = """
; Runs body(closure, begin, end, scratch) over [0, count) in parts that begin at multiples of unit; cost is that of
; one iteration, in picoseconds. scratch is null in the caller's thread. No part is empty.
define void @{parallel}(ptr %body, ptr %closure, i64 %count, i64 %unit, i64 %cost) #0 {{
entry:
  %some = icmp sgt i64 %count, 0
  br i1 %some, label %judge, label %none
judge:
  %work = mul i64 %count, %cost
  %worth = icmp uge i64 %work, {least}
  %divisible = icmp sgt i64 %count, %unit
  %threads.0 = load atomic i32, ptr {threads} monotonic, align 4
  %several = icmp ne i32 %threads.0, 1
  %good = and i1 %worth, %divisible
  %wanted = and i1 %good, %several
  br i1 %wanted, label %try, label %alone
try:
  %had = cmpxchg ptr {lock}, i32 0, i32 1 seq_cst seq_cst, align 4
  %mine = extractvalue {{ i32, i1 }} %had, 1
  br i1 %mine, label %locked, label %alone
locked:
  %threads.1 = load atomic i32, ptr {threads} seq_cst, align 4
  %unknown = icmp eq i32 %threads.1, 0
  br i1 %unknown, label %start, label %started
start:
  %starts = load ptr, ptr {start}, align 8
  call void %starts()
  br label %started
started:
  ; What is known of this body with about as much work; of several that meet in one pair of places some two.
  %work.f = uitofp i64 %work to double
  %work.bits = bitcast double %work.f to i64
  %about = lshr i64 %work.bits, 50
  %about.high = shl i64 %about, 48
  %body.bits = ptrtoint ptr %body to i64
  %address = xor i64 %body.bits, %about.high
  %spread = mul i64 %address, {spreading}
  %which = lshr i64 %spread, {site_shift}
  %which.other = xor i64 %which, 1
  %site.at.0 = mul i64 %which, 32
  %site.at.1 = mul i64 %which.other, 32
  %site.0 = getelementptr i8, ptr {sites}, i64 %site.at.0
  %site.1 = getelementptr i8, ptr {sites}, i64 %site.at.1
  %resident.0 = load i64, ptr %site.0, align 8
  %resident.1 = load i64, ptr %site.1, align 8
  %at.home = icmp eq i64 %resident.0, %address
  %at.other = icmp eq i64 %resident.1, %address
  %taken = icmp ne i64 %resident.0, 0
  %free = icmp eq i64 %resident.1, 0
  %moves = and i1 %taken, %free
  %elsewhere = or i1 %at.other, %moves
  %stays.away = xor i1 %at.home, true
  %goes = and i1 %elsewhere, %stays.away
  %site = select i1 %goes, ptr %site.1, ptr %site.0
  %account.at = getelementptr i8, ptr %site, i64 8
  %calls.at = getelementptr i8, ptr %site, i64 16
  %rate.at = getelementptr i8, ptr %site, i64 24
  %is.known.here = or i1 %at.home, %at.other
  br i1 %is.known.here, label %met, label %meet
meet:
  store i64 %address, ptr %site, align 8
  store i64 {at_first}, ptr %account.at, align 8
  store i64 0, ptr %calls.at, align 8
  store double 0.0, ptr %rate.at, align 8
  br label %met
met:
  %rate = load double, ptr %rate.at, align 8
  %account = load i64, ptr %account.at, align 8
  %calls = load i64, ptr %calls.at, align 8
  %calls.n = add i64 %calls, 1
  store i64 %calls.n, ptr %calls.at, align 8
  %phase = and i64 %calls, {last_call}
  %turn = icmp eq i64 %phase, 1
  br i1 %turn, label %measure, label %met.before
measure:
  %from = call i64 @read_clock(i32 {own_time})
  call void %body(ptr %closure, i64 0, i64 %count, ptr null)
  %until = call i64 @read_clock(i32 {own_time})
  %took = sub i64 %until, %from
  %took.f = sitofp i64 %took to double
  %measured = fdiv double %took.f, %work.f
  store double %measured, ptr %rate.at, align 8
  br label %leave
met.before:
  %poor = icmp slt i64 %account, 0
  br i1 %poor, label %rest, label %ready
rest:
  %earned = udiv i64 %work, {picoseconds_allowed}
  %earning = add i64 %account, %earned
  store i64 %earning, ptr %account.at, align 8
  br label %give.up
ready:
  %threads = load atomic i32, ptr {threads} seq_cst, align 4
  %now = call i64 @read_clock(i32 {wall})
  %last.end = load atomic i64, ptr {finished} monotonic, align 8
  %gap = sub i64 %now, %last.end
  %is.dense = icmp slt i64 %gap, {dense_nanoseconds}
  %processors = call i32 @processors(i64 %now)
  %bounded = load i32, ptr {bounded}, align 4
  %bound = icmp ne i32 %bounded, 0
  %less = icmp slt i32 %processors, %threads
  %fewer = and i1 %bound, %less
  %limit.0 = select i1 %fewer, i32 %processors, i32 %threads
  %limit = call i32 @llvm.smin.i32(i32 %limit.0, i32 {most_shares})
  %others = sub i32 %limit, 1
  %any = icmp sgt i32 %others, 0
  br i1 %any, label %awake, label %give.up
awake:
  %sleeping = load atomic i32, ptr {sleeping} seq_cst, align 4
  %workers = load i32, ptr {workers}, align 4
  %all.asleep = icmp sge i32 %sleeping, %workers
  br i1 %all.asleep, label %save, label %share
save:
  %credit.0 = load i64, ptr {credit}, align 8
  %old = icmp uge i64 %credit.0, {waking}
  %sparse = xor i1 %is.dense, true
  %over.now = and i1 %old, %sparse
  %credit = select i1 %over.now, i64 0, i64 %credit.0
  %credit.n = add i64 %credit, %work
  %rich = icmp uge i64 %credit.n, {waking}
  %kept = call i64 @llvm.umin.i64(i64 %credit.n, i64 {waking})
  store i64 %kept, ptr {credit}, align 8
  br i1 %rich, label %share, label %give.up
share:
  %limit.64 = zext i32 %limit to i64
  %all.parts = mul i64 %limit.64, {parts}
  %part = udiv i64 %work, %all.parts
  %part.1 = call i64 @llvm.umax.i64(i64 %part, i64 {shortest})
  %part.2 = call i64 @llvm.umin.i64(i64 %part.1, i64 {longest})
  %iterations = udiv i64 %part.2, %cost
  %up = add i64 %iterations, %unit
  %up.1 = sub i64 %up, 1
  %units = udiv i64 %up.1, %unit
  %units.1 = call i64 @llvm.umax.i64(i64 %units, i64 1)
  %grain = mul i64 %units.1, %unit
  %apart = icmp slt i64 %grain, %count
  br i1 %apart, label %post, label %give.up
post:
  store ptr %body, ptr {body}, align 8
  store ptr %closure, ptr {closure}, align 8
  store i64 %count, ptr {count}, align 8
  store i64 %grain, ptr {grain}, align 8
  %even = add i64 %count, %limit.64
  %even.1 = sub i64 %even, 1
  %each = udiv i64 %even.1, %limit.64
  %each.1 = add i64 %each, %unit
  %each.2 = sub i64 %each.1, 1
  %each.3 = udiv i64 %each.2, %unit
  %each.4 = mul i64 %each.3, %unit
  store i32 %limit, ptr {shares}, align 4
  %owners = udiv i64 {rest_work}, %cost
  store i64 %owners, ptr {rest}, align 8
  store i64 %each.4, ptr {share}, align 8
  br label %reset
reset:
  %r = phi i64 [ 0, %post ], [ %r.n, %reset ]
  %r.line = mul i64 %r, {line}
  %r.place = getelementptr i8, ptr {next}, i64 %r.line
  store atomic i64 0, ptr %r.place monotonic, align 8
  %r.n = add i64 %r, 1
  %r.more = icmp ult i64 %r.n, %limit.64
  br i1 %r.more, label %reset, label %publish
publish:
  store atomic i32 %others, ptr {admitted} monotonic, align 4
  %dense = zext i1 %is.dense to i32
  store atomic i32 %dense, ptr {dense} monotonic, align 4
  %here = call i32 @here()
  store atomic i32 %here, ptr {caller} monotonic, align 4
  store atomic i32 {open}, ptr {gate} seq_cst, align 4
  %jobs = load i64, ptr {jobs}, align 8
  %jobs.n = add i64 %jobs, 1
  store i64 %jobs.n, ptr {jobs}, align 8
  atomicrmw add ptr {epoch}, i32 1 seq_cst, align 4
  %to.wake = load atomic i32, ptr {sleeping} seq_cst, align 4
  %wakes = icmp sgt i32 %to.wake, 0
  br i1 %wakes, label %waken, label %own
waken:
  call void @wake(ptr {epoch}, i32 %others)
  br label %own
own:
  %long = icmp uge i64 %work, {reckoned_always}
  %eighth = and i64 %calls, 7
  %chosen = icmp eq i64 %eighth, 2
  %reckoned = or i1 %long, %chosen
  %begun = call i64 @own_time(i1 %reckoned)
  %done = call i64 @work(ptr null, i64 0)
  %worked = call i64 @own_time(i1 %reckoned)
  %closed = atomicrmw and ptr {gate}, i32 {inside} seq_cst, align 4
  %inside = and i32 %closed, {inside}
  %finished = icmp eq i32 %inside, 0
  br i1 %finished, label %over, label %watching
watching:
  %n = phi i32 [ 0, %own ], [ %n.n, %again ]
  %gate = load atomic i32, ptr {gate} acquire, align 4
  %empty = icmp eq i32 %gate, 0
  br i1 %empty, label %over, label %again
again:
  {pause_thread}
  %n.n = add i32 %n, 1
  %on = icmp ult i32 %n.n, {caller_watch}
  br i1 %on, label %watching, label %sleep
sleep:
  store atomic i32 1, ptr {caller_sleeps} seq_cst, align 4
  br label %asleep
asleep:
  %gate.asleep = load atomic i32, ptr {gate} seq_cst, align 4
  %empty.asleep = icmp eq i32 %gate.asleep, 0
  br i1 %empty.asleep, label %woken, label %on.asleep
on.asleep:
  call void @sleep_while(ptr {gate}, i32 %gate.asleep)
  br label %asleep
woken:
  store atomic i32 0, ptr {caller_sleeps} seq_cst, align 4
  br label %over
over:
  ; What one thread would have needed follows from what this one did in its time on a processor, which it may have
  ; shared with a worker, or from what it once did alone: caches may make others' help expensive. The rest is gained,
  ; or lost.
  %some.done = icmp sgt i64 %done, 0
  %to.reckon = and i1 %reckoned, %some.done
  br i1 %to.reckon, label %reckon, label %leave
reckon:
  %end = call i64 @read_clock(i32 {wall})
  %busy = sub i64 %worked, %begun
  %all = sub i64 %end, %now
  %busy.f = sitofp i64 %busy to double
  %count.f = sitofp i64 %count to double
  %done.f = sitofp i64 %done to double
  %ratio = fdiv double %count.f, %done.f
  %likely = fmul double %busy.f, %ratio
  %by.rate = fmul double %rate, %work.f
  %lower = fcmp olt double %by.rate, %likely
  %is.known = fcmp ogt double %rate, 0.0
  %better = and i1 %lower, %is.known
  %alone.f = select i1 %better, double %by.rate, double %likely
  %alone.ns = fptosi double %alone.f to i64
  %gain.1 = sub i64 %alone.ns, %all
  %weight = select i1 %long, i64 1, i64 8
  %gain = mul i64 %gain.1, %weight
  %sum = add i64 %account, %gain
  %kept.gains = call i64 @llvm.smin.i64(i64 %sum, i64 {most_gained})
  %kept.losses = call i64 @llvm.smax.i64(i64 %kept.gains, i64 {most_lost})
  ; What was measured long ago may have been another state of the machine, and one loss may be an accident: the next
  ; call is measured before losses count.
  %is.lost = icmp slt i64 %kept.losses, 0
  %is.old = icmp ugt i64 %phase, {fresh_calls}
  %doubted = and i1 %is.lost, %is.old
  %believed = select i1 %doubted, i64 0, i64 %kept.losses
  %calls.next = select i1 %doubted, i64 1, i64 %calls.n
  store i64 %believed, ptr %account.at, align 8
  store i64 %calls.next, ptr %calls.at, align 8
  br label %leave
leave:
  %left = call i64 @read_clock(i32 {wall})
  store atomic i64 %left, ptr {finished} monotonic, align 8
  store atomic i32 0, ptr {lock} seq_cst, align 4
  ret void
give.up:
  store atomic i32 0, ptr {lock} seq_cst, align 4
  call void %body(ptr %closure, i64 0, i64 %count, ptr null)
  %done.alone = call i64 @read_clock(i32 {wall})
  store atomic i64 %done.alone, ptr {finished} monotonic, align 8
  ret void
alone:
  call void %body(ptr %closure, i64 0, i64 %count, ptr null)
  ret void
none:
  ret void
}}

declare i64 @llvm.umax.i64(i64, i64)
declare i64 @llvm.umin.i64(i64, i64)
declare i64 @llvm.smin.i64(i64, i64)
declare i64 @llvm.smax.i64(i64, i64)
declare i32 @llvm.smin.i32(i32, i32)
attributes #0 = {{ noinline nounwind "no-builtins" }}
"""
