// How warps, blocks and grids run: divergence, waiting, memory, faults.
#include "ptx_program.hpp"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>
#include <mutex>

using namespace cuda_emulator;
using Catch::Matchers::ContainsSubstring;

namespace {

/// The fault that a launch ends with.
template <class... A> Fault fault_of(PtxProgram& program, Dim3 grid, Dim3 block, A... arguments) {
    try {
        program.run(grid, block, arguments...);
    } catch (const Fault& fault) {
        return fault;
    }
    FAIL("no fault");
    throw;
}

struct Recorder : Observer {
    std::mutex mutex;
    std::vector<BarrierEvent> barriers;
    unsigned splits = 0, bad_shuffles = 0;
    void barrier(BlockView&, const BarrierEvent& event) override {
        const std::lock_guard lock(mutex);
        barriers.push_back(event);
    }
    void split_barrier(WarpView&, Mask, const Instruction&) override { ++splits; }
    void bad_shuffle(WarpView&, unsigned, unsigned, const Instruction&) override { ++bad_shuffles; }
};

} // namespace

TEST_CASE("threads of a grid know their places") {
    PtxProgram program(R"(
mov.u32 %r1, %tid.x; mov.u32 %r2, %tid.y; mov.u32 %r3, %ctaid.x; mov.u32 %r4, %ctaid.y; mov.u32 %r5, %ntid.x; mov.u32 %r6, %ntid.y; mov.u32 %r7, %nctaid.x;
mad.lo.s32 %r8, %r4, %r7, %r3; mul.lo.s32 %r9, %r5, %r6; mad.lo.s32 %r10, %r2, %r5, %r1; mad.lo.s32 %r11, %r8, %r9, %r10;
mul.wide.u32 %rd1, %r11, 4; add.s64 %rd1, %a0, %rd1; st.global.u32 [%rd1], %r11;)");
    const auto* out = program.array<unsigned>(6 * 35, ~0u);
    program.run({2, 3}, {7, 5}, out);
    for (unsigned i = 0; i < 6 * 35; ++i) CHECK(out[i] == i);
}

TEST_CASE("lanes that a branch separates meet again behind it") {
    PtxProgram program(own_element + R"(
and.b32 %r5, %r4, 1; setp.eq.s32 %p1, %r5, 0; mov.u32 %r6, 0;
@%p1 bra EVEN;
activemask.b32 %r6; bra JOIN;
EVEN: setp.lt.u32 %p2, %r4, 8; @%p2 bra JOIN; activemask.b32 %r6;
JOIN: activemask.b32 %r7; mul.lo.s32 %r7, %r7, 1;
st.global.u32 [%rd1], %r6; st.global.u32 [%rd1+128], %r7;)");
    const auto* out = program.array<unsigned>(64);
    program.run({1}, {32}, out);
    CHECK(out[1] == 0xaaaaaaaa);
    CHECK(out[0] == 0);
    CHECK(out[10] == (0x55555555 & ~0xffu));
    for (unsigned lane = 0; lane < 32; ++lane) CHECK(out[32 + lane] == ~0u);
}

TEST_CASE("lanes leave a loop when each is done") {
    PtxProgram program(own_element + R"(
mov.u32 %r5, 0; mov.u32 %r6, 0;
LOOP: add.u32 %r6, %r6, %r5; add.u32 %r5, %r5, 1; setp.le.u32 %p1, %r5, %r4; @%p1 bra LOOP;
st.global.u32 [%rd1], %r6;)");
    const auto* out = program.array<unsigned>(32);
    program.run({1}, {32}, out);
    for (unsigned lane = 0; lane < 32; ++lane) CHECK(out[lane] == lane * (lane + 1) / 2);
}

TEST_CASE("a jump table sends each lane to its own place") {
    PtxProgram program(own_element + R"(
rem.u32 %r5, %r4, 3;
TABLE: .branchtargets A, B, C;
brx.idx %r5, TABLE;
A: mov.u32 %r6, 10; bra END;
B: mov.u32 %r6, 20; bra END;
C: mov.u32 %r6, 30;
END: st.global.u32 [%rd1], %r6;)");
    const auto* out = program.array<unsigned>(32);
    program.run({1}, {32}, out);
    for (unsigned lane = 0; lane < 32; ++lane) CHECK(out[lane] == 10 * (lane % 3 + 1));
}

