"""Coefficients of the special functions, lowest order first, exact as hexadecimal floats: near-minimax quotients
``(over, under)``, made once in 50-digit arithmetic by reweighted least squares, of the function and interval in the
comment above them, off by less than 4e-17 of the value, 2e-16 for the waves at the end. Nearly all are positive, as
are the variables, so that nothing cancels.
"""

from __future__ import annotations

Coefficients = tuple[float, ...]


def _read(text: str) -> Coefficients:
    return tuple(map(float.fromhex, text.split()))


# the zero of digamma, and what that is off
DIGAMMA_ZERO = _read("0x1.762d86356be3fp+0 0x1.b86a722197829p-54")

# where the central quotient of erfinv ends, and those of the tails begin
ERFINV_LAST, ERFINV_SQUARE, ERFCINV_FIRST, ERFCINV_LAST = 0.85, 0.7225, 1.375, 5.0

# lgamma(x) / ((x - 1)(x - 2)) on [0.5, 8]
LGAMMA = (
    _read("""
        0x1.66c06525318f1p+1 0x1.0af83efb20fc3p+7 0x1.615e30b038c08p+10 0x1.4d25bb2f04076p+12
        0x1.0ba3edcb3b5d9p+13 0x1.8abded8ee76f6p+12 0x1.118c426f06591p+11 0x1.5c521eff7061ep+8
        0x1.7849cd6478cf1p+4 0x1.1f3f9bbdc3e33p-1 0x1.81daecba0dcb2p-9
    """),
    _read("""
        0x1p+0 0x1.32bae2797c31p+6 0x1.22099a801d4e2p+10 0x1.77c04bf87ce81p+12 0x1.9a9400c2c02dbp+13
        0x1.a15016bf564b6p+13 0x1.9ce4583484457p+12 0x1.8f20f1a86ccafp+10 0x1.6ac95a811b7f5p+7
        0x1.1998386356a43p+3 0x1.2eaa127729a4ap-3 0x1.02c25123a106p-11
    """),
)

# (lgamma(x) - (x - 1/2) log(x) + x - log(2 pi)/2) x in 1/x^2, x >= 8
LGAMMA_FAR = _read("""
    0x1.5555555555555p-4 -0x1.6c16c16c16b32p-9 0x1.a01a019ee97efp-11 -0x1.38137ecd5ac8cp-11
    0x1.b94f7699e17b4p-11 -0x1.f600df0484dacp-10 0x1.96eed1687a777p-8 -0x1.560cfa913b705p-6
""")

# x digamma(x) / (x - its zero) on [0, 8]
DIGAMMA = (
    _read("""
        0x1.5e4b1810ad60ep-1 0x1.3f5ed415be4a8p+1 0x1.7caac56a40161p+1 0x1.a466f45f13323p+0
        0x1.e3c43a82055fap-2 0x1.2ad1b26db0352p-4 0x1.816ba9006d50ap-8 0x1.da08f73a69e6fp-13
        0x1.c80c41dff0fbdp-19 0x1.a1fef67ff7951p-27
    """),
    _read("""
        0x1p+0 0x1.31585afb69e11p+1 0x1.0f538d2db0367p+1 0x1.d975d9e0c6adfp-1 0x1.bac055a477ec5p-3
        0x1.c1c35dc2cd812p-6 0x1.dcdf9d87167cap-10 0x1.dbe0d5cf1f44cp-15 0x1.66b2dde4c85bap-21
        0x1.cfc06bc05176ap-30
    """),
)

# (log(x) - 1/(2x) - digamma(x)) x^2 in 1/x^2, x >= 8
DIGAMMA_FAR = _read("""
    0x1.5555555555555p-4 -0x1.1111111110d75p-7 0x1.04104101a8d32p-8 -0x1.11110c2c82f0cp-8
    0x1.f07734f151becp-8 -0x1.58e868a6c1a59p-6 0x1.47dc317a1869fp-4 -0x1.32ff2c89fa15bp-2
""")

