"""./lab explain LAB --cuda (tools/explain/resources.py): the occupancy rules by hand, and what the toolkit's programs print."""

import json
import os
import shutil
import sys
import types

import pytest
from conftest import BUILD, ROOT, built, refused, run

sys.path.insert(0, str(ROOT / "tools/explain"))
import launches  # noqa: E402
import machine_code  # noqa: E402
import occupancy  # noqa: E402
import report  # noqa: E402
import resources  # noqa: E402
import run as explain_run  # noqa: E402
from command import Parser, refusing, write  # noqa: E402

READS_ALL = True  # see judged_once.py

FORMULA = ROOT / "tools/explain/occupancy.py"


def blocks(device, registers, block, shared):
    return occupancy.resident_blocks(occupancy.LIMITS[occupancy.capability_of(device)], registers, block, shared)


# tests/common/test_occupancy.cu compares thousands of launches for each compute capability with NVIDIA's own formula. Here: each device has its
# capability, and what that test does not try, computed by hand.
@pytest.mark.parametrize("device, registers, block, shared, expected", [
    *((name, 16, 32, 0, 32) for name in ("a100", "h100", "h200")),
    *((name, 16, 32, 0, 24) for name in ("l4", "rtx4060", "rtx4070", "rtx4080", "rtx4090")),
    *((name, 16, 32, 0, 16) for name in ("t4", "rtx2080", "a10", "rtx3060", "rtx3070", "rtx3080", "rtx3090")),
    ("a100", 33, 256, 0, 6), ("t4", 65, 256, 0, 3), ("rtx3090", 16, 128, 32768, 3), ("rtx4090", 16, 1024, 0, 1),
    # 255 registers: a warp takes 8192 of the 16384 of its quarter of the multiprocessor, so there are at most two in each.
    ("h200", 255, 160, 0, 1), ("h200", 255, 288, 0, 0), ("h200", 256, 32, 0, 0), ("h200", 16, 65, 0, 21), ("h200", 16, 1025, 0, 0),
    # Shared memory: 1 KiB more for a block from 8.0 on, in units of 128 bytes. On a T4 4992 bytes take 20 of the 256 units of 256.
    ("t4", 16, 32, 4992, 12), ("t4", 16, 128, 32769, 1), ("t4", 16, 128, 65536, 1), ("t4", 16, 128, 65537, 0),
    ("h200", 16, 128, 227 * 1024, 1), ("h200", 16, 128, 227 * 1024 + 1, 0), ("a100", 16, 128, 163 * 1024, 1),
    ("a100", 16, 128, 163 * 1024 + 1, 0), ("rtx3090", 16, 128, 99 * 1024 + 1, 0), ("h200", 16, 128, 113 * 1024, 2),
    ("h200", 16, 128, 113 * 1024 + 1, 1),
])
def test_the_blocks_that_fit_are_those_computed_by_hand(device, registers, block, shared, expected):
    assert blocks(device, registers, block, shared) == expected


@pytest.mark.parametrize("registers, block, shared, expected", [
    (33, 256, 0, (8, "at most 32 registers")),  # 7 blocks are 56 warps, 14 per quarter: 16384 / 14 = 1170, so 1024 per warp
    (128, 256, 8192, (3, "at most 80 registers")),  # 3 blocks, 24 warps, 6 per quarter: 2730, so 2560 = 32 x 80
    (16, 128, 32768, (7, "at most 32256 bytes of shared memory")),  # 233472 / 7 = 33353, in units of 128 33280, less 1024
    (64, 256, 49152, (5, "at most 48 registers", "at most 45568 bytes of shared memory")),
    (16, 768, 0, (3, "at most 672 threads per block")),  # 21 warps
    (16, 32, 0, (0,)),  # 32 blocks: a multiprocessor holds no more
    (255, 288, 0, (1, "at most 168 registers")),  # 9 warps, 3 in one quarter: 16384 / 3 = 5461, so 5376 = 32 x 168
    (16, 1025, 0, (2, "at most 1024 threads per block")),
])
def test_what_more_blocks_need_is_what_was_computed_by_hand(registers, block, shared, expected):
    assert occupancy.next_step(occupancy.LIMITS[9, 0], registers, block, shared) == (expected[0], list(expected[1:]))


