#!/usr/bin/env python3
"""Measures what compiling costs: CPU seconds of every object (user and system, without ccache), summed by target.

python -m bench.build.compile_times [TARGET…] [--option NAME=VALUE…] [--preset release] [--folder build/compile_times]
                                    [--longest 25]

It configures a new build folder, builds the targets (all, if none is named) and prints two tables: by target, and the
costliest objects. CPU seconds, unlike wall time, hardly depend on the machine's other work.

CMake starts the compiler by `compile_times.py --run LOG COMMAND…`, which runs the command and records its CPU time.
"""

import argparse
import os
import re
import resource
import shutil
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def run_and_note(log: str, command: list[str]) -> int:
    status = subprocess.run(command, check=False).returncode
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    output = command[command.index("-o") + 1] if "-o" in command else command[-1]
    with open(log, "a") as file:  # one short line stays whole where several compilers end at once
        file.write(f"{used.ru_utime + used.ru_stime:.2f}\t{output}\n")
    return status


def read_log(log: Path) -> dict[tuple[str, str], float]:
    """Returns (target, source) → CPU seconds."""
    seconds: dict[tuple[str, str], float] = {}
    for line in log.read_text().splitlines():
        used, output = line.split("\t")
        found = re.search(r"CMakeFiles/(.+?)\.dir/(.+?)\.o$", output)
        target, source = (found[1], found[2]) if found else ("?", output)
        seconds[target, re.sub(r"^.*cpp/tessera/", "", source)] = float(used)
    return seconds


def print_tables(seconds: dict[tuple[str, str], float], longest: int) -> None:
    by_target: dict[str, list[float]] = defaultdict(list)
    for (target, _), used in seconds.items():
        by_target[target].append(used)
    print("| target | objects | CPU s |\n|---|---|---|")
    for target, each in sorted(by_target.items(), key=lambda row: -sum(row[1])):
        print(f"| `{target}` | {len(each)} | {sum(each):.0f} |")
    print(f"| all | {len(seconds)} | {sum(seconds.values()):.0f} |")
    print("\n| object | CPU s |\n|---|---|")
    for (target, source), used in sorted(seconds.items(), key=lambda row: -row[1])[:longest]:
        print(f"| `{target}`: `{source}` | {used:.1f} |")


def main() -> int:
    if sys.argv[1:2] == ["--run"]:
        return run_and_note(sys.argv[2], sys.argv[3:])
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("targets", nargs="*", metavar="TARGET")
    parser.add_argument("--option", action="append", default=[], metavar="NAME=VALUE", help="given to CMake as -D")
    parser.add_argument("--preset", default="release")
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "compile_times")
    parser.add_argument("--longest", type=int, default=25, metavar="N", help="objects that are named")
    options = parser.parse_args()

    folder = options.folder.resolve()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    log = folder / "seconds.tsv"
    log.touch()
    launcher = f"{sys.executable};{Path(__file__).resolve()};--run;{log}"
    defined = [f"-DCMAKE_{language}_COMPILER_LAUNCHER={launcher}" for language in ("C", "CXX")]
    defined += [f"-D{option}" for option in options.option]
    environment = {**os.environ, "CCACHE_DISABLE": "1"}
    subprocess.run(["cmake", "--preset", options.preset, "-B", folder, *defined], cwd=ROOT, env=environment, check=True)
    build = ["cmake", "--build", folder, "--parallel", os.environ.get("JOBS", str(os.cpu_count()))]
    if options.targets:
        build += ["--target", *options.targets]
    status = subprocess.run(build, cwd=ROOT, env=environment, check=False).returncode
    print_tables(read_log(log), options.longest)
    return status


if __name__ == "__main__":
    sys.exit(main())
