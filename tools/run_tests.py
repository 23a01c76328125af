#!/usr/bin/env python3
"""Tells at the end of a run of the tests what failed, what is wrong with each variant, and why tests were skipped.

run_tests.py FOLDER            of the run that has just ended, from FOLDER/tests.xml, its JUnit file; ctest calls it so
run_tests.py FOLDER ctest ...  runs ctest, shows its progress in place of its output, and ends with its exit code

A test says what is wrong with a variant in a line "<variant> on <device> is wrong" and in the indented lines below it, and
why it was skipped in a line "skipped: <reason>"; else what Catch2 prints of a SKIP is taken. pytest, which runs many tests
in one of ctest's, has a line for each reason.
"""

import collections
import ctypes
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
from xml.etree import ElementTree

FAULT = re.compile(r"^\w+ on \w+:\d+ .* is wrong\n(?:  .*\n)+", re.M)
REASON = re.compile(r"^skipped: (.+)$", re.M)
CATCH2 = re.compile(r"SKIPPED:\nexplicitly with message:\n((?: +.+\n)+)")
PYTEST = re.compile(r"^SKIPPED \[(\d+)\] \S+: (.+)$", re.M)
RESULT = re.compile(r" *(\d+)/(\d+) Test +#\d+: (.*) \.{3,} *(\**)(Passed|Skipped)?")
CLOSING = re.compile(r"\d+% tests passed|Total Test time|The following tests FAILED:|\s+\d+ - .* \((?!Skipped|Disabled)")
LABS = [folder.name[3:] for folder in pathlib.Path(__file__).parents[1].glob("labs/[0-9][0-9]_*")]
MAX_LINES = 100  # of the output of a test that failed


def output_of(case):
    return (case.findtext("system-out") or "") + "\n"


def reasons_of(case):
    """Why test cases were skipped, those of a part that passed too: pairs of a number and a reason."""
    output, skipped = output_of(case), case.find("skipped")
    found = [(int(number), reason) for number, reason in PYTEST.findall(output)]
    told = REASON.findall(output) or CATCH2.findall(output)
    if not found and told and (skipped is not None or CATCH2.search(output)):
        found = [(1, " ".join(reason.split())) for reason in told]  # Catch2 breaks long lines
    elif not found and skipped is not None:
        message = skipped.get("message", "SKIP_")
        found = [(1, "no reason given" if message.startswith("SKIP_") else message)]
    return found


def read(folder):
    """The tests of the run that has just ended; the reasons for skips are added to the file. Empty if it wrote none."""
    results, begun = folder / "tests.xml", folder / "tests.started"
    if not results.exists() or (begun.exists() and results.stat().st_mtime < begun.stat().st_mtime):
        return []
    try:
        tree = ElementTree.parse(results)
    except ElementTree.ParseError as e:
        print(f"{results} cannot be read: {e}")
        return []
    cases = tree.findall(".//testcase")
    for case in cases:
        if case.find("skipped") is not None:
            case.find("skipped").set("message", "; ".join(dict.fromkeys(reason for _, reason in reasons_of(case))))
    tree.write(results, encoding="UTF-8", xml_declaration=True)
    return cases


def indented(text):
    return "".join(f"  {line}\n" for line in text.rstrip("\n").split("\n"))


def print_failures(folder, cases):
    """The output of the tests that failed; of those that say what is wrong with a variant nothing else."""
    for case in cases:
        failure = case.find("failure")
        if failure is None:
            continue
        print(f"\n{case.get('name')}: {failure.get('message') or 'failed'}")
        lines = ("".join(FAULT.findall(output_of(case))) or output_of(case).strip("\n")).splitlines()
        if len(lines) > MAX_LINES:
            print(f"  (the last {MAX_LINES} lines; all of them: {folder}/Testing/Temporary/LastTest.log)")
        print(indented("\n".join(lines[-MAX_LINES:])), end="")


def print_faults(cases):
    faults = "".join(fault for case in cases for fault in FAULT.findall(output_of(case)))
    if faults:
        print("\nWhat is wrong with the variants:\n" + indented(faults), end="")


def print_skips(cases):
    counts = collections.Counter()
    for case in cases:
        for number, reason in reasons_of(case):
            counts[reason] += number
    if counts:
        print("\nWhy tests were skipped:")
    for reason, number in counts.most_common():
        print(f"  {number} {'test' if number == 1 else 'tests'}: {reason}")


