/** The fit itself: Adam with the gradient of loss.wasm. Knows nothing of the page. */

const RATE = 0.01;
const [KEPT, KEPT_SQUARES] = [0.9, 0.999];

export class Fit {
  /**
   * @param {Function} loss the function of loss.mjs
   * @param {Function} curve the function of curve.mjs
   * @param {number} seed of the first parameters
   */
  constructor(loss, curve, seed = 1) {
    this.loss = loss;
    this.curve = curve;
    this.restart(seed);
  }

  restart(seed) {
    const normal = normals(seed);
    const hidden = 16;
    const layers = [
      [hidden, 2.0], [hidden, 1.5], // into the first layer: slopes, and where they are
      [hidden * hidden, 1 / Math.sqrt(hidden)], [hidden, 0.1],
      [hidden, 1 / Math.sqrt(hidden)], [1, 0.0],
    ];
    this.theta = Float64Array.from(layers.flatMap(([size, scale]) => Array.from({ length: size }, () => scale * normal())));
    this.mean = new Float64Array(this.theta.length);
    this.square = new Float64Array(this.theta.length);
    this.steps = 0;
    this.history = [];
  }

  /** Take steps towards the points, and note the loss before each; the µs that one took. */
  step(x, y, times = 1) {
    const began = performance.now();
    for (let k = 0; k < times; k++) {
      const { value, gtheta } = this.loss(this.theta, x, y);
      this.history.push(value);
      this.move(gtheta);
    }
    return ((performance.now() - began) / times) * 1000;
  }

  move(gradient) {
    this.steps += 1;
    const [long, short] = [1 - KEPT_SQUARES ** this.steps, 1 - KEPT ** this.steps];
    const rate = RATE / (1 + this.steps / 2000);
    for (let k = 0; k < gradient.length; k++) {
      this.mean[k] += (1 - KEPT) * (gradient[k] - this.mean[k]);
      this.square[k] += (1 - KEPT_SQUARES) * (gradient[k] ** 2 - this.square[k]);
      this.theta[k] -= (rate * this.mean[k]) / short / (Math.sqrt(this.square[k] / long) + 1e-8);
    }
  }

  /** The heights of the curve. */
  at(x) {
    return this.curve(this.theta, x).value;
  }
}

/** Normal random numbers, the same for the same seed. */
function normals(seed) {
  const uniform = uniforms(seed);
  return () => Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform());
}

function uniforms(seed) {
  let state = seed * 2654435761;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** What there is to fit, all of it between -1 and 1. */
const SHAPES = {
  wave: (x) => 0.6 * Math.sin(5 * x) * Math.exp(-0.5 * x),
  step: (x) => 0.65 * Math.tanh(12 * (x - 0.1)),
  bumps: (x) => 1.1 * Math.exp(-40 * (x + 0.45) ** 2) + 0.8 * Math.exp(-70 * (x - 0.35) ** 2) - 0.5,
};

/** Noisy points of a shape. */
export function points(shape, count = 48, seed = 7) {
  const [normal, uniform] = [normals(seed), uniforms(seed + 1)];
  const x = Float64Array.from({ length: count }, (_, k) => -0.95 + (1.9 * (k + uniform())) / count);
  return { x, y: x.map((at) => SHAPES[shape](at) + 0.06 * normal()) };
}
