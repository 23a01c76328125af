"""./lab explain: what a GPU would be asked for by an OpenCL variant, counted without a GPU."""

import argparse
import csv
import json
import os
import sys
import tempfile
from pathlib import Path

from explain import report, run
from explain.run import Fault


def parsed(words):
    parser = argparse.ArgumentParser(prog="./lab explain", add_help=False, allow_abbrev=False, usage="./lab explain LAB [options]",
                                     description="Counts what a GPU would be asked for by the OpenCL variants of a lab: requests of "
                                     "warps, sectors of global memory, passes of local memory, branches, barriers. The kernels run in "
                                     "Oclgrind: no GPU is needed. What the program of the lab takes, such as --n, is passed on.")
    parser.add_argument("-h", "--help", action="help", help="show this and stop")
    parser.add_argument("lab")
    parser.add_argument("--variant", metavar="NAME", help="explain this variant line by line; without it, compare all OpenCL variants")
    parser.add_argument("--compare", nargs=2, metavar=("A", "B"), help="two variants, one below the other, and their sums side by side")
    parser.add_argument("--warp", type=int, default=32, choices=(16, 32, 64), metavar="ITEMS",
                        help="work-items that run together: 32, or 64 on AMD's GPUs for data centres [32]")
    parser.add_argument("--json", metavar="FILE", help="write all counts to this file as JSON")
    parser.add_argument("--csv", metavar="FILE", help="write the counts of the lines to this file as CSV")
    parser.add_argument("--page", metavar="FILE", help="write a page to look at in a browser, with the steps of the first work-group")
    return parser.parse_known_args(words)


def written(path, text):
    """Writes a file so that an earlier one stays whole when that fails."""
    folder = os.path.dirname(os.path.abspath(path))
    try:
        with tempfile.NamedTemporaryFile("w", dir=folder, delete=False, encoding="utf-8", newline="") as file:
            file.write(text)
        os.chmod(file.name, 0o644)
        os.replace(file.name, path)
    except OSError as error:
        raise Fault(f"cannot write {path}: {error.strerror}") from None


def explain(root, build, words):
    arguments, options = parsed(words)
    program = build / "bin" / arguments.lab
    known = run.variants(program)
    if not known:
        raise Fault(f"lab {arguments.lab} has no OpenCL variants here")
    chosen = arguments.compare or ([arguments.variant] if arguments.variant else known)
    for name in chosen:
        if name.startswith("cuda_"):
            raise Fault(f"explain counts OpenCL kernels; for '{name}': ./lab explain {arguments.lab} --cuda --variant {name}")
        if name not in known:
            raise Fault(f"no OpenCL variant '{name}'; there are: {' '.join(known)}")
    run.plugin(root, build)  # one line, and not one for each variant, where it cannot be had
    all_explained, outcomes = [], {}
    for name in chosen:
        one_options = run.options_for(arguments.lab, name, options)
        try:
            launches, outcome = run.launches(root, build, arguments.lab, name, one_options, arguments.warp,
                                             steps=3000 if arguments.page else 0)
        except Fault as fault:
            if len(chosen) == 1 or arguments.compare:
                raise
            print(f"{name}: {fault}", file=sys.stderr)
            continue
        outcomes[name] = outcome
        all_explained.append(report.explained(name, one_options, arguments.warp, launches))
    if not all_explained:
        return 2
    if arguments.variant or arguments.compare:
        for one in all_explained:
            print(f"{one.variant} {' '.join(one.options)}, warps of {one.warp}\n")
            print("\n".join(report.table(root, one)))
            print("\n".join(report.summary(one)))
            found = report.findings(one)
            print("\nWhat costs most:" if found else "\nNo request takes more than the least, and no warp is split.")
            for _, text, word in found[:6]:
                print(f"- {text} ({report.WORDS[word]}: docs/kernels.md#{word})")
            print()
    if not arguments.variant:
        print("\n".join(report.ladder(all_explained)))
        if not arguments.compare:
            print(f"\nEach at its small size, in warps of {arguments.warp}. Line by line: ./lab explain {arguments.lab} --variant NAME")
    print("Counts of requests, not of time: caches are left out. With more work there are more requests; what one request takes\n"
          "stays, but for the ends of arrays.")
    wrong = [name for name, outcome in outcomes.items() if outcome.get("status") != "passed"]
    for name in wrong:
        print(f"{name}: its result is {outcomes[name].get('status')}: {outcomes[name].get('reason') or ''}", file=sys.stderr)
    if arguments.json:
        content = [report.as_json(root, arguments.lab, one) for one in all_explained]
        written(arguments.json, json.dumps(content, indent=1) + "\n")
    if arguments.csv:
        with tempfile.TemporaryFile("w+", newline="", encoding="utf-8") as file:
            table = csv.writer(file)
            table.writerow(report.CSV)
            for one in all_explained:
                table.writerows(report.as_rows(one))
            file.seek(0)
            written(arguments.csv, file.read())
    if arguments.page:
        from explain import page
        written(arguments.page, page.page(root, arguments.lab, all_explained))
    return 1 if wrong else 0


def main(words):
    root, build = Path(words[0]), Path(words[1])
    if "--cuda" in words:
        sys.path.insert(0, str(Path(__file__).parent))
        import resources
        rest = [word for word in words[3:] if word != "--cuda"]
        return resources.main(root, build, words[2], rest)
    try:
        return explain(root, build, words[2:])
    except Fault as fault:
        print(f"explain: {fault}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        sys.exit(2)
