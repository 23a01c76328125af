// Instructions by which lanes exchange values, copies without registers, and matrices.
#include "instructions/half.hpp"
#include "ptx_program.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <cmath>

using namespace cuda_emulator;

namespace {

struct Shuffles : Observer {
    unsigned bad = 0;
    void bad_shuffle(WarpView&, unsigned, unsigned, const Instruction&) override { ++bad; }
};

/// What each lane of one warp stores into its element.
std::vector<unsigned> lanes(const std::string& body, Observer* observer = nullptr) {
    PtxProgram program(own_element + body + "\nst.global.u32 [%rd1], %r5;");
    program.observer = observer;
    const auto* out = program.array<unsigned>(32);
    program.run({1}, {32}, out);
    return {out, out + 32};
}

} // namespace

TEST_CASE("shfl.sync moves values up, down, across and from one lane") {
    const auto up = lanes("shfl.sync.up.b32 %r5|%p1, %r4, 3, 0, -1; @!%p1 add.u32 %r5, %r5, 100;");
    const auto down = lanes("shfl.sync.down.b32 %r5|%p1, %r4, 3, 31, -1; @!%p1 add.u32 %r5, %r5, 100;");
    const auto across = lanes("shfl.sync.bfly.b32 %r5, %r4, 5, 31, -1;");
    const auto tiles = lanes("shfl.sync.idx.b32 %r5, %r4, 2, 0x181f, -1;"); // tiles of 8 lanes
    for (unsigned lane = 0; lane < 32; ++lane) {
        CHECK(up[lane] == (lane < 3 ? lane + 100 : lane - 3));
        CHECK(down[lane] == (lane > 28 ? lane + 100 : lane + 3));
        CHECK(across[lane] == (lane ^ 5));
        CHECK(tiles[lane] == lane / 8 * 8 + 2);
    }
}

TEST_CASE("lanes that come later to a shuffle are waited for") {
    const auto result = lanes(R"(
mov.u32 %r6, %r4; setp.lt.u32 %p1, %r4, 16; @!%p1 bra HIGH;
shfl.sync.bfly.b32 %r5, %r6, 16, 31, -1; bra END;
HIGH: add.u32 %r6, %r6, 100; shfl.sync.bfly.b32 %r5, %r6, 1, 31, 0xffff0000; mov.u32 %r5, %r6; shfl.sync.bfly.b32 %r5, %r6, 1, 31, 0xffff0000; END:)");
    CHECK(result[16] == 117);
}

TEST_CASE("a shuffle from a lane that does not take part is told") {
    Shuffles shuffles;
    lanes(
        "setp.ge.u32 %p1, %r4, 16; mov.u32 %r5, 0; @%p1 bra END; shfl.sync.down.b32 %r5, %r4, 8, 31, 0x0000ffff; END:",
        &shuffles);
    CHECK(shuffles.bad == 8);
}

TEST_CASE("tiles of a warp shuffle each with its own members") {
    const auto result = lanes("mov.u32 %r6, 0xffff; and.b32 %r7, %r4, 16; shl.b32 %r6, %r6, %r7; shfl.sync.bfly.b32 "
                              "%r5, %r4, 8, 0x101f, %r6;");
    for (unsigned lane = 0; lane < 32; ++lane) CHECK(result[lane] == (lane ^ 8));
}

TEST_CASE("vote, match and redux see the members' values") {
    CHECK(lanes("setp.gt.u32 %p1, %r4, 27; vote.sync.ballot.b32 %r5, %p1, -1;")[3] == 0xf0000000);
    CHECK(lanes("setp.gt.u32 %p1, %r4, 27; vote.sync.any.pred %p2, %p1, -1; selp.u32 %r5, 1, 0, %p2;")[0] == 1);
    CHECK(lanes("setp.gt.u32 %p1, %r4, 27; vote.sync.all.pred %p2, !%p1, -1; selp.u32 %r5, 1, 0, %p2;")[0] == 0);
    CHECK(lanes("setp.lt.u32 %p1, %r4, 99; vote.sync.uni.pred %p2, %p1, -1; selp.u32 %r5, 1, 0, %p2;")[0] == 1);
    CHECK(lanes("and.b32 %r6, %r4, 3; match.any.sync.b32 %r5, %r6, -1;")[5] == 0x22222222);
    CHECK(lanes("and.b32 %r6, %r4, 3; match.all.sync.b32 %r5|%p1, %r6, -1; @!%p1 add.u32 %r5, %r5, 7;")[5] == 7);
    CHECK(lanes("redux.sync.add.s32 %r5, %r4, -1;")[9] == 496);
    CHECK(lanes("neg.s32 %r6, %r4; redux.sync.min.s32 %r5, %r6, -1;")[9] == static_cast<unsigned>(-31));
    CHECK(lanes("elect.sync %r5|%p1, -1; @%p1 add.u32 %r5, %r5, 50;")[0] == 50);
}

