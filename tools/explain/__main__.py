"""./lab explain: what a GPU would be asked for by a variant, and what the compiler knows of a CUDA variant."""

import json
import sys
from pathlib import Path

import page
import report
import resources
import run
from command import Parser, Refusal, refusing, write


def parsed(words):
    parser = Parser(prog="./lab explain", usage="./lab explain LAB [options]",
                    description="Counts what a GPU would be asked for by the variants of a lab: requests of warps, sectors of global "
                    "memory, passes of local memory, branches, barriers. OpenCL kernels run in Oclgrind and CUDA kernels (--cuda) in "
                    "the CUDA emulator: no GPU is needed. What the program of the lab takes, such as --n, is passed on.")
    parser.add_argument("lab")
    parser.add_argument("--cuda", action="store_true", help="CUDA variants, with registers, occupancy and instructions as the compiler "
                        "knows them")
    parser.add_argument("--variant", metavar="NAME", help="explain this variant line by line; without it, compare all variants")
    parser.add_argument("--compare", nargs=2, metavar=("A", "B"), help="two variants, one below the other, and their sums side by side")
    parser.add_argument("--warp", type=int, choices=(16, 32, 64), metavar="ITEMS",
                        help="OpenCL: work-items that run together: 32, or 64 on AMD's GPUs for data centres [32]")
    parser.add_argument("--json", metavar="FILE", help="write all counts to this file as JSON")
    parser.add_argument("--page", metavar="FILE", help="write a page to look at in a browser, with the steps of the first work-group")
    resources.add_options(parser)
    arguments, options = parser.parse_known_args(words)
    of_other = ("warp",) if arguments.cuda else ("on", "block", "shared")
    for name in of_other:
        if getattr(arguments, name) is not None:
            raise Refusal(f"--{name} is for {'OpenCL' if arguments.cuda else 'CUDA'} variants")
    arguments.warp = arguments.warp or 32
    return arguments, options


def chosen(arguments, known):
    """The names of the variants to explain."""
    names = arguments.compare or ([arguments.variant] if arguments.variant else known)
    kind = "CUDA" if arguments.cuda else "OpenCL"
    for name in names:
        if name.startswith("cuda_") and not arguments.cuda:
            raise Refusal(f"this counts OpenCL kernels; for '{name}': ./lab explain {arguments.lab} --cuda --variant {name}")
        if name not in known:
            raise Refusal(f"no {kind} variant '{name}'; there are: {' '.join(known)}")
    return names


def show_lines(root, one):
    print(f"{one.variant} {' '.join(one.options)}, warps of {one.warp}\n")
    print("\n".join([*report.table(root, one), *report.summary(one)]))
    found = report.findings(one)
    print("\nWhat costs most:" if found else "\nNo request takes more than the least, and no warp is split.")
    for _, text, word in found[:6]:
        print(f"- {text} (docs/kernels.md#{word})")
    print()


def explain(root, build, words):
    arguments, options = parsed(words)
    cuda = arguments.cuda
    compiled = resources.explain(root, build, arguments.lab, arguments) if cuda else None
    if cuda and not run.has_emulator(build):
        print("\nNo counts: this build has no CUDA emulator.")
        if arguments.json:
            write(arguments.json, json.dumps(compiled, indent=1) + "\n")
        return 0
    known = run.variants(build / "bin" / arguments.lab, "cuda" if cuda else "opencl")
    if not known:
        raise Refusal(f"lab {arguments.lab} has no {'CUDA' if cuda else 'OpenCL'} variants here")
    names = chosen(arguments, known)
    if not cuda:
        run.plugin(root, build)  # one line, and not one for each variant, where it cannot be had
    by_line = arguments.variant or arguments.compare
    all_explained, wrong = [], False
    for name in names:
        given = run.options_for(arguments.lab, name, options)
        try:
            launches, outcome = run.launches(root, build, arguments.lab, name, given, arguments.warp,
                                             steps=3000 if arguments.page else 0)
        except Refusal as refusal:
            if by_line:
                raise
            print(f"{name}: {refusal}", file=sys.stderr)
            continue
        all_explained.append(report.explained(name, given, arguments.warp, launches))
        if outcome["status"] != "passed":
            wrong = True
            print(f"{name}: its result is {outcome['status']}: {outcome.get('reason') or ''}", file=sys.stderr)
    if not all_explained:
        return 2
    if cuda:
        print()
    if by_line:
        for one in all_explained:
            show_lines(root, one)
    if not arguments.variant:
        print("\n".join(report.ladder(all_explained)))
        if not arguments.compare:
            print(f"\nEach at its small size, in warps of {arguments.warp}. Line by line: ./lab explain {arguments.lab}"
                  f"{' --cuda' if cuda else ''} --variant NAME")
    print("Counts of requests, not of time: caches are left out. With more work there are more requests; what one request takes\n"
          "stays, but for the ends of arrays.")
    if arguments.json:
        counts = [report.as_json(root, arguments.lab, one) for one in all_explained]
        write(arguments.json, json.dumps(compiled | {"counts": counts} if cuda else counts, indent=1) + "\n")
    if arguments.page:
        write(arguments.page, page.page(root, arguments.lab, all_explained))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(refusing(explain, Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:]))
