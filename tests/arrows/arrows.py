#!/usr/bin/env python3
"""Who may include whom, checked on the finished build.

  arrows.py SOURCE_DIR BUILD_DIR [--partial]

Three witnesses: the text of the sources, the compiler's own dependency files (which also see
what a header pulls in), and the symbols of the objects. Every violation is one sentence that
names the arrow; the last line counts. --partial allows modules that were not built.

arrows.txt in the build folder says what each module declared (cmake/module.cmake writes it);
house.txt beside this program says which declarations the house allows.
"""
import argparse
import os
import pathlib
import re
import subprocess
import sys

# The name after SYSTEM, and the headers that need it.
LIBRARIES = {
    "libuv": ("uv.h", "uv/"),
    "sqlite": ("sqlite3.h", "sqlite3ext.h"),
    "yaml": ("yaml.h",),
    "openssl": ("openssl/",),
    "curl": ("curl/",),
    "protobuf-c": ("protobuf-c/",),
    "check": ("check.h",),
    "threads": ("pthread.h", "threads.h"),
}
# libuv's header includes these itself, so a dependency file cannot tell who asked for them.
ONLY_DIRECT = {"threads"}

BANNED = {
    "strcpy", "strcat", "sprintf", "vsprintf", "strtok", "atoi", "atol", "atoll", "system", "popen",
    "gmtime", "localtime", "gets", "mktemp", "tmpnam", "alloca",
}
# Modules that house.txt calls pure: bytes in, structs out.
IMPURE = {
    "clock_gettime", "gettimeofday", "time", "getenv", "secure_getenv", "open", "open64", "openat",
    "openat64", "fopen", "fopen64", "socket", "connect", "fork", "execve", "exit", "_exit", "printf",
    "puts", "putchar", "perror", "rand", "random", "srand",
}

# The compiler may turn one of these into something else (atoi becomes strtol), so the text is
# searched too; comments and strings are taken out first.
NOT_CODE = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"', re.DOTALL)
BANNED_CALL = re.compile(r"(?<![\w.>])(%s)\s*\(" % "|".join(sorted(BANNED)))

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(?:"([^"]+)"|<([^>]+)>)', re.MULTILINE)


class Room:
    """One line of arrows.txt."""

    def __init__(self, line):
        kind, self.name, self.folder, uses, system = line.rstrip("\n").split("|")
        self.is_module = kind == "module"
        self.uses = [u for u in uses.split(",") if u]
        self.system = [s for s in system.split(",") if s]
        self.target = ("oc_" if self.is_module else "") + self.name

    def sees(self, module):
        return module in self.uses or (self.is_module and module == self.name)


