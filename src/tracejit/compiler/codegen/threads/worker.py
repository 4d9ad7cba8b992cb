"""What threads do that work on a job, and what workers do between jobs, as LLVM text."""

TEXT = """
; Takes parts of the thread's own share until none is left, then of the others'; how many iterations these were.
define internal i64 @work(ptr %scratch, i64 %me) #0 {{
entry:
  %body = load ptr, ptr {body}, align 8
  %closure = load ptr, ptr {closure}, align 8
  %count = load i64, ptr {count}, align 8
  %grain = load i64, ptr {grain}, align 8
  %shares.32 = load i32, ptr {shares}, align 4
  %shares = zext i32 %shares.32 to i64
  %rest = load i64, ptr {rest}, align 8
  %each = load i64, ptr {share}, align 8
  br label %visit
visit:
  %v = phi i64 [ 0, %entry ], [ %v.n, %empty ]
  %done.0 = phi i64 [ 0, %entry ], [ %done.2, %empty ]
  %place = add i64 %me, %v
  %number = urem i64 %place, %shares
  %first = mul i64 %number, %each
  %full.share = add i64 %first, %each
  %last.share = icmp sgt i64 %full.share, %count
  %last = select i1 %last.share, i64 %count, i64 %full.share
  %line = mul i64 %number, {line}
  %counter = getelementptr i8, ptr {next}, i64 %line
  %own = icmp eq i64 %v, 0
  br i1 %own, label %take, label %ask
ask:
  %begun = load atomic i64, ptr %counter monotonic, align 8
  %untouched = icmp eq i64 %begun, 0
  br i1 %untouched, label %take, label %look
look:
  ; What another thread has begun and nearly done stays where it is: in that thread's cache, also at the next job.
  ; Whoever takes the first part of a share goes on until nothing is left.
  %done.look = phi i64 [ %done.0, %ask ], [ %done.n, %again ]
  %progress = load atomic i64, ptr %counter monotonic, align 8
  %at = add i64 %first, %progress
  %remaining = sub i64 %last, %at
  %much = icmp sgt i64 %remaining, %rest
  br i1 %much, label %take, label %empty
take:
  %done.1 = phi i64 [ %done.0, %visit ], [ %done.0, %ask ], [ %done.look, %look ], [ %done.n, %again ]
  %stays = phi i1 [ true, %visit ], [ true, %ask ], [ false, %look ], [ %stays, %again ]
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
  br label %again
again:
  br i1 %stays, label %take, label %look
empty:
  %done.2 = phi i64 [ %done.look, %look ], [ %done.1, %take ]
  %v.n = add i64 %v, 1
  %more = icmp ult i64 %v.n, %shares
  br i1 %more, label %visit, label %done
done:
  ret i64 %done.2
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
  call void @step_aside()
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
  atomicrmw add ptr {sleeping}, i32 1 seq_cst, align 4
  br label %sleeping
sleeping:
  call void @sleep_while(ptr {epoch}, i32 %epoch)
  %seen.asleep = load atomic i32, ptr {epoch} seq_cst, align 4
  %new.asleep = icmp ne i32 %seen.asleep, %epoch
  br i1 %new.asleep, label %woken, label %sleeping
woken:
  atomicrmw sub ptr {sleeping}, i32 1 seq_cst, align 4
  %dense = load atomic i32, ptr {dense} monotonic, align 4
  %soon = icmp ne i32 %dense, 0
  %half = lshr i32 %watch, 1
  %enough = icmp ugt i32 %half, {watch_least}
  %less = select i1 %enough, i32 %half, i32 {watch_least}
  %adapted = select i1 %soon, i32 {watch}, i32 %less
  br label %go
go:
  %watch.seen = phi i32 [ {watch}, %caught ], [ %adapted, %woken ]
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
"""
