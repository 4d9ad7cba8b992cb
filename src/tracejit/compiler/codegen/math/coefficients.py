"""Baked coefficients of the vector math library, lowest order first, exact as hexadecimal floats. Unless a
source is named they are near-minimax (Chebyshev) fits, made once in 200-bit arithmetic, of the quotient and
interval in the comment above them. Data only: how they are used is said where they are used.
"""


def _coefficients(text: str) -> tuple[float, ...]:
    return tuple(map(float.fromhex, text.split()))


# (exp(r) - 1 - r) / r^2 on |r| <= log(2)/2
EXP_DOUBLE = _coefficients("""
    0x1.0000000000001p-1 0x1.5555555555556p-3 0x1.5555555553b6cp-5 0x1.1111111110918p-7
    0x1.6c16c1794e1dcp-10 0x1.a01a01a83ba17p-13 0x1.a019b621f9d08p-16 0x1.71de0be2b5e96p-19
    0x1.2894f52583578p-22 0x1.af3ce42b12b24p-26
""")
EXP_FLOAT = _coefficients("""
    0x1p-1 0x1.5554d8p-3 0x1.555516p-5 0x1.12106cp-7 0x1.6d1606p-10
""")

# exp(r) on |r| <= log(2)/2, to single accuracy in double arithmetic
EXP_SHORT = _coefficients("""
    0x1p+0 0x1.000000abf734p+0 0x1.0000002af73ffp-1 0x1.5553f68955eb9p-3
    0x1.5554a60827e6ep-5 0x1.1276b6cd5b1ap-7 0x1.6d7c40355e704p-10
""")

# (log1p(f) - f + f^2/2) / f^3 on [sqrt(1/2) - 1, sqrt(2) - 1]
LOG_FLOAT = _coefficients("""
    0x1.555554p-2 -0x1.0000cep-2 0x1.999f14p-3 -0x1.54d03ep-3 0x1.231ce6p-3 -0x1.0a33eap-3
    0x1.02814ep-3 -0x1.43b246p-4
""")

# (sin(r)/r - 1) / r^2 in z = r^2, |r| <= pi/2
SIN_DOUBLE = _coefficients("""
    -0x1.5555555555555p-3 0x1.1111111111111p-7 -0x1.a01a01a01a00dp-13 0x1.71de3a556b98cp-19
    -0x1.ae64567e70fb2p-26 0x1.612460b59d7abp-33 -0x1.ae7ee31cfb52p-41 0x1.9507da086f72ap-49
    -0x1.275b305eb8689p-57
""")
SIN_FLOAT = _coefficients("""
    -0x1.555556p-3 0x1.11111p-7 -0x1.a01904p-13 0x1.719648p-19 -0x1.9da968p-26
""")

# the same for |r| <= pi/4
SIN_QUARTER_DOUBLE = _coefficients("""
    -0x1.5555555555555p-3 0x1.1111111110ba5p-7 -0x1.a01a019e80693p-13 0x1.71de379252004p-19
    -0x1.ae60069e53ef1p-26 0x1.5e098556d302ep-33
""")

# (cos(r) - 1 + z/2) / z^2 in z = r^2, |r| <= pi/4
COS_QUARTER_DOUBLE = _coefficients("""
    0x1.5555555555555p-5 -0x1.6c16c16c1696p-10 0x1.a01a019f4d0edp-16 -0x1.27e4fa15bd814p-22
    0x1.1eeb66b683028p-29 -0x1.907c0e63adbb6p-37
""")

# (tan(r)/r - 1) / r^2 in z = r^2, |r| <= pi/4
TAN_QUARTER_FLOAT = _coefficients("""
    0x1.55555p-2 0x1.11169ep-3 0x1.b87fdep-5 0x1.7bb2a2p-6 0x1.4c5172p-8 0x1.0efe2cp-7
""")

# (atan(t)/t - 1) / z in z = t^2, t <= tan(pi/8)
ATAN_DOUBLE = _coefficients("""
    -0x1.5555555555555p-2 0x1.9999999999346p-3 -0x1.2492492435cefp-3 0x1.c71c71850a87cp-4
    -0x1.745d0b2091602p-4 0x1.3b12624a748ddp-4 -0x1.10fa6d5c134ap-4 0x1.dfe595fbcecdep-5
    -0x1.a095f1348d5e3p-5 0x1.41582779ac536p-5 -0x1.3a17becee1f16p-6
""")
ATAN_FLOAT = _coefficients("""
    -0x1.555554p-2 0x1.99973p-3 -0x1.242014p-3 0x1.b80d6cp-4 -0x1.083c36p-4
""")

