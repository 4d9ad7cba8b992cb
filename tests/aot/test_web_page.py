"""The page that fits a curve: in Node the fit converges, in a browser the page says so."""

from __future__ import annotations

import functools
import http.server
import os
import queue
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from .node import needs_node, node

ROOT = Path(__file__).resolve().parents[2]
FITS = """
import { instantiate as curve } from "./curve.mjs";
import { Fit, points } from "./fit.mjs";
import { instantiate as loss } from "./loss.mjs";

for (const shape of ["wave", "step", "bumps"]) {
  const fit = new Fit(await loss(), await curve());
  const { x, y } = points(shape);
  fit.step(x, y, 1500);
  const misses = fit.at(x).reduce((sum, height, k) => sum + (height - y[k]) ** 2, 0) / x.length;
  console.log(fit.history[0], misses);
}
"""


WATCH = b"""<!doctype html><iframe id="page" src="/?steps=1500&shape=bumps"></iframe><script>
setInterval(() => {
  const shown = document.getElementById("page").contentDocument?.documentElement;
  if (shown?.dataset.steps) fetch("/seen", { method: "POST", body: shown.outerHTML });
}, 100);
</script>"""


class Site(http.server.SimpleHTTPRequestHandler):
    """The page's files, and a page around it that tells what it shows once it has taken its steps."""

    seen: queue.Queue[str] = queue.Queue()

    def do_GET(self) -> None:
        if self.path != "/watch":
            return super().do_GET()
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(WATCH)

    def do_POST(self) -> None:
        self.seen.put(self.rfile.read(int(self.headers["Content-Length"])).decode())
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, str(ROOT / "examples" / "web" / "build.py"), str(folder)]
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    assert "loss(theta: float64[321], x: float64[n], y: float64[n])" in done.stdout
    return folder


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    handler = functools.partial(Site, directory=str(site))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


@needs_node
def test_the_fit_converges(site: Path) -> None:
    for line in node(FITS, site).splitlines():
        first, last = map(float, line.split())
        assert first > 0.1 and last < 0.006, line


def test_what_the_page_shows_is_what_was_exported(site: Path) -> None:
    page = (site / "index.html").read_text(encoding="utf-8")
    model = (ROOT / "examples" / "web" / "model.py").read_text(encoding="utf-8")
    shown = re.search(r"<code>(.*?)</code>", page, re.DOTALL)
    assert shown is not None
    functions, _, export = shown[1].partition("tj.export")
    squeezed = [line for line in functions.splitlines() if line]
    assert squeezed == [line for line in model[model.index("def curve") :].splitlines() if line]
    assert "f64[321]" in export


@pytest.mark.skipif(shutil.which("chromium") is None, reason="no Chromium")
def test_a_browser_fits_the_curve(address: str, tmp_path: Path) -> None:
    command = ["chromium", "--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-port=0"]
    command += [f"--user-data-dir={tmp_path}", f"{address}/watch"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as browser:
        try:
            shown = Site.seen.get(timeout=300)
        finally:
            browser.terminate()
    found = dict(re.findall(r'data-(loss|steps)="([^"]*)"', shown))
    assert found["steps"] == "1500", shown[:2000]
    assert float(found["loss"]) < 0.006
    assert re.search(r'id="steps">1,500<', shown)
