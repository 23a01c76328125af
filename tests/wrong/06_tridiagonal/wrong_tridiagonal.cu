// The kernels of labs/06_tridiagonal/cuda with one mistake each. Stray indices are pulled back, so that only the
// mistake itself is at fault.
#include <array>

#include "cuda/device_problem.hpp"
#include "cuda/warp_run.cuh"
#include "gpulab/cuda/timing.hpp"
#include "gpulab/math.hpp"
#include "gpulab/poisoning.hpp"
#include "wrong_tridiagonal.hpp"

namespace tridiagonal::wrong {

namespace {

/// A delay of microseconds. It makes no kernel wrong: it makes a race that a kernel has come out badly every time.
__device__ void dawdle() {
    for (int i = 0; i < 20; ++i) __nanosleep(1000);
}

/// CR, a block per system. Shared memory: 4 n numbers.
__global__ void wrong_cr_kernel(Equations<double> in, double* x_out, std::int32_t* zero_pivot, unsigned n,
                                Mistake mistake) {
    extern __shared__ double memory[];
    double *const a = memory, *const b = a + n, *const c = b + n, *const d = c + n;
    __shared__ unsigned zero;
    const unsigned k = threadIdx.x;
    const std::size_t begin = static_cast<std::size_t>(blockIdx.x) * n;
    if (k == 0) zero = 0xFFFFFFFFu;
    for (unsigned i = k; i < n; i += blockDim.x) {
        a[i] = in.a[begin + i], b[i] = in.b[begin + i];
        c[i] = in.c[begin + i], d[i] = in.d[begin + i];
    }
    __syncthreads();
    unsigned step = 1;
    for (; 2 * step <= n; step *= 2) {
        for (unsigned j = k; (j + 1) * 2 * step - 1 < n; j += blockDim.x) {
            const unsigned i = (j + 1) * 2 * step - 1, left = i - step;
            unsigned right = i + step;
            const double alpha = a[i] / b[left];
            double new_b = b[i] - alpha * c[left], new_d = d[i] - alpha * d[left], new_c = 0;
            const double new_a = left < step ? 0 : -alpha * a[left];
            if (mistake == clamped && right >= n) right = n - 1;
            if (right < n) {
                const double beta = c[i] / b[right];
                new_b -= beta * a[right];
                new_d -= beta * d[right];
                if (right + step < n || mistake == clamped) new_c = -beta * c[right];
            } else if (mistake == edge_from_neighbour && blockIdx.x + 1 < gridDim.x) {
                const std::size_t next = begin + n;
                const double beta = c[i] / in.b[next];
                new_b -= beta * in.a[next];
                new_d -= beta * in.d[next];
            }
            a[i] = new_a, b[i] = new_b, c[i] = new_c, d[i] = new_d;
        }
        __syncthreads();
    }
    unsigned count = 1; // equations in this step back, if n were a power of two
    for (; step > 0; step /= 2, count *= 2) {
        for (unsigned j = k; j * 2 * step + step - 1 < n; j += blockDim.x) {
            const unsigned i = j * 2 * step + step - 1;
            if (mistake == power_of_two && j >= max(count / 2, 1u)) continue;
            double sum = d[i];
            if (i >= step) sum -= a[i] * d[mistake == printed_x && j >= step ? j - step : i - step];
            if (i + step < n)
                sum -= c[mistake == printed_c ? j : i] * d[mistake == printed_x ? min(j + step, n - 1) : i + step];
            d[i] = sum / b[i];
            if (b[i] == 0 && mistake != silent_zero) atomicMin(&zero, mistake == row_of_thread ? j : i);
        }
        __syncthreads();
    }
    for (unsigned i = k; i < n; i += blockDim.x) x_out[begin + i] = d[i];
    if (k == 0) zero_pivot[blockIdx.x] = static_cast<std::int32_t>(zero);
}

/// PCR, a block per system and a thread per equation. Shared memory: 4 n numbers.
__global__ void wrong_pcr_kernel(Equations<double> in, double* x_out, std::int32_t* zero_pivot, unsigned n,
                                 Mistake mistake) {
    extern __shared__ double memory[];
    double *const a = memory, *const b = a + n, *const c = b + n, *const d = c + n;
    __shared__ unsigned zero;
    const unsigned i = threadIdx.x;
    const bool mine = i < n;
    const std::size_t at = static_cast<std::size_t>(blockIdx.x) * n + i;
    double my_a = 0, my_b = 1, my_c = 0, my_d = 0;
    if (i == 0) zero = 0xFFFFFFFFu;
    if (mine) {
        if (i > 0 || mistake == a_of_row_0) my_a = in.a[at];
        if (i + 1 < n) my_c = in.c[at];
        my_b = in.b[at], my_d = in.d[at];
        a[i] = my_a, b[i] = my_b, c[i] = my_c, d[i] = my_d;
    }
    __syncthreads();
    for (unsigned step = 1; step < n; step *= 2) {
        if (mistake == no_barrier && threadIdx.x / 32 % 2 == 1) dawdle(); // the odd warps read late
        if (mine) {
            if (my_b == 0) atomicMin(&zero, i);
            double new_a = 0, new_c = 0;
            if (i >= step) {
                const unsigned left = i - step;
                const double alpha = my_a / b[left];
                my_b -= alpha * c[left];
                my_d -= alpha * d[left];
                new_a = -alpha * a[left];
            } else if (mistake == a_of_row_0) {
                my_d -= my_a * 0;
            }
            if (i + step < n) {
                const unsigned right = i + step;
                const double beta = my_c / (mistake == stale ? my_b : b[right]);
                my_b -= beta * a[right];
                my_d -= beta * d[right];
                new_c = -beta * c[right];
            }
            my_a = new_a, my_c = new_c;
        }
        if (mistake != no_barrier) __syncthreads();
        if (mine) a[i] = my_a, b[i] = my_b, c[i] = my_c, d[i] = my_d;
        __syncthreads();
    }
    if (mine) {
        if (my_b == 0) atomicMin(&zero, i);
        x_out[at] = my_d / my_b;
    }
    __syncthreads();
    if (i == 0) zero_pivot[blockIdx.x] = static_cast<std::int32_t>(zero);
}

/// What is wrong with a warp that solves several systems in registers.
enum class Warp { right, other_system, row_of_run, last_lane, no_syncwarp, reads_outside };

/// cuda_registers for systems of at most 256 unknowns, a block of one warp.
__global__ void wrong_registers_kernel(Equations<double> in, double* x, std::int32_t* zero_pivot, unsigned n,
                                       unsigned systems, unsigned lanes, Warp mistake) {
    __shared__ double exchange[warp_exchange];
    const unsigned lane = threadIdx.x, k = lane % lanes;
    const unsigned shift = static_cast<unsigned>(__ffs(static_cast<int>(lanes * run_length))) - 1; // log2
    const Slots slots{blockIdx.x * (warp_slots >> shift), 0, shift, n, systems};
    LaneRun<double> run;
    if (mistake == Warp::no_syncwarp) { // the loads, with nothing between writing and reading the exchange
        for (unsigned j = 0; j < run_length; ++j) {
            const unsigned slot = j * 32 + lane;
            const bool inside = slots.inside(slot);
            run.a[j] = inside && slots.row_of(slot) > 0 ? in.a[slots.at(slot)] : 0;
            run.b[j] = inside ? in.b[slots.at(slot)] : 1;
            run.c[j] = inside && slots.row_of(slot) + 1 < n ? in.c[slots.at(slot)] : 0;
            run.d[j] = inside ? in.d[slots.at(slot)] : 0;
        }
        for (double* const v : {run.a, run.b, run.c, run.d}) {
            if (lane >= 16) dawdle(); // lanes of a warp may go different ways
            for (unsigned j = 0; j < run_length; ++j) exchange[j * 32 + lane + (j * 32 + lane) / run_length] = v[j];
            for (unsigned j = 0; j < run_length; ++j) v[j] = exchange[lane * (run_length + 1) + j];
        }
        __syncwarp();
    } else {
        load_runs(in, slots, run, exchange, lane);
    }
    int zero = -1;
    if (mistake == Warp::other_system || mistake == Warp::last_lane) {
        eliminate(run, zero);
        Unit<double> after = from_after(first_of(run), 1, 32);
        if (k + 1 == lanes && mistake != Warp::other_system) after = no_neighbour<double>();
        Unit<double> e = join(first_of(run), last_of(run), after, zero);
        for (unsigned distance = 1; distance < lanes; distance *= 2) {
            Unit<double> before = from_before(e, distance, 32);
            after = from_after(e, distance, 32);
            if (mistake == Warp::last_lane) {
                if (k < distance) before = no_neighbour<double>();
                if (k + distance >= lanes - 1) after = no_neighbour<double>(); // the last lane has no say
            }
            e = reduce(e, before, after, zero);
        }
        double last_before = __shfl_up_sync(all_lanes, e.d, 1);
        if (k == 0) last_before = 0;
        substitute(run, last_before, e.d);
    } else {
        solve_in_warp(run, lane, lanes, zero);
    }
    store_runs(run, slots, x, exchange, lane);
    const unsigned group = lane / lanes * lanes;
    const unsigned found =
        __ballot_sync(all_lanes, zero >= 0) & ((lanes == 32 ? all_lanes : (1u << lanes) - 1) << group);
    const int finder = found == 0 ? 0 : __ffs(static_cast<int>(found)) - 1;
    int row = __shfl_sync(all_lanes, zero, finder);
    if (mistake != Warp::row_of_run) row += (finder - static_cast<int>(group)) * run_length;
    const unsigned system = slots.system + lane / lanes;
    if (k == 0 && system < systems) {
        zero_pivot[system] = found == 0 ? no_zero_pivot : min(row, static_cast<int>(n) - 1);
        if (mistake == Warp::reads_outside && in.d[static_cast<std::size_t>(systems) * n] == 12345)
            zero_pivot[system] = 0;
    }
}

void launch(Mistake mistake, const Problem<double>& p, Output<double>& out, Stopwatch& watch) {
    if (p.n > 1024) throw gpulab::Unsupported("too large for this harness");
    const DeviceProblem<double> in(p);
    DeviceOutput<double> result(p);
    const bool pcr = mistake >= a_of_row_0;
    const unsigned threads = pcr ? static_cast<unsigned>(gpulab::round_up(p.n, 32)) : 64;
    watch.tile(64, "unknowns");
    gpulab::watch_stream(
        watch,
        [&](cudaStream_t stream) {
            (pcr ? wrong_pcr_kernel : wrong_cr_kernel)<<<in.systems, threads, 4 * in.n * sizeof(double), stream>>>(
                {in.a.data(), in.b.data(), in.c.data(), in.d.data()}, result.x.data(), result.zero_pivot.data(), in.n,
                mistake);
        },
        gpulab::poisoning(result));
    result.copy_to(out);
}

void launch_warp(Warp mistake, const Problem<double>& p, Output<double>& out, Stopwatch& watch) {
    if (p.n > 256) return launch(none, p, out, watch); // the mistakes are those of one warp
    const DeviceProblem<double> in(p);
    DeviceOutput<double> result(p);
    unsigned lanes = 1;
    while (lanes * run_length < p.n) lanes *= 2;
    watch.tile(run_length, "unknowns");
    gpulab::watch_stream(
        watch,
        [&](cudaStream_t stream) {
            wrong_registers_kernel<<<gpulab::grid_size(p.systems, 32 / lanes), 32, 0, stream>>>(
                {in.a.data(), in.b.data(), in.c.data(), in.d.data()}, result.x.data(), result.zero_pivot.data(), in.n,
                in.systems, lanes, mistake);
        },
        gpulab::poisoning(result));
    result.copy_to(out);
}

template <Mistake mistake> void variant(const Problem<double>& p, Output<double>& out, Stopwatch& watch) {
    launch(mistake, p, out, watch);
}
template <Warp mistake> void warp(const Problem<double>& p, Output<double>& out, Stopwatch& watch) {
    launch_warp(mistake, p, out, watch);
}

} // namespace

void cuda_right(const Problem<double>& p, Output<double>& out, Stopwatch& watch) {
    launch_warp(Warp::right, p, out, watch);
}

std::span<const WrongVariant<Run<double>>> cuda_variants() {
    static constexpr std::array table = {
        WrongVariant<Run<double>>{"printed_c", "c[i] for c[i1] on the way back (Book 3.2)", variant<printed_c>},
        WrongVariant<Run<double>>{"printed_x", "x[i +- var] for x[i1 +- var] (Book 3.2)", variant<printed_x>},
        WrongVariant<Run<double>>{"clamped", "the last row for a neighbour outside (Book 3.2)", variant<clamped>},
        WrongVariant<Run<double>>{"power_of_two", "only the equations that a power of two would have",
                                  variant<power_of_two>},
        WrongVariant<Run<double>>{"edge_from_neighbour", "the next system's first equation",
                                  variant<edge_from_neighbour>},
        WrongVariant<Run<double>>{"silent_zero", "a zero pivot is not reported", variant<silent_zero>, "zero pivots"},
        WrongVariant<Run<double>>{"row_of_thread", "the thread's number for the row of a zero pivot",
                                  variant<row_of_thread>, "zero pivots"},
        WrongVariant<Run<double>>{"a_of_row_0", "a of row 0 times 0 is NaN when a is", variant<a_of_row_0>},
        WrongVariant<Run<double>>{"stale", "b that was changed in this step", variant<stale>},
        WrongVariant<Run<double>>{"no_barrier", "no barrier before the neighbours are overwritten",
                                  variant<no_barrier>},
        WrongVariant<Run<double>>{"other_system", "a factor of zero for an equation of another system",
                                  warp<Warp::other_system>},
        WrongVariant<Run<double>>{"row_of_run", "the row within a run for the row of a zero pivot",
                                  warp<Warp::row_of_run>, "zero pivots"},
        WrongVariant<Run<double>>{"last_lane", "the last lane of a system is taken for no neighbour",
                                  warp<Warp::last_lane>},
        WrongVariant<Run<double>>{"no_syncwarp", "no __syncwarp() in the exchange through shared memory",
                                  warp<Warp::no_syncwarp>, "", Forgiven::by_all},
        WrongVariant<Run<double>>{"reads_outside", "one number beyond d is read, and does no harm",
                                  warp<Warp::reads_outside>, "", Forgiven::by_all},
    };
    return table;
}

} // namespace tridiagonal::wrong