# (asin(t)/t - 1) / z in z = t^2, t <= 1/2
ASIN_DOUBLE = _coefficients("""
    0x1.555555555554fp-3 0x1.3333333336da5p-4 0x1.6db6db684b6a1p-5 0x1.f1c71f95269afp-6
    0x1.6e8b2b3b10be4p-6 0x1.1c593c7b1d958p-6 0x1.c87265d47ef49p-7 0x1.8522ddffa6208p-7
    0x1.ff5fc4d14c735p-8 0x1.06b9d26d10838p-6 -0x1.603991d6060ep-7 0x1.cd864394d2ff2p-6
""")
ASIN_FLOAT = _coefficients("""
    0x1.55555ep-3 0x1.332732p-4 0x1.70a6bcp-5 0x1.b311d2p-6 0x1.37fe16p-5
""")

# (2 atanh(s) - 2s - 2/3 s^3) / s^5 in z = s^2, s <= tanh(log(2)/4)
ATANH_TAIL = _coefficients("""
    0x1.999999999999ap-2 0x1.2492492492491p-2 0x1.c71c71c71cfe7p-3 0x1.745d1745124c7p-3
    0x1.3b13b1bd0eadp-3 0x1.1110df7e2b9b8p-3 0x1.e1f80a4c22cd6p-4 0x1.ac4927065cf31p-4
    0x1.b8e0c07ef5a5bp-4
""")
# 2 atanh(s) / s, to 36 bits
ATANH_SHORT = _coefficients("""
    0x1.00000000049e7p+1 0x1.555554daee41ep-1 0x1.999a9c8a467fap-2 0x1.2432ba683936ep-2
    0x1.e3b159cf31211p-3
""")

# (log(1 + f) - 2s) / s^3 in z = s^2, s = f / (2 + f); FreeBSD msun e_log.c
LOG_DOUBLE = _coefficients("""
    0x1.5555555555593p-1 0x1.999999997fa04p-2 0x1.2492494229359p-2 0x1.c71c51d8e78afp-3
    0x1.7466496cb03dep-3 0x1.39a09d078c69fp-3 0x1.2f112df3e5244p-3
""")

# pi as a sum of three doubles, for fused multiply-add
PI_PARTS = _coefficients("""
    0x1.921fb54442d18p+1 0x1.1a62633145c07p-53 -0x1.f1976b7ed8fbcp-109
""")
# and of three floats
PI_PARTS_FLOAT = _coefficients("""
    0x1.921fb6p+1 -0x1.777a5cp-24 -0x1.ee59dap-49
""")
# and with 33-bit leading parts, whose products by 20-bit integers are exact without it
PI_PARTS_SHORT = _coefficients("""
    0x1.921fb544p+1 0x1.0b4611a6p-33 0x1.3198a2e037073p-68
""")

# pi/4 with two spare bits, so that its multiples up to pi are exact, and the remainder
QUARTER_PI_DOUBLE = _coefficients("""
    0x1.921fb54442d18p-1 0x1.1a62633145c07p-55
""")
QUARTER_PI_FLOAT = _coefficients("""
    0x1.921fbp-1 0x1.5110b4611a626p-23
""")
# log(2) in two parts: integers of 11 bits (float: 8) times the first are exact
LN2_DOUBLE = _coefficients("""
    0x1.62e42feep-1 0x1.a39ef35793c76p-33
""")
LN2_FLOAT = _coefficients("""
    0x1.62e4p-1 0x1.7f7d1cf79abcap-20
""")
# and as a double and its remainder
LN2_FULL = _coefficients("""
    0x1.62e42fefa39efp-1 0x1.abc9e3b39803fp-56
""")
# log10(2) in two parts: integers of 11 bits (float: 8) times the first are exact
LOG10_2_DOUBLE = _coefficients("""
    0x1.34413509f4p-2 0x1.cff7988f8959bp-41
""")
LOG10_2_FLOAT = _coefficients("""
    0x1.344p-2 0x1.3509f79fef312p-18
""")