TEST_CASE("functions take arguments and return to where each lane came from") {
    PtxProgram program(own_element + R"(
setp.lt.u32 %p1, %r4, 10; mov.u32 %r6, 0;
{ .param .b32 x; .param .b32 y; .param .b32 result;
st.param.b32 [x], %r4; st.param.b32 [y], 3;
@%p1 call (result), f, (x, y);
@!%p1 st.param.b32 [x], 100;
@!%p1 call (result), f, (x, y);
ld.param.b32 %r6, [result]; }
st.global.u32 [%rd1], %r6;)",
                       1, R"(
.func (.param .b32 r) g(.param .b32 a) { .reg .b32 %r<3>; ld.param.b32 %r1, [a]; add.s32 %r1, %r1, 1; st.param.b32 [r], %r1; ret; }
.func (.param .b32 r) f(.param .b32 a, .param .b32 b) {
.reg .b32 %r<4>; ld.param.b32 %r1, [a]; ld.param.b32 %r2, [b]; mul.lo.s32 %r1, %r1, %r2;
{ .param .b32 p; .param .b32 q; st.param.b32 [p], %r1; call (q), g, (p); ld.param.b32 %r3, [q]; }
st.param.b32 [r], %r3; ret; })");
    const auto* out = program.array<unsigned>(32);
    program.run({1}, {32}, out);
    for (unsigned lane = 0; lane < 32; ++lane) CHECK(out[lane] == (lane < 10 ? 3 * lane + 1 : 301));
}

TEST_CASE("lanes of a warp that wait for each other make progress") {
    // Each lane takes a lock, adds one without an atomic, and gives the lock back.
    PtxProgram program(R"(
TAKE: atom.global.cas.b32 %r1, [%a0], 0, 1; setp.ne.u32 %p1, %r1, 0; @%p1 bra TAKE;
ld.volatile.global.u32 %r2, [%a0+4]; add.u32 %r2, %r2, 1; st.volatile.global.u32 [%a0+4], %r2;
membar.gl; atom.global.exch.b32 %r3, [%a0], 0;)");
    const std::uint64_t seed = GENERATE(0u, 1u, 7u);
    program.launch.seed = seed;
    const auto* out = program.array<unsigned>(2);
    program.run({5}, {64}, out);
    CHECK(out[1] == 320);
}

TEST_CASE("blocks that wait for blocks before them make progress in every order") {
    // A block takes a ticket and waits for the one with the ticket before.
    PtxProgram program(R"(
.shared .u32 ticket;
mov.u32 %r1, %tid.x; setp.ne.u32 %p1, %r1, 0; @%p1 bra JOIN;
atom.global.add.u32 %r2, [%a0], 1; st.shared.u32 [ticket], %r2;
JOIN: bar.sync 0; ld.shared.u32 %r2, [ticket];
WAIT: ld.acquire.gpu.u32 %r3, [%a0+4]; setp.ne.u32 %p2, %r3, %r2; @%p2 bra WAIT;
bar.sync 0; @%p1 bra END; add.u32 %r3, %r3, 1; st.release.gpu.u32 [%a0+4], %r3; END:)");
    program.launch.seed = GENERATE(0u, 3u);
    const auto* out = program.array<unsigned>(2);
    program.run({200}, {64}, out);
    CHECK(out[1] == 200);
}

TEST_CASE("all blocks of a cooperative launch are there at once") {
    // Each adds one and waits for all.
    PtxProgram program(
        "red.global.add.u32 [%a0], 1; WAIT: ld.acquire.gpu.u32 %r1, [%a0]; setp.ne.u32 %p1, %r1, 3000; @%p1 bra WAIT;");
    program.launch.cooperative = true;
    const auto* out = program.array<unsigned>(1);
    program.run({3000}, {1}, out);
    CHECK(out[0] == 3000);
}

TEST_CASE("a grid whose blocks wait for more than can be resident is a deadlock") {
    PtxProgram program(
        "red.global.add.u32 [%a0], 1; WAIT: ld.acquire.gpu.u32 %r1, [%a0]; setp.ne.u32 %p1, %r1, 300; @%p1 bra WAIT;");
    program.launch.resident_blocks = 64;
    CHECK(fault_of(program, {300}, {1}, program.array<unsigned>(1)).kind == Fault::Kind::deadlock);
}

