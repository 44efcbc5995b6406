"""Write light stand-ins for the CUDA libraries that a torch wheel names and that are not installed.

    python tests/versions/stand_ins.py VENV/lib/python3.13/site-packages/torch

torch's Linux wheels need a dozen CUDA libraries to be loaded, several GB, even where everything
runs on the CPU. A stand-in has the name and the symbols that the loader asks for. Every function in
it answers "no device", so that torch finds no GPU. Needs gcc, readelf and nm.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

NO_DEVICE = 100  # cudaErrorNoDevice


def output(*command: str) -> str:
    """What a command prints."""
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def needed(library: Path) -> list[str]:
    """The libraries that this one names."""
    return re.findall(r"\(NEEDED\).*\[(.+)\]", output("readelf", "-dW", str(library)))


def version_owners(library: Path) -> dict[str, str]:
    """Which library each symbol version is asked of."""
    owners = {}
    owner = ""
    for line in output("readelf", "-VW", str(library)).splitlines():
        if found := re.search(r"Version: 1  File: (\S+)", line):
            owner = found[1]
        elif (found := re.search(r"Name: (\S+)  Flags:", line)) and owner:
            owners[found[1]] = owner
    return owners


def symbols(library: Path, *, defined: bool) -> set[tuple[str, str]]:
    """(name, version or "") of the symbols that a library defines, or needs from others."""
    flag = "--defined-only" if defined else "--undefined-only"
    found = set()
    for line in output("nm", "-D", "--with-symbol-versions", flag, str(library)).splitlines():
        kind, symbol = line.split()[-2:]
        if kind in "wv" and not defined:
            continue  # weak: may stay open
        name, _, version = symbol.replace("@@", "@").partition("@")
        found.add((name, version))
    return found


def system_library(name: str) -> Path | None:
    """Where the system has a library of this name."""
    found = re.search(
        rf"^\s*{re.escape(name)} .*x86-64.* => (\S+)$", output("/sbin/ldconfig", "-p"), re.MULTILINE
    )
    return Path(found[1]) if found else None


def source(names: list[str]) -> str:
    """C code of functions with these names."""
    lines = [
        f'const char *{n}(void) {{ return "no device"; }}'
        for n in names
        if n.endswith(("String", "Name"))
    ]
    lines += [
        f"long {n}(void) {{ return {NO_DEVICE}; }}"
        for n in names
        if not n.endswith(("String", "Name"))
    ]
    return "\n".join(lines)


def build(folder: Path, name: str, wanted: dict[str, set[str]]) -> None:
    """Compile one stand-in: for each symbol version, the names that are asked for."""
    code, versions = folder / f"{name}.c", folder / f"{name}.map"
    code.write_text(source(sorted(set().union(*wanted.values()))))
    blocks = [
        f"{version} {{ global: {' '.join(f'{n};' for n in sorted(names))} }};"
        for version, names in sorted(wanted.items())
        if version and names
    ]
    versions.write_text("\n".join(blocks))
    script = [f"-Wl,--version-script={versions}"] if blocks else []
    command = ["gcc", "-shared", "-fPIC", "-w", "-fno-builtin", f"-Wl,-soname,{name}", *script]
    subprocess.run([*command, "-o", str(folder / name), str(code)], check=True)
    code.unlink()
    versions.unlink()


def main(torch: Path) -> None:
    """Find what is missing, and build it beside torch's own libraries."""
    folder = torch / "lib"
    libraries = [p for p in sorted([*folder.glob("*.so*"), *torch.glob("_C*.so")]) if p.is_file()]
    own = {p.name for p in libraries}
    missing: set[str] = set()
    known: set[str] = set()
    for library in libraries:
        known |= {name for name, _ in symbols(library, defined=True)}
        for name in needed(library):
            if name in own:
                continue
            path = system_library(name)
            if path is None:
                missing.add(name)
            else:
                known |= {symbol for symbol, _ in symbols(path, defined=True)}
    wanted: dict[str, dict[str, set[str]]] = {name: defaultdict(set) for name in missing}
    first = min(missing)
    for library in libraries:
        owners = version_owners(library)
        for name, version in symbols(library, defined=False):
            if owners.get(version) in missing:
                wanted[owners[version]][version].add(name)
            elif not version and name not in known and not name.startswith(("Py", "_Py")):
                wanted[first][""].add(name)
    for name in sorted(missing):
        build(folder, name, wanted[name] or {"": set()})
        print(f"{name}: {sum(map(len, wanted[name].values()))} symbols")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
