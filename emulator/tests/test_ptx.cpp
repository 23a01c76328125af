// What the parser makes of PTX, and what it says of PTX that it cannot run.
#include "ptx_program.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

using namespace cuda_emulator;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("a kernel's parameters lie at their natural offsets, and directives are read") {
    Memory memory(1 << 20);
    const Module module(R"(.version 8.0
.target sm_90a
.address_size 64
.const .align 4 .b8 table[12] = {1, 2, 3, 0, 255};
.visible .global .align 8 .u64 pointer = generic(table);
.global .align 4 .f32 numbers[3] = {0f3F800000, 2.5, 3};
.extern .shared .align 128 .b8 dynamic[];
.visible .entry k(.param .u8 a, .param .align 16 .b8 b[24], .param .u16 c, .param .f64 d)
.maxntid 256, 1, 1
.minnctapersm 4
.reqnctapercluster 2, 1, 1
{
.reg .b32 %r<3>;
.shared .align 4 .b8 tile[100];
mov.u32 %r1, dynamic;
ret;
}
.entry other() { ret; }
)",
                        memory);
    CHECK(module.target() == 90);
    CHECK(module.kernels() == std::vector<std::string>{"k", "other"});
    const Kernel& kernel = module.kernel("k");
    REQUIRE(kernel.parameters.size() == 4);
    CHECK(kernel.parameters[1].offset == 16);
    CHECK(kernel.parameters[1].size == 24);
    CHECK(kernel.parameters[2].offset == 40);
    CHECK(kernel.parameters[3].offset == 48);
    CHECK(kernel.argument_bytes == 56);
    CHECK(kernel.shared_bytes == 128); // the dynamic array behind it begins at a multiple of 128
    CHECK(kernel.maxntid[0] == 256);
    CHECK(kernel.minnctapersm == 4);
    CHECK(kernel.reqnctapercluster[0] == 2);
    CHECK(kernel.constant_bytes == 12);
    const Variable* table = module.variable("table");
    REQUIRE(table);
    CHECK(table->constant);
    CHECK(static_cast<const unsigned char*>(table->address)[4] == 255);
    CHECK(*static_cast<void**>(module.variable("pointer")->address) == table->address);
    CHECK(static_cast<const float*>(module.variable("numbers")->address)[1] == 2.5f);
    CHECK(static_cast<const float*>(module.variable("numbers")->address)[2] == 3.0f);
    CHECK_FALSE(module.variable("nothing"));
}

TEST_CASE("an instruction knows the source line that it comes from, also where a function was inlined") {
    Memory memory(1 << 20);
    const Module module(R"(.version 8.0
.target sm_80
.entry k() {
.reg .b32 %r<3>;
.loc 1 46 5
mov.u32 %r1, 1;
.loc 1 32 7, function_name $L__info_string0, inlined_at 1 46 5
mov.u32 %r1, 2;
.loc 2 9 3, function_name $L__info_string1, inlined_at 1 32 7
add.s32 %r1, %r1,
        3;
ret;
}
.file 1 "a.cu"
.file 2 "b.hpp"
.section .debug_str { $L__info_string0: .b8 95 }
)",
                        memory);
    const Instruction& add = module.kernel("k").instructions[2];
    CHECK(add.detail->text == "add.s32 %r1, %r1, 3");
    CHECK(*add.detail->location.file == "b.hpp");
    CHECK(add.detail->location.line == 9);
    REQUIRE(add.detail->location.inlined_at);
    CHECK(add.detail->location.inlined_at->line == 32);
    CHECK(*add.detail->location.outermost().file == "a.cu");
    CHECK(add.detail->location.outermost().line == 46);
}

TEST_CASE("an instruction that the emulator does not have is refused in one line") {
    const auto error_of = [](const std::string& body) -> std::string {
        try {
            PtxProgram(".loc 1 7 1\n" + body, 1, ".file 1 \"source.cu\"").kernel();
        } catch (const PtxError& error) {
            return error.what();
        }
        return "accepted";
    };
    CHECK_THAT(error_of("wgmma.fence.sync.aligned;"),
               ContainsSubstring("wgmma.fence.sync.aligned: not emulated") && ContainsSubstring("in k, source.cu:7"));
    CHECK_THAT(error_of("add.sideways.s32 %r1, %r2, %r3;"), ContainsSubstring(".sideways"));
    CHECK_THAT(error_of("add.s32 %r1, %r2, %rd3;"), ContainsSubstring("%rd3"));
    CHECK_THAT(error_of("add.s32 %r1, %r2;"), ContainsSubstring("number of operands"));
    CHECK_THAT(error_of("add.s32 %r1, %r2, %nothing;"), ContainsSubstring("%nothing"));
    CHECK_THAT(error_of("add.s32 %r1, %r2, %r99;"), ContainsSubstring("%r99"));
    CHECK_THAT(error_of("bra nowhere;"), ContainsSubstring("nowhere"));
    CHECK_THAT(error_of("@%r1 bra here; here:"), ContainsSubstring("%r1"));
    CHECK_THAT(error_of("call missing;"), ContainsSubstring("missing"));
    CHECK(error_of("add.s32 %r1, %r2, %r3;") == "accepted");
}

TEST_CASE("a recursive function is refused") {
    PtxProgram program("call f;", 1, ".func f { call f; ret; }");
    CHECK_THROWS_AS(program.kernel(), PtxError);
}

TEST_CASE("names in a scope hide those around it, and labels may repeat") {
    PtxProgram program(own_element + R"(
mov.u32 %r5, 10;
{ .reg .b32 t; mov.u32 t, 1; LOOP: add.u32 %r5, %r5, t; setp.lt.u32 %p1, %r5, 20; @%p1 bra LOOP; }
{ .reg .b32 t; mov.u32 t, 5; LOOP: add.u32 %r5, %r5, t; setp.lt.u32 %p1, %r5, 40; @%p1 bra LOOP; }
st.global.u32 [%rd1], %r5;)");
    const auto* out = program.array<unsigned>(32);
    program.run({1}, {32}, out);
    CHECK(out[31] == 40);
}

TEST_CASE("numbers are read in all forms of the ISA") {
    PtxProgram program(R"(
mov.u32 %r1, 0x10; st.global.u32 [%a0], %r1;
mov.u32 %r1, -1; st.global.u32 [%a0+4], %r1;
mov.f32 %f1, 0fBF800000; st.global.f32 [%a0+8], %f1;
mov.f32 %f1, 1.5; st.global.f32 [%a0+12], %f1;
mov.u32 %r1, 0b101; st.global.u32 [%a0+16], %r1;
mov.u32 %r1, 017; st.global.u32 [%a0+20], %r1;
mov.u32 %r1, WARP_SZ; st.global.u32 [%a0+24], %r1;
add.s64 %rd1, %a0, 64; st.global.u32 [%rd1+-36], 42U;)");
    const auto* out = program.array<unsigned>(16);
    program.run({1}, {1}, out);
    CHECK(out[0] == 16);
    CHECK(out[1] == ~0u);
    CHECK(out[2] == 0xbf800000);
    CHECK(out[3] == std::bit_cast<unsigned>(1.5f));
    CHECK(out[4] == 5);
    CHECK(out[5] == 15);
    CHECK(out[6] == 32);
    CHECK(out[7] == 42);
}