TEST_CASE("a block that looks at two words in turn lets the others go on") {
    PtxProgram program(
        "mov.u32 %r1, %ctaid.x; setp.eq.u32 %p1, %r1, 1; @%p1 st.volatile.global.u32 [%a0], 1; "
        "@%p1 st.volatile.global.u32 [%a0+4], 1; WAIT: ld.relaxed.gpu.u32 %r1, [%a0]; "
        "ld.relaxed.gpu.u32 %r2, [%a0+4]; and.b32 %r1, %r1, %r2; setp.ne.u32 %p1, %r1, 1; @%p1 bra WAIT;");
    program.launch.cooperative = true;
    program.launch.host_threads = 1;
    program.launch.instruction_limit = 100000;
    const auto* out = program.array<unsigned>(2);
    program.run({2}, {32}, out);
    CHECK(out[1] == 1);
}

TEST_CASE("a cooperative launch finds a word to count in, and a block that never counts there is a deadlock") {
    // As grid.sync() does: %envreg1 and %envreg2 hold the address of two words, of which the second is its own.
    const bool all = GENERATE(true, false);
    PtxProgram program(std::string("mov.u32 %r1, %envreg1; mov.u32 %r2, %envreg2; mov.b64 %rd1, {%r2, %r1}; mov.u32 "
                                   "%r3, %ctaid.x; setp.eq.u32 %p1, %r3, 3;\n") +
                       (all ? "" : "@%p1 exit;") +
                       "red.global.add.u32 [%rd1+4], 1; WAIT: ld.acquire.gpu.u32 %r4, [%rd1+4]; setp.ne.u32 %p2, %r4, "
                       "20; @%p2 bra WAIT;");
    program.launch.cooperative = true;
    if (all) CHECK_NOTHROW(program.run({20}, {1}, program.array<unsigned>(1)));
    else CHECK(fault_of(program, {20}, {1}, program.array<unsigned>(1)).kind == Fault::Kind::deadlock);
}

TEST_CASE("bar.sync with a number of threads holds these alone") {
    // Warps 0 and 1 meet at barrier 1; warp 2 does not come.
    PtxProgram program(own_element + R"(
.shared .u32 value;
setp.ge.u32 %p1, %r4, 64; @%p1 bra END; setp.lt.u32 %p2, %r4, 32; @%p2 bra JOIN; st.shared.u32 [value], 7;
JOIN: bar.sync 1, 64; ld.shared.u32 %r5, [value]; st.global.u32 [%rd1], %r5; END:)");
    const auto* out = program.array<unsigned>(96);
    program.run({1}, {96}, out);
    CHECK(out[0] == 7);
    CHECK(out[95] == 0);
}

TEST_CASE("bar.red combines the predicates of all threads") {
    PtxProgram program(own_element + R"(
setp.ge.u32 %p1, %r4, 10;
bar.red.and.pred %p2, 0, %p1; bar.red.or.pred %p3, 0, %p1; bar.red.popc.u32 %r5, 0, !%p1;
selp.u32 %r6, 1000, 0, %p2; selp.u32 %r7, 100, 0, %p3; add.u32 %r5, %r5, %r6; add.u32 %r5, %r5, %r7; st.global.u32 [%rd1], %r5;)");
    const auto* out = program.array<unsigned>(96);
    program.run({1}, {96}, out);
    for (unsigned i = 0; i < 96; ++i) CHECK(out[i] == 110);
}

TEST_CASE("a barrier tells the observer who came and who had ended") {
    PtxProgram program("mov.u32 %r1, %tid.x; setp.ge.u32 %p1, %r1, 40; @%p1 exit; bar.sync 0;");
    Recorder recorder;
    program.observer = &recorder;
    program.run({1}, {64}, program.array<unsigned>(1));
    REQUIRE(recorder.barriers.size() == 1);
    CHECK(recorder.barriers[0].exited == 24);
    CHECK(recorder.splits == 0);
}

TEST_CASE("a barrier that only some lanes of a warp reach together is told") {
    PtxProgram program(
        "mov.u32 %r1, %tid.x; setp.lt.u32 %p1, %r1, 16; @%p1 bra LOW; bar.sync 0; bra END; LOW: bar.sync 0; END:");
    Recorder recorder;
    program.observer = &recorder;
    program.run({1}, {32}, program.array<unsigned>(1));
    CHECK(recorder.splits == 2);
    REQUIRE(recorder.barriers.size() == 1);
    CHECK(recorder.barriers[0].other);
}

