/** The page: what is pressed, dragged and shown. `?steps=2000` takes so many steps at once and stops. */

import { instantiate as instantiateCurve } from "./curve.mjs";
import { Fit, points } from "./fit.mjs";
import { instantiate as instantiateLoss } from "./loss.mjs";
import { CurvePlot, LossPlot } from "./plots.mjs";

const find = (id) => document.getElementById(id);
const asked = new URLSearchParams(location.search);
const code = await (await fetch("loss.wasm")).arrayBuffer();
const fit = new Fit(await instantiateLoss(code), await instantiateCurve());
const plot = new CurvePlot(find("curve"));
const losses = new LossPlot(find("losses"));
let data = points("wave");
let running = true;
let seed = 1;
let held = -1;
let cursor = null;
let time = 0;

find("size").textContent = (code.byteLength / 1024).toFixed(0);

function show() {
  const heights = fit.at(plot.xs);
  plot.draw(data, heights, document.activeElement === plot.canvas ? cursor : null);
  losses.draw(fit.history);
  const value = fit.loss(fit.theta, data.x, data.y).value;
  find("loss").textContent = value.toPrecision(3);
  find("steps").textContent = fit.steps.toLocaleString("en");
  find("time").textContent = time ? `${time.toFixed(0)} µs` : "–";
  plot.canvas.setAttribute("aria-label", `${data.x.length} points and the curve through them, loss ${value.toPrecision(2)}`);
  Object.assign(document.documentElement.dataset, { loss: value, steps: fit.steps });
}

/** Take steps, of which a few leave a trace in the picture, and tell how long one takes. */
function advance(times) {
  for (let k = 0; k < times; k++) {
    plot.remember(fit.steps, () => fit.at(plot.xs));
    const taken = fit.step(data.x, data.y);
    time = time ? 0.98 * time + 0.02 * taken : taken;
  }
}

function frame() {
  if (running) {
    advance(Number(find("speed").value));
    show();
  }
  requestAnimationFrame(frame);
}

function say(text) {
  find("said").textContent = text;
}

function anew(next) {
  seed = next;
  fit.restart(seed);
  plot.forget();
  show();
}

function go(on) {
  running = on;
  find("run").textContent = on ? "Pause" : "Go on";
  say(on ? "Fitting" : `Paused after ${fit.steps} steps, loss ${find("loss").textContent}`);
}

function add({ x, y }) {
  data = { x: Float64Array.of(...data.x, x), y: Float64Array.of(...data.y, y) };
  say(`${data.x.length} points`);
  show();
  return data.x.length - 1;
}

find("run").addEventListener("click", () => go(!running));
find("again").addEventListener("click", () => anew(seed + 1));
find("shape").addEventListener("change", (event) => {
  data = points(event.target.value);
  anew(seed);
});

plot.canvas.addEventListener("pointerdown", (event) => {
  const { x, y } = plot.point(event);
  const near = (k) => Math.hypot(data.x[k] - x, data.y[k] - y);
  const closest = [...data.x.keys()].reduce((a, b) => (near(b) < near(a) ? b : a), 0);
  held = data.x.length && near(closest) < 0.06 ? closest : add({ x, y });
  plot.canvas.setPointerCapture(event.pointerId);
});
plot.canvas.addEventListener("pointermove", (event) => {
  if (held < 0) return;
  const { x, y } = plot.point(event);
  [data.x[held], data.y[held]] = [x, y];
  show();
});
for (const end of ["pointerup", "pointercancel"]) plot.canvas.addEventListener(end, () => (held = -1));

const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
plot.canvas.addEventListener("keydown", (event) => {
  const way = ARROWS[event.key];
  if (!way && event.key !== "Enter") return;
  event.preventDefault();
  cursor ??= { x: 0, y: 0 };
  if (!way) return add(cursor);
  const inside = (at) => Math.min(Math.max(at, -1), 1);
  cursor = { x: inside(cursor.x + 0.04 * way[0]), y: inside(cursor.y + 0.04 * way[1]) };
  show();
});
new ResizeObserver(show).observe(plot.canvas);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", show);

if (asked.has("shape")) {
  find("shape").value = asked.get("shape");
  data = points(asked.get("shape"));
}
if (asked.has("steps")) advance(Number(asked.get("steps")));
if (asked.has("steps") || matchMedia("(prefers-reduced-motion: reduce)").matches) go(false);
show();
requestAnimationFrame(frame);
