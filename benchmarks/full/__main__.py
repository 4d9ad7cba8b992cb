"""Measure every row of the table beside every peer; write ``out/bench/README.md`` and pictures.

A peer that its interpreter does not have prints as ``-``. ``--peer-python JAX=/path/python``, as often as there are
peers elsewhere, or the same words in ``PEER_PYTHONS``, say where one is; a path alone is for all peers. The machine
should have nothing else to do. Ends with 1 when results of a peer are not ours.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

from benchmarks import compile_time
from benchmarks.full import comparison, report, spawn, table
from benchmarks.full.processes import PeerError, Worker, interpreters
from benchmarks.full.rows import OURS, PEERS, Row, case_name, chosen

OUT = Path(__file__).resolve().parents[2] / "out" / "bench"
OPS = (10, 30, 100, 300, 1000, 3000)
QUICK_OPS = (10, 100)
QUICK_PEERS = tuple(
    peer for peer in PEERS if peer != "torch.compile"
)  # which takes half a minute for a network


def main() -> int:
    """Measure what was asked for."""
    options = parse()
    pythons = interpreters([*os.environ.get("PEER_PYTHONS", "").split(), *options.peer_python])
    wanted = options.peers.split(",") if options.peers else list(QUICK_PEERS if options.quick else PEERS)
    rows = chosen(table.rows(), options.words, options.quick)
    results = report.Results(machine(), {})
    if options.check:
        return check(rows, {peer: pythons[peer] for peer in [OURS, *wanted]})
    for threads in options.threads:
        here = [row for row in rows if threads == "1" or row.threads]
        measure(results, here, threads, {peer: pythons[peer] for peer in [OURS, *wanted]}, options.seconds)
    present = [peer for peer in results.versions if peer in spawn.PEERS]
    if not options.words or "start" in options.words:
        rounds = 1 if options.quick else 5
        results.first = spawn.first_calls(pythons, present, rounds)
        results.warm = spawn.warm_processes(pythons, present, rounds)
        results.compiling = {
            peer: compile_time.unrolled_times(
                peer.lower(), compile_time.ARRAY, rounds, QUICK_OPS if options.quick else OPS, pythons[peer]
            )
            for peer in present
            if peer in (OURS, "JAX")
        }
    write(results, options.out)
    return int(any(each.wrong for each in results.found))


def parse() -> argparse.Namespace:
    """Return the options."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.full",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "words", nargs="*", help="rows with one of the words; start: first calls and processes"
    )
    parser.add_argument(
        "--quick", action="store_true", help="two minutes: small sizes, few rounds, one thread"
    )
    parser.add_argument("--peer-python", action="append", default=[], metavar="[PEER=]PATH")
    parser.add_argument("--peers", default="", help=f"some of {','.join(PEERS)}")
    parser.add_argument("--seconds", type=float, help="for each row, beyond first calls; 3, quick 0.2")
    parser.add_argument("--threads", nargs="+", choices=("1", "all"), help="both; quick 1")
    parser.add_argument("--check", action="store_true", help="only compare results, without times")
    parser.add_argument("--out", type=Path, default=OUT, help="folder to write to")
    options = parser.parse_args()
    if strangers := set(filter(None, options.peers.split(","))) - set(PEERS):
        parser.error(f"--peers {', '.join(sorted(strangers))}: peers are {', '.join(PEERS)}")
    options.seconds = options.seconds or (0.2 if options.quick else 3.0)
    options.threads = options.threads or (["1"] if options.quick else ["1", "all"])
    return options


def measure(
    results: report.Results, rows: list[Row], threads: str, pythons: Mapping[str, str], seconds: float
) -> None:
    """Add what the rows give on so many threads, a process for each peer that is there."""
    with ExitStack() as stack:
        workers = start(stack, pythons, threads)
        results.versions = {peer: version for peer, (_, version) in workers.items()}
        asked = {peer: worker for peer, (worker, _) in workers.items()}
        for row in rows:
            found = comparison.compare(row, threads, asked, seconds)
            results.found.append(found)
            print(line(found), flush=True)


def start(stack: ExitStack, pythons: Mapping[str, str], threads: str) -> dict[str, tuple[Worker, str]]:
    """Return a process for each peer that is there, with its version."""
    workers = {}
    for peer, python in pythons.items():
        worker = stack.enter_context(Worker(peer, python, threads))
        try:
            workers[peer] = worker, worker.ask("start")
        except PeerError:
            continue
    return workers


def check(rows: list[Row], pythons: Mapping[str, str]) -> int:
    """Print whether results agree, row by row; return 1 unless all do and we have one of each."""
    failed = 0
    with ExitStack() as stack:
        workers = {peer: worker for peer, (worker, _) in start(stack, pythons, "1").items()}
        for row in rows:
            found = comparison.Found(row, "1")
            agreeing = comparison.check(found, workers)
            failed += bool(found.wrong) or OURS not in agreeing
            print(
                f"{case_name(row)}: {', '.join(agreeing)} agree; {found.notes or 'nothing else'}", flush=True
            )
    return int(failed > 0)


def line(found: comparison.Found) -> str:
    """Return a row's times in one line, fastest first."""
    ranked = sorted(found.timings, key=lambda peer: found.timings[peer].median)
    times = ", ".join(f"{peer} {found.time(peer):.4g}" for peer in ranked)
    wrong = f"; other results: {', '.join(found.wrong)}" if found.wrong else ""
    return f"{case_name(found.row)} [{found.row.unit}, threads {found.threads}]: {times}{wrong}"


def machine() -> str:
    """Return the machine in words."""
    processor = platform.processor() or platform.machine()
    path = Path("/proc/cpuinfo")
    if path.exists():
        lines = [line for line in path.read_text().splitlines() if line.startswith("model name")]
        processor = lines[0].partition(":")[2].strip() if lines else processor
    return f"{os.cpu_count()} × {processor}, Python {platform.python_version()}"


def write(results: report.Results, folder: Path) -> None:
    """Write the report and its pictures, and print the report."""
    folder.mkdir(parents=True, exist_ok=True)
    text = report.markdown(results)
    drawn = report.pictures(results, folder)
    text += "".join(f"\n![{path.stem}]({path.name})\n" for path in drawn)
    (folder / "README.md").write_text(text, encoding="utf-8")
    print(f"\n{text}\nwritten: {folder}")


if __name__ == "__main__":
    sys.exit(main())