TEST_CASE("threads that wait at different barriers are a deadlock") {
    PtxProgram program(
        "mov.u32 %r1, %tid.x; setp.lt.u32 %p1, %r1, 32; @%p1 bra LOW; bar.sync 0; bra END; LOW: bar.sync 1; END:");
    const Fault fault = fault_of(program, {1}, {64}, program.array<unsigned>(1));
    CHECK(fault.kind == Fault::Kind::deadlock);
    CHECK_THAT(fault.what(), ContainsSubstring("bar.sync 0") && ContainsSubstring("bar.sync 1"));
}

TEST_CASE("threads that pause, or wait for a time, are no deadlock") {
    PtxProgram program(R"(
mov.u32 %r1, 0; PAUSE: nanosleep.u32 100; add.u32 %r1, %r1, 1; setp.lt.u32 %p1, %r1, 3000; @%p1 bra PAUSE;
mov.u64 %rd1, %globaltimer; TIME: nanosleep.u32 100; mov.u64 %rd2, %globaltimer; sub.u64 %rd2, %rd2, %rd1; setp.lt.u64 %p1, %rd2, 2000000; @%p1 bra TIME;
st.global.u32 [%a0], %r1;)");
    const auto* out = program.array<unsigned>(1);
    program.run({1}, {32}, out);
    CHECK(out[0] == 3000);
}

TEST_CASE("an endless loop ends at the limit of instructions") {
    const std::string barrier = GENERATE("", "bar.sync 0;"); // at which the warp waits
    PtxProgram program("LOOP: add.u32 %r1, %r1, 1;" + barrier + "bra LOOP;");
    program.launch.instruction_limit = 100000;
    CHECK(fault_of(program, {1}, {32}, program.array<unsigned>(1)).kind == Fault::Kind::endless);
}

TEST_CASE("an access out of bounds is told with block, thread and the allocation next to it") {
    PtxProgram program(own_element + "st.global.u32 [%rd1], 1;");
    const auto* out = program.array<unsigned>(100);
    const Fault fault = fault_of(program, {2}, {64}, out);
    CHECK(fault.kind == Fault::Kind::illegal_address);
    CHECK(fault.block.x == 1);
    CHECK(fault.thread.x == 36);
    CHECK_THAT(fault.what(), ContainsSubstring("writes 4 bytes at ") &&
                                 ContainsSubstring("0 bytes behind the end of an allocation of 400 bytes"));
}

TEST_CASE("faults of addresses are found in every space") {
    const auto [body, kind, text] = GENERATE(table<std::string, Fault::Kind, std::string>({
        {"ld.global.u32 %r1, [%a0+2];", Fault::Kind::misaligned_address, "no multiple of 4"},
        {"ld.global.v2.u32 {%r1, %r2}, [%a0+4];", Fault::Kind::misaligned_address, "no multiple of 8"},
        {"ld.global.u32 %r1, [%a0+-4];", Fault::Kind::illegal_address, "before the beginning"},
        {"mov.u64 %rd1, 0; ld.global.u32 %r1, [%rd1];", Fault::Kind::illegal_address, "a null pointer"},
        {"mov.u64 %rd1, 0x7000; ld.global.u32 %r1, [%rd1];", Fault::Kind::illegal_address, "no device memory"},
        {".shared .b8 s[16]; ld.shared.u32 %r1, [s+16];", Fault::Kind::illegal_address, "shared memory at 16"},
        {".local .b8 l[16]; mov.u64 %rd1, l; cvta.local.u64 %rd1, %rd1; st.u32 [%rd1+16], 0;",
         Fault::Kind::illegal_address, "local memory at 16"},
        {"atom.global.add.u32 %r1, [%a0+64], 1;", Fault::Kind::illegal_address, "updates 4 bytes"},
        {"wmma.store.d.sync.aligned.row.m16n16k16.global.f16 [%a0+16], {%r1, %r2, %r3, %r4};",
         Fault::Kind::misaligned_address, "a multiple of 32"},
        {"wmma.store.d.sync.aligned.row.m16n16k16.global.f16 [%a0], {%r1, %r2, %r3, %r4}, 12;",
         Fault::Kind::misaligned_address, "no multiple of 16"},
        {"wmma.store.d.sync.aligned.row.m16n16k16.global.f16 [%a0], {%r1, %r2, %r3, %r4};",
         Fault::Kind::illegal_address, "writes 16 bytes"},
        {"trap;", Fault::Kind::trap, "trap"},
    }));
    PtxProgram program(body);
    CAPTURE(body);
    const Fault fault = fault_of(program, {1}, {32}, program.array<unsigned>(16));
    CHECK(fault.kind == kind);
    CHECK_THAT(fault.what(), ContainsSubstring(text));
}

