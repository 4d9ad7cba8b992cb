"""The HTML page around a drawing: zoom, move, point at a box to see its types, its line and its neighbours.

Style and script are part of the page, so that the file works alone. Knows nothing of graphs but that boxes
carry ``data-name`` and edges ``data-from`` and ``data-to``.
"""

from __future__ import annotations

_STYLE = """
html, body { margin: 0; height: 100%; overflow: hidden; background: #fff; font-family: Verdana, sans-serif; }
#view { width: 100%; height: 100%; cursor: grab; }
#view.moving { cursor: grabbing; }
#tip { position: fixed; display: none; white-space: pre; background: #263238; color: #eceff1;
       padding: 8px 10px; border-radius: 5px; font: 12px/1.5 "DejaVu Sans Mono", monospace;
       pointer-events: none; z-index: 2; }
#help { position: fixed; right: 12px; bottom: 10px; font-size: 11px; color: #78909c; }
.dim .edge { opacity: 0.12; } .dim .box { opacity: 0.3; }
.dim .near { opacity: 1; } .edge.near { stroke-width: 2.5; stroke-opacity: 1; }
.box.near > rect { stroke-width: 2; }
"""

_SCRIPT = """
const view = document.getElementById("view"), svg = view.querySelector("svg");
const tip = document.getElementById("tip");
const whole = svg.viewBox.baseVal, size = [whole.width, whole.height];
svg.setAttribute("width", "100%"); svg.setAttribute("height", "100%");
svg.setAttribute("preserveAspectRatio", "xMidYMin meet");
let box = [0, 0, size[0], Math.min(size[1], size[0] * innerHeight / innerWidth)];
if (size[0] * innerHeight < size[1] * innerWidth) {
  box[2] = Math.max(size[0], Math.min(innerWidth, size[1] * innerWidth / innerHeight));
  box[0] = (size[0] - box[2]) / 2; box[3] = box[2] * innerHeight / innerWidth;
}
const show = () => svg.setAttribute("viewBox", box.join(" "));
show();
view.addEventListener("wheel", e => {
  e.preventDefault();
  const f = Math.exp(e.deltaY * 0.0015), r = svg.getBoundingClientRect();
  const x = box[0] + (e.clientX - r.left) / r.width * box[2];
  const y = box[1] + (e.clientY - r.top) / r.height * box[3];
  box = [x - (x - box[0]) * f, y - (y - box[1]) * f, box[2] * f, box[3] * f];
  show();
}, { passive: false });
let held = null;
view.addEventListener("pointerdown", e => { held = [e.clientX, e.clientY]; view.classList.add("moving"); });
addEventListener("pointerup", () => { held = null; view.classList.remove("moving"); });
addEventListener("pointermove", e => {
  if (held) {
    const k = box[2] / svg.getBoundingClientRect().width;
    box[0] -= (e.clientX - held[0]) * k; box[1] -= (e.clientY - held[1]) * k;
    held = [e.clientX, e.clientY];
    show();
  }
  tip.style.left = Math.min(e.clientX + 14, innerWidth - tip.offsetWidth - 8) + "px";
  tip.style.top = Math.min(e.clientY + 16, innerHeight - tip.offsetHeight - 8) + "px";
});
const boxes = new Map();
svg.querySelectorAll(".box").forEach(b => boxes.set(b.dataset.name, b));
boxes.forEach((b, name) => {
  const title = b.querySelector("title"), text = title.textContent;
  title.remove();
  b.addEventListener("pointerenter", () => {
    tip.textContent = text; tip.style.display = "block"; svg.classList.add("dim"); b.classList.add("near");
    svg.querySelectorAll(".edge").forEach(e => {
      if (e.dataset.from !== name && e.dataset.to !== name) return;
      e.classList.add("near");
      boxes.get(e.dataset.from).classList.add("near"); boxes.get(e.dataset.to).classList.add("near");
    });
  });
  b.addEventListener("pointerleave", () => {
    tip.style.display = "none"; svg.classList.remove("dim");
    svg.querySelectorAll(".near").forEach(e => e.classList.remove("near"));
  });
});
"""


def escape(text: str) -> str:
    """Text as it stands in XML; the library's own function would load a table of all entities."""
    for character, entity in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ('"', "&quot;")):
        text = text.replace(character, entity)
    return text


def page(title: str, svg: str) -> str:
    """A page that shows one drawing."""
    return "\n".join(
        [
            "<!DOCTYPE html>",
            '<html lang="en"><head><meta charset="utf-8">',
            f"<title>{escape(title)}</title><style>{_STYLE}</style></head>",
            f'<body><div id="view">{svg}</div><div id="tip"></div>',
            '<div id="help">wheel: zoom &nbsp; drag: move &nbsp; point: types, line, neighbours</div>',
            f"<script>{_SCRIPT}</script></body></html>",
        ]
    )