# x^2 trigamma(x) on [0, 8]
TRIGAMMA = (
    _read("""
        0x1p+0 0x1.22a627eb32ecp+2 0x1.4e3a3ba48aeap+3 0x1.d395a6050107fp+3 0x1.a5d92613438f1p+3
        0x1.f67ed9d59bff8p+2 0x1.8aac0e3d9eap+1 0x1.8bccdd0110f0ep-1 0x1.cf07e69da5e31p-4
        0x1.e5b7c447884c5p-8
    """),
    _read("""
        0x1p+0 0x1.22a627eb32ecp+2 0x1.1996eedfe4daap+3 0x1.317789d99e4b1p+3 0x1.98404efda8676p+2
        0x1.5a7140fe65d68p+1 0x1.6f2d5290ed34p-1 0x1.bfda2879ec655p-4 0x1.e5b7c4484c802p-8
        -0x1.7e94b61370cb1p-47
    """),
)

# (trigamma(x) - 1/x - 1/(2x^2)) x^3 in 1/x^2, x >= 8
TRIGAMMA_FAR = _read("""
    0x1.5555555555555p-3 -0x1.1111111111076p-5 0x1.86186185952afp-6 -0x1.111110656066fp-5
    0x1.364d225db1407p-4 -0x1.031b2300f375ep-2 0x1.2853d52a35335p+0 -0x1.9df6af7960392p+2
    0x1.e3a3f73f7e494p+4
""")

# erfinv(x) / x in 0.7225 - x^2, |x| <= 0.85
ERFINV = (
    _read("""
        0x1.32917a42157d1p+0 0x1.930a151cfd0c4p+3 0x1.96f8b20d95afp+5 0x1.8d7612ef7fc6cp+6
        0x1.84d4847503c59p+6 0x1.64e67d3f8daf4p+5 0x1.f900e015c7c2p+2 0x1.2b2e3e449e09ep-2
        -0x1.9acd42b5828b8p-9
    """),
    _read("""
        0x1p+0 0x1.6899ae11778c9p+3 0x1.8c8b35e58e0cfp+5 0x1.afbdd3dc7c8f6p+6 0x1.e7e27e50a3bc9p+6
        0x1.1266aabbdc536p+6 0x1.0b6ccea6e6a94p+4 0x1.3afc28defa3fp+0
    """),
)

# erfcinv(x) in sqrt(-log(x)) - 1.375, up to 5
ERFCINV = (
    _read("""
        0x1.03f5a9cdd595cp+0 0x1.cc3e020acab8ap+1 0x1.5b96e93783e6p+2 0x1.22819517ad93ep+2
        0x1.22705aed02735p+1 0x1.5d4e9644d642dp-1 0x1.e1261993d9077p-4 0x1.4f72e577e02a6p-7
        0x1.575a131c836c3p-12
    """),
    _read("""
        0x1p+0 0x1.432a41d0763aap+1 0x1.5f76e762d38b6p+1 0x1.a08f9440ed336p+0 0x1.1b922e6761685p-1
        0x1.ad29c3d9da9c8p-4 0x1.40d187521fb4p-7 0x1.574d488ecc50bp-12 0x1.1537b1fbb545dp-31
    """),
)

# erfcinv(x) in sqrt(-log(x)) - 5, beyond
ERFCINV_FAR = (
    _read("""
        0x1.31e17107b4fap+2 0x1.2318a9f3bc695p+2 0x1.cb79fe7dcc303p+0 0x1.842a017664828p-2
        0x1.79eece556517ep-5 0x1.a91f4315ef972p-9 0x1.05ece479f17b9p-13 0x1.362f1171e40b7p-19
        0x1.fe0f10d11d91cp-27
    """),
    _read("""
        0x1p+0 0x1.797d2b96b89e9p-1 0x1.beae25c7156c6p-3 0x1.0de43dee18e4cp-5 0x1.5f453e6b7f44fp-9
        0x1.dd23679442e91p-14 0x1.2c39dfe30a5a8p-19 0x1.fe0e65ffaa7e4p-27 0x1.589709563e418p-53
    """),
)