TEST_CASE("div.approx gives 0 for what is divided by more than 2^126, and div.full the quotient") {
    PtxProgram program(R"(
mov.f32 %f1, 0f7F000000; mov.f32 %f2, 0fFF000001; mov.f32 %f3, 0fFE800000; mov.f32 %f4, 0f7F800000;
div.approx.f32 %f5, %f1, %f2; st.global.f32 [%a0], %f5; div.full.f32 %f5, %f1, %f1; st.global.f32 [%a0+4], %f5;
div.approx.f32 %f5, %f1, %f3; st.global.f32 [%a0+8], %f5; div.approx.f32 %f5, %f4, %f1; st.global.f32 [%a0+12], %f5;)");
    const auto* out = program.array<float>(4);
    program.run({1}, {1}, out);
    CHECK((out[0] == 0 && std::signbit(out[0]) && out[1] == 1 && out[2] == -2 && std::isnan(out[3])));
}

TEST_CASE("generic addresses reach global, shared and local memory in one instruction") {
    PtxProgram program(own_element + R"(
.shared .align 4 .b8 s[128]; .local .align 4 .b8 l[4];
mov.u64 %rd2, s; cvta.shared.u64 %rd2, %rd2; mul.wide.u32 %rd3, %r4, 4; add.s64 %rd2, %rd2, %rd3;
mov.u64 %rd4, l; cvta.local.u64 %rd4, %rd4;
st.u32 [%rd1], 1; st.u32 [%rd2], 2; st.u32 [%rd4], 3;
rem.u32 %r5, %r4, 3; setp.eq.u32 %p1, %r5, 0; setp.eq.u32 %p2, %r5, 1;
selp.b64 %rd5, %rd1, %rd4, %p1; selp.b64 %rd5, %rd2, %rd5, %p2; ld.u32 %r6, [%rd5]; st.global.u32 [%rd1], %r6;)");
    const auto* out = program.array<unsigned>(32);
    program.run({1}, {32}, out);
    for (unsigned lane = 0; lane < 32; ++lane) CHECK(out[lane] == std::array{1u, 2u, 3u}[lane % 3]);
}

TEST_CASE("dynamic shared memory lies behind the static") {
    PtxProgram program(own_element + R"(
.shared .align 4 .b8 fixed[40];
mov.u32 %r5, dynamic; add.u32 %r5, %r5, 60; st.shared.u32 [%r5], 9; ld.shared.u32 %r6, [dynamic+60]; st.global.u32 [%rd1], %r6;)",
                       1, ".extern .shared .align 16 .b8 dynamic[];");
    program.launch.dynamic_shared_bytes = 64;
    const auto* out = program.array<unsigned>(1);
    program.run({1}, {1}, out);
    CHECK(out[0] == 9);
    program.launch.dynamic_shared_bytes = 32;
    CHECK(fault_of(program, {1}, {1}, out).kind == Fault::Kind::illegal_address);
}

TEST_CASE("loads extend into wider registers, stores take the lower bits") {
    PtxProgram program(R"(
ld.global.s8 %r1, [%a0]; st.global.u32 [%a0+16], %r1; ld.global.u8 %h1, [%a0]; cvt.u32.u16 %r2, %h1; st.global.u32 [%a0+20], %r2;
ld.global.s16 %rd1, [%a0]; st.global.u64 [%a0+24], %rd1; st.global.u8 [%a0+32], %r1; st.global.v4.u8 [%a0+36], {%h1, 1, 2, %h1};)");
    auto* out = program.array<unsigned>(16);
    out[0] = 0xfff0;
    program.run({1}, {1}, out);
    CHECK(out[4] == 0xfffffff0);
    CHECK(out[5] == 0xf0);
    CHECK(out[6] == 0xfffffff0);
    CHECK(out[7] == ~0u);
    CHECK(out[8] == 0xf0);
    CHECK(out[9] == 0xf00201f0);
}

TEST_CASE("atomics of all blocks add up") {
    PtxProgram program(R"(
red.global.add.u32 [%a0], 1; atom.global.max.s32 %r1, [%a0+4], -5; mov.u32 %r2, %ctaid.x; red.global.xor.b32 [%a0+8], %r2;
mov.f32 %f1, 0f3F000000; red.global.add.f32 [%a0+12], %f1; atom.global.inc.u32 %r3, [%a0+16], 6;)");
    auto* out = program.array<unsigned>(8);
    out[1] = static_cast<unsigned>(-9);
    program.run({100}, {128}, out);
    CHECK(out[0] == 12800);
    CHECK(static_cast<int>(out[1]) == -5);
    CHECK(out[2] == 0);
    CHECK(std::bit_cast<float>(out[3]) == 6400.0f);
    CHECK(out[4] == 12800 % 7);
}