TEST_CASE("cp.async arrives when it is waited for, and not before") {
    const bool waits = GENERATE(false, true);
    PtxProgram program(std::string(R"(
.shared .align 16 .b8 s[32]; mov.u32 %r1, s; st.shared.u32 [s], 5; st.shared.u32 [s+16], 5;
cp.async.ca.shared.global [%r1], [%a0], 16; cp.async.commit_group;
cp.async.cg.shared.global [%r1+16], [%a0], 16, 4; cp.async.commit_group;
)") + (waits ? "cp.async.wait_group 1;" : "") +
                       R"(
ld.shared.u32 %r2, [s]; ld.shared.u32 %r3, [s+16]; cp.async.wait_all; ld.shared.v2.u32 {%r4, %r5}, [s+16];
st.global.v4.u32 [%a0+16], {%r2, %r3, %r4, %r5};)");
    auto* out = program.array<unsigned>(8, 77);
    program.run({1}, {1}, out);
    CHECK(out[4] == (waits ? 77 : 5));
    CHECK(out[5] == 5);
    CHECK(out[6] == 77);
    CHECK(out[7] == 0); // the source had four bytes
}

TEST_CASE("a matrix product of fragments is that of the matrices") {
    struct Case {
        std::string name, a, c;
        unsigned m, k, a_registers, b_registers, c_registers;
    };
    const Case shape =
        GENERATE(Case{"m8n8k4", "f64", "f64", 8, 4, 1, 1, 2}, Case{"m16n8k8", "f16", "f32", 16, 8, 2, 1, 4},
                 Case{"m16n8k16", "f16", "f32", 16, 16, 4, 2, 4}, Case{"m16n8k16", "bf16", "f32", 16, 16, 4, 2, 4},
                 Case{"m16n8k8", "tf32", "f32", 16, 8, 4, 2, 4}, Case{"m16n8k4", "tf32", "f32", 16, 4, 2, 1, 4},
                 Case{"m16n8k32", "s8", "s32", 16, 32, 4, 2, 4}, Case{"m16n8k16", "f64", "f64", 16, 16, 8, 4, 4});
    CAPTURE(shape.name, shape.a);
    const bool wide = shape.a == "f64";
    const unsigned bytes = wide ? 8 : 4, per_register = wide || shape.a == "tf32" ? 1 : shape.a == "s8" ? 4 : 2;
    // Each lane reads its fragments from arrays [register][lane], and writes its results so.
    std::string body = "mov.u32 %r1, %tid.x; mul.wide.u32 %rd1, %r1, " + std::to_string(bytes) +
                       "; add.s64 %rd2, %a0, %rd1; add.s64 %rd3, %a1, %rd1; add.s64 %rd4, %a2, %rd1;\n";
    const std::string kind = wide ? "f64" : "b32", reg = wide ? "%fd" : "%r";
    const auto fragment = [&](unsigned first, unsigned count) {
        std::string list = "{";
        for (unsigned i = 0; i < count; ++i) list += (i ? ", " : "") + reg + std::to_string(first + i);
        return list + "}";
    };
    const auto at = [&](const char* base, unsigned i) {
        return std::string("[") + base + "+" + std::to_string(i * 32 * bytes) + "]";
    };
    for (unsigned i = 0; i < shape.a_registers; ++i)
        body += "ld.global." + kind + " " + reg + std::to_string(2 + i) + ", " + at("%rd2", i) + ";\n";
    for (unsigned i = 0; i < shape.b_registers; ++i)
        body += "ld.global." + kind + " " + reg + std::to_string(12 + i) + ", " + at("%rd3", i) + ";\n";
    const std::string c_reg = wide ? "%fd" : shape.c == "f32" ? "%f" : "%r";
    for (unsigned i = 0; i < shape.c_registers; ++i)
        body += "ld.global." + shape.c + " " + c_reg + std::to_string(22 + i) + ", " + at("%rd4", i) + ";\n";
    std::string c_list = fragment(22, shape.c_registers);
    if (shape.c == "f32")
        for (std::size_t p; (p = c_list.find("%r")) != std::string::npos;) c_list.replace(p, 2, "%f");
    body += "mma.sync.aligned." + shape.name + ".row.col." + shape.c + "." + shape.a + "." + shape.a + "." + shape.c +
            " " + c_list + ", " + fragment(2, shape.a_registers) + ", " + fragment(12, shape.b_registers) + ", " +
            c_list + ";\n";
    for (unsigned i = 0; i < shape.c_registers; ++i)
        body += "st.global." + shape.c + " " + at("%rd4", i) + ", " + c_reg + std::to_string(22 + i) + ";\n";
    PtxProgram program(body, 3);

    const auto A = [](unsigned i, unsigned k) { return static_cast<int>((3 * i + 5 * k) % 11) - 5; };
    const auto B = [](unsigned k, unsigned j) { return static_cast<int>((7 * k + 2 * j) % 9) - 4; };
    auto* a = program.array<unsigned char>(shape.a_registers * 32 * bytes);
    auto* b = program.array<unsigned char>(shape.b_registers * 32 * bytes);
    auto* c = program.array<unsigned char>(shape.c_registers * 32 * bytes);
    const auto put = [&](unsigned char* to, unsigned r, unsigned lane, unsigned j, int value) {
        unsigned char* const element = to + (r * 32 + lane) * bytes + j * bytes / per_register;
        const double d = value;
        const float f = static_cast<float>(value);
        const std::uint16_t half = shape.a == "f16" ? Half::of(value).bits : Bfloat::of(value).bits;
        if (wide) std::memcpy(element, &d, 8);
        else if (shape.a == "tf32") std::memcpy(element, &f, 4);
        else if (shape.a == "s8") *element = static_cast<unsigned char>(value);
        else std::memcpy(element, &half, 2);
    };
    // The fragments as the figures of the ISA draw them (9.7.14.5).
    for (unsigned lane = 0; lane < 32; ++lane)
        for (unsigned j = 0; j < per_register; ++j) {
            for (unsigned r = 0; r < shape.a_registers; ++r)
                put(a, r, lane, j,
                    A(lane / 4 + (shape.m == 16 ? 8 * (r % 2) : 0),
                      lane % 4 * per_register + j + 4 * per_register * (shape.m == 16 ? r / 2 : r)));
            for (unsigned r = 0; r < shape.b_registers; ++r)
                put(b, r, lane, j, B(lane % 4 * per_register + j + 4 * per_register * r, lane / 4));
        }
    for (unsigned i = 0; i < shape.c_registers * 32; ++i) {
        const double d = 1;
        const float f = 1;
        const int s = 1;
        std::memcpy(c + i * bytes,
                    wide               ? static_cast<const void*>(&d)
                    : shape.c == "f32" ? static_cast<const void*>(&f)
                                       : &s,
                    bytes);
    }
    program.run({1}, {32}, a, b, c);
    for (unsigned lane = 0; lane < 32; ++lane)
        for (unsigned r = 0; r < shape.c_registers; ++r) {
            int expected = 1;
            for (unsigned k = 0; k < shape.k; ++k)
                expected += A(lane / 4 + 8 * (r / 2), k) * B(k, 2 * (lane % 4) + r % 2);
            double d;
            float f;
            int s;
            const unsigned char* at_c = c + (r * 32 + lane) * bytes;
            std::memcpy(&d, at_c, wide ? 8 : 0);
            std::memcpy(&f, at_c, 4);
            std::memcpy(&s, at_c, 4);
            CHECK((wide ? d : shape.c == "f32" ? f : s) == expected);
        }
}

