"""How many blocks of a kernel a multiprocessor holds at a time, by NVIDIA's rules, and what limits them.

occupancy.py DEVICE --registers R[,...] --block N[,...] [--shared BYTES[,...]]
                     a line "registers block shared blocks" for each combination
"""

import dataclasses
import itertools
import re
import shutil
import subprocess
import sys

from command import Parser, Refusal, refusing, whole_number


@dataclasses.dataclass(frozen=True)
class Limits:
    """What one multiprocessor has. Sizes of shared memory are in bytes."""
    warps: int
    blocks: int
    shared: int
    shared_per_block: int
    shared_reserved: int = 1024  # for each block, by the driver
    shared_unit: int = 128


# From the tables "Technical Specifications per Compute Capability" of NVIDIA's CUDA C++ Programming Guide, and, for the units
# of allocation, from cuda_occupancy.h of the CUDA toolkit.
KIB = 1024
LIMITS = {
    (7, 5): Limits(warps=32, blocks=16, shared=64 * KIB, shared_per_block=64 * KIB, shared_reserved=0, shared_unit=256),
    (8, 0): Limits(warps=64, blocks=32, shared=164 * KIB, shared_per_block=163 * KIB),
    (8, 6): Limits(warps=48, blocks=16, shared=100 * KIB, shared_per_block=99 * KIB),
    (8, 9): Limits(warps=48, blocks=24, shared=100 * KIB, shared_per_block=99 * KIB),
    (9, 0): Limits(warps=64, blocks=32, shared=228 * KIB, shared_per_block=227 * KIB),
}
# The same for all of them.
WARP = 32
MAX_THREADS = 1024  # per block
MAX_REGISTERS = 255  # per thread
REGISTERS = 65536  # of a multiprocessor
REGISTER_UNIT = 256  # a warp's registers are a multiple of it
PARTS = 4  # of a multiprocessor, each with a quarter of the registers; a warp lives in one of them

DEVICES = {"t4": (7, 5), "rtx2080": (7, 5), "a100": (8, 0), "a10": (8, 6), "rtx3060": (8, 6), "rtx3070": (8, 6),
           "rtx3080": (8, 6), "rtx3090": (8, 6), "l4": (8, 9), "rtx4060": (8, 9), "rtx4070": (8, 9), "rtx4080": (8, 9),
           "rtx4090": (8, 9), "h100": (9, 0), "h200": (9, 0)}
USUAL_DEVICE = "h200"
USUAL_BLOCK = 256


def round_up(value, unit):
    return -(-value // unit) * unit


def blocks_by(device, registers, block, shared):
    """For each resource the number of blocks of which one multiprocessor has enough: the least of them fit.

    device: Limits; registers: per thread; block: threads; shared: bytes per block, static and dynamic ones."""
    warps = -(-block // WARP)
    blocks = {"warps": device.warps // warps if block <= MAX_THREADS else 0, "blocks": device.blocks}
    per_warp = round_up(registers * WARP, REGISTER_UNIT)
    if registers > MAX_REGISTERS:
        blocks["registers"] = 0
    elif registers > 0:
        blocks["registers"] = REGISTERS // PARTS // per_warp * PARTS // warps
    allocated = round_up(shared + device.shared_reserved, device.shared_unit)
    if allocated > device.shared_per_block + device.shared_reserved:
        blocks["shared memory"] = 0
    elif allocated > 0:
        blocks["shared memory"] = device.shared // allocated
    return blocks


def resident_blocks(device, registers, block, shared):
    """The blocks that one multiprocessor holds at a time."""
    return min(blocks_by(device, registers, block, shared).values())


def next_step(device, registers, block, shared):
    """What it takes that more blocks fit: (their number, a list of words). The words are the most threads, registers and bytes
    with which at least one more fits. (0, []) where the device holds no more."""
    wanted = resident_blocks(device, registers, block, shared) + 1

    def fits(resource):
        return blocks_by(device, registers, block, shared).get(resource, wanted) >= wanted

    needs = []
    if not fits("blocks"):
        return 0, needs
    if not fits("warps"):
        block = round_up(block, WARP)
        while not fits("warps"):
            block -= WARP
        needs.append(f"at most {block} threads per block")
    if not fits("registers"):
        while not fits("registers"):
            registers -= 1
        needs.append(f"at most {registers} registers")
    if not fits("shared memory"):
        while not fits("shared memory"):  # down to the next whole unit
            shared = (shared + device.shared_reserved - 1) // device.shared_unit * device.shared_unit - device.shared_reserved
        needs.append(f"at most {shared} bytes of shared memory")
    return resident_blocks(device, registers, block, shared), needs


def capability_of(name):
    """The compute capability of a device: "h100" and "9.0" are (9, 0)."""
    plain = name.lower().replace(" ", "").replace("-", "").replace("_", "")
    number = re.fullmatch(r"(\d+)\.(\d)", plain)
    capability = (int(number[1]), int(number[2])) if number else DEVICES.get(plain)
    if capability not in LIMITS:
        raise Refusal(f"no device '{name}' in the table; there are: {' '.join(DEVICES)}, or a compute capability: "
                      + " ".join(f"{major}.{minor}" for major, minor in LIMITS))
    return capability


def device_here():
    """The GPU of this machine if the table has it, else the usual device."""
    if shutil.which("nvidia-smi"):
        told = subprocess.run(["nvidia-smi", "--query-gpu=compute_cap", "--format=csv,noheader"], text=True, check=False,
                              capture_output=True).stdout.split()
        if told and tuple(map(int, told[0].split("."))) in LIMITS:
            return told[0]
    return USUAL_DEVICE


def numbers(least):
    return lambda text: [whole_number(least)(word) for word in text.split(",")]


def tabulate(words):
    parser = Parser(prog="occupancy.py", usage=__doc__)
    parser.add_argument("device")
    parser.add_argument("--registers", type=numbers(0), required=True)
    parser.add_argument("--block", type=numbers(1), required=True)
    parser.add_argument("--shared", type=numbers(0), default=[0])
    options = parser.parse_args(words)
    device = LIMITS[capability_of(options.device)]
    for launch in itertools.product(options.registers, options.block, options.shared):
        print(*launch, resident_blocks(device, *launch))


if __name__ == "__main__":
    sys.exit(refusing(tabulate, sys.argv[1:]))
