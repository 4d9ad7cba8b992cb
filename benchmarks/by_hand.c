/* What one writes by hand for the workloads of schedules.py: value and derivatives, one thread, doubles, row-major. */
#include <math.h>
#include <string.h>

/* Energy of n bodies x[n][3] with masses m[n], every pair once, softened; its derivative g[n][3]. */
double nbody(long n, const double *restrict x, const double *restrict m, double *restrict g)
{
    double energy = 0;
    for (long i = 0; i < n; i++) {
        double a = x[3 * i], b = x[3 * i + 1], c = x[3 * i + 2], e = 0, ga = 0, gb = 0, gc = 0;
        for (long j = 0; j < n; j++) {
            double p = a - x[3 * j], q = b - x[3 * j + 1], r = c - x[3 * j + 2];
            double inverse = 1 / sqrt(p * p + q * q + r * r + 1e-2), s = m[j] * inverse, t = s * inverse * inverse;
            e += s, ga += p * t, gb += q * t, gc += r * t;
        }
        energy -= 0.5 * m[i] * e;
        g[3 * i] = m[i] * ga, g[3 * i + 1] = m[i] * gb, g[3 * i + 2] = m[i] * gc;
    }
    return energy;
}

/* Half the sum of squares of reprojection errors of the n observations obs[n][2], each of a point of points[][3] by a
   camera of cameras[][9]: rotation vector, translation, focal length, two distortions. Adds to the derivatives. */
double bundle(long n, const double *restrict cameras, const double *restrict points, const double *restrict obs,
              const long *restrict camera, const long *restrict point, double *restrict gc, double *restrict gp)
{
    double total = 0;
    for (long o = 0; o < n; o++) {
        const double *c = cameras + 9 * camera[o], *x = points + 3 * point[o];
        double *cb = gc + 9 * camera[o], *xb = gp + 3 * point[o];
        double theta = sqrt(c[0] * c[0] + c[1] * c[1] + c[2] * c[2]), si = sin(theta), co = cos(theta), it = 1 / theta;
        double k0 = c[0] * it, k1 = c[1] * it, k2 = c[2] * it, kx = k0 * x[0] + k1 * x[1] + k2 * x[2], h = kx * (1 - co);
        double w0 = k1 * x[2] - k2 * x[1], w1 = k2 * x[0] - k0 * x[2], w2 = k0 * x[1] - k1 * x[0];
        double p0 = x[0] * co + w0 * si + k0 * h + c[3], p1 = x[1] * co + w1 * si + k1 * h + c[4];
        double p2 = x[2] * co + w2 * si + k2 * h + c[5], ip = -1 / p2, u = p0 * ip, v = p1 * ip;
        double r2 = u * u + v * v, d = 1 + r2 * (c[7] + c[8] * r2);
        double eu = c[6] * d * u - obs[2 * o], ev = c[6] * d * v - obs[2 * o + 1], along = eu * u + ev * v;
        total += 0.5 * (eu * eu + ev * ev);
        double db = c[6] * along, rb = db * (c[7] + 2 * c[8] * r2);
        double ub = c[6] * d * eu + 2 * u * rb, vb = c[6] * d * ev + 2 * v * rb;
        double q0 = ub * ip, q1 = vb * ip, q2 = (ub * u + vb * v) * ip;
        double wb0 = q0 * si, wb1 = q1 * si, wb2 = q2 * si, hb = q0 * k0 + q1 * k1 + q2 * k2, kxb = hb * (1 - co);
        double kb0 = q0 * h + kxb * x[0] + x[1] * wb2 - x[2] * wb1;
        double kb1 = q1 * h + kxb * x[1] + x[2] * wb0 - x[0] * wb2;
        double kb2 = q2 * h + kxb * x[2] + x[0] * wb1 - x[1] * wb0;
        double tb = (q0 * w0 + q1 * w1 + q2 * w2) * co + si * (hb * kx - q0 * x[0] - q1 * x[1] - q2 * x[2]);
        double in = kb0 * k0 + kb1 * k1 + kb2 * k2;
        xb[0] += q0 * co + kxb * k0 + k2 * wb1 - k1 * wb2;
        xb[1] += q1 * co + kxb * k1 + k0 * wb2 - k2 * wb0;
        xb[2] += q2 * co + kxb * k2 + k1 * wb0 - k0 * wb1;
        cb[0] += (kb0 - in * k0) * it + tb * k0, cb[1] += (kb1 - in * k1) * it + tb * k1;
        cb[2] += (kb2 - in * k2) * it + tb * k2, cb[3] += q0, cb[4] += q1, cb[5] += q2;
        cb[6] += d * along, cb[7] += db * r2, cb[8] += db * r2 * r2;
    }
    return total;
}

