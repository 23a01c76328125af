// Clusters of blocks, barriers that count bytes, copies in bulk.
#include "ptx_program.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

using namespace cuda_emulator;

TEST_CASE("blocks of a cluster read each other's shared memory") {
    // Each block leaves its number in the cluster, and reads that of the next.
    PtxProgram program(own_element + R"(
.shared .u32 mine;
mov.u32 %r5, %cluster_ctarank; st.shared.u32 [mine], %r5;
barrier.cluster.arrive; barrier.cluster.wait;
add.u32 %r6, %r5, 1; mov.u32 %r7, %cluster_nctarank; rem.u32 %r6, %r6, %r7;
mov.u64 %rd2, mine; cvta.shared.u64 %rd2, %rd2; mapa.u64 %rd3, %rd2, %r6; ld.u32 %r8, [%rd3];
mov.u32 %r9, mine; mapa.shared::cluster.u32 %r9, %r9, %r6; ld.shared::cluster.u32 %r10, [%r9];
getctarank.shared::cluster.u32 %r11, %r9;
add.u32 %r8, %r8, %r10; mad.lo.s32 %r8, %r11, 100, %r8; mov.u32 %r12, %clusterid.x; mad.lo.s32 %r8, %r12, 1000, %r8;
barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned; st.global.u32 [%rd1], %r8;)");
    program.launch.cluster = {4, 1, 1};
    program.launch.seed = GENERATE(0u, 2u);
    const auto* out = program.array<unsigned>(8);
    program.run({8}, {1}, out);
    for (unsigned block = 0; block < 8; ++block) CHECK(out[block] == 102 * ((block + 1) % 4) + 1000 * (block / 4));
}

TEST_CASE("a block of a cluster that ends does not hold up the others") {
    PtxProgram program("mov.u32 %r1, %cluster_ctarank; setp.eq.u32 %p1, %r1, 0; @%p1 exit; barrier.cluster.arrive; "
                       "barrier.cluster.wait; red.global.add.u32 [%a0], 1;");
    program.launch.cluster = {2, 1, 1};
    const auto* out = program.array<unsigned>(1);
    program.run({6}, {32}, out);
    CHECK(out[0] == 96);
}

TEST_CASE("an address in a block that the cluster does not have is a fault") {
    PtxProgram program(
        ".shared .u32 mine; mov.u32 %r1, mine; mapa.shared::cluster.u32 %r2, %r1, 2; st.shared::cluster.u32 [%r2], 0;");
    program.launch.cluster = {2, 1, 1};
    CHECK_THROWS_AS(program.run({2}, {1}, program.array<unsigned>(1)), Fault);
}

TEST_CASE("a bulk copy arrives when its mbarrier is waited for") {
    PtxProgram program(R"(
.shared .align 16 .b8 data[64]; .shared .align 8 .b64 bar;
mov.u32 %r1, data; mov.u32 %r2, bar; mov.u32 %r3, %tid.x; setp.ne.u32 %p1, %r3, 0;
@!%p1 mbarrier.init.shared::cta.b64 [%r2], 1; st.shared.u32 [data], 5; bar.sync 0;
@%p1 bra WAIT;
mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], 64;
cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%a0], 64, [%r2];
ld.shared.u32 %r4, [data]; st.global.u32 [%a1], %r4;
WAIT: mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r2], 0; @!%p2 bra WAIT;
shl.b32 %r5, %r3, 2; add.u32 %r5, %r1, %r5; ld.shared.u32 %r6, [%r5];
mul.wide.u32 %rd1, %r3, 4; add.s64 %rd1, %a1, %rd1; st.global.u32 [%rd1+4], %r6;)",
                       2);
    auto* in = program.array<unsigned>(16);
    for (unsigned i = 0; i < 16; ++i) in[i] = 100 + i;
    const auto* out = program.array<unsigned>(17);
    program.run({1}, {16}, in, out);
    CHECK(out[0] == 5);
    for (unsigned i = 0; i < 16; ++i) CHECK(out[1 + i] == 100 + i);
}

TEST_CASE("a bulk store reads its source until its group is waited for") {
    PtxProgram program(R"(
.shared .align 16 .b8 data[16]; mov.u32 %r1, data;
st.shared.v4.u32 [data], {1, 2, 3, 4}; cp.async.bulk.global.shared::cta.bulk_group [%a0], [%r1], 16; cp.async.bulk.commit_group;
st.shared.u32 [data], 9; cp.async.bulk.wait_group.read 0; st.shared.u32 [data+4], 9;)");
    const auto* out = program.array<unsigned>(4);
    program.run({1}, {1}, out);
    CHECK(out[0] == 9); // overwritten before it was read
    CHECK(out[1] == 2);
    CHECK(out[3] == 4);
}