class House:
    def __init__(self, source, build):
        self.source, self.build = pathlib.Path(source).resolve(), pathlib.Path(build).resolve()
        lines = (self.build / "arrows.txt").read_text().splitlines()
        self.rooms = [Room(line) for line in lines if line]
        self.modules = {r.name: r for r in self.rooms if r.is_module}
        self.by_target = {r.target: r for r in self.rooms}
        self.complaints = []
        self.built = None

    def complain(self, text):
        if text not in self.complaints:
            self.complaints.append(text)

    def rooms_of(self, path):
        """The rooms whose folder is the nearest one above `path` (a module and its program may share one)."""
        if path.startswith("tests/unit/") or "/gen/" in path:
            return []  # a unit test or a program of the build: it may look at everything
        best, found = -1, []
        for room in self.rooms:
            inside = path == room.folder or path.startswith(room.folder + "/")
            if inside and len(room.folder) > best:
                best, found = len(room.folder), [room]
            elif inside and len(room.folder) == best:
                found.append(room)
        return found

    def missing_arrow(self, where, header, rooms, module):
        room = rooms[0]
        through = [u for u in room.uses if u in self.modules and module in self.modules[u].uses]
        hint = " (it is only to be reached through %s)" % ", ".join(through) if through else ""
        self.complain('%s includes "%s": the arrow %s -> %s is not in the USES of %s%s'
                      % (where, header, room.name, module, room.name, hint))

    def check_system(self, where, header, rooms, direct):
        for library, headers in LIBRARIES.items():
            if not any(header == h or (h.endswith("/") and header.startswith(h)) for h in headers):
                continue
            if library in ONLY_DIRECT and not direct:
                continue
            if not any(library in room.system for room in rooms):
                self.complain("%s includes <%s>: the arrow %s -> %s (library) is not in the SYSTEM of %s"
                              % (where, header, rooms[0].name, library, rooms[0].name))

    # ------------------------------------------------------------ the sources' text

    def check_sources(self):
        for folder in ("proto", "client", "daemon", "tests", "bench"):
            for path in sorted((self.source / folder).rglob("*.[ch]")):
                where = str(path.relative_to(self.source))
                self.check_text(path, where)

    def check_text(self, path, where):
        rooms = self.rooms_of(where)
        text = path.read_text(errors="replace")
        for call in sorted(set(BANNED_CALL.findall(NOT_CODE.sub(" ", text)))):
            self.complain("%s calls %s(), which is banned" % (where, call))
        for quoted, angled in INCLUDE.findall(text):
            if "../" in quoted or "../" in angled:
                self.complain('%s includes "%s": no include climbs out of its folder with ../; '
                              'write "<module>/<header>.h" and list the module' % (where, quoted or angled))
            elif not rooms:
                continue
            elif angled:
                self.check_system(where, angled, rooms, True)
            else:
                self.check_quoted(path, where, quoted, rooms)

    def check_quoted(self, path, where, quoted, rooms):
        module = quoted.split("/")[0]
        if "/" not in quoted or module not in self.modules:
            if not (path.parent / quoted).exists() and "/" not in quoted and not quoted.endswith(".pb-c.h"):
                self.complain('%s includes "%s", which is no header of its own folder and of no module'
                              % (where, quoted))
            return
        own = any(room.is_module and room.name == module for room in rooms)
        same_folder = any(room.folder == self.modules[module].folder for room in rooms)
        if quoted.endswith("_internal.h") and not own and not same_folder:
            self.complain('%s includes "%s": the inner header of %s is only for %s'
                          % (where, quoted, module, module))
        elif not any(room.sees(module) for room in rooms):
            self.missing_arrow(where, quoted, rooms, module)

    # ------------------------------------------------------ the compiler's dependencies

    def objects(self):
        """(object, room, dependencies) of everything that was built."""
        if self.built is None:
            self.built = list(self.read_objects())
        return self.built

    def read_objects(self):
        ninja = "ninja"
        for line in (self.build / "CMakeCache.txt").read_text().splitlines():
            if line.startswith("CMAKE_MAKE_PROGRAM:"):
                ninja = line.split("=", 1)[1]
        text = subprocess.run([ninja, "-C", str(self.build), "-t", "deps"], check=True,
                              stdout=subprocess.PIPE, text=True).stdout
        for block in text.split("\n\n"):
            lines = [l for l in block.splitlines() if not l.startswith("ninja:")]
            if not lines or "(VALID)" not in lines[0]:
                continue
            name = lines[0].split(": #deps")[0]
            target = re.search(r"(?:^|/)CMakeFiles/([^/]+)\.dir/", name)
            room = self.by_target.get(target.group(1)) if target else None
            if room and (self.build / name).exists():
                yield name, room, [l.strip() for l in lines[1:]]

    def module_of(self, path):
        """The module that owns a header of ours, and the header as it is included."""
        path = os.path.normpath(os.path.join(self.build, path))
        for root in ("include", "gen"):
            prefix = str(self.build / root) + "/"
            if path.startswith(prefix):
                parts = path[len(prefix):].split("/")
                return parts[0], "/".join(parts[1:])
        prefix = str(self.source) + "/"
        if path.startswith(prefix) and not path.startswith(str(self.build) + "/"):
            inside = path[len(prefix):]
            for room in self.rooms_of(inside):
                if room.is_module:
                    return room.name, room.name + inside[len(room.folder):]
        return None, None

    def check_dependencies(self, partial):
        built = set()
        for name, room, deps in self.objects():
            built.add(room.target)
            for dep in deps:
                if not dep.endswith(".h"):
                    continue
                module, header = self.module_of(dep)
                if module and module in self.modules:
                    self.check_dependency(name, room, module, header)
                elif dep.startswith("/usr/include/"):
                    header = re.sub(r"^(x86_64|aarch64)-linux-gnu/", "", dep[len("/usr/include/"):])
                    self.check_system(self.source_of(name), header, [room], False)
        for room in self.rooms:
            if room.target not in built and not partial:
                self.complain("%s was not built, so its arrows are not known" % room.name)
        return len(built)

    def source_of(self, name):
        return re.sub(r"/CMakeFiles/[^/]+\.dir/", "/", name)[:-len(".o")]

    def check_dependency(self, name, room, module, header):
        if not room.sees(module):
            # A program in a module's own folder may see that module only when it lists it.
            self.missing_arrow(self.source_of(name), header, [room], module)
        elif header.endswith("_internal.h") and module != room.name and \
                self.modules[module].folder != room.folder:
            self.complain('%s gets "%s": the inner header of %s is only for %s'
                          % (self.source_of(name), header, module, module))

    # -------------------------------------------------------------- symbols, and the house

    def check_symbols(self, pure):
        rooms = {name: room for name, room, _ in self.objects()
                 if not room.folder.startswith(("tests/", "bench"))}
        names = sorted(rooms)
        for first in range(0, len(names), 100):
            text = subprocess.run(["nm", "-A", "-u", *names[first:first + 100]], cwd=self.build, check=True,
                                  stdout=subprocess.PIPE, text=True).stdout
            for line in text.splitlines():
                name, symbol = line.split(":", 1)
                self.check_symbol(name, rooms[name], symbol.split()[-1], pure)

    def check_symbol(self, name, room, symbol, pure):
        plain = re.sub(r"^__(?:isoc99_)?(\w+?)_chk$", r"\1", symbol.split("@")[0])
        if plain in BANNED:
            self.complain("%s calls %s(), which is banned" % (self.source_of(name), plain))
        elif room.is_module and room.name in pure and plain in IMPURE:
            self.complain("%s calls %s(), but %s is pure: bytes in, structs out"
                          % (self.source_of(name), plain, room.name))

    def check_house(self, allowed, allowed_system):
        for room in self.rooms:
            if room.folder.startswith(("tests/", "bench")):
                continue
            if room.name not in allowed:
                self.complain("%s is not in tests/arrows/house.txt: say there whom it may know" % room.name)
                continue
            for module in room.uses:
                if module != "base" and module not in allowed[room.name]:
                    self.complain("%s lists %s: the arrow %s -> %s is not in tests/arrows/house.txt"
                                  % (room.name, module, room.name, module))
            for library in room.system:
                if library not in allowed_system[room.name]:
                    self.complain("%s lists the library %s: the arrow %s -> %s is not in tests/arrows/house.txt"
                                  % (room.name, library, room.name, library))


def read_house(path):
    """Lines "name: module... | library..." and "pure: name..."."""
    allowed, system, pure = {}, {}, set()
    for line in path.read_text().splitlines():
        line = line.split("#")[0].strip()
        if not line:
            continue
        name, rest = line.split(":", 1)
        modules, _, libraries = rest.partition("|")
        if name == "pure":
            pure |= set(modules.split())
        else:
            allowed.setdefault(name, set()).update(modules.split())
            system.setdefault(name, set()).update(libraries.split())
    return allowed, system, pure


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("source")
    parser.add_argument("build")
    parser.add_argument("--partial", action="store_true", help="not every module was built")
    args = parser.parse_args()
    house = House(args.source, args.build)
    allowed, system, pure = read_house(pathlib.Path(__file__).with_name("house.txt"))
    house.check_house(allowed, system)
    house.check_sources()
    built = house.check_dependencies(args.partial)
    house.check_symbols(pure)
    for text in house.complaints:
        print("arrows: " + text)
    print("arrows: %d rooms, %d built, %d violations" % (len(house.rooms), built, len(house.complaints)))
    sys.exit(1 if house.complaints or not built else 0)


main()
