"""The thread pool as LLVM text: one module, whose state is the `PoolState` that Python sees, too.

A job is a range of iterations, of which every thread has a share, the same one in every job of its length: so it finds
in its caches what it wrote there. The caller opens a gate, and takes parts of its share, then of the others', as the
workers do that come in; when nothing is left it closes the gate, and waits for those inside. Nobody has to come: on a
busy machine the caller does everything alone. Waiting is watching for a while, then sleeping in the system. Whoever
finds the pool taken, or too little to do, runs its job alone. Results do not depend on who did what.
"""

from __future__ import annotations

import sys

from ....runtime.threads import state
from ....runtime.threads.state import OPEN, Symbol

LEAST = 10_000_000
"""Picoseconds of work below which a job is not shared."""
WAKING = 200_000_000
"""Picoseconds of work, in one job or several, for which sleeping workers are woken."""
SHORTEST, LONGEST = 2_000_000, 100_000_000
"""Picoseconds of work that are taken from a job at once, at least and at the most."""
PARTS = 8
"""About how many parts of a job each thread takes."""
WATCH, WATCH_LEAST = 2000, 50
"""How often a worker looks for a job before it sleeps, adapted between these."""
WATCH_NANOSECONDS = 60_000
"""A job that comes so soon after a worker fell asleep was worth watching for."""
CALLER_WATCH = 1000
"""How often a caller looks for the end of its job before it sleeps."""
ASK_NANOSECONDS = 1_000_000
"""How long what is known of the caller's processors is believed."""
MEASURED = 128
"""One in so many calls of a body runs on one thread, to see what it takes; the first time it is the second call."""
ALLOWANCE = 20
"""What sharing may lose: one part in so many of all work."""
AT_FIRST, MOST_GAINED = 200_000, 500_000
"""Nanoseconds that may be lost at first; and of gains that are remembered, to be lost again."""

#: Architecture: how a thread says that it watches, and Linux's numbers of ``futex`` and ``sched_getaffinity``.
_SYSTEMS = {
    "x86_64": ("call void @llvm.x86.sse2.pause()", "declare void @llvm.x86.sse2.pause()", 202, 204),
    "aarch64": ("call void @llvm.aarch64.hint(i32 1)", "declare void @llvm.aarch64.hint(i32)", 98, 123),
    "riscv64": ("fence seq_cst", "", 98, 123),
}

