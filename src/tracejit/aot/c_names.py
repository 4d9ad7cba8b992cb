"""Names that C and C++ have taken: words of the languages, macros of their headers, functions of their libraries."""

from __future__ import annotations

import re

#: C up to C23, C++ up to C++23, and what GNU compilers add; `work` is a parameter of ours.
_WORDS = frozenset(
    "alignas alignof and and_eq asm auto bitand bitor bool break case catch char char16_t char32_t char8_t "
    "class co_await co_return co_yield compl concept const const_cast consteval constexpr constinit continue "
    "decltype default delete do double dynamic_cast else enum explicit export extern false float for friend "
    "goto if inline int long mutable namespace new noexcept not not_eq nullptr operator or or_eq private "
    "protected public register reinterpret_cast requires restrict return short signed sizeof static "
    "static_assert static_cast struct switch template this thread_local throw true try typedef typeid "
    "typename typeof typeof_unqual union unsigned using virtual void volatile wchar_t while work xor xor_eq".split()
)

#: What headers that many programs include replace by something else, and the types of parameters. None ends
#: with an underscore, so that a name which does is free.
_MACROS = re.compile(
    r"_(Alignas|Alignof|Atomic|Bool|Complex|Decimal\d+|Float\d+x?|Generic|Imaginary|Noreturn|Static_assert|Thread_local)"
    r"|__[A-Za-z]\w*[A-Za-z0-9]__|__(asm|const|func|inline|restrict|signed|typeof|volatile)"
    r"|u?int(_fast|_least|ptr|max)?\d*_t|size_t|ptrdiff_t"
    r"|U?INT(_FAST|_LEAST|PTR|MAX)?\d*_(MAX|MIN|C)|(U?(CHAR|INT|L?LONG)|U?SHRT|SCHAR|SIZE|PTRDIFF|RAND)_(MAX|MIN|BIT)"
    r"|(FLT|DBL|LDBL)_[A-Z0-9_]*[A-Z0-9]|FP_(NAN|INFINITE|ZERO|SUBNORMAL|NORMAL)|SIG(ABRT|FPE|ILL|INT|KILL|SEGV|TERM)"
    r"|M_(E|LOG2E|LOG10E|LN2|LN10|PI|PI_2|PI_4|1_PI|2_PI|2_SQRTPI|SQRT2|SQRT1_2)"
    r"|NULL|EOF|BUFSIZ|EXIT_SUCCESS|EXIT_FAILURE|CLOCKS_PER_SEC|EDOM|ERANGE|EILSEQ|HUGE_VALF?|INFINITY|NAN|NDEBUG"
    r"|errno|stdin|stdout|stderr|assert|offsetof|setjmp|I|complex|imaginary|noreturn|unix|linux|i386"
)

#: Functions of C, and of POSIX's commonest: who links with another of the name, calls that.
_FUNCTIONS = frozenset(
    "abort abs acos acosh asin asinh atan atan2 atanh atexit atof atoi atol atoll bsearch cabs cacos cacosh "
    "calloc carg casin casinh catan catanh cbrt ccos ccosh ceil cexp cimag clearerr clock clog conj copysign "
    "cos cosh cpow cproj creal csin csinh csqrt ctan ctanh ctime difftime div erf erfc exit exp exp2 expm1 "
    "fabs fclose fdim feof ferror fflush fgetc fgets floor fma fmax fmin fmod fopen fork fprintf fputc fputs "
    "fread free freopen frexp fscanf fseek ftell fwrite gamma getc getchar getenv gets gmtime hypot ilogb j0 "
    "j1 jn labs ldexp ldiv lgamma llabs llrint llround localtime log log10 log1p log2 logb longjmp lrint "
    "lround main malloc memchr memcmp memcpy memmove memset mktime modf nan nearbyint nextafter nexttoward "
    "perror pow printf putc putchar puts qsort raise rand realloc remainder remove remquo rename rewind rint "
    "round scalbln scalbn scanf setbuf setlocale setvbuf signal sin sinh snprintf sprintf sqrt srand sscanf "
    "strcat strchr strcmp strcoll strcpy strcspn strerror strlen strncat strncmp strncpy strpbrk strrchr "
    "strspn strstr strtod strtof strtok strtol strtoul strxfrm system tan tanh tgamma time tmpfile tmpnam "
    "trunc ungetc y0 y1 yn accept access aligned_alloc bind close connect dup fcntl index ioctl kill link "
    "listen lseek mmap munmap open pause pipe poll random read recv select send sleep socket stat sync times "
    "truncate unlink wait write".split()
)
#: Those with a form for float, ``expf``, and one for long double, ``expl``.
_OF_FLOATS = frozenset(
    "acos acosh asin asinh atan atan2 atanh cabs cbrt ceil copysign cos cosh erf erfc exp exp2 expm1 fabs "
    "fdim floor fma fmax fmin fmod hypot lgamma log log10 log1p log2 logb nextafter pow remainder rint round "
    "sin sinh sqrt tan tanh tgamma trunc".split()
)
_WITH_SUFFIX = re.compile(r"(\w+)[fl]")


def is_word(name: str) -> bool:
    """Is it a word of C or C++, so that nothing can be called so?"""
    return name in _WORDS


def is_taken(name: str) -> bool:
    """Is it no name for a parameter, since a language has it or a header may replace it?"""
    return name in _WORDS or _MACROS.fullmatch(name) is not None


def is_library_function(name: str) -> bool:
    """Has the C library a function of this name, or as ``expf`` of ``exp`` one for narrower or wider floats?"""
    match = _WITH_SUFFIX.fullmatch(name)
    return name in _FUNCTIONS or (match is not None and match[1] in _OF_FLOATS)