# exp(-x) I0(x) on [0, 12]
BESSEL_I0 = (
    _read("""
        0x1p+0 0x1.71f90ac1c63aep-4 0x1.df28c033ef2a9p-3 0x1.51d6a76b0e39ap-6 0x1.8055106d7d35cp-7
        0x1.ee9191371b3f6p-11 0x1.bb67f422eb60bp-13 0x1.d47e434fe0c79p-17 0x1.986ecd2b525b8p-20
        0x1.21bc0be9230ddp-24 0x1.daace4b2dd27ap-29 0x1.45ad1a0bb455bp-35
    """),
    _read("""
        0x1p+0 0x1.171f90ac1c64p+0 0x1.26095165347fcp-1 0x1.8cf80bcee28adp-3 0x1.7fd52b8edc6dfp-5
        0x1.191b958ef8786p-7 0x1.412279f9b396dp-10 0x1.2186e68387295p-13 0x1.9a60683967d7dp-17
        0x1.be1da226c4379p-21 0x1.5c82832a3b6d8p-25 0x1.49dbed4225499p-30 0x1.ae23b10075d61p-39
    """),
)

# exp(-x) I0(x) sqrt(x) in 1/12 - 1/x, x >= 12
BESSEL_I0_FAR = (
    _read("""
        0x1.9cfde3ab6c049p-2 0x1.e296a995770d6p+2 0x1.a19c1c64e64efp+8 0x1.de40bcca473a8p+12
        0x1.9709fbee91756p+17 0x1.0ff51b31ef6d1p+21 0x1.9a29a59ce508dp+22 0x1.407614dfd3a64p+22
        0x1.0dfad0e75ecbfp+19
    """),
    _read("""
        0x1p+0 0x1.2d5580585d2p+4 0x1.037c03599ddbap+10 0x1.2aa696737d04ep+14 0x1.fb15e0f060b92p+18
        0x1.5565d47b992a4p+22 0x1.093bdf4cda073p+24 0x1.c7ee46c5b9df1p+23 0x1.2335b389db05p+21
    """),
)

# exp(-x) I1(x) / x on [0, 12]
BESSEL_I1 = (
    _read("""
        0x1p-1 0x1.8e0eeec7f521fp-5 0x1.befef66cfe6c1p-5 0x1.49c45bab90783p-8 0x1.b5095c6969d82p-10
        0x1.1a50f0bf56542p-13 0x1.4a32fe15da0fdp-16 0x1.497b43b5075cp-20 0x1.79fac3aaedbeep-24
        0x1.c354859bfcbcbp-29 0x1.5940d94382abcp-34 0x1.fae3e57dbd7cp-43
    """),
    _read("""
        0x1p+0 0x1.18e0eeec7f526p+0 0x1.29a1bca69e61bp-1 0x1.9413e30c0e4e4p-3 0x1.88d77968f996dp-5
        0x1.214dfafe16467p-7 0x1.4c80e9af01c1ap-10 0x1.2dfbe5132a79cp-13 0x1.b0702e94b3f49p-17
        0x1.de196d0da931fp-21 0x1.82ba094b8f786p-25 0x1.91004069ad5cap-30 0x1.192ed1ead9b5p-36
    """),
)

# exp(-x) I1(x) sqrt(x) in 1/12 - 1/x, x >= 12
BESSEL_I1_FAR = (
    _read("""
        0x1.8b640021ed0c8p-2 0x1.cf0b0a0dcdde7p+2 0x1.7faba836d81dfp+8 0x1.b5a8cd1837d38p+12
        0x1.5e47a47cc501dp+17 0x1.bb386ba2e7d8cp+20 0x1.4bc72042c8a63p+22 0x1.2b8fa1f5417f4p+22
        0x1.0a42be20a318bp+20
    """),
    _read("""
        0x1p+0 0x1.253cead24add6p+4 0x1.ed2452b9d99b7p+9 0x1.151626155a1fbp+14 0x1.bea0a2c3d4ea9p+18
        0x1.13ac661d9b1fdp+22 0x1.772a7284f93ep+23 0x1.fa1b9d25abe3ep+22 0x1.44af40d2c80d9p+19
    """),
)