_TEXT = """
@{state} = global [{size} x i8] zeroinitializer, align 64
{declare}
declare i64 @llvm.ctpop.i64(i64)

define internal i64 @read_clock(i32 %which) #0 {{
  %time = alloca [2 x i64], align 8
  %clock = load ptr, ptr {clock}, align 8
  call i32 %clock(i32 %which, ptr %time)
  %seconds = load i64, ptr %time, align 8
  %rest = getelementptr i64, ptr %time, i64 1
  %nanoseconds = load i64, ptr %rest, align 8
  %whole = mul i64 %seconds, 1000000000
  %now = add i64 %whole, %nanoseconds
  ret i64 %now
}}

define internal void @sleep_while(ptr %word, i32 %value) #0 {{
  %system = load ptr, ptr {system_call}, align 8
  call i64 (i64, ...) %system(i64 {futex}, ptr %word, i32 128, i32 %value, ptr null, ptr null, i32 0)
  ret void
}}

define internal void @wake(ptr %word, i32 %most) #0 {{
  %system = load ptr, ptr {system_call}, align 8
  call i64 (i64, ...) %system(i64 {futex}, ptr %word, i32 129, i32 %most, ptr null, ptr null, i32 0)
  ret void
}}

; The processors this thread may run on; asked again now and then.
define internal i32 @processors(i64 %now) #0 {{
entry:
  %set = alloca [16 x i64], align 8
  %known = load i32, ptr {processors}, align 4
  %asked = load i64, ptr {asked}, align 8
  %age = sub i64 %now, %asked
  %fresh = icmp ult i64 %age, {ask_nanoseconds}
  %some = icmp sgt i32 %known, 0
  %believed = and i1 %fresh, %some
  br i1 %believed, label %keep, label %ask
keep:
  ret i32 %known
ask:
  store i64 %now, ptr {asked}, align 8
  store [16 x i64] zeroinitializer, ptr %set, align 8
  %system = load ptr, ptr {system_call}, align 8
  %bytes = call i64 (i64, ...) %system(i64 {affinity}, i32 0, i64 128, ptr %set)
  %failed = icmp sle i64 %bytes, 0
  br i1 %failed, label %unknown, label %count
unknown:
  store i32 1024, ptr {processors}, align 4
  ret i32 1024
count:
  %k = phi i64 [ 0, %ask ], [ %k.n, %count ]
  %sum = phi i64 [ 0, %ask ], [ %sum.n, %count ]
  %place = getelementptr i64, ptr %set, i64 %k
  %word = load i64, ptr %place, align 8
  %ones = call i64 @llvm.ctpop.i64(i64 %word)
  %sum.n = add i64 %sum, %ones
  %k.n = add i64 %k, 1
  %more = icmp ult i64 %k.n, 16
  br i1 %more, label %count, label %counted
counted:
  %found = trunc i64 %sum.n to i32
  store i32 %found, ptr {processors}, align 4
  ret i32 %found
}}

; Takes parts of the thread's own share until none is left, then of the others'; how many iterations these were.
define internal i64 @work(ptr %scratch, i64 %me) #0 {{
entry:
  %body = load ptr, ptr {body}, align 8
  %closure = load ptr, ptr {closure}, align 8
  %count = load i64, ptr {count}, align 8
  %grain = load i64, ptr {grain}, align 8
  %shares = load i64, ptr {shares}, align 8
  %each = load i64, ptr {share}, align 8
  br label %visit
visit:
  %v = phi i64 [ 0, %entry ], [ %v.n, %empty ]
  %done.0 = phi i64 [ 0, %entry ], [ %done.1, %empty ]
  %place = add i64 %me, %v
  %number = urem i64 %place, %shares
  %first = mul i64 %number, %each
  %full.share = add i64 %first, %each
  %last.share = icmp sgt i64 %full.share, %count
  %last = select i1 %last.share, i64 %count, i64 %full.share
  %line = mul i64 %number, {line}
  %counter = getelementptr i8, ptr {next}, i64 %line
  br label %take
take:
  %done.1 = phi i64 [ %done.0, %visit ], [ %done.n, %part ]
  %taken = atomicrmw add ptr %counter, i64 %grain monotonic, align 8
  %begin = add i64 %first, %taken
  %left = icmp slt i64 %begin, %last
  br i1 %left, label %part, label %empty
part:
  %full = add i64 %begin, %grain
  %short = icmp slt i64 %full, %last
  %end = select i1 %short, i64 %full, i64 %last
  call void %body(ptr %closure, i64 %begin, i64 %end, ptr %scratch)
  %iterations = sub i64 %end, %begin
  %done.n = add i64 %done.1, %iterations
  br label %take
empty:
  %v.n = add i64 %v, 1
  %more = icmp ult i64 %v.n, %shares
  br i1 %more, label %visit, label %done
done:
  ret i64 %done.1
}}

; What a worker thread does until it is told to stop.
define void @{worker}(ptr %scratch, i64 %me) #0 {{
entry:
  br label %look
look:
  %watch = phi i32 [ {watch}, %entry ], [ %watch, %retry ], [ %watch.seen, %go ]
  %epoch = load atomic i32, ptr {epoch} seq_cst, align 4
  %stop = load atomic i32, ptr {stop} seq_cst, align 4
  %stopped = icmp ne i32 %stop, 0
  br i1 %stopped, label %over, label %knock
knock:
  %gate = load atomic i32, ptr {gate} seq_cst, align 4
  %admitted = load atomic i32, ptr {admitted} monotonic, align 4
  %open = and i32 %gate, {open}
  %is.open = icmp ne i32 %open, 0
  %inside = and i32 %gate, {inside}
  %room = icmp slt i32 %inside, %admitted
  %may = and i1 %is.open, %room
  br i1 %may, label %enter, label %wait
enter:
  %more = add i32 %gate, 1
  %entered = cmpxchg ptr {gate}, i32 %gate, i32 %more seq_cst seq_cst, align 4
  %in = extractvalue {{ i32, i1 }} %entered, 1
  br i1 %in, label %help, label %retry
retry:
  br label %look
help:
  atomicrmw add ptr {joined}, i32 1 monotonic, align 4
  %helped = call i64 @work(ptr %scratch, i64 %me)
  %before = atomicrmw sub ptr {gate}, i32 1 seq_cst, align 4
  %last = icmp eq i32 %before, 1
  br i1 %last, label %tell, label %wait
tell:
  %sleeps = load atomic i32, ptr {caller_sleeps} seq_cst, align 4
  %asleep = icmp ne i32 %sleeps, 0
  br i1 %asleep, label %rouse, label %wait
rouse:
  call void @wake(ptr {gate}, i32 1)
  br label %wait
wait:
  br label %watching
watching:
  %n = phi i32 [ 0, %wait ], [ %n.n, %again ]
  %seen = load atomic i32, ptr {epoch} acquire, align 4
  %new = icmp ne i32 %seen, %epoch
  br i1 %new, label %caught, label %again
again:
  {pause_thread}
  %n.n = add i32 %n, 1
  %on = icmp ult i32 %n.n, %watch
  br i1 %on, label %watching, label %sleep
caught:
  br label %go
sleep:
  %from = call i64 @read_clock(i32 {wall})
  atomicrmw add ptr {sleeping}, i32 1 seq_cst, align 4
  br label %sleeping
sleeping:
  call void @sleep_while(ptr {epoch}, i32 %epoch)
  %seen.asleep = load atomic i32, ptr {epoch} seq_cst, align 4
  %new.asleep = icmp ne i32 %seen.asleep, %epoch
  br i1 %new.asleep, label %woken, label %sleeping
woken:
  atomicrmw sub ptr {sleeping}, i32 1 seq_cst, align 4
  %until = load atomic i64, ptr {posted} monotonic, align 8
  %slept = sub i64 %until, %from
  %soon = icmp slt i64 %slept, {watch_nanoseconds}
  %half = lshr i32 %watch, 1
  %enough = icmp ugt i32 %half, {watch_least}
  %less = select i1 %enough, i32 %half, i32 {watch_least}
  %adapted = select i1 %soon, i32 {watch}, i32 %less
  br label %go
go:
  %watch.seen = phi i32 [ %watch, %caught ], [ %adapted, %woken ]
  br label %look
over:
  ret void
}}

; Workers end as soon as they have finished what they took.
define void @{stop_workers}() #0 {{
  store atomic i32 1, ptr {stop} seq_cst, align 4
  atomicrmw add ptr {epoch}, i32 1 seq_cst, align 4
  call void @wake(ptr {epoch}, i32 2147483647)
  ret void
}}

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
  ; What is known of this body; of several that meet in one place the last one.
  %address = ptrtoint ptr %body to i64
  %bits = lshr i64 %address, 4
  %which = and i64 %bits, {last_site}
  %site.at = mul i64 %which, 32
  %site = getelementptr i8, ptr {sites}, i64 %site.at
  %account.at = getelementptr i8, ptr %site, i64 8
  %calls.at = getelementptr i8, ptr %site, i64 16
  %rate.at = getelementptr i8, ptr %site, i64 24
  %resident = load i64, ptr %site, align 8
  %at.home = icmp eq i64 %resident, %address
  br i1 %at.home, label %met, label %meet
meet:
  store i64 %address, ptr %site, align 8
  store i64 {at_first}, ptr %account.at, align 8
  store i64 0, ptr %calls.at, align 8
  store double 0.0, ptr %rate.at, align 8
  br label %met
met:
  %work.f = uitofp i64 %work to double
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
  %processors = call i32 @processors(i64 %now)
  %bounded = load i64, ptr {bounded}, align 8
  %bound = icmp ne i64 %bounded, 0
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
  %credit = load i64, ptr {credit}, align 8
  %credit.n = add i64 %credit, %work
  %rich = icmp uge i64 %credit.n, {waking}
  %kept = select i1 %rich, i64 0, i64 %credit.n
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
  store i64 %limit.64, ptr {shares}, align 8
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
  store atomic i64 %now, ptr {posted} monotonic, align 8
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
  %begun = call i64 @read_clock(i32 {own_time})
  %done = call i64 @work(ptr null, i64 0)
  %worked = call i64 @read_clock(i32 {own_time})
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
  br i1 %some.done, label %reckon, label %leave
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
  %gain = sub i64 %alone.ns, %all
  %sum = add i64 %account, %gain
  %kept.gains = call i64 @llvm.smin.i64(i64 %sum, i64 {most_gained})
  store i64 %kept.gains, ptr %account.at, align 8
  br label %leave
leave:
  store atomic i32 0, ptr {lock} seq_cst, align 4
  ret void
give.up:
  store atomic i32 0, ptr {lock} seq_cst, align 4
  br label %alone
alone:
  call void %body(ptr %closure, i64 0, i64 %count, ptr null)
  ret void
none:
  ret void
}}

declare i64 @llvm.umax.i64(i64, i64)
declare i64 @llvm.umin.i64(i64, i64)
declare i64 @llvm.smin.i64(i64, i64)
declare i32 @llvm.smin.i32(i32, i32)
attributes #0 = {{ noinline nounwind "no-builtins" }}
"""