PTXAS = """\
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function '_ZN1a3addIfEEvPT_i' for 'sm_90'
ptxas info    : Function properties for _ZN1a3addIfEEvPT_i
    72 bytes stack frame, 100 bytes spill stores, 192 bytes spill loads
ptxas info    : Used 96 registers, used 1 barriers, 72 bytes cumulative stack size, 8192 bytes smem
ptxas info    : Compile time = 148.439 ms
ptxas info    : Function properties for helper
    8 bytes stack frame, 4 bytes spill stores, 4 bytes spill loads
ptxas info    : Compiling entry function '_Z4fillPf' for 'sm_90'
ptxas info    : Function properties for _Z4fillPf
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 10 registers, 380 bytes cmem[0]
"""


PTX = """\
.version 9.0
.target sm_80
.extern .shared .align 16 .b8 memory[];
.visible .entry _ZN1a3addIfEEvPT_i(
.param .u64 a
)
.maxntid 16, 8, 1
.minnctapersm 2
{
.reg .b32 %r<3>;
mov.u32 %r1, memory;
ret;
}
.visible .entry _Z4fillPf(
.param .u64 a
)
{
ret;
}
"""


def test_a_rung_that_the_build_compiles_for_one_device_alone_is_compiled_so():
    special = types.SimpleNamespace(command=["nvcc", "--generate-code=arch=compute_90a,code=sm_90a", "-c"])
    plain = types.SimpleNamespace(command=["nvcc", "--generate-code=arch=compute_90,code=sm_90", "-c"])
    assert resources.architecture(special, (9, 0)) == "90a"
    assert resources.architecture(special, (10, 0)) == "100"
    assert resources.architecture(plain, (9, 0)) == "90"


def test_the_device_for_which_PTX_was_made_is_read():
    assert resources.ptx_capability(PTX) == (8, 0)
    assert resources.ptx_capability(PTX.replace("sm_80", "sm_120")) == (12, 0)
    assert resources.ptx_capability(PTX.replace("sm_80", "sm_90a")) > (9, 0)


def sass(*lines):
    """The machine code of a kernel as cuobjdump prints it; each line is an instruction, with its predicate."""
    text = "\t\tFunction : kernel\n\t.headerflags\t@\"\"\n"
    for number, line in enumerate(lines):
        text += f"        /*{16 * number:04x}*/ {line} ;  /* 0x0000000000000000 */\n" + " " * 40 + "/* 0x0000000000000000 */\n"
    return text


TWO = ["LDG.E R2, [R4]", "STS [R3], R2", "IADD3 R3, R3, 0x4, RZ", "@P0 BRA 0x0", "FFMA R1, R2, R2, R1", "@P1 BRA 0x40", "EXIT"]


@pytest.mark.parametrize("code, found", [
    (["MOV R1, R2", "IADD3 R1, R1, 0x1, RZ", "@P0 BRA 0x10", "EXIT", "BRA 0x40"], [1, 2]),  # the last is padding
    (["MOV R1, R2", "EXIT", "BRA 0x20"], []),
    (["MOV R1, R2", "LDG.E R2, [R4]", "FFMA R1, R2, R2, R1", "@P0 BRA 0x20", "@!P1 BRA 0x10", "EXIT"], [2, 3]),
    (["MOV R1, R2", "BRA 0x10"], [1]),  # one that ends never
    (TWO, [4, 5]), ([word.replace("FFMA R1, R2", "FADD R1") for word in TWO], [0, 1, 2, 3]),  # of several the one that computes
    # Code that was moved to the end and comes back is no loop: BRA.DIV goes there where the lanes of a warp have diverged, and a plain branch
    # comes back. Inside a loop it belongs to the loop.
    (["MOV R1, R2", "BRA.DIV ~URZ, 0x40", "SHFL.BFLY PT, R3, R1, 0x10, 0x1f", "EXIT", "MOV R4, 0x0", "CALL.REL.NOINC 0x70", "BRA 0x30",
      "WARPSYNC R1", "RET.REL.NODEC R4 0x0"], []),
    (["MOV R1, R2", "@P0 BRA 0x40", "@P1 BRA 0x10", "EXIT", "MOV R4, 0x0", "BRA 0x20"], [1, 2, 4, 5])])