# x times the auxiliary function f of the sine integral in 1/x^2, x >= 3
SINE_F = (
    _read("""
        0x1p+0 0x1.db3293dbdf9d5p+9 0x1.4257fc309e072p+18 0x1.a0d3a0b7a72d1p+25 0x1.1960d7bd3d9dp+32
        0x1.99303aac7da99p+37 0x1.3f93c24aab874p+42 0x1.03a3710f1d0cfp+46 0x1.99d418c05477fp+48
        0x1.13db45fd2a264p+50 0x1.e295da891a4c1p+49 0x1.df0cb3553da44p+46
    """),
    _read("""
        0x1p+0 0x1.dc3293dbdf9ccp+9 0x1.442e2ec479f3ap+18 0x1.a5b91cb4daa33p+25 0x1.1f8803fb2b3c3p+32
        0x1.a91188dc7abbdp+37 0x1.551da23fff189p+42 0x1.21eb58e4f992p+46 0x1.ede8cbf4c13b3p+48
        0x1.7c91d375e9836p+50 0x1.b3110ca727db7p+50 0x1.ca6be2e90e3d2p+48
    """),
)

# x^2 times its auxiliary function g, likewise
SINE_G = (
    _read("""
        0x1.fffffffffffffp-1 0x1.0b4483ac6ab94p+10 0x1.990f5615f244fp+18 0x1.2af69ed88f7a1p+26
        0x1.c886b115a7906p+32 0x1.76ed4c78278e4p+38 0x1.495bffef42a7cp+43 0x1.2a8ff3f253b94p+47
        0x1.033cb94411c84p+50 0x1.761a2b315cc91p+51 0x1.4932e0eb22faap+51 0x1.a6735a84636a1p+47
    """),
    _read("""
        0x1p+0 0x1.0cc483ac6ab72p+10 0x1.9f3df12bfd2f6p+18 0x1.34390261d627p+26 0x1.e2ae991f96a11p+32
        0x1.9cd17181b3c83p+38 0x1.82e8d9113e99bp+43 0x1.84dff19ff394fp+47 0x1.8ed400ae8611ep+50
        0x1.7caea2f4e19eap+52 0x1.1bbd0852e2231p+53 0x1.b626bfad1d5dp+51
    """),
)

# pi x times the auxiliary function f of Fresnel's integrals in 1/t^2, t = pi x^2/2 >= 3
FRESNEL_F = (
    _read("""
        0x1p+0 0x1.bf5d9a8bc3541p+9 0x1.1d1bf254870f1p+18 0x1.59c8158c14415p+25 0x1.b54efdf816e0ep+31
        0x1.29b9c25ae87c9p+37 0x1.b3c4c14190ed2p+41 0x1.4ca543826775dp+45 0x1.f0581149c8064p+47
        0x1.3ff1d8c8e9a19p+49 0x1.15004f04f847dp+49 0x1.3f892c17e0afbp+46
    """),
    _read("""
        0x1p+0 0x1.bfbd9a8bc353fp+9 0x1.1dc2356e7b7adp+18 0x1.5b698fc5f36f6p+25 0x1.b92ad2c2dd692p+31
        0x1.2e6a5ab7b891bp+37 0x1.bfc4152e14226p+41 0x1.5c95c86ab291fp+45 0x1.0d234f8d1a7d9p+48
        0x1.7189112b1f495p+49 0x1.6c33eda42f358p+49 0x1.2fa7febb97cc7p+47
    """),
)

# pi^2 x^3 times their auxiliary function g, likewise
FRESNEL_G = (
    _read("""
        0x1p+0 0x1.f8d1e94b7517ep+9 0x1.6c5f2174a8d0bp+18 0x1.f5f0ef55c2cecp+25 0x1.6924f278fca0fp+32
        0x1.17c0f451cf95ep+38 0x1.d0ab2c347b26fp+42 0x1.8fe0f5d8ae785p+46 0x1.4be85966579bap+49
        0x1.cf8d4d6848c6fp+50 0x1.96e02832a0eap+50 0x1.4bf43ca2deae5p+47
    """),
    _read("""
        0x1p+0 0x1.fab1e94b75162p+9 0x1.70066b0a16758p+18 0x1.00242c4552a6p+26 0x1.76f207c32680bp+32
        0x1.2aa8026374b2fp+38 0x1.038280e09544cp+43 0x1.e0b9199b34fd5p+46 0x1.c271f9b2ac85bp+49
        0x1.83942904d29ebp+51 0x1.fca3941e7deb3p+51 0x1.485fb25118556p+50
    """),
)