/* The Hessian of Rosenbrock's function at x[n] times v[n]. */
void rosenbrock(long n, const double *restrict x, const double *restrict v, double *restrict h)
{
    h[0] = 0;
    for (long i = 0; i + 1 < n; i++)
        h[i] = (1200 * x[i] * x[i] - 400 * x[i + 1] + 2) * v[i] - 400 * x[i] * v[i + 1];
    h[n - 1] = 0;
    for (long i = 1; i < n; i++)
        h[i] += 200 * v[i] - 400 * x[i - 1] * v[i - 1];
}

/* Mean logistic loss of weights w[d] on rows x[n][d] with signs y[n]; its derivative g[d]. */
double logistic(long n, long d, const double *restrict x, const double *restrict y, const double *restrict w,
                double *restrict g)
{
    double total = 0;
    memset(g, 0, d * sizeof *g);
    for (long i = 0; i < n; i++) {
        double z = 0;
        for (long j = 0; j < d; j++)
            z += x[i * d + j] * w[j];
        z *= y[i];
        double e = exp(-fabs(z)), s = -y[i] * (z >= 0 ? e : 1) / (1 + e) / n;
        total += (z < 0 ? -z : 0) + log1p(e);
        for (long j = 0; j < d; j++)
            g[j] += s * x[i * d + j];
    }
    return total / n;
}

static void line(long n, const double *restrict up, const double *restrict at, const double *restrict down,
                 const double *restrict u, double *restrict to, double c, double square)
{
    to[0] = at[0] + c * (up[0] + down[0] + at[n - 1] + at[1] - 4 * at[0]) - square * u[0] * u[0] * at[0];
    for (long j = 1; j + 1 < n; j++)
        to[j] = at[j] + c * (up[j] + down[j] + at[j - 1] + at[j + 1] - 4 * at[j]) - square * u[j] * u[j] * at[j];
    to[n - 1] = at[n - 1] + c * (up[n - 1] + down[n - 1] + at[n - 2] + at[0] - 4 * at[n - 1])
                - square * u[n - 1] * u[n - 1] * at[n - 1];
}

static void step(long n, const double *u, const double *at, double *to, double c, double square)
{
    for (long i = 0; i < n; i++)
        line(n, at + (i ? i - 1 : n - 1) * n, at + i * n, at + (i + 1 < n ? i + 1 : 0) * n, u + i * n, to + i * n, c,
             square);
}

/* Sum of squares after `steps` of diffusion on a torus [n][n] with a cubic sink; its derivative g[n][n] by the first of
   states[steps + 1][n][n], which is given. */
double torus(long n, long steps, double c, double sink, double *restrict states, double *restrict g, double *restrict other)
{
    long size = n * n;
    double total = 0;
    for (long k = 0; k < steps; k++)
        step(n, states + k * size, states + k * size, states + (k + 1) * size, c, sink);
    const double *last = states + steps * size;
    double *from = steps % 2 ? other : g, *to = steps % 2 ? g : other;
    for (long p = 0; p < size; p++)
        total += last[p] * last[p], from[p] = 2 * last[p];
    for (long k = steps - 1; k >= 0; k--) {
        step(n, states + k * size, from, to, c, 3 * sink);
        double *swap = from;
        from = to, to = swap;
    }
    return total;
}
