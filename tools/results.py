"""Reads what the programs write with --json. Shared by tools/tables and tools/plot."""

import fnmatch
import json
import math
import os

from grading.fault import Fault

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


NUMBERS = ("kernel_ms", "kernel_ms_min", "kernel_ms_max", "total_ms", "sequential_ms", "gb_per_s", "gflop_per_s", "speedup",
           "percent_of_ceiling")
SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def read(path):
    """The name of a JSON file for messages, and its content."""
    name = path[len(ROOT) + 1 :] if path.startswith(ROOT + os.sep) else path
    try:
        with open(path, encoding="utf-8") as file:
            return name, json.load(file)
    except RecursionError:
        raise Fault(f"{name} is not a file that a lab wrote with --json") from None
    except OSError as error:
        raise Fault(f"cannot read {name}: {error.strerror}") from None
    except ValueError as error:
        raise Fault(f"{name} is not JSON: {error}") from None


def load(path, peak=None):
    """The results of a file, in its order, each as one flat dictionary.

    It holds the fields of the variant (`variant`, `device`, `kernel_ms`, ...), those of its device (`device_name`,
    `copy_gb_per_s`, ...), the parameters of the problem, and `sequential_ms`. kernel_ms is the median; kernel_ms_min
    and kernel_ms_max stand beside it. Where two have the same name, the variant comes first, then the problem.
    `problem` holds the parameters alone, `run` the number of the run in the file. @param peak a file with a better FP32 rate of each
    device: percentages of that rate are recomputed
    """
    name, content = read(path)
    runs = content if isinstance(content, list) else [content]
    try:
        found = [result(run, number, variant) for number, run in enumerate(runs) for variant in run["variants"]]
    except (KeyError, TypeError, AttributeError):
        raise Fault(f"{name} is not a file that a lab wrote with --json") from None
    if not found:
        raise Fault(f"{name} holds no results")
    if peak:
        take_peak(found, peak)
    return found


def take_peak(results, path):
    """Gives the results the FP32 rates of the same devices in another file, and percentages of these."""
    rates = {(r["device"], r["device_name"]): r["fp32_gflop_per_s"] for r in load(path) if r["fp32_gflop_per_s"]}
    of_devices = [r for r in results if (r["device"], r["device_name"]) in rates]
    if not of_devices:
        raise Fault(f"{os.path.basename(path)} has no FP32 rate of these devices")
    for r in [one for one in of_devices if one["fp32_gflop_per_s"]]:
        rate = rates[r["device"], r["device_name"]]
        share = 100 * (r.get("gflop_per_s") or 0) / r["fp32_gflop_per_s"]
        if share and math.isclose(share, r["percent_of_ceiling"] or 0, rel_tol=1e-6):  # arithmetic is the limit
            r["percent_of_ceiling"] = 100 * max(r["gflop_per_s"] / rate, r["gb_per_s"] / r["copy_gb_per_s"])
        r["fp32_gflop_per_s"] = rate


def load_counts(path):
    """What tools/counts wrote: for each variant a flat dictionary of its counts, with `options` as on the command line."""
    name, content = read(path)
    try:
        return [{"variant": one["variant"], "options": one["options"], **one["sums"], "status": "passed", "device": None,
                 "problem": {}, "run": 0} for one in content["variants"]]
    except (KeyError, TypeError):
        raise Fault(f"{name} is not a file that tools/counts wrote") from None


def result(run, number, variant):
    device = next((d for d in run["devices"] if d["id"] == variant["device"]), None)
    problem = {name: value for name, value in run["problem"].items() if name != "seed"}
    flat = {"lab": run["lab"], "study": run.get("study"), "sequential_ms": run["sequential_ms"]}
    flat["device_name"] = device["name"] if device else None
    flat["device_platform"] = device["platform"] if device else None
    for name in ("copy_gb_per_s", "fp32_gflop_per_s", "fp64_gflop_per_s"):
        flat[name] = device["ceilings"][name] if device else None
    flat.update(problem)
    for name, value in variant.items():
        flat["variant" if name == "name" else name] = value
    times = variant["kernel_ms"] or {}
    flat["kernel_ms"] = times.get("median")
    flat["kernel_ms_min"] = times.get("min")
    flat["kernel_ms_max"] = times.get("max")
    flat["problem"] = problem
    flat["run"] = number
    flat.setdefault("percent_of_ceiling", None)
    check(flat, device is not None or variant["device"] is None)
    return flat


def check(flat, known_device):
    """Raises a TypeError for what no lab writes: a drawing would stop at it."""
    texts = [flat["lab"], flat["variant"], flat["status"]]
    texts += [flat["device_name"]] if flat.get("device") is not None else []
    texts += [flat[name] for name in ("study", "device_platform") if flat[name] is not None]
    numbers = [flat.get(name) for name in NUMBERS if flat.get(name) is not None]
    right = known_device and flat["backend"] in ("cpu", "opencl", "cuda") and all(isinstance(t, str) for t in texts)
    right = right and all(isinstance(n, (int, float)) and n >= 0 for n in numbers)
    for value in flat["problem"].values():
        right = right and not isinstance(value, (list, dict))
    for value in flat.values():
        right = right and (not isinstance(value, (int, float)) or abs(value) < 1e300)  # not infinite or NaN
    if not right:
        raise TypeError


def number(text):
    """A number as a user writes it: 1000, 1e6, 2^20; None for anything else."""
    try:
        base, power, exponent = text.partition("^")
        return float(base) ** int(exponent) if power else float(text)
    except ValueError:
        return None


def matches(value, pattern):
    """Is this the number of the pattern, or a text that fits it?"""
    if isinstance(value, (int, float)):
        return value == number(pattern)
    return value is not None and fnmatch.fnmatchcase(str(value), pattern)


def significant(value, digits):
    """A number with this many digits that count, and no exponent: 0.00930, 21.5, 178000."""
    places = digits - 1 - int(f"{value:.{digits - 1}e}".split("e")[1])  # after rounding: 9.99 with two digits is 10
    return f"{round(value, places):.{max(places, 0)}f}"