TEST_CASE("with one host thread an order gives the same run every time, and another order another") {
    // Lanes append their number to a list.
    PtxProgram program("mov.u32 %r1, %tid.x; atom.global.add.u32 %r2, [%a0], 1; mul.wide.u32 %rd1, %r2, 4; add.s64 "
                       "%rd1, %a0, %rd1; st.global.u32 [%rd1+4], %r1;");
    program.launch.host_threads = 1;
    const auto list = [&](std::uint64_t seed) {
        program.launch.seed = seed;
        const auto* out = program.array<unsigned>(257);
        program.run({1}, {256}, out);
        return std::vector<unsigned>(out + 1, out + 257);
    };
    CHECK(std::ranges::is_sorted(list(0)));
    CHECK(list(5) == list(5));
    CHECK(list(5) != list(6));
}

TEST_CASE("launches that no device accepts are refused") {
    PtxProgram program("", 1, "", ".maxntid 64, 1, 1");
    const auto* out = program.array<unsigned>(1);
    CHECK(fault_of(program, {1}, {65}, out).kind == Fault::Kind::launch_bounds);
    CHECK(fault_of(program, {0}, {1}, out).kind == Fault::Kind::launch_bounds);
    program.launch.cluster = {2, 1, 1};
    CHECK(fault_of(program, {3}, {1}, out).kind == Fault::Kind::launch_bounds);
}

TEST_CASE("printf prints what a kernel prints") {
    std::string text;
    set_printf_sink([&](const std::string& line) { text += line; });
    PtxProgram program(
        R"(
.local .align 8 .b8 l[24]; .reg .b64 %SP; mov.u64 %SP, l; cvta.local.u64 %SP, %SP;
mov.u32 %r1, %tid.x; st.u32 [%SP], %r1; mov.f64 %fd1, 1.5; st.f64 [%SP+8], %fd1; mov.u64 %rd2, -3; st.u64 [%SP+16], %rd2; mov.u64 %rd1, format; cvta.global.u64 %rd1, %rd1;
{ .param .b64 f; .param .b64 a; .param .b32 r; st.param.b64 [f], %rd1; st.param.b64 [a], %SP; call (r), vprintf, (f, a); })",
        1, R"(.global .align 1 .b8 format[16] = {37, 48, 50, 100, 32, 37, 46, 50, 102, 32, 37, 108, 100, 37, 37, 0};
.extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);)"); // "%02d %.2f %ld%%"
    program.run({1}, {2}, program.array<unsigned>(1));
    set_printf_sink({});
    CHECK(text == "00 1.50 -3%01 1.50 -3%");
}

TEST_CASE("memory is found by address, and what is freed is given again") {
    Memory memory(1 << 20);
    auto* a = static_cast<char*>(memory.allocate(1000, MemoryKind::device));
    auto* b = static_cast<char*>(memory.allocate(10, MemoryKind::pinned, "b"));
    CHECK(b - a >= 1000 + static_cast<long>(Memory::red_zone));
    CHECK(memory.find(a + 999).begin == reinterpret_cast<std::uintptr_t>(a));
    CHECK(memory.find(a + 1000).size == 0);
    CHECK(memory.nearest(reinterpret_cast<std::uintptr_t>(b) - 8).name == "b");
    memory.mark_written(reinterpret_cast<std::uintptr_t>(a), 4);
    CHECK(*memory.written(reinterpret_cast<std::uintptr_t>(a) + 3) == 1);
    CHECK_FALSE(memory.free(a + 1));
    CHECK(memory.free(a));
    CHECK(memory.neighbourhood(reinterpret_cast<std::uintptr_t>(a)) == "in memory that has been freed");
    CHECK(memory.find(a).size == 0);
    auto* again = static_cast<char*>(memory.allocate(900, MemoryKind::device));
    CHECK(again == a);
    CHECK(*memory.written(reinterpret_cast<std::uintptr_t>(a) + 3) == 0);
    CHECK_FALSE(memory.allocate(2 << 20, MemoryKind::device));
}
