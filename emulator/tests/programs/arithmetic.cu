// What single instructions give, bit for bit. Each line of output names an instruction and a hash of its results for
// 65,536 operands: special values crossed with each other, then random bits. arithmetic.txt holds the output of a GPU;
// the emulator has to print the same. With a file name as argument, the results themselves are written there too.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <vector>

namespace {

constexpr int count = 65536;

/// One instruction on operands and a result of up to 64 bits each. `in` and `out` are constraints of inline PTX and
/// types of the variables that hold them.
#define INSTRUCTION(NAME, TEXT, OUT_TYPE, OUT, IN_TYPE, IN)                                                           \
    __global__ void NAME(const std::uint64_t* a, const std::uint64_t* b, const std::uint64_t* c, std::uint64_t* r) {  \
        const int i = blockIdx.x * blockDim.x + threadIdx.x;                                                          \
        const IN_TYPE x = static_cast<IN_TYPE>(a[i]), y = static_cast<IN_TYPE>(b[i]), z = static_cast<IN_TYPE>(c[i]); \
        OUT_TYPE result;                                                                                              \
        asm("{ .reg .pred p; .reg .pred q; .reg .b32 t; " TEXT " }" : OUT(result) : IN(x), IN(y), IN(z));             \
        r[i] = result;                                                                                                \
    }
#define ON_16(NAME, TEXT) INSTRUCTION(NAME, TEXT, std::uint16_t, "=h", std::uint16_t, "h")
#define ON_32(NAME, TEXT) INSTRUCTION(NAME, TEXT, std::uint32_t, "=r", std::uint32_t, "r")
#define ON_64(NAME, TEXT) INSTRUCTION(NAME, TEXT, std::uint64_t, "=l", std::uint64_t, "l")
#define FROM_16_TO_32(NAME, TEXT) INSTRUCTION(NAME, TEXT, std::uint32_t, "=r", std::uint16_t, "h")
#define FROM_16_TO_64(NAME, TEXT) INSTRUCTION(NAME, TEXT, std::uint64_t, "=l", std::uint16_t, "h")
#define FROM_32_TO_16(NAME, TEXT) INSTRUCTION(NAME, TEXT, std::uint16_t, "=h", std::uint32_t, "r")
#define FROM_32_TO_64(NAME, TEXT) INSTRUCTION(NAME, TEXT, std::uint64_t, "=l", std::uint32_t, "r")
#define FROM_64_TO_16(NAME, TEXT) INSTRUCTION(NAME, TEXT, std::uint16_t, "=h", std::uint64_t, "l")
#define FROM_64_TO_32(NAME, TEXT) INSTRUCTION(NAME, TEXT, std::uint32_t, "=r", std::uint64_t, "l")

#define TABLE(X)                                                                                     \
    /* single precision (PTX ISA 9.7.3) */                                                           \
    X(ON_32, add_f32, "add.f32 %0, %1, %2;")                                                         \
    X(ON_32, add_rz_f32, "add.rz.f32 %0, %1, %2;")                                                   \
    X(ON_32, add_rm_f32, "add.rm.f32 %0, %1, %2;")                                                   \
    X(ON_32, add_rp_f32, "add.rp.f32 %0, %1, %2;")                                                   \
    X(ON_32, add_ftz_f32, "add.ftz.f32 %0, %1, %2;")                                                 \
    X(ON_32, add_sat_f32, "add.sat.f32 %0, %1, %2;")                                                 \
    X(ON_32, sub_f32, "sub.f32 %0, %1, %2;")                                                         \
    X(ON_32, mul_f32, "mul.f32 %0, %1, %2;")                                                         \
    X(ON_32, mul_rz_f32, "mul.rz.f32 %0, %1, %2;")                                                   \
    X(ON_32, mul_rm_f32, "mul.rm.f32 %0, %1, %2;")                                                   \
    X(ON_32, mul_rp_f32, "mul.rp.f32 %0, %1, %2;")                                                   \
    X(ON_32, mul_ftz_f32, "mul.ftz.f32 %0, %1, %2;")                                                 \
    X(ON_32, fma_f32, "fma.rn.f32 %0, %1, %2, %3;")                                                  \
    X(ON_32, fma_rz_f32, "fma.rz.f32 %0, %1, %2, %3;")                                               \
    X(ON_32, fma_rm_f32, "fma.rm.f32 %0, %1, %2, %3;")                                               \
    X(ON_32, fma_rp_f32, "fma.rp.f32 %0, %1, %2, %3;")                                               \
    X(ON_32, fma_ftz_f32, "fma.rn.ftz.f32 %0, %1, %2, %3;")                                          \
    X(ON_32, div_f32, "div.rn.f32 %0, %1, %2;")                                                      \
    X(ON_32, div_rz_f32, "div.rz.f32 %0, %1, %2;")                                                   \
    X(ON_32, rcp_f32, "rcp.rn.f32 %0, %1;")                                                          \
    X(ON_32, sqrt_f32, "sqrt.rn.f32 %0, %1;")                                                        \
    X(ON_32, sqrt_rz_f32, "sqrt.rz.f32 %0, %1;")                                                     \
    X(ON_32, min_f32, "min.f32 %0, %1, %2;")                                                         \
    X(ON_32, max_f32, "max.f32 %0, %1, %2;")                                                         \
    X(ON_32, max_nan_f32, "max.NaN.f32 %0, %1, %2;")                                                 \
    X(ON_32, abs_f32, "abs.f32 %0, %1;")                                                             \
    X(ON_32, neg_f32, "neg.f32 %0, %1;")                                                             \
    X(ON_32, copysign_f32, "copysign.f32 %0, %1, %2;")                                               \
    X(ON_32, setp_lt_f32, "setp.lt.f32 p, %1, %2; selp.u32 %0, 1, 0, p;")                            \
    X(ON_32, setp_leu_f32, "setp.leu.f32 p, %1, %2; selp.u32 %0, 1, 0, p;")                          \
    X(ON_32, setp_neu_f32, "setp.neu.f32 p, %1, %2; selp.u32 %0, 1, 0, p;")                          \
    X(ON_32, setp_num_f32, "setp.num.f32 p, %1, %2; selp.u32 %0, 1, 0, p;")                          \
    X(ON_32, setp_nan_f32, "setp.nan.f32 p, %1, %2; selp.u32 %0, 1, 0, p;")                          \
    X(ON_32, setp_gt_ftz_f32, "setp.gt.ftz.f32 p, %1, %2; selp.u32 %0, 1, 0, p;")                    \
    /* double precision */                                                                           \
    X(ON_64, add_f64, "add.f64 %0, %1, %2;")                                                         \
    X(ON_64, add_rz_f64, "add.rz.f64 %0, %1, %2;")                                                   \
    X(ON_64, add_rm_f64, "add.rm.f64 %0, %1, %2;")                                                   \
    X(ON_64, sub_f64, "sub.f64 %0, %1, %2;")                                                         \
    X(ON_64, mul_f64, "mul.f64 %0, %1, %2;")                                                         \
    X(ON_64, mul_rp_f64, "mul.rp.f64 %0, %1, %2;")                                                   \
    X(ON_64, fma_f64, "fma.rn.f64 %0, %1, %2, %3;")                                                  \
    X(ON_64, fma_rz_f64, "fma.rz.f64 %0, %1, %2, %3;")                                               \
    X(ON_64, div_f64, "div.rn.f64 %0, %1, %2;")                                                      \
    X(ON_64, rcp_f64, "rcp.rn.f64 %0, %1;")                                                          \
    X(ON_64, sqrt_f64, "sqrt.rn.f64 %0, %1;")                                                        \
    X(ON_64, min_f64, "min.f64 %0, %1, %2;")                                                         \
    X(ON_64, max_f64, "max.f64 %0, %1, %2;")                                                         \
    X(ON_64, abs_f64, "abs.f64 %0, %1;")                                                             \
    X(FROM_64_TO_32, setp_ge_f64, "setp.ge.f64 p, %1, %2; selp.u32 %0, 1, 0, p;")                    \
    X(FROM_64_TO_32, setp_equ_f64, "setp.equ.f64 p, %1, %2; selp.u32 %0, 1, 0, p;")                  \
    /* half precision and bfloat16 (9.7.4) */                                                        \
    X(ON_16, add_f16, "add.f16 %0, %1, %2;")                                                         \
    X(ON_16, mul_f16, "mul.f16 %0, %1, %2;")                                                         \
    X(ON_16, fma_f16, "fma.rn.f16 %0, %1, %2, %3;")                                                  \
    X(ON_32, fma_f16x2, "fma.rn.f16x2 %0, %1, %2, %3;")                                              \
    X(ON_16, fma_bf16, "fma.rn.bf16 %0, %1, %2, %3;")                                                \
    X(ON_32, fma_bf16x2, "fma.rn.bf16x2 %0, %1, %2, %3;")                                            \
    /* conversions (9.7.9.21) */                                                                     \
    X(FROM_32_TO_64, cvt_f64_f32, "cvt.f64.f32 %0, %1;")                                             \
    X(FROM_64_TO_32, cvt_rn_f32_f64, "cvt.rn.f32.f64 %0, %1;")                                       \
    X(FROM_64_TO_32, cvt_rz_f32_f64, "cvt.rz.f32.f64 %0, %1;")                                       \
    X(FROM_64_TO_32, cvt_rm_f32_f64, "cvt.rm.f32.f64 %0, %1;")                                       \
    X(FROM_64_TO_32, cvt_rp_f32_f64, "cvt.rp.f32.f64 %0, %1;")                                       \
    X(FROM_32_TO_16, cvt_rn_f16_f32, "cvt.rn.f16.f32 %0, %1;")                                       \
    X(FROM_32_TO_16, cvt_rz_f16_f32, "cvt.rz.f16.f32 %0, %1;")                                       \
    X(FROM_16_TO_32, cvt_f32_f16, "cvt.f32.f16 %0, %1;")                                             \
    X(FROM_32_TO_16, cvt_rn_bf16_f32, "cvt.rn.bf16.f32 %0, %1;")                                     \
    X(FROM_32_TO_16, cvt_rz_bf16_f32, "cvt.rz.bf16.f32 %0, %1;")                                     \
    X(ON_32, cvt_rna_tf32_f32, "cvt.rna.tf32.f32 %0, %1;")                                           \
    X(ON_32, cvt_rn_f16x2_f32, "cvt.rn.f16x2.f32 %0, %1, %2;")                                       \
    X(ON_32, cvt_rn_bf16x2_f32, "cvt.rn.bf16x2.f32 %0, %1, %2;")                                     \
    X(ON_32, cvt_rzi_s32_f32, "cvt.rzi.s32.f32 %0, %1;")                                             \
    X(ON_32, cvt_rni_s32_f32, "cvt.rni.s32.f32 %0, %1;")                                             \
    X(ON_32, cvt_rmi_s32_f32, "cvt.rmi.s32.f32 %0, %1;")                                             \
    X(ON_32, cvt_rpi_s32_f32, "cvt.rpi.s32.f32 %0, %1;")                                             \
    X(ON_32, cvt_rzi_u32_f32, "cvt.rzi.u32.f32 %0, %1;")                                             \
    X(ON_32, cvt_rni_f32_f32, "cvt.rni.f32.f32 %0, %1;")                                             \
    X(ON_32, cvt_rmi_f32_f32, "cvt.rmi.f32.f32 %0, %1;")                                             \
    X(ON_32, cvt_sat_f32_f32, "cvt.sat.f32.f32 %0, %1;")                                             \
    X(FROM_32_TO_64, cvt_rzi_s64_f32, "cvt.rzi.s64.f32 %0, %1;")                                     \
    X(FROM_32_TO_64, cvt_rzi_u64_f32, "cvt.rzi.u64.f32 %0, %1;")                                     \
    X(FROM_64_TO_32, cvt_rzi_s32_f64, "cvt.rzi.s32.f64 %0, %1;")                                     \
    X(FROM_64_TO_32, cvt_rni_u32_f64, "cvt.rni.u32.f64 %0, %1;")                                     \
    X(ON_64, cvt_rzi_s64_f64, "cvt.rzi.s64.f64 %0, %1;")                                             \
    X(ON_64, cvt_rzi_u64_f64, "cvt.rzi.u64.f64 %0, %1;")                                             \
    X(ON_64, cvt_rni_f64_f64, "cvt.rni.f64.f64 %0, %1;")                                             \
    X(ON_32, cvt_rn_f32_s32, "cvt.rn.f32.s32 %0, %1;")                                               \
    X(ON_32, cvt_rn_f32_u32, "cvt.rn.f32.u32 %0, %1;")                                               \
    X(ON_32, cvt_rz_f32_s32, "cvt.rz.f32.s32 %0, %1;")                                               \
    X(FROM_64_TO_32, cvt_rn_f32_s64, "cvt.rn.f32.s64 %0, %1;")                                       \
    X(FROM_64_TO_32, cvt_rn_f32_u64, "cvt.rn.f32.u64 %0, %1;")                                       \
    X(FROM_32_TO_64, cvt_rn_f64_u32, "cvt.rn.f64.u32 %0, %1;")                                       \
    X(ON_64, cvt_rn_f64_s64, "cvt.rn.f64.s64 %0, %1;")                                               \
    X(ON_64, cvt_rz_f64_u64, "cvt.rz.f64.u64 %0, %1;")                                               \
    X(FROM_32_TO_16, cvt_u16_u32, "cvt.u16.u32 %0, %1;")                                             \
    X(FROM_16_TO_32, cvt_s32_s16, "cvt.s32.s16 %0, %1;")                                             \
    X(FROM_16_TO_64, cvt_u64_u16, "cvt.u64.u16 %0, %1;")                                             \
    X(FROM_32_TO_64, cvt_s64_s32, "cvt.s64.s32 %0, %1;")                                             \
    X(FROM_32_TO_16, cvt_sat_s16_s32, "cvt.sat.s16.s32 %0, %1;")                                     \
    X(FROM_64_TO_32, cvt_sat_u32_s64, "cvt.sat.u32.s64 %0, %1;")                                     \
    X(FROM_64_TO_16, cvt_u16_u64, "cvt.u16.u64 %0, %1;")                                             \
    /* integers (9.7.1) */                                                                           \
    X(ON_32, mul_hi_s32, "mul.hi.s32 %0, %1, %2;")                                                   \
    X(ON_32, mul_hi_u32, "mul.hi.u32 %0, %1, %2;")                                                   \
    X(ON_64, mul_hi_s64, "mul.hi.s64 %0, %1, %2;")                                                   \
    X(ON_64, mul_hi_u64, "mul.hi.u64 %0, %1, %2;")                                                   \
    X(FROM_32_TO_64, mul_wide_s32, "mul.wide.s32 %0, %1, %2;")                                       \
    X(FROM_32_TO_64, mul_wide_u32, "mul.wide.u32 %0, %1, %2;")                                       \
    X(FROM_16_TO_32, mul_wide_s16, "mul.wide.s16 %0, %1, %2;")                                       \
    X(ON_32, mad_lo_s32, "mad.lo.s32 %0, %1, %2, %3;")                                               \
    X(ON_32, mad_hi_u32, "mad.hi.u32 %0, %1, %2, %3;")                                               \
    X(ON_64, mad_lo_s64, "mad.lo.s64 %0, %1, %2, %3;")                                               \
    X(ON_32, mul24_lo_s32, "mul24.lo.s32 %0, %1, %2;")                                               \
    X(ON_32, sad_s32, "sad.s32 %0, %1, %2, %3;")                                                     \
    X(ON_32, add_sat_s32, "add.sat.s32 %0, %1, %2;")                                                 \
    X(ON_32, sub_sat_s32, "sub.sat.s32 %0, %1, %2;")                                                 \
    X(ON_32, addc, "add.cc.u32 t, %1, %2; addc.u32 %0, %3, t;")                                      \
    X(ON_32, subc, "sub.cc.u32 t, %1, %2; subc.u32 %0, %3, t;")                                      \
    X(ON_32, madc, "mad.lo.cc.u32 t, %1, %2, %3; madc.hi.u32 %0, %1, %2, t;")                        \
    X(ON_32, min_s32, "min.s32 %0, %1, %2;")                                                         \
    X(ON_64, max_u64, "max.u64 %0, %1, %2;")                                                         \
    X(ON_16, min_s16, "min.s16 %0, %1, %2;")                                                         \
    X(ON_32, abs_s32, "abs.s32 %0, %1;")                                                             \
    X(ON_32, popc, "popc.b32 %0, %1;")                                                               \
    X(FROM_64_TO_32, popc_b64, "popc.b64 %0, %1;")                                                   \
    X(ON_32, clz, "clz.b32 %0, %1;")                                                                 \
    X(FROM_64_TO_32, clz_b64, "clz.b64 %0, %1;")                                                     \
    X(ON_32, brev, "brev.b32 %0, %1;")                                                               \
    X(ON_64, brev_b64, "brev.b64 %0, %1;")                                                           \
    X(ON_32, bfind_u32, "bfind.u32 %0, %1;")                                                         \
    X(ON_32, bfind_s32, "bfind.s32 %0, %1;")                                                         \
    X(FROM_64_TO_32, bfind_shiftamt_u64, "bfind.shiftamt.u64 %0, %1;")                               \
    X(ON_32, bfe_u32, "bfe.u32 %0, %1, %2, %3;")                                                     \
    X(ON_32, bfe_s32, "bfe.s32 %0, %1, %2, %3;")                                                     \
    X(ON_32, bfi, "bfi.b32 %0, %1, %2, %3, 9;")                                                      \
    X(ON_32, fns, "fns.b32 %0, %1, 3, 2;")                                                           \
    X(ON_32, dp4a_s32, "dp4a.s32.s32 %0, %1, %2, %3;")                                               \
    X(ON_32, dp4a_u32, "dp4a.u32.u32 %0, %1, %2, %3;")                                               \
    /* logic, shifts, bytes (9.7.8) */                                                               \
    X(ON_32, shl, "shl.b32 %0, %1, %2;")                                                             \
    X(ON_32, shr_s32, "shr.s32 %0, %1, %2;")                                                         \
    X(ON_32, shr_u32, "shr.u32 %0, %1, %2;")                                                         \
    X(ON_16, shr_s16, "cvt.u32.u16 t, %2; shr.s16 %0, %1, t;")                                       \
    X(ON_64, shl_b64, "cvt.u32.u64 t, %2; shl.b64 %0, %1, t;")                                       \
    X(ON_64, shr_s64, "cvt.u32.u64 t, %2; shr.s64 %0, %1, t;")                                       \
    X(ON_32, shf_l_wrap, "shf.l.wrap.b32 %0, %1, %2, %3;")                                           \
    X(ON_32, shf_r_wrap, "shf.r.wrap.b32 %0, %1, %2, %3;")                                           \
    X(ON_32, shf_r_clamp, "shf.r.clamp.b32 %0, %1, %2, %3;")                                         \
    X(ON_32, lop3, "lop3.b32 %0, %1, %2, %3, 0x96;")                                                 \
    X(ON_32, cnot, "cnot.b32 %0, %1;")                                                               \
    X(ON_32, prmt, "prmt.b32 %0, %1, %2, %3;")                                                       \
    X(ON_32, prmt_f4e, "prmt.b32.f4e %0, %1, %2, %3;")                                               \
    X(ON_32, slct, "slct.u32.s32 %0, %1, %2, %3;")                                                   \
    X(ON_32, setp_xor, "setp.lt.s32 q, %2, %3; setp.lt.xor.u32 p, %1, %2, q; selp.u32 %0, 1, 0, p;") \
    X(ON_32, set_le_s32, "set.le.u32.s32 %0, %1, %2;")

#define DEFINE(SHAPE, NAME, TEXT) SHAPE(NAME, TEXT)
TABLE(DEFINE)

using Kernel = void (*)(const std::uint64_t*, const std::uint64_t*, const std::uint64_t*, std::uint64_t*);

// Integer division has no single instruction on a GPU, and dividing by zero is undefined: the divisor is odd.
#define DIVISION(NAME, TYPE, OPERATOR)                                                                             \
    __global__ void NAME(const std::uint64_t* a, const std::uint64_t* b, const std::uint64_t*, std::uint64_t* r) { \
        const int i = blockIdx.x * blockDim.x + threadIdx.x;                                                       \
        r[i] = static_cast<std::uint64_t>(static_cast<TYPE>(a[i] >> 1) OPERATOR static_cast<TYPE>(b[i] | 1));      \
    }
DIVISION(div_s32, std::int32_t, /)
DIVISION(rem_s32, std::int32_t, %)
DIVISION(div_u64, std::uint64_t, /)
DIVISION(rem_s64, std::int64_t, %)

/// Zeros, ones, extremes, subnormals, infinities and NaNs of every width, one above and below them.
std::vector<std::uint64_t> special_values() {
    std::vector<std::uint64_t> values;
    for (const std::uint64_t v : {0x0ull,
                                  0x3f800000ull,
                                  0x00800000ull,
                                  0x7f800000ull,
                                  0x7fc00000ull,
                                  0x4f000000ull,
                                  0x4b000000ull,
                                  0x38800000ull,
                                  0x477ff000ull,
                                  0x3ff0000000000000ull,
                                  0x0010000000000000ull,
                                  0x7ff0000000000000ull,
                                  0x7ff8000000000000ull,
                                  0x43e0000000000000ull,
                                  0x3810000000000000ull,
                                  0x47efffffe0000000ull,
                                  0x3c00ull,
                                  0x0400ull,
                                  0x7c00ull,
                                  0x7f80ull,
                                  0x7fffffffull,
                                  0x7fffffffffffffffull,
                                  0x7fffull}) {
        for (const std::uint64_t sign : {0ull, 0x8000ull, 0x80000000ull, 0x8000000000000000ull}) {
            for (const int step : {-1, 0, 1}) values.push_back((v | sign) + step);
        }
    }
    return values;
}

std::uint64_t random_bits(std::uint64_t& state) { // splitmix64, Vigna
    std::uint64_t z = state += 0x9e3779b97f4a7c15ull;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ z >> 27) * 0x94d049bb133111ebull;
    return z ^ z >> 31;
}

