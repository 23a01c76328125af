#include "instructions/half.hpp"
#include "instructions/memory.hpp"
#include <cmath>

// PTX ISA 9.7.14 Warp-level matrix instructions: ldmatrix, stmatrix, mma.sync, wmma. The warp multiplies A (m x k) by B
// (k x n) and adds C (m x n); each lane holds a few elements ("fragment"). All shapes but those of Volta follow one
// rule: with g = lane / 4 and t = lane % 4, and e elements in a register,
//     A: register r holds rows g + 8 (r mod 2), columns t e + j + 4 e (r div 2)   (if m = 8: rows g, columns t e + j +
//     4 e r) B: register r holds rows t e + j + 4 e r, column g C: register r of 32 bits holds row g + 8 (r div 2),
//     column 2 t + r mod 2
// A sum of products is computed in double precision, where products of halves are exact; C is added, and the result is
// rounded once. Tensor cores round otherwise: they cut off digits.

namespace cuda_emulator {
namespace {

struct Shape {
    unsigned m, n, k;
};
enum class Element : u8 { f16, bf16, tf32, f64, s8, u8 };

unsigned bits_of(Element element) {
    return element == Element::f64 ? 64 : element == Element::tf32 ? 32 : element <= Element::bf16 ? 16 : 8;
}

void need_whole_warp(Warp& warp, const Instruction& instruction, Mask mask) {
    if (mask != warp.lanes)
        warp.fault(Fault::Kind::trap, "needs all lanes of the warp", instruction,
                   static_cast<unsigned>(std::countr_zero(mask)));
}

double element_at(Warp& warp, Operand operand, unsigned lane, unsigned j, Element type) {
    switch (type) {
    case Element::f64: return warp.at<double>(operand)[lane];
    case Element::tf32: return std::bit_cast<float>(warp.at<u32>(operand)[lane] & ~0x1fffu);
    case Element::f16: return Half{warp.at<u16>(operand)[2 * lane + j]}.value();
    case Element::bf16: return Bfloat{warp.at<u16>(operand)[2 * lane + j]}.value();
    case Element::s8: return warp.at<s8>(operand)[4 * lane + j];
    default: return warp.at<u8>(operand)[4 * lane + j];
    }
}

// immediate: m, n, k, types of A and B and of C and D. operands: D, A, B, C.
void mma(Warp& warp, const Instruction& instruction, Mask mask) {
    need_whole_warp(warp, instruction, mask);
    const auto byte = [&](unsigned i) { return static_cast<unsigned>(instruction.immediate >> 8 * i & 0xff); };
    const Shape shape{byte(0), byte(1), byte(2)};
    const auto a_type = static_cast<Element>(byte(3)), b_type = static_cast<Element>(byte(4));
    const auto c_type = static_cast<Type>(byte(5));
    const unsigned e = std::max(1u, 32 / bits_of(a_type)), rows8 = shape.m / 8;
    const unsigned a_registers = shape.m * shape.k / 32 / e, b_registers = shape.k * shape.n / 32 / e;
    const unsigned c_registers = shape.m * shape.n / 32 / (c_type == Type::f16 ? 2 : 1);
    const Operand *const d = instruction.operands, *const a = d + c_registers, *const b = a + a_registers,
                         *const c = b + b_registers;

    double A[16][64], B[64][8];
    for (unsigned lane = 0; lane < 32; ++lane) {
        const unsigned g = lane / 4, t = lane % 4;
        for (unsigned j = 0; j < e; ++j) {
            for (unsigned r = 0; r < a_registers; ++r)
                A[g + 8 * (r % rows8)][t * e + j + 4 * e * (r / rows8)] = element_at(warp, a[r], lane, j, a_type);
            for (unsigned r = 0; r < b_registers; ++r)
                B[t * e + j + 4 * e * r][g] = element_at(warp, b[r], lane, j, b_type);
        }
    }
    for (unsigned lane = 0; lane < 32; ++lane)
        for (unsigned i = 0; i < shape.m * shape.n / 32; ++i) {
            const unsigned row = lane / 4 + 8 * (i / 2), column = 2 * (lane % 4) + i % 2;
            if (c_type == Type::f64) { // as by fma, one after the other
                double sum = warp.at<double>(c[i])[lane];
                for (unsigned k = 0; k < shape.k; ++k) sum = std::fma(A[row][k], B[k][column], sum);
                warp.at<double>(d[i])[lane] = sum;
                continue;
            }
            double sum = 0; // products are exact
            for (unsigned k = 0; k < shape.k; ++k) sum += A[row][k] * B[k][column];
            if (c_type == Type::s32)
                warp.at<s32>(d[i])[lane] = static_cast<s32>(static_cast<s64>(sum) + warp.at<s32>(c[i])[lane]);
            else if (c_type == Type::f32) {
                const auto result = static_cast<float>(sum + warp.at<float>(c[i])[lane]);
                warp.at<float>(d[i])[lane] = result != result ? std::bit_cast<float>(0x7fffffffu) : result;
            } else
                warp.at<u16>(d[i / 2])[2 * lane + i % 2] =
                    Half::of(sum + Half{warp.at<u16>(c[i / 2])[2 * lane + i % 2]}.value()).bits;
        }
}

using Fragment = std::span<const Argument>;

Fragment parts_of(const Argument& fragment) {
    return fragment.kind == Argument::Kind::vector ? Fragment{fragment.parts} : Fragment{&fragment, 1};
}

/// Makes the instruction a product. @param fragments D, A, B, C
void become_mma(Decoder& decoder, const Shape& shape, Element a, Element b, Type c,
                std::initializer_list<Fragment> fragments) {
    const unsigned size = bits_of(a), per_register = std::max(1u, 32 / size);
    const Type piece = size == 64 ? Type::f64 : Type::b32, sum = c == Type::f16 ? Type::b32 : c;
    const std::size_t counts[] = {shape.m * shape.n / 32 / (c == Type::f16 ? 2 : 1),
                                  shape.m * shape.k / 32 / per_register, shape.k * shape.n / 32 / per_register, 0};
    std::size_t i = 0;
    for (const Fragment& fragment : fragments) {
        if (fragment.size() != counts[i % 3]) decoder.unsupported("size of fragment");
        for (const Argument& part : fragment)
            i == 0 ? decoder.out(part, sum) : decoder.bind(part, i == 3 ? sum : piece);
        ++i;
    }
    decoder.instruction->immediate =
        static_cast<s64>(shape.m | shape.n << 8 | shape.k << 16 | u64{static_cast<u8>(a)} << 24 |
                         u64{static_cast<u8>(b)} << 32 | u64{static_cast<u8>(c)} << 40);
    decoder.instruction->execute = &mma;
}

void decode_mma(Decoder& decoder) {
    decoder.take("sync");
    decoder.take("aligned");
    struct Known {
        std::string_view name;
        Shape shape;
    };
    constexpr Known shapes[] = {{"m8n8k4", {8, 8, 4}},   {"m8n8k16", {8, 8, 16}},   {"m16n8k4", {16, 8, 4}},
                                {"m16n8k8", {16, 8, 8}}, {"m16n8k16", {16, 8, 16}}, {"m16n8k32", {16, 8, 32}}};
    const Known* known = nullptr;
    for (const Known& each : shapes)
        if (decoder.take(each.name)) known = &each;
    if (!known || !decoder.take("row") || !decoder.take("col")) decoder.unsupported();
    decoder.take("satfinite");
    const Type d = decoder.take_type(), a = decoder.take_type(), b = decoder.take_type(), c = decoder.take_type();
    const auto element = [&](Type type) {
        switch (type) {
        case Type::f16: return Element::f16;
        case Type::bf16: return Element::bf16;
        case Type::tf32: return Element::tf32;
        case Type::f64: return Element::f64;
        case Type::s8: return Element::s8;
        case Type::u8: return Element::u8;
        default: decoder.unsupported();
        }
    };
    const Shape& shape = known->shape;
    if (c != d || bits_of(element(a)) != bits_of(element(b)) || (a == Type::f16 && shape.m == 8)) decoder.unsupported();
    become_mma(decoder, shape, element(a), element(b), c,
               {parts_of(decoder.at(0)), parts_of(decoder.at(1)), parts_of(decoder.at(2)), parts_of(decoder.at(3))});
}

// Eight lanes give the rows' addresses of each 8 x 8 matrix of 16-bit elements; lane 4 r + c gets columns 2 c and 2 c +
// 1 of row r (.trans: rows 2 c and 2 c + 1 of column r). modifiers: MemoryModifiers; immediate's sign: see decode.
template <bool transposed, bool is_store> void move_matrix(Warp& warp, const Instruction& instruction, Mask mask) {
    const unsigned count = instruction.target;
    need_whole_warp(warp, instruction, mask);
    const MemoryModifiers how = MemoryModifiers::of(instruction);
    const Mask rows = count == 4 ? all_lanes : (Mask{1} << 8 * count) - 1;
    Warp::Pointers at;
    warp.resolve(instruction, rows, instruction.operands[count],
                 how.access(is_store ? AccessKind::store : AccessKind::load, 16, instruction), how.generic, at);
    for (unsigned matrix = 0; matrix < count; ++matrix)
        for (unsigned lane = 0; lane < 32; ++lane)
            for (unsigned j = 0; j < 2; ++j) {
                const unsigned row = transposed ? 2 * (lane % 4) + j : lane / 4,
                               column = transposed ? lane / 4 : 2 * (lane % 4) + j;
                std::byte* const place = at.lane[8 * matrix + row] + 2 * column;
                u16* const value = warp.at<u16>(instruction.operands[matrix]) + 2 * lane + j;
                if (is_store) std::memcpy(place, value, 2);
                else std::memcpy(value, place, 2);
            }
}

void decode_move(Decoder& decoder, bool is_store) {
    decoder.take("sync");
    decoder.take("aligned");
    if (!decoder.take("m8n8")) decoder.unsupported();
    const int log = decoder.take_one({"x1", "x2", "x4"});
    const bool transposed = decoder.take("trans");
    const MemoryModifiers how = take_memory_modifiers(decoder);
    if (log < 0 || decoder.take_type() != Type::b16) decoder.unsupported();
    const Fragment parts = parts_of(decoder.at(is_store ? 1 : 0));
    if (parts.size() != 1u << log) decoder.unsupported("number of matrices");
    for (const Argument& part : parts) is_store ? decoder.bind(part, Type::b32) : decoder.out(part, Type::b32);
    decoder.address(decoder.at(is_store ? 0 : 1));
    Instruction& instruction = *decoder.instruction;
    instruction.modifiers = how.pack();
    instruction.target = 1u << log;
    instruction.execute = is_store ? (transposed ? &move_matrix<true, true> : &move_matrix<false, true>)
                                   : (transposed ? &move_matrix<true, false> : &move_matrix<false, false>);
}

// wmma, for matrices of 16 x 16 halves with sums in f16 or f32. The ISA leaves open which lane holds what. Here a
// product is two of mma.sync, of the left and of the right eight columns of B and C, and fragments are theirs, one
// behind the other. Those of A and B have room for twice as much: each element is there twice.
enum class Matrix : u8 { a, b, c };
struct Place {
    unsigned row, column;
};

Place place_of(Matrix matrix, unsigned lane, unsigned e) {
    const unsigned g = lane / 4, two = lane % 4 * 2 + e % 2, r = e / 2 % 2 * 8, half = e / 4 * 8;
    if (matrix == Matrix::a) return {g + r, two + half};
    return matrix == Matrix::b ? Place{two + r, g + half} : Place{g + r, two + half};
}

// Each lane moves eight elements of a row (a column, if the matrix is stored by columns), 16 bytes at a time. operands:
// the fragment, address, stride. target: the fragment's registers, which matrix, whether by columns.
template <class T, bool is_store> void move_fragment(Warp& warp, const Instruction& instruction, Mask mask) {
    need_whole_warp(warp, instruction, mask);
    const MemoryModifiers how = MemoryModifiers::of(instruction);
    const Access access = how.access(is_store ? AccessKind::store : AccessKind::load, 16, instruction);
    const unsigned registers = instruction.target & 0xff, per_register = 4 / sizeof(T);
    const auto matrix = static_cast<Matrix>(instruction.target >> 8 & 0xff);
    const bool by_columns = instruction.target >> 16;
    const Operand base = instruction.operands[registers];
    const u32* const stride = warp.at<u32>(instruction.operands[registers + 1]);
    std::byte* in_memory[16][16];
    for (unsigned first = 0; first < 8; first += 16 / sizeof(T)) {
        u64 addresses[32];
        for (unsigned lane = 0; lane < 32; ++lane) {
            const u64 begin =
                static_cast<u64>(instruction.immediate) +
                (instruction.flags & Instruction::address32 ? warp.at<u32>(base)[lane] : warp.at<u64>(base)[lane]);
            if (begin % 32)
                warp.fault(Fault::Kind::misaligned_address, "needs an address that is a multiple of 32", instruction,
                           lane);
            addresses[lane] = begin + (u64{lane / 2} * stride[lane] + lane % 2 * 8 + first) * sizeof(T);
        }
        Warp::Pointers at;
        warp.resolve(instruction, mask, addresses, access, how.generic, at);
        for (unsigned lane = 0; lane < 32; ++lane)
            for (unsigned j = 0; j < 16 / sizeof(T); ++j)
                in_memory[lane / 2][lane % 2 * 8 + first + j] = at.lane[lane] + j * sizeof(T);
    }
    for (unsigned lane = 0; lane < 32; ++lane)
        for (unsigned e = 0; e < registers * per_register; ++e) {
            const auto [row, column] = place_of(matrix, lane, e % 8);
            std::byte* const at = by_columns ? in_memory[column][row] : in_memory[row][column];
            T* const value =
                warp.at<T>(instruction.operands[e / per_register]) + per_register * lane + e % per_register;
            if (is_store) std::memcpy(at, value, sizeof(T));
            else std::memcpy(value, at, sizeof(T));
        }
}

void decode_wmma(Decoder& decoder) {
    const int what = decoder.take_one({"load", "store", "mma"});
    const int matrix = what == 2 ? 0 : decoder.take_one({"a", "b", "c", "d"});
    decoder.take("sync");
    decoder.take("aligned");
    const int major = decoder.take_one({"row", "col"});
    if (what < 0 || matrix < 0 || major < 0 || !decoder.take("m16n16k16")) decoder.unsupported();
    if (what == 2) {
        decoder.take_one({"row", "col"}); // fragments are the same for both
        const Type d = decoder.take_type(), c = decoder.take_type();
        const std::size_t count = c == Type::f16 ? 4 : 8;
        if (d != c || (c != Type::f16 && c != Type::f32)) decoder.unsupported();
        for (std::size_t half = 0; half < 2; ++half) {
            if (half == 1) decoder.another_instruction();
            const auto part = [&](std::size_t i, std::size_t all, std::size_t first, std::size_t of_half) {
                const Fragment fragment = parts_of(decoder.at(i));
                if (fragment.size() != all) decoder.unsupported("size of fragment");
                return fragment.subspan(first, of_half);
            };
            become_mma(decoder, {16, 8, 16}, Element::f16, Element::f16, c,
                       {part(0, count, half * count / 2, count / 2), part(1, 8, 0, 4), part(2, 8, 2 * half, 2),
                        part(3, count, half * count / 2, count / 2)});
        }
        return;
    }
    const MemoryModifiers how = take_memory_modifiers(decoder);
    const Type type = decoder.take_type();
    const bool is_store = what == 1, is_sum = matrix >= 2;
    const Fragment fragment = parts_of(decoder.at(is_store ? 1 : 0));
    if ((type != Type::f16 && !(is_sum && type == Type::f32)) ||
        fragment.size() != (is_sum && type == Type::f16 ? 4 : 8))
        decoder.unsupported();
    const Type piece = type == Type::f32 ? Type::f32 : Type::b32;
    for (const Argument& part : fragment) is_store ? decoder.bind(part, piece) : decoder.out(part, piece);
    decoder.address(decoder.at(is_store ? 0 : 1));
    if (decoder.has(2)) decoder.in(2, Type::b32);
    else decoder.add(decoder.kernel->constant(4, 16));
    Instruction& instruction = *decoder.instruction;
    instruction.modifiers = how.pack();
    instruction.target = static_cast<u32>(fragment.size() | std::min(matrix, 2) << 8 | major << 16);
    if (type == Type::f32) instruction.execute = is_store ? &move_fragment<float, true> : &move_fragment<float, false>;
    else instruction.execute = is_store ? &move_fragment<u16, true> : &move_fragment<u16, false>;
}

} // namespace

void define_matrix(InstructionSet& set) {
    set.define("mma", "9.7.14.5", decode_mma);
    set.define("wmma", "9.7.14.4", decode_wmma);
    set.define("ldmatrix", "9.7.14.5.15", [](Decoder& decoder) { decode_move(decoder, false); });
    set.define("stmatrix", "9.7.14.5.16", [](Decoder& decoder) { decode_move(decoder, true); });
}

const InstructionSet& instruction_set() {
    static const InstructionSet set = [] {
        InstructionSet all;
        for (const auto define :
             {define_integer, define_bits, define_floating, define_comparison, define_conversion, define_movement,
              define_memory, define_atomics, define_control, define_synchronisation, define_warp, define_asynchronous,
              define_transactions, define_matrix})
            define(all);
        return all;
    }();
    return set;
}

} // namespace cuda_emulator