def group_of(test):
    """What a test belongs to, by its name: a lab, or "common", "tools" ..."""
    known = "|".join([*LABS, r"\w+?(?=:)"])
    found = re.match(rf"(?:test_)?({known})(?![a-z0-9])", test)
    return found[1] if found else "others"


def stand_ins(folder):
    """Makes libraries that take the place of cuBLAS, cuSPARSE and cuSOLVER, in a folder of FOLDER, for a machine without an NVIDIA
    driver: there no program calls them, but to load cuBLAS takes longer than all else in most of the thousand processes that the
    tests start. None where there is a driver, or where they cannot be made."""
    try:
        ctypes.CDLL("libcuda.so.1")
        return None
    except OSError:
        pass
    made, called = folder / "stand_ins", collections.defaultdict(set)
    shutil.rmtree(made, ignore_errors=True)
    try:
        listing = subprocess.run(["nm", "-D", "--undefined-only", *filter(pathlib.Path.is_file, folder.glob("bin/*"))],
                                 stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        for function, library in re.findall(r" U (cu\w+)@+(libcu(?:blas|sparse|solver)\.so\.\d+)$", listing.stdout, re.M):
            called[library].add(function)
        for library, functions in called.items():
            made.mkdir(exist_ok=True)
            versions = made / f"{library}.map"
            versions.write_text(f"{library} {{ global: *; }};\n", encoding="utf-8")  # else the loader warns
            subprocess.run(["cc", "-shared", "-fPIC", f"-Wl,-soname,{library},--version-script={versions}", "-x", "c", "-",
                            "-o", made / library], text=True, check=True, stderr=subprocess.DEVNULL,
                           input="".join(f"void {name}(void) {{ __builtin_trap(); }}\n" for name in sorted(functions)))
    except (OSError, subprocess.CalledProcessError):
        shutil.rmtree(made, ignore_errors=True)
        return None
    return made if called else None


def run(folder, words):
    if instead := stand_ins(folder):
        os.environ["LD_LIBRARY_PATH"] = ":".join(filter(None, (str(instead.resolve()), os.environ.get("LD_LIBRARY_PATH"))))
    terminal = sys.stderr.isatty() and os.environ.get("TERM", "dumb") != "dumb"
    left = collections.Counter()  # tests of each group that have not ended
    if not terminal:
        listing = subprocess.run([*words, "--show-only=json-v1"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        try:
            left.update(group_of(test["name"]) for test in json.loads(listing.stdout)["tests"])
        except (ValueError, KeyError):
            pass  # ctest will say what is wrong
    ctest = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # ctest ends by it, and what it found is told
    signal.signal(signal.SIGTERM, lambda *_: ctest.terminate())
    so_far = collections.defaultdict(collections.Counter)
    last, closing = collections.deque(maxlen=50), []
    for line in ctest.stdout:
        last.append(line)
        result = RESULT.match(line)
        if result and not closing:
            number, total, test, stars, word = result.groups()
            group, state = group_of(test), "failed" if stars and word != "Skipped" else word.lower()
            so_far[group][state] += 1
            left[group] -= 1
            if terminal:
                sums = sum(so_far.values(), collections.Counter())
                text = f"[{number}/{total}] {counted(sums)}: {test}"
                print(f"\r\033[K{text[:shutil.get_terminal_size().columns - 1]}", end="", file=sys.stderr, flush=True)
            elif left[group] == 0:
                print(f"{group}: {counted(so_far[group])}", flush=True)
        elif CLOSING.match(line) and (closing or "tests passed" in line):
            closing.append(line)
    code = ctest.wait()
    if terminal:
        print("\r\033[K", end="", file=sys.stderr, flush=True)
    cases = read(folder) if closing else []
    print_failures(folder, cases)
    print_skips(cases)
    if any(folder.glob("bin/*")):
        due = [sys.executable, "-B", pathlib.Path(__file__).with_name("due"), pathlib.Path(__file__).parents[1], folder, "--count"]
        print("\n" + subprocess.run(due, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout, end="")
    if closing:
        print("\n" + "".join(closing), end="")
    else:
        print("".join(last) + f"ctest ended before its end, with {code}", file=sys.stderr)
    return code if code >= 0 else 128 - code


def counted(states):
    return ", ".join(f"{states[state]} {state}" for state in ("passed", "failed", "skipped") if states[state])


if __name__ == "__main__":
    FOLDER = pathlib.Path(sys.argv[1])
    if len(sys.argv) > 2:
        sys.exit(run(FOLDER, sys.argv[2:]))
    CASES = read(FOLDER)
    print_faults(CASES)
    print_skips(CASES)