# erf(x)/x - 1 in x^2, |x| <= 0.9
ERF_SMALL = _coefficients("""
    0x1.06eba8p-3 -0x1.812744p-2 0x1.ce2e4p-4 -0x1.b8134ep-6 0x1.54f754p-8 -0x1.abf074p-11 0x1.6299a4p-14
""")
# log(erfc(x)) on [0.9, 4], the error weighted by erfc(x)
ERF_LARGE = _coefficients("""
    -0x1.5a202ap-13 -0x1.20b79ap+0 -0x1.462118p-1 -0x1.aa755ap-4 0x1.6d9ce8p-6 -0x1.91c4eap-9 0x1.9f99p-13
""")

# x exp(x^2) erfc(x) on [1.5, 28] in (x - ERFC_CENTRE) / (x + ERFC_CENTRE), a centre whose value rounds well
ERFC_CENTRE = 4.03125
ERFC_DOUBLE = _coefficients("""
    0x1.18b16e21e9f84p-1 0x1.e2cf0cac24df5p-5 -0x1.9bd9ef8a85843p-4 0x1.d865b8cc6aba9p-4
    -0x1.ad59bfaa22f7dp-4 0x1.4330982782c07p-4 -0x1.96c181cd711f7p-5 0x1.a73649cfb63dfp-6
    -0x1.5f127c3574107p-7 0x1.a68097f326b24p-9 -0x1.f85a00f7559e2p-12 -0x1.f0e91160a8c79p-14
    0x1.7f80285fc7886p-14 -0x1.08b563cd2b5b9p-16 -0x1.9fe833b6c9927p-18 0x1.ce250dbb7d315p-19
    0x1.a10f5eb62ce68p-26 -0x1.e507b05bb83ddp-22 0x1.dde2df1261744p-24
""")
# (x + 4) exp(x^2) erfc(x) on [0, 10.5] in (x - 4) / (x + 4), to single accuracy in double arithmetic
ERFC_SHORT = _coefficients("""
    0x1.18932bf09dd29p+0 -0x1.f3fe324ec78bap-1 0x1.8be202baefa15p-1 -0x1.14eab6ca7bec7p-1
    0x1.52cae0947bfbdp-2 -0x1.64646f2462c7cp-3 0x1.38cfd0327cbf4p-4 -0x1.af4f891079278p-6
    0x1.9669b5a6a3717p-8 -0x1.57fafce11aa0fp-12 -0x1.5f74a67a425fap-11 0x1.0eefd79cf9c75p-15
""")

TWO_OVER_PI_BITS = 1280
# so many first bits of 2/pi
TWO_OVER_PI = int(
    "".join(
        """
    a2f9836e4e441529fc2757d1f534ddc0db6295993c439041fe5163abdebbc561b7246e3a424dd2e0
    06492eea09d1921cfe1deb1cb129a73ee88235f52ebb4484e99c7026b45f7e413991d639835339f4
    9c845f8bbdf9283b1ff897ffde05980fef2f118b5a0a6d1f6d367ecf27cb09b74f463f669e5fea2d
    7527bac7ebe5f17b3d0739f78a5292ea6bfb5fb11f8d5d0856033046fc7b6babf0cfbc209af4361d
""".split()
    ),
    16,
)