TEST_CASE("copies of cp.async arrive when the mbarrier that they were announced to is waited for") {
    PtxProgram program(R"(
.shared .align 16 .b8 data[16]; .shared .align 8 .b64 first; .shared .align 8 .b64 second;
mov.u32 %r1, data; mov.u32 %r2, first; mov.u32 %r3, second; mov.u32 %r4, %tid.x; setp.ne.u32 %p1, %r4, 0;
@!%p1 mbarrier.init.shared.b64 [%r2], 2; @!%p1 mbarrier.init.shared.b64 [%r3], 2;
shl.b32 %r5, %r4, 2; cvt.u64.u32 %rd1, %r5; add.s64 %rd2, %a0, %rd1; add.s64 %rd3, %a1, %rd1;
add.u32 %r6, %r1, %r5; xor.b32 %r7, %r5, 4; add.u32 %r7, %r1, %r7;
st.shared.u32 [%r6], 5; st.shared.u32 [%r6+8], 5; bar.sync 0;
cp.async.ca.shared.global [%r6], [%rd2], 4; cp.async.mbarrier.arrive.shared.b64 [%r2];
cp.async.ca.shared.global [%r6+8], [%rd2+8], 4; cp.async.mbarrier.arrive.noinc.shared.b64 [%r3];
ld.shared.u32 %r8, [%r6]; mbarrier.arrive.shared.b64 _, [%r2];
FIRST: mbarrier.try_wait.parity.shared.b64 %p2, [%r2], 0; @!%p2 bra FIRST;
ld.shared.u32 %r9, [%r7]; ld.shared.u32 %r10, [%r6+8];
SECOND: mbarrier.test_wait.parity.shared.b64 %p2, [%r3], 0; @!%p2 bra SECOND;
ld.shared.u32 %r11, [%r7+8];
st.global.u32 [%rd3], %r8; st.global.u32 [%rd3+8], %r9; st.global.u32 [%rd3+16], %r10; st.global.u32 [%rd3+24], %r11;)",
                       2);
    auto* in = program.array<unsigned>(4);
    for (unsigned i = 0; i < 4; ++i) in[i] = 100 + i;
    const auto* out = program.array<unsigned>(8);
    program.run({1}, {2}, in, out);
    const std::vector<unsigned> expected = {5, 5, 101, 100,
                                            5, 5, 103, 102}; // too early, the other's, too early, the other's
    CHECK(std::vector(out, out + 8) == expected);
}

TEST_CASE("values stored into another block count at its mbarrier") {
    PtxProgram program(R"(
.shared .align 16 .b8 data[16]; .shared .align 8 .b64 bar;
mov.u32 %r1, data; mov.u32 %r2, bar; mbarrier.init.shared::cta.b64 [%r2], 1; mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], 16;
barrier.cluster.arrive; barrier.cluster.wait;
mov.u32 %r3, %cluster_ctarank; xor.b32 %r4, %r3, 1; mapa.shared::cluster.u32 %r5, %r1, %r4; mapa.shared::cluster.u32 %r6, %r2, %r4;
add.u32 %r7, %r3, 10; cvt.u64.u32 %rd1, %r7; mov.u64 %rd2, 77;
st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.u64 [%r5], {%rd1, %rd2}, [%r6];
WAIT: mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r2], 0; @!%p1 bra WAIT;
ld.shared.u64 %rd3, [data]; mul.wide.u32 %rd4, %r3, 8; add.s64 %rd4, %a0, %rd4; st.global.u64 [%rd4], %rd3;)");
    program.launch.cluster = {2, 1, 1};
    const auto* out = program.array<std::uint64_t>(2);
    program.run({2}, {1}, out);
    CHECK(out[0] == 11);
    CHECK(out[1] == 10);
}

TEST_CASE("an mbarrier that more threads arrive at than it expects, or that nobody initialised, is a fault") {
    const std::string body =
        GENERATE("mbarrier.init.shared::cta.b64 [%r2], 2; mbarrier.arrive.shared::cta.b64 _, [%r2], 3;",
                 "st.shared.u64 [bar], 0; mbarrier.arrive.shared::cta.b64 _, [%r2];");
    PtxProgram program(".shared .align 8 .b64 bar; mov.u32 %r2, bar; " + body);
    CHECK_THROWS_AS(program.run({1}, {1}, program.array<unsigned>(1)), Fault);
}
