#include "instructions/define.hpp"
#include <atomic>

// PTX ISA 9.7.13.1 bar and barrier, 9.7.13.2 bar.warp.sync, 9.7.13.3 barrier.cluster, 9.7.13.4 membar and fence.

namespace cuda_emulator {

enum Reduction : u16 { no_reduction, with_and, with_or, with_count };

void finish_reduction(Warp& warp, const Group& group, const Barrier& barrier) {
    const Instruction& instruction = *group.waits_at;
    const auto what = static_cast<Reduction>(instruction.modifiers & 3);
    if (what == no_reduction) return;
    if (what == with_count)
        return for_lanes(group.lanes,
                         [&](unsigned lane) { warp.at<u32>(instruction.operands[3])[lane] = barrier.count; });
    Mask& p = warp.predicate(instruction.operands[3]);
    p = (what == with_and ? barrier.all : barrier.any) ? p | group.lanes : p & ~group.lanes;
}

namespace {

enum : u16 { waits = 4, aligned = 8, inverted = 16 };

// operands: barrier, count (or none), and of a reduction the predicate and the result.
void barrier(Warp& warp, const Instruction& instruction, Mask mask) {
    const u32* const ids = warp.at<u32>(instruction.operands[0]);
    const bool counted = instruction.operands[1].exists();
    const u32* const counts = counted ? warp.at<u32>(instruction.operands[1]) : nullptr;
    if (instruction.modifiers & aligned && mask != warp.living() && warp.observer())
        warp.observer()->split_barrier(warp, mask, instruction);
    for (Mask left = mask; left;) {
        const auto lane = static_cast<unsigned>(std::countr_zero(left));
        const u32 id = ids[lane], count = counted ? counts[lane] : 0;
        Mask same = 0;
        for_lanes(left, [&](unsigned other) {
            if (ids[other] == id && (!counted || counts[other] == count)) same |= Mask{1} << other;
        });
        left &= ~same;
        if (instruction.modifiers & 3 && id < 16) {
            Mask p = warp.predicate(instruction.operands[2]);
            if (instruction.modifiers & inverted) p = ~p;
            Barrier& state = warp.owner().barriers[id];
            state.any |= (p & same) != 0;
            state.all &= (~p & same) == 0;
            state.count += static_cast<unsigned>(std::popcount(p & same));
        }
        warp.owner().arrive(warp, same, id, count, instruction.modifiers & waits, instruction);
    }
}

void warp_barrier(Warp& warp, const Instruction& instruction, Mask mask) {
    warp.meet(instruction, mask, warp.at<u32>(instruction.operands[0]));
}

void cluster_arrive(Warp& warp, const Instruction& instruction, Mask mask) {
    warp.at_cluster_barrier |= mask;
    warp.owner().at_cluster_barrier = &instruction;
    warp.owner().cluster->complete_if_all_came(instruction);
}

void cluster_wait(Warp& warp, const Instruction& instruction, Mask mask) {
    if (const Mask late = mask & warp.at_cluster_barrier) warp.wait(late, Group::State::at_cluster, instruction);
}

void decode_barrier(Decoder& decoder, bool always_aligned) {
    Instruction& instruction = *decoder.instruction;
    if (decoder.take("warp")) {
        decoder.take("sync");
        decoder.in(0, Type::b32);
        instruction.execute = &warp_barrier;
        return;
    }
    if (decoder.take("cluster")) {
        const bool arrives = decoder.take_one({"arrive", "wait"}) == 0;
        decoder.take_one({"release", "acquire", "relaxed"});
        decoder.take("aligned");
        instruction.execute = arrives ? &cluster_arrive : &cluster_wait;
        return;
    }
    decoder.take("cta");
    const int kind = decoder.take_one({"sync", "red", "arrive"});
    const bool is_aligned = decoder.take("aligned") || always_aligned;
    instruction.modifiers = static_cast<u16>((kind != 2 ? waits : 0) | (is_aligned ? aligned : 0));
    instruction.execute = &barrier;
    const std::size_t first = kind == 1;
    const std::size_t operands = decoder.arguments.size() - first - first;
    decoder.in(first, Type::u32);
    if (operands > 1) decoder.in(first + 1, Type::u32);
    else decoder.add({});
    if (kind != 1) return;
    const int op = decoder.take_one({"and", "or", "popc"});
    const Type result = decoder.take_type();
    const Argument& predicate = decoder.arguments.back();
    decoder.bind(predicate, Type::pred);
    decoder.out(0, result);
    instruction.modifiers |= static_cast<u16>((op + 1) | (predicate.inverted ? inverted : 0));
}

void fence(Warp& warp, const Instruction& instruction, Mask mask) {
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (warp.observer()) warp.observer()->fence(warp, mask, static_cast<Scope>(instruction.modifiers), instruction);
}

} // namespace

void define_synchronisation(InstructionSet& set) {
    set.define("bar", "9.7.13.1, 9.7.13.2", [](Decoder& decoder) { decode_barrier(decoder, true); });
    set.define("barrier", "9.7.13.1, 9.7.13.3", [](Decoder& decoder) { decode_barrier(decoder, false); });
    set.define("membar", "9.7.13.4", [](Decoder& decoder) {
        constexpr Scope scopes[] = {Scope::cta, Scope::gpu, Scope::system};
        const int scope = decoder.take_one({"cta", "gl", "sys"});
        if (scope < 0) decoder.unsupported();
        decoder.instruction->modifiers = static_cast<u16>(scopes[scope]);
        decoder.instruction->execute = &fence;
    });
    set.define("fence", "9.7.13.4", [](Decoder& decoder) {
        decoder.ignore("proxy"); // all proxies see one memory here
        decoder.ignore("async");
        decoder.ignore("alias");
        decoder.ignore("tensormap");
        decoder.take("mbarrier_init");
        decoder.take_one({"sc", "acq_rel", "acquire", "release"});
        decoder.ignore("sync_restrict");
        const int scope =
            decoder.take_one({"cta", "cluster", "gpu", "sys", "global", "shared::cta", "shared::cluster"});
        decoder.instruction->modifiers = static_cast<u16>(scope >= 0 && scope < 4 ? scope + 1 : 1);
        decoder.instruction->execute = &fence;
    });
    // Kernels of one stream run one after the other, so what they wait for has happened.
    set.define("griddepcontrol", "9.7.13.13", [](Decoder& decoder) {
        decoder.take_one({"launch_dependents", "wait"});
        decoder.instruction->execute = [](Warp&, const Instruction&, Mask) {};
    });
}

} // namespace cuda_emulator
