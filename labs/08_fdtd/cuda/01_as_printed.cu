// Rung 1: two kernels per step, as the book prints them. (Alfaro Vigo & Rossetto, programs 4.1 to 4.3)
//
// One thread per cell. The host launches update_h and update_e in each step; between two kernels in one stream all
// threads are done, so no other barrier is needed. The arrays are those of the book: I = i * ny + j, E_x without
// its last row, E_y without its last column.
// Corrected: the book's program 4.2 adds the upper neighbour to DxHz instead of DyHz, which spoils both components.
// Kept: the source is hard; it pins H_z to 0 after its pulse.
// Changed: blocks of 32 x 8 threads, where program 4.3 has 32 x 32.
// This rung and the next three compute the book's problem only (book.hpp): TE mode, one medium, a conductor on all
// sides, one hard source in one cell.
// Limit: threadIdx.x counts i, so neighbouring threads of a warp access numbers that are ny apart.
#include "book.hpp"
#include "fields.hpp"

namespace fdtd {

/// What is the same in every step.
template <class T> struct Constants {
    T a, b, c, d, dx, dy; ///< not divided by the sides of a cell
    int nx, ny, source_i, source_j;
};

template <class T> __global__ void update_h(Constants<T> g, const T* ex, const T* ey, T* hz, T source) {
    const int nx = g.nx, ny = g.ny;
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const int j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= nx || j >= ny) return;
    T dy_ex = 0, dx_ey = 0; // E is 0 on the border
    if (i > 0) dx_ey -= ey[std::size_t(i - 1) * ny + j];
    if (i < nx - 1) dx_ey += ey[std::size_t(i) * ny + j];
    if (j > 0) dy_ex -= ex[std::size_t(i) * (ny - 1) + j - 1];
    if (j < ny - 1) dy_ex += ex[std::size_t(i) * (ny - 1) + j];
    hz[std::size_t(i) * ny + j] = g.a * hz[std::size_t(i) * ny + j] + g.b * (dy_ex / g.dy - dx_ey / g.dx);
    if (i == g.source_i && j == g.source_j) hz[std::size_t(i) * ny + j] = source;
}

template <class T> __global__ void update_e(Constants<T> g, T* ex, T* ey, const T* hz) {
    const int nx = g.nx, ny = g.ny;
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const int j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= nx || j >= ny) return;
    const T here = hz[std::size_t(i) * ny + j];
    if (j < ny - 1) { // no E_x above the last row
        const T dy_hz = hz[std::size_t(i) * ny + j + 1] - here;
        T& e = ex[std::size_t(i) * (ny - 1) + j];
        e = g.c * e + g.d * dy_hz / g.dy;
    }
    if (i < nx - 1) { // no E_y to the right of the last column
        const T dx_hz = hz[std::size_t(i + 1) * ny + j] - here;
        T& e = ey[std::size_t(i) * ny + j];
        e = g.c * e - g.d * dx_hz / g.dx;
    }
}

namespace {

/// From this lab's arrays to the book's, or back.
template <class T, class Copy> void each_number(const BookProblem<T>& p, const Copy& copy) {
    const std::size_t nx = p.nx(), ny = p.ny(), pitch = p.pitch();
    for (std::size_t j = 0; j < ny; ++j)
        for (std::size_t i = 0; i < nx; ++i) {
            copy(0, j * pitch + i, i * ny + j);
            if (j > 0) copy(1, j * pitch + i, i * (ny - 1) + j - 1); // P(i, j) is E_x below cell j
            if (i > 0) copy(2, j * pitch + i, (i - 1) * ny + j);     // Q(i, j) is E_y to the left of cell i
        }
}

} // namespace

template <class T> void cuda_as_printed(const Problem<T>& p, Output<T>& out, Stopwatch& watch) {
    const BookProblem<T> book = book_of(p);
    const Constants<T> g = {book.g.a, book.b,    book.g.c,  book.d,          book.dx,
                            book.dy,  book.g.nx, book.g.ny, book.g.source_i, book.g.source_j};
    const std::size_t nx = book.nx(), ny = book.ny();
    std::vector<T> hz(nx * ny), ex(nx * (ny - 1)), ey((nx - 1) * ny);
    each_number(book, [&](int which, std::size_t ours, std::size_t books) {
        if (which == 0) hz[books] = book.start.u[ours];
        else if (which == 1) ex[books] = book.start.p[ours];
        else ey[books] = book.start.q[ours];
    });
    const gpulab::DeviceBuffer<T> start_hz(hz), start_ex(ex), start_ey(ey);
    gpulab::DeviceBuffer<T> d_hz(hz), d_ex(ex), d_ey(ey);
    const dim3 block(32, 8);
    const dim3 grid(gpulab::grid_size(nx, 32), gpulab::grid_size(ny, 8));
    watch.tile(32, "nx");
    watch.tile(8, "ny");
    const auto launch = [&](cudaStream_t stream) {
        for (std::size_t n = 0; n < book.steps; ++n) {
            update_h<<<grid, block, 0, stream>>>(g, d_ex.data(), d_ey.data(), d_hz.data(), book.source(n));
            update_e<<<grid, block, 0, stream>>>(g, d_ex.data(), d_ey.data(), d_hz.data());
        }
    };
    const auto reset = [&](cudaStream_t stream) {
        gpulab::copy_async(start_hz, d_hz, stream);
        gpulab::copy_async(start_ex, d_ex, stream);
        gpulab::copy_async(start_ey, d_ey, stream);
    };
    gpulab::watch_stream(watch, launch, reset);
    d_hz.copy_to(hz);
    d_ex.copy_to(ex);
    d_ey.copy_to(ey);
    out.field = book.start; // the border edges, which the book does not store
    each_number(book, [&](int which, std::size_t ours, std::size_t books) {
        if (which == 0) out.field.u[ours] = hz[books];
        else if (which == 1) out.field.p[ours] = ex[books];
        else out.field.q[ours] = ey[books];
    });
}

INSTANTIATE_RUNG(cuda_as_printed);

} // namespace fdtd
