/** The two pictures: points with their curve, and the loss so far. Colours are those of the style sheet. */

/** The trail has the curve after so many steps, each time a third more. */
const TRAIL = 1.33;

/** The pixels of a canvas as many as the screen has, with coordinates in CSS pixels. */
function fitted(canvas) {
  const { width, height } = canvas.getBoundingClientRect();
  const scale = window.devicePixelRatio || 1;
  const [wide, high] = [Math.round(width * scale), Math.round(height * scale)];
  if (canvas.width !== wide || canvas.height !== high) [canvas.width, canvas.height] = [wide, high];
  const pen = canvas.getContext("2d");
  pen.setTransform(scale, 0, 0, scale, 0, 0);
  pen.clearRect(0, 0, width, height);
  return { pen, width, height };
}

function colours() {
  const style = getComputedStyle(document.documentElement);
  return (name) => style.getPropertyValue(`--${name}`).trim();
}

function line(pen, xs, ys) {
  pen.beginPath();
  xs.forEach((x, k) => (k ? pen.lineTo(x, ys[k]) : pen.moveTo(x, ys[k])));
  pen.stroke();
}

/** Points, the curve, and where the curve has been. */
export class CurvePlot {
  constructor(canvas, reach = 1.15) {
    this.canvas = canvas;
    this.reach = reach;
    this.forget();
    this.xs = Float64Array.from({ length: 241 }, (_, k) => -1.02 + (2.04 * k) / 240);
  }

  /** From the plane to the canvas. */
  place(width, height) {
    return {
      across: (x) => ((x + 1.02) / 2.04) * width,
      down: (y) => ((this.reach - y) / (2 * this.reach)) * height,
    };
  }

  /** From the canvas to the plane. */
  point(event) {
    const { left, top, width, height } = this.canvas.getBoundingClientRect();
    const [x, y] = [(event.clientX - left) / width, (event.clientY - top) / height];
    return { x: -1.02 + 2.04 * x, y: this.reach - 2 * this.reach * y };
  }

  /** Begin a trail. */
  forget() {
    this.trail = [];
    this.next = 0;
  }

  /** Keep a curve for the trail, when it is time for one. */
  remember(steps, heights) {
    if (steps < this.next) return;
    this.trail.push(heights());
    this.next = Math.max(steps * TRAIL, steps + 3);
  }

  draw(points, heights, cursor) {
    const { pen, width, height } = fitted(this.canvas);
    const { across, down } = this.place(width, height);
    const colour = colours();
    this.grid(pen, width, height, across, down, colour("grid"));
    const xs = this.xs.map(across);
    pen.lineJoin = "round";
    pen.lineWidth = 1.5;
    pen.strokeStyle = colour("curve");
    this.trail.forEach((old, k) => {
      pen.globalAlpha = 0.06 + (0.24 * k) / this.trail.length;
      line(pen, xs, old.map(down));
    });
    pen.globalAlpha = 1;
    this.misses(pen, points, heights, across, down, colour);
    pen.lineWidth = 3.5;
    pen.strokeStyle = colour("curve");
    line(pen, xs, heights.map(down));
    this.dots(pen, points, across, down, colour);
    if (cursor) this.cross(pen, across(cursor.x), down(cursor.y), colour("ink"));
  }

  grid(pen, width, height, across, down, colour) {
    pen.lineWidth = 1;
    pen.strokeStyle = colour;
    for (const at of [-1, -0.5, 0, 0.5, 1]) {
      pen.globalAlpha = at === 0 ? 1 : 0.55;
      line(pen, [across(at), across(at)], [0, height]);
      line(pen, [0, width], [down(at), down(at)]);
    }
    pen.globalAlpha = 1;
  }

  /** How far the curve is from each point. */
  misses(pen, { x, y }, heights, across, down, colour) {
    pen.lineWidth = 1;
    pen.strokeStyle = colour("point");
    pen.globalAlpha = 0.55;
    x.forEach((at, k) => {
      const near = Math.min(Math.max(Math.round(((at + 1.02) / 2.04) * 240), 0), 240);
      line(pen, [across(at), across(at)], [down(y[k]), down(heights[near])]);
    });
    pen.globalAlpha = 1;
  }

  dots(pen, { x, y }, across, down, colour) {
    pen.fillStyle = colour("point");
    pen.strokeStyle = colour("paper");
    pen.lineWidth = 1.5;
    x.forEach((at, k) => {
      pen.beginPath();
      pen.arc(across(at), down(y[k]), 5, 0, 2 * Math.PI);
      pen.fill();
      pen.stroke();
    });
  }

  cross(pen, x, y, colour) {
    pen.strokeStyle = colour;
    pen.lineWidth = 1.5;
    line(pen, [x - 9, x + 9], [y, y]);
    line(pen, [x, x], [y - 9, y + 9]);
  }
}

/** The loss after each step, by powers of ten. */
export class LossPlot {
  constructor(canvas) {
    this.canvas = canvas;
  }

  draw(history) {
    const { pen, width, height } = fitted(this.canvas);
    const colour = colours();
    const [left, right, top, bottom] = [46, 12, 12, 26];
    const logs = history.map((value) => Math.log10(Math.max(value, 1e-12)));
    const low = Math.floor(Math.min(-3, ...thinned(logs)));
    const high = Math.ceil(Math.max(0, ...thinned(logs)));
    const across = (k) => left + ((width - left - right) * k) / Math.max(history.length - 1, 1);
    const down = (log) => top + ((height - top - bottom) * (high - log)) / (high - low);
    pen.font = "12px system-ui, sans-serif";
    pen.fillStyle = colour("soft");
    pen.strokeStyle = colour("grid");
    pen.lineWidth = 1;
    pen.textBaseline = "middle";
    pen.textAlign = "right";
    for (let power = low; power <= high; power++) {
      line(pen, [left, width - right], [down(power), down(power)]);
      pen.fillText(power === 0 ? "1" : `10${raised(power)}`, left - 8, down(power));
    }
    pen.textBaseline = "alphabetic";
    pen.fillText(`${history.length} steps`, width - right, height - 7);
    pen.strokeStyle = colour("loss");
    pen.lineWidth = 2;
    pen.lineJoin = "round";
    const shown = thinned(logs.map((_, k) => k));
    if (shown.length > 1) line(pen, shown.map(across), shown.map((k) => down(logs[k])));
  }
}

/** At most some hundred of many, the last among them. */
function thinned(list) {
  const every = Math.ceil(list.length / 600);
  return list.filter((_, k) => k % every === 0 || k === list.length - 1);
}

const raised = (power) => String(power).replace(/./g, (sign) => "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"["-0123456789".indexOf(sign)]);