TEST_CASE("wmma multiplies matrices that are stored by rows or by columns") {
    const std::string a_major = GENERATE("row", "col"), b_major = GENERATE("row", "col"),
                      c_major = GENERATE("row", "col"), sum = GENERATE("f32", "f16");
    CAPTURE(a_major, b_major, c_major, sum);
    const auto list = [](const char* kind, unsigned first, unsigned count) {
        std::string all = "{";
        for (unsigned i = 0; i < count; ++i) all += (i ? ", " : "") + (kind + std::to_string(first + i));
        return all + "}";
    };
    const bool single = sum == "f32";
    const std::string shape = ".m16n16k16.global.", a = list("%r", 8, 8), b = list("%r", 16, 8),
                      c = single ? list("%f", 0, 8) : list("%r", 24, 4);
    PtxProgram program("mov.u32 %r1, 24;\nwmma.load.a.sync.aligned." + a_major + shape + "f16 " + a +
                           ", [%a0], %r1;\n" + "wmma.load.b.sync.aligned." + b_major + shape + "f16 " + b +
                           ", [%a1+64];\n" + // stride: 16
                           "wmma.load.c.sync.aligned." + c_major + shape + sum + " " + c + ", [%a2], %r1;\n" +
                           "wmma.mma.sync.aligned." + a_major + "." + b_major + ".m16n16k16." + sum + "." + sum + " " +
                           c + ", " + a + ", " + b + ", " + c + ";\n" + "wmma.store.d.sync.aligned." + c_major + shape +
                           sum + " [%a2], " + c + ", %r1;",
                       3);
    const auto A = [](unsigned i, unsigned k) { return static_cast<int>((3 * i + 5 * k) % 11) - 5; };
    const auto B = [](unsigned k, unsigned j) { return static_cast<int>((7 * k + 2 * j) % 9) - 4; };
    auto* const of_a = program.array<std::uint16_t>(16 * 24);
    auto* const of_b = program.array<std::uint16_t>(32 + 16 * 16);
    auto* const singles = program.array<float>(16 * 24, 3);
    auto* const halves = program.array<std::uint16_t>(16 * 24, Half::of(3).bits);
    const auto at = [](const std::string& major, unsigned stride, unsigned i, unsigned j) {
        return major == "row" ? i * stride + j : j * stride + i;
    };
    for (unsigned i = 0; i < 16; ++i)
        for (unsigned j = 0; j < 16; ++j) {
            of_a[at(a_major, 24, i, j)] = Half::of(A(i, j)).bits;
            of_b[32 + at(b_major, 16, i, j)] = Half::of(B(i, j)).bits;
        }
    program.run({1}, {32}, of_a, of_b, single ? static_cast<void*>(singles) : halves);
    for (unsigned i = 0; i < 16; ++i)
        for (unsigned j = 0; j < 24; ++j) { // of c, the last eight of 24 are not the matrix's
            const unsigned row = c_major == "row" ? i : j, column = c_major == "row" ? j : i;
            int expected = 3;
            for (unsigned k = 0; j < 16 && k < 16; ++k) expected += A(row, k) * B(k, column);
            CHECK((single ? singles[i * 24 + j] : Half{halves[i * 24 + j]}.value()) == expected);
        }
}

