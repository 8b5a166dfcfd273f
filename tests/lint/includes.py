"""Finds libraries that include another one that they may not include (docs/design/layers.md#libraries)."""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MAY_USE = {  # the libraries that each may include, besides itself
    "base": "",
    "device": "base",
    "machine": "base",
    "collectives": "machine base",
    "comm": "collectives machine base",
    "drop_in": "comm collectives machine base",
    "programs": "app pair_schemes md io comm collectives machine base",
    "fft": "comm collectives machine device base",
    "grid": "fft comm machine base",
    "io": "comm machine base",
    "model": "base",
    "fiber": "base",
    "md": "model fft comm machine device base",
    "pair_schemes": "md model comm base",
    "app": "md model io grid fft comm collectives machine device base",
}
ONLY_IN = {  # other projects' headers that only some libraries may include
    r"mpi\.h": "comm programs io app drop_in",
    r"hdf5\.h|H5.*": "io programs",
    r"p?netcdf\.h": "io programs",
    r"fftw3.*": "",
    r"openssl/.*": "io app",
    r"CLI/.*": "programs app",
    r"toml\+\+/.*": "app",
    r"hwloc\.h": "machine",
    r"nlohmann/.*": "io machine comm programs app",
}


def violations() -> list[str]:
    found = []
    for file in sorted(ROOT.glob("cpp/tessera/**/*.[hc]*")):
        library = file.relative_to(ROOT).parts[2]
        for number, line in enumerate(file.read_text().splitlines(), 1):
            if not (match := re.match(r'\s*#\s*include\s*[<"]([^>"]+)[>"]', line)):
                continue
            header, where = match[1], f"{file.relative_to(ROOT)}:{number}"
            ours = re.match(r"tessera/(\w+)/", header)
            if ours and ours[1] not in (library, *MAY_USE[library].split()):
                found.append(f"{where}: {library} may not include {header}")
            if '"' in line and not ours:
                found.append(f"{where}: say tessera/{library}/…, the path from cpp")
            for pattern, allowed in ONLY_IN.items():
                if re.fullmatch(pattern, header) and library not in allowed.split():
                    found.append(f"{where}: {header} belongs in {allowed}, not in {library}")
    return found


if __name__ == "__main__":
    sys.exit("\n".join(violations()) or None)
