"""A page that shows where the lanes of each warp read and write: one file, which needs no network."""

import json
from pathlib import Path

import report


def page(root, lab, all_explained):
    return filled(lab, [of_variant(root, one) for one in all_explained],
                  "Counted by running the kernels in a simulator, 32 work-items as one warp unless stated otherwise. These are requests, not times.",
                  ["access", "requests", "lanes", "sectors (least)", "passes (least)"],
                  "The redder a line, the more it takes beyond the least: sectors, passes and branches that split a warp.")


def filled(lab, variants, how, columns, red):
    """@param variants as of_variant() makes them; how: how they were counted; columns: of the counts; red: what a red line means"""
    text = Path(__file__).with_name("page.html").read_text(encoding="utf-8")
    content = json.dumps({"lab": lab, "columns": columns, "variants": variants}, separators=(",", ":"))
    for name, value in (("title", f"{lab}: {', '.join(one['variant'] for one in variants)}"), ("how", how), ("red", red)):
        text = text.replace(f"{{{{{name}}}}}", value)
    return text.replace("{{content}}", content.replace("<", "\\u003c"))


def of_variant(root, one):
    """What the page shows of a variant: the text of its kernels with counts, and the steps of each kernel's first group."""
    files = {}
    for line in one.lines:
        lines = files.setdefault(line.file, {"name": Path(line.file).name, "text": report.text_of(root, line.file),
                                             "counts": {}})
        counted = lines["counts"].setdefault(line.line, [])
        a, b, c, d = report.cells(line)
        counted.append({"what": line.what, "requests": a, "lanes": b, "sectors": c, "passes": d,
                        "waste": line.counts["sectors"] - line.counts["min_sectors"] + line.counts["passes"] -
                        line.counts["min_passes"] + line.counts["splits"]})
    kernels = {}
    for launch in one.launches:
        if launch["kernel"] not in kernels and launch["steps"]:
            file = next(site["file"] for site in launch["sites"])
            kernels[launch["kernel"]] = {"name": launch["kernel"], "file": file, "group": launch["group"],
                                         "arrays": launch["arrays"], "steps": launch["steps"]}
    return {"variant": one.variant, "options": " ".join(one.options), "warp": one.warp, "summary": report.summary(one),
            "findings": [text for _, text, _ in report.findings(one)[:6]], "files": files, "kernels": list(kernels.values())}
