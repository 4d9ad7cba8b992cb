"""What the pool asks of the system, as LLVM text: the time, to sleep and to wake, processors."""

TEXT = """
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

; The time this thread has been on a processor, which the system has to be asked for, or 0.
define internal i64 @own_time(i1 %asked) #0 {{
  br i1 %asked, label %ask, label %leave
ask:
  %time = call i64 @read_clock(i32 {own_time})
  ret i64 %time
leave:
  ret i64 0
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
  store [16 x i64] zeroinitializer, ptr {allowed}, align 8
  %system = load ptr, ptr {system_call}, align 8
  %bytes = call i64 (i64, ...) %system(i64 {affinity}, i32 0, i64 128, ptr {allowed})
  %failed = icmp sle i64 %bytes, 0
  br i1 %failed, label %unknown, label %count
unknown:
  store i32 1024, ptr {processors}, align 4
  ret i32 1024
count:
  %k = phi i64 [ 0, %ask ], [ %k.n, %count ]
  %sum = phi i64 [ 0, %ask ], [ %sum.n, %count ]
  %place = getelementptr i64, ptr {allowed}, i64 %k
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

; The processor this thread is on, or -1.
define internal i32 @here() #0 {{
  %get = load ptr, ptr {get_processor}, align 8
  %known = icmp ne ptr %get, null
  br i1 %known, label %ask, label %unknown
ask:
  %processor = call i32 %get()
  ret i32 %processor
unknown:
  ret i32 -1
}}

; A worker on the caller's processor goes to others that the caller may run on: systems put who is woken beside who
; wakes, where the two would take turns.
define internal void @step_aside() #0 {{
  %set = alloca [16 x i64], align 8
  %mine = call i32 @here()
  %caller = load atomic i32, ptr {caller} monotonic, align 4
  %same = icmp eq i32 %mine, %caller
  %known = icmp ult i32 %mine, 1024
  %meet = and i1 %same, %known
  br i1 %meet, label %go, label %stay
go:
  %all = load [16 x i64], ptr {allowed}, align 8
  store [16 x i64] %all, ptr %set, align 8
  %number = zext i32 %mine to i64
  %which = lshr i64 %number, 6
  %place = getelementptr i64, ptr %set, i64 %which
  %word = load i64, ptr %place, align 8
  %within = and i64 %number, 63
  %bit = shl i64 1, %within
  %others = xor i64 %bit, -1
  %left = and i64 %word, %others
  store i64 %left, ptr %place, align 8
  %system = load ptr, ptr {system_call}, align 8
  call i64 (i64, ...) %system(i64 {set_affinity}, i32 0, i64 128, ptr %set)
  ret void
stay:
  ret void
}}
"""