TEST_CASE("ldmatrix gives each lane its elements, as rows or as columns") {
    const bool transposed = GENERATE(false, true);
    PtxProgram program(std::string(R"(
.shared .align 16 .b8 s[512]; mov.u32 %r1, %tid.x; shl.b32 %r2, %r1, 4; mov.u32 %r3, s; add.u32 %r3, %r3, %r2;
mul.wide.u32 %rd1, %r1, 16; add.s64 %rd1, %a0, %rd1; ld.global.v4.u32 {%r4, %r5, %r6, %r7}, [%rd1]; st.shared.v4.u32 [%r3], {%r4, %r5, %r6, %r7};
bar.warp.sync -1; ldmatrix.sync.aligned.m8n8.x4)") +
                       (transposed ? ".trans" : "") +
                       R"(.shared.b16 {%r4, %r5, %r6, %r7}, [%r3]; st.global.v4.u32 [%rd1], {%r4, %r5, %r6, %r7};)");
    auto* data = program.array<std::uint16_t>(256);
    for (unsigned i = 0; i < 256; ++i)
        data[i] = static_cast<std::uint16_t>(i); // matrix i / 64, row i / 8 % 8, column i % 8
    program.run({1}, {32}, data);
    for (unsigned lane = 0; lane < 32; ++lane)
        for (unsigned matrix = 0; matrix < 4; ++matrix)
            for (unsigned j = 0; j < 2; ++j) {
                const unsigned row = lane / 4, column = 2 * (lane % 4) + j;
                CHECK(data[lane * 8 + matrix * 2 + j] ==
                      matrix * 64 + (transposed ? column * 8 + row : row * 8 + column));
            }
}