def test_the_innermost_loop_is_found(code, found):
    parsed = machine_code.parse_sass(sass(*code))["kernel"]
    assert [instruction.address // 16 for instruction in machine_code.innermost_loop(parsed)] == found


def test_loads_by_width_and_multiply_adds_are_counted():
    code = machine_code.parse_sass(sass(
        "LDG.E R2, [R4]", "@P0 LDG.E.64.CONSTANT R2, [R4]", "@!P0 LDG.E.128 R2, [R4]", "LDG.E.U8 R2, [R4]", "LD.E R2, [R4]",
        "LDGSTS.E.BYPASS.128 [R1], [R2]", "LDS R1, [R2]", "LDS.U.128 R1, [R2]", "LDS.64 R1, [R2]", "FFMA R1, R2, R3, R1",
        "DFMA R2, R4, R6, R2", "HFMA2.MMA R3, -RZ, RZ, 0, 0", "HFMA2 R3, R4, R5, R3", "DMMA.884 R2, R4, R6, R2",
        "IMAD R1, R2, R3, R4", "STG.E.128 [R2], R4", "LDL R2, [R1]"))["kernel"]
    assert machine_code.counts_of(code) == {
        "instructions": 17, "fma": 3, "mma": 1, "global_loads": {1: 1, 2: 0, 4: 2, 8: 1, 16: 2},
        "shared_loads": {1: 0, 2: 0, 4: 1, 8: 1, 16: 1}}


def test_names_are_shown_without_namespaces_and_parameters():
    assert resources.shorten("void lab::kernel<float, lab::Rows<double>, 16, true>(float const*, int)") == \
        "kernel<float, Rows<double>, 16, true>"
    assert resources.shorten("lab::(anonymous namespace)::kernel(float*)") == "kernel"
    assert resources.shorten("void kernel<(int)16, (bool)1>(float (*)(float))") == "kernel<16, 1>"


SOURCE = """\
#include "shared.cuh"
constexpr int warps = 4, threads = 32 * warps; // not 33
const dim3 square(side, side / 2);
void cuda_add(int n) {
    add_kernel<float><<<grid(n, threads), threads, 0, stream>>>(n);
    tile_kernel<<<dim3(1, 2), square>>>(n);
    one_kernel<<<1, n>>>(n);
    two_kernel<<<1, 32>>>(n);
    two_kernel<<<1, 64u>>>(n);
    launch<32>(last_kernel, n);
    if (n > 9) {
        constexpr int many = 64;
        both_kernel<<<1, many>>>(n);
    } else {
        constexpr int many = 32;
        both_kernel<<<1, many>>>(n);
    }
}
"""


def test_the_block_of_a_launch_is_found_where_it_is_a_constant(scratch):
    (scratch / "shared.cuh").write_text("constexpr unsigned side = 16, threads = 7;\n"
                                        "template <class K> void launch(K kernel, int n) { kernel<<<n, threads>>>(n); }\n")
    (scratch / "a.cu").write_text(SOURCE)
    kernels = {"add_kernel", "tile_kernel", "one_kernel", "two_kernel", "last_kernel", "both_kernel"}
    found = launches.launches_of(scratch / "a.cu")
    assert {name: launches.launched_block(name, kernels, found) for name in kernels} == {
        "add_kernel": 128, "tile_kernel": 128, "one_kernel": None, "two_kernel": None, "last_kernel": 128, "both_kernel": None}


# ---- The command, with a toolkit that is made up ----

NVCC_SAYS_PTX = 'for word in "$@"; do [ "$last" != -o ] || cp "$scratch/a.ptx" "$word"; last=$word; done'


@pytest.fixture
def lab(scratch):
    """A root with one lab, a build of it, and a toolkit that prints what is above."""
    folder, build, tools = scratch / "labs/01_a", scratch / "build", scratch / "bin"
    for made in (folder / "cuda", build, tools):
        made.mkdir(parents=True)
    (folder / "rungs.inc").write_text('CPU_RUNG(cpu_add, "adds")\nCUDA_RUNG(cuda_add, "adds")\n'
                                      'CUDA_RUNG(cuda_new, "newer",\n          .needs = {.compute_capability = 90})\n'
                                      'CUDA_RUNG(cuda_library, "the vendor\'s", .baseline = true)\n')
    entries = []
    for name in ("add", "new", "library"):
        source, output = folder / f"cuda/{name}.cu", build / f"{name}.cu.o"
        source.write_text(f"void cuda_{name}(int n) {{\n}}\n")
        output.touch()
        entries.append({"directory": str(build), "file": str(source),
                        "command": f"{tools}/nvcc --generate-code=arch=compute_80,code=[sm_80] -O3 -MD -MF x.d "
                                   f"-c {source} -o {output.name}"})
    (build / "compile_commands.json").write_text(json.dumps(entries))
    (build / "CMakeCache.txt").write_text(f"CMAKE_CUDA_COMPILER:FILEPATH={tools}/nvcc\n")
    (scratch / "a.ptx").write_text(PTX)
    (scratch / "ptxas.txt").write_text(PTXAS)
    fill = sass("MOV R1, R2", "FFMA R1, R2, R2, R1", "@P0 BRA 0x10", "EXIT").replace("kernel", "_Z4fillPf")
    (scratch / "sass.txt").write_text(fill)
    for program, script in (("nvcc", NVCC_SAYS_PTX), ("ptxas", 'cat "$scratch/ptxas.txt" >&2'),
                            ("cuobjdump", 'if [ "$1" = -sass ]; then cat "$scratch/sass.txt"; else cp "$scratch/a.ptx" .; fi')):
        (tools / program).write_text(f'#!/bin/sh\nscratch={scratch}\necho {program} "$@" >>"$scratch/called"\n{script}\n')
        (tools / program).chmod(0o755)
    return scratch


def resources_of(root, build, lab, words):
    parser = Parser()
    for name in ("--variant", "--json"):
        parser.add_argument(name)
    resources.add_options(parser)
    options = parser.parse_args(words)
    found = resources.explain(root, build, lab, options)
    if options.json:
        write(options.json, json.dumps(found))


def explain(lab, capsys, *arguments):
    """The exit code, what was printed, and the calls of the toolkit."""
    code = refusing(resources_of, lab, lab / "build", "a", list(map(str, arguments)))
    called = (lab / "called").read_text() if (lab / "called").exists() else ""
    (lab / "called").unlink(missing_ok=True)
    return code, capsys.readouterr(), called


def test_each_kernel_is_shown_with_what_limits_it(lab, capsys):
    code, message, called = explain(lab, capsys, "--variant", "cuda_add", "--on", "H200")
    assert (code, message.err) == (0, "") and "nvcc" not in called and "-arch=sm_90" in called, message
    lines = message.out.splitlines()
    assert "a on H200 (compute capability 9.0)" in lines[0]
    names = [line.split() for line in lines if line.startswith("  ")]
    assert names[0] == ["add<float>", "96", "292", "72", "8192+?", "128", "5", "31", "%",
                        *"registers; 6 blocks with at most 80 registers".split()]
    assert names[1] == ["fill", "10", "0", "0", "0", "256?", "8", "100", "%", "-"]
    assert names[2] == ["fill", "4", "2", "1", "50", "%", "-", "-"]
    for note in ("block ?:", "shared +?:", "spill:"):
        assert any(line.startswith(note) for line in lines), message.out


def test_block_and_shared_memory_of_the_launch_can_be_told(lab, capsys):
    _, message, _ = explain(lab, capsys, "--variant", "cuda_add", "--block", 64, "--shared", 90000, "--on", "h200",
                         "--json", lab / "x.json")
    assert "?" not in message.out, message.out
    kernels = json.loads((lab / "x.json").read_text())["kernels"]
    told = [(k["kernel"], k["block"], k["block_from"], k["dynamic_shared"], k["blocks"], k["limited_by"]) for k in kernels]
    assert told == [("add<float>", 64, "--block", 90000, 2, ["shared memory"]),
                    ("fill", 64, "--block", 0, 32, ["warps", "blocks"])]
    assert [(k["variants"], k["loop"] and k["loop"]["fma"]) for k in kernels] == [(["cuda_add"], None), (["cuda_add"], 1)]
    explain(lab, capsys, "--variant", "cuda_add", "--block", 100, "--on", "h200", "--json", lab / "y.json")
    kernels = json.loads((lab / "y.json").read_text())["kernels"]  # 100 threads are four warps, as 128 are
    assert [(k["blocks"], k["occupancy"]) for k in kernels] == [(5, 31.25), (16, 100)]
    _, message, _ = explain(lab, capsys, "--variant", "cuda_add", "--block", 256)
    assert "launch bounds" in message.out, "more threads than the launch bounds allow"


def test_without_a_variant_all_rungs_are_shown_but_no_vendor_library_and_none_that_the_device_cannot_run(lab, capsys):
    _, message, _ = explain(lab, capsys, "--on", "h100")
    assert "cuda_add\n" in message.out and "cuda_new\n" in message.out and "cuda_library" not in message.out
    _, message, _ = explain(lab, capsys, "--on", "a100")
    assert "cuda_new: needs compute capability 9.0\n" in message.out
    assert "cuda_library\n" in explain(lab, capsys, "--variant", "cuda_library")[1].out


def test_what_the_object_does_not_hold_is_compiled_for_the_device(lab, capsys):
    def compiled(variant, device):
        code, message, called = explain(lab, capsys, "--variant", variant, "--on", device)
        assert code == 0 and ("compiled for this device now" in message.out) == ("nvcc" in called), message
        assert message.err.count("explain: compiling") == called.count("nvcc"), message
        return [line for line in called.splitlines() if line.startswith("nvcc")]

    assert not compiled("cuda_add", "h100")
    call, = compiled("cuda_add", "t4")  # PTX for 8.0 is too new
    assert "-arch=compute_75 -ptx" in call and "-O3" in call, call
    assert not any(word in call for word in ("sm_80", ".cu.o", "-MD", "x.d")), call
    assert compiled("cuda_new", "h100"), "PTX for 8.0 lacks what the rung needs 9.0 for"
    os.utime(lab / "build/add.cu.o", (0, 0))
    assert compiled("cuda_add", "h100"), "the source is newer than its object"
    (lab / "bin/cuobjdump").unlink()
    if not any(shutil.which("cuobjdump", path=path) for path in (os.environ["PATH"], "/usr/local/cuda/bin")):
        assert compiled("cuda_library", "h100")
        assert "cuobjdump is not installed" in explain(lab, capsys, "--variant", "cuda_add")[1].out


def test_a_compiler_that_fails_is_quoted_in_one_line(lab, capsys):
    (lab / "bin/ptxas").write_text("#!/bin/sh\necho ptxas fatal: no >&2\necho more >&2\nexit 1\n")
    code, message, _ = explain(lab, capsys, "--variant", "cuda_add")
    assert (code, message.out, message.err) == (2, "", "explain: ptxas failed: ptxas fatal: no\n")


@pytest.mark.parametrize("arguments, words", [
    (("--variant", "cuda_subtract"), "has no CUDA variant 'cuda_subtract'; there are: cuda_add cuda_new cuda_library"),
    (("--on", "abacus"), "no device 'abacus' in the table; there are: t4"), (("--on", "5.0"), "no device '5.0'"),
    (("--block", "0"), "'0' is not a whole number from 1 on"), (("--block", "2000"), "at most 1024 threads"),
    (("--shared", "-1"), "--shared"), (("--shared", "many"), "'many'"), (("--var", "x"), "--var"), (("more",), "more"),
    (("--json", "/dev/null/x.json", "--variant", "cuda_add"), "cannot write /dev/null/x.json")])
def test_bad_input_is_refused_in_one_line(lab, capsys, arguments, words):
    code, message, _ = explain(lab, capsys, *arguments)
    assert code == 2 and words in message.err and message.err.count("\n") == 1, message


def test_a_build_without_CUDA_and_a_machine_without_the_toolkit_are_told_so(lab, capsys, monkeypatch):
    command = (sys.executable, "-B", ROOT / "tools/explain", ROOT)
    refused(run(*command, lab, "saxpy", "--cuda"), "no build folder")
    refused(run(*command, lab / "build", "sax", "--cuda"), "no lab is named 'sax'")
    refused(run(sys.executable, "-B", FORMULA, "h100", "--registers", "x", "--block", "1"), "'x'")
    with monkeypatch.context() as here:
        here.setattr(resources.shutil, "which", lambda *_, **__: None)
        code, message, _ = explain(lab, capsys)
        assert (code, message.err) == (2, "explain: ptxas of the CUDA toolkit is not installed: ./lab setup --cuda\n")
    (lab / "build/compile_commands.json").write_text("[]")
    code, message, _ = explain(lab, capsys)
    assert code == 2 and "no CUDA variants: ./lab setup --cuda" in message.err and message.err.count("\n") == 1


def test_a_real_object_of_the_build_is_read(capsys):
    source = ROOT / "labs/01_saxpy/cuda/06_vectorised.cu"
    made = BUILD / "labs/01_saxpy/CMakeFiles/saxpy_lab.dir/cuda/06_vectorised.cu.o"
    if not made.is_file() or made.stat().st_mtime < source.stat().st_mtime:
        pytest.skip("lab 01 was not built with CUDA")
    if not resources.Toolkit(ROOT, BUILD).cuobjdump:
        pytest.skip("no cuobjdump (./lab setup --cuda)")
    assert refusing(resources_of, ROOT, BUILD, "saxpy", ["--variant", "cuda_vectorised", "--on", "h100"]) == 0
    message = capsys.readouterr().out
    kernel, code = [line.split() for line in message.splitlines() if line.startswith("  vectorised_kernel")]
    assert 16 <= int(kernel[1]) <= 64 and kernel[2:6] == ["0", "0", "0", "256"], message
    assert code[-2].endswith("x16"), "16 bytes per load"


def core_twins():
    for path in sorted((ROOT / "docs/results/counts/ncu").glob("*.json")):
        for row in json.loads(path.read_text())["variants"]:
            yield pytest.param(path.stem, row["twin"], row["options"].split(), row["sums"], id=f"{path.stem}-{row['twin']}")


@pytest.mark.parametrize("lab_name, twin, options, counted", core_twins())
def test_the_emulator_counts_what_an_H100_counts(lab_name, twin, options, counted):
    """Requests, sectors, passes, bank conflicts, warps and launches of the Core rungs (tools/counts --ncu), to the last one."""
    if not explain_run.has_emulator(BUILD) or twin not in explain_run.variants(built(lab_name), "cuda"):
        pytest.skip(f"{lab_name} was not built with CUDA and its emulator")
    launches_of_twin, outcome = explain_run.launches(ROOT, BUILD, lab_name, twin, options)
    assert outcome["status"] == "passed", outcome
    sums = report.explained(twin, options, 32, launches_of_twin).sums
    names = ("global_requests", "global_sectors", "local_passes", "conflicts", "warps", "launches")
    assert {name: sums[name] for name in names} == {name: counted[name] for name in names}