# For each sixteenth (float: thirty-second) of [1, 2): c, near 1/m and so short that c*m - 1 is exact, and
# -log(c) in two parts, the first exact to add to multiples of the first part of log(2). The outermost c are 1
# and 1/2, so that nothing cancels near 1.
LOG_TABLE_RECIPROCAL_DOUBLE = _coefficients("""
    0x1p+0 0x1.dp-1 0x1.cp-1 0x1.ap-1 0x1.9p-1 0x1.8p-1 0x1.7p-1 0x1.6p-1 0x1.5p-1 0x1.4p-1 0x1.38p-1
    0x1.28p-1 0x1.2p-1 0x1.18p-1 0x1.1p-1 0x1p-1
""")
LOG_TABLE_HIGH_DOUBLE = _coefficients("""
    0x0p+0 0x1.9335e5d594p-4 0x1.1178e8227ep-3 0x1.a93ed3c8aep-3 0x1.f991c6cb3cp-3 0x1.269621134ep-2
    0x1.522ae0738ap-2 0x1.7fafa3bd81p-2 0x1.af5295248dp-2 0x1.e148a1a272p-2 0x1.fb358af7a5p-2
    0x1.188ee40f24p-1 0x1.269621134d8p-1 0x1.35028ad9d9p-1 0x1.43d9ff2f92p-1 0x1.62e42feep-1
""")
LOG_TABLE_LOW_DOUBLE = _coefficients("""
    0x0p+0 0x1.3115c3abd47dap-45 0x1.1ef78ce2d07f2p-45 -0x1.8724350562169p-45 -0x1.90d04cd7cc834p-44
    -0x1.1b61f10522625p-44 0x1.ebe708164c759p-45 0x1.46fb79bf6d4cbp-44 -0x1.17cc552774458p-45
    0x1.b36537e3375b2p-44 -0x1.def40b87d36d9p-44 -0x1.accec41d52e6cp-44 0x1.c93c1df5bb3b6p-44
    -0x1.bd1f01ab60655p-44 0x1.e267b0b7efae1p-44 0x1.a39ef35793c76p-33
""")
LOG_TABLE_RECIPROCAL_FLOAT = _coefficients("""
    0x1p+0 0x1.e8p-1 0x1.d8p-1 0x1.dp-1 0x1.cp-1 0x1.b4p-1 0x1.a8p-1 0x1.ap-1 0x1.94p-1 0x1.8cp-1
    0x1.8p-1 0x1.78p-1 0x1.7p-1 0x1.68p-1 0x1.6p-1 0x1.58p-1 0x1.5p-1 0x1.4cp-1 0x1.44p-1 0x1.4p-1
    0x1.38p-1 0x1.34p-1 0x1.2cp-1 0x1.28p-1 0x1.2p-1 0x1.1cp-1 0x1.18p-1 0x1.14p-1 0x1.1p-1 0x1.0cp-1
    0x1.08p-1 0x1p-1
""")
LOG_TABLE_HIGH_FLOAT = _coefficients("""
    0x0p+0 0x1.894p-5 0x1.4d4p-4 0x1.934p-4 0x1.118p-3 0x1.491p-3 0x1.824p-3 0x1.a94p-3 0x1.e53p-3
    0x1.071p-2 0x1.2698p-2 0x1.3c28p-2 0x1.5228p-2 0x1.68bp-2 0x1.7fbp-2 0x1.9738p-2 0x1.af5p-2
    0x1.bb98p-2 0x1.d49p-2 0x1.e148p-2 0x1.fb38p-2 0x1.0438p-1 0x1.11bp-1 0x1.189p-1 0x1.2698p-1
    0x1.2dcp-1 0x1.3504p-1 0x1.3c6p-1 0x1.43d8p-1 0x1.4b7p-1 0x1.5324p-1 0x1.62e4p-1
""")
LOG_TABLE_LOW_FLOAT = _coefficients("""
    0x0p+0 0x1.54294p-18 -0x1.dd45cp-17 -0x1.43454ep-17 -0x1.c5f76p-17 0x1.ec199ep-18 -0x1.f4d572p-18
    -0x1.2c3752p-19 0x1.dffce2p-20 0x1.c3026ap-17 -0x1.deecb2p-18 -0x1.6c4666p-17 0x1.7039c6p-17
    -0x1.be0b1cp-17 -0x1.7109fap-20 0x1.1a189ap-17 0x1.4a9246p-17 -0x1.ee47f2p-18 0x1.236f7ep-21
    0x1.4344e4p-19 -0x1.3a842ep-17 -0x1.f418ap-17 -0x1.f70e2ap-19 -0x1.1bf0dcp-17 -0x1.deecb2p-17
    -0x1.5509e4p-18 -0x1.752628p-17 0x1.0186d8p-18 0x1.ff2f92p-17 -0x1.48347ap-20 -0x1.1d9798p-17
    0x1.7f7d1cp-20
""")
# (log1p(f) - f + f^2/2) / f^3 for what remains, -0.038 <= f <= 1/16 (float: -0.021 <= f <= 1/32)
LOG_TABLE_TAIL_DOUBLE = _coefficients("""
    0x1.5555555555555p-2 -0x1.fffffffffffcdp-3 0x1.999999999b978p-3 -0x1.55555555ba628p-3
    0x1.2492490ca559fp-3 -0x1.fffff87247f84p-4 0x1.c71d12e2cc268p-4 -0x1.99b5fa8414f7p-4
    0x1.742b7550dd34bp-4 -0x1.315b609f8c919p-4
""")
LOG_TABLE_TAIL_FLOAT = _coefficients("""
    0x1.555554p-2 -0x1.00003ep-2 0x1.99be9ep-3 -0x1.4f481ap-3
""")