void check(cudaError_t error) {
    if (error == cudaSuccess) return;
    std::fprintf(stderr, "arithmetic: %s\n", cudaGetErrorString(error));
    std::exit(2);
}

} // namespace

int main(int argc, char** argv) {
    std::uint64_t state = 2026;
    const std::vector<std::uint64_t> special = special_values();
    std::vector<std::uint64_t> host[3], result(count);
    for (auto& operands : host) operands.resize(count);
    for (int i = 0; i < count; ++i) {
        for (auto& operands : host) {
            // Half of the operands are special values, a quarter random numbers near 1 in single or double precision.
            const std::uint64_t r = random_bits(state);
            operands[i] = r % 4 < 2    ? special[r / 4 % special.size()]
                          : r % 8 == 2 ? ((r >> 8 & 0xff7fffffull) | 0x3c000000ull) & 0xc3ffffffull
                          : r % 8 == 6 ? ((r | 0x3ff0000000000000ull) & 0xbfffffffffffffffull)
                                       : random_bits(state);
        }
    }
    std::uint64_t* device[4];
    for (int i = 0; i < 4; ++i) {
        check(cudaMalloc(&device[i], count * sizeof(std::uint64_t)));
        if (i < 3) check(cudaMemcpy(device[i], host[i].data(), count * sizeof(std::uint64_t), cudaMemcpyHostToDevice));
    }
    std::FILE* file = argc > 1 ? std::fopen(argv[1], "wb") : nullptr;
    if (argc > 1 && !file) {
        std::fprintf(stderr, "arithmetic: %s cannot be written\n", argv[1]);
        return 2;
    }
    const auto run = [&](const char* name, Kernel kernel) {
        kernel<<<count / 256, 256>>>(device[0], device[1], device[2], device[3]);
        check(cudaGetLastError());
        check(cudaMemcpy(result.data(), device[3], count * sizeof(std::uint64_t), cudaMemcpyDeviceToHost));
        std::uint64_t hash = 0xcbf29ce484222325ull; // FNV-1a over 64-bit words
        for (const std::uint64_t r : result) hash = (hash ^ r) * 0x100000001b3ull;
        std::printf("%-20s %016llx\n", name, static_cast<unsigned long long>(hash));
        if (file) std::fwrite(result.data(), sizeof(std::uint64_t), count, file);
    };
#define RUN(SHAPE, NAME, TEXT) run(#NAME, NAME);
    TABLE(RUN)
    run("div_s32", div_s32);
    run("rem_s32", rem_s32);
    run("div_u64", div_u64);
    run("rem_s64", rem_s64);
    if (file) std::fclose(file);
    return 0;
}
