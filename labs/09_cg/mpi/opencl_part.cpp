// A process's share on an OpenCL device: the kernels of opencl/04_devices_halo.cpp.
#include "../opencl/solve.hpp"
#include "rank_part.hpp"

namespace cg {

namespace {

template <class T> class OpenClRankPart final : public RankPart<T> {
public:
    OpenClRankPart(gpulab::OpenClContext& context, const Problem<T>& problem, const Part<T>& part)
        : part_(part), device_(context, problem, part, false) {
        tune(device_, problem);
    }
    void reset() override { device_.reset(); }
    void pack(T* out) override {
        const cl::Event copied = device_.send(out);
        if (copied()) copied.wait();
    }
    void multiply_inner() override {
        device_.multiply(part_.inner_begin, part_.inner_end);
        device_.flush();
    }
    double multiply_border(const T* halo) override {
        std::vector<cl::Event> arrived;
        if (!part_.halo.empty()) arrived.push_back(device_.receive(0, halo, part_.halo.size()));
        device_.multiply_with_halo(0, part_.inner_begin, arrived);
        device_.multiply_with_halo(part_.inner_end, part_.rows(), arrived);
        device_.dot_pq();
        return device_.pq();
    }
    ResidualSums update(T alpha, bool only_r) override {
        device_.next_r(alpha);
        device_.dot_r();
        if (!only_r) device_.next_x(alpha); // while the sums travel
        device_.flush();
        return device_.residual();
    }
    void next_p(T beta) override { device_.next_p(beta); }
    void solution(T* out) override {
        device_.finish();
        std::vector<T> whole(part_.first + part_.rows());
        device_.solution(whole);
        std::copy(whole.begin() + static_cast<std::ptrdiff_t>(part_.first), whole.end(), out);
    }
    std::string device() const override { return device_.name(); }

private:
    const Part<T>& part_;
    ClPart<T> device_;
};

} // namespace

template <class T>
std::unique_ptr<RankPart<T>> make_opencl_part(const Problem<T>& problem, const Part<T>& part, int local_rank) {
    const auto devices = opencl_devices_for_ranks();
    const auto number = static_cast<std::size_t>(local_rank);
    const auto parts = gpulab::opencl_parts(devices[number % devices.size()], number / devices.size() + 1);
    return std::make_unique<OpenClRankPart<T>>(*parts.back(), problem, part);
}

template std::unique_ptr<RankPart<float>> make_opencl_part(const Problem<float>&, const Part<float>&, int);
template std::unique_ptr<RankPart<double>> make_opencl_part(const Problem<double>&, const Part<double>&, int);

} // namespace cg