def module_text(arch: str) -> str:
    """The pool's module for an architecture of Linux; KeyError for others."""
    pause, declare, futex, affinity = _SYSTEMS[arch]
    fields = {
        name: f"getelementptr (i8, ptr @{Symbol.STATE}, i64 {state.offset(name)})"
        for name, *_ in state.PoolState._fields_
    }
    numbers = {
        "size": state.LINE * -(-state.SIZE // state.LINE), "line": state.LINE, "most_shares": state.MOST_SHARES,
        "open": OPEN, "inside": OPEN - 1, "futex": futex, "affinity": affinity, "wall": 1, "own_time": 3,
        "least": LEAST, "waking": WAKING, "parts": PARTS, "shortest": SHORTEST, "longest": LONGEST, "watch": WATCH,
        "watch_least": WATCH_LEAST, "watch_nanoseconds": WATCH_NANOSECONDS, "caller_watch": CALLER_WATCH,
        "at_first": AT_FIRST, "last_site": state.SITES - 1, "last_call": MEASURED - 1,
        "ask_nanoseconds": ASK_NANOSECONDS, "most_gained": MOST_GAINED, "picoseconds_allowed": 1000 * ALLOWANCE,
    }  # fmt: skip
    names = {
        "state": Symbol.STATE, "parallel": Symbol.PARALLEL, "worker": Symbol.WORKER, "stop_workers": Symbol.STOP,
    }  # fmt: skip
    return _TEXT.format(**fields, **numbers, **names, pause_thread=pause, declare=declare)


def serves(arch: str) -> bool:
    """Is there a pool for this architecture, on this system?"""
    return arch in _SYSTEMS and sys.platform == "linux"
