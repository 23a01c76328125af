// Group counts found by trying, and the matrices that this lab's tests and users generate.
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <vector>

#include "gpulab/error.hpp"
#include "gpulab_testing/program.hpp"
#include "systems.hpp"
#include "tuning.hpp"

using namespace cg;
using namespace cg::testing;

TEST_CASE("trying stops at the first local minimum") {
    const auto found = [](std::vector<double> times) {
        std::size_t tried = 0;
        const Tuned t = first_local_minimum(
            [&](std::size_t groups) {
                tried = groups;
                return times.at(groups - 1);
            },
            times.size());
        return std::vector<double>{static_cast<double>(t.groups), t.one_ms, t.best_ms, static_cast<double>(tried)};
    };
    CHECK(found({5, 4, 3, 3.5, 1}) == std::vector<double>{3, 5, 3, 4}); // 1 is not reached
    CHECK(found({5, 6, 1}) == std::vector<double>{1, 5, 5, 2});
    CHECK(found({5, 5, 1}) == std::vector<double>{1, 5, 5, 2}); // not faster
    CHECK(found({5, 4, 3}) == std::vector<double>{3, 5, 3, 3}); // as many as may be tried
    CHECK(found({5}) == std::vector<double>{1, 5, 5, 1});
}

TEST_CASE("of several runs with each number of groups the fastest counts, and few rows are tried with one and two") {
    const std::vector<double> times = {9, 8, 7, 6, 5, 6, 1};
    std::vector<std::size_t> runs(times.size()); // with each number of groups
    const auto slower_at_first = [&](std::size_t groups) {
        const std::size_t run = runs.at(groups - 1)++;
        return times[groups - 1] + (run == 1 ? 0.0 : 10.0); // the second run is the fastest
    };
    using Runs = std::vector<std::size_t>;
    Tuned found = fastest_groups(slower_at_first, 4096);
    CHECK(found.groups == 5);
    CHECK(found.one_ms == 9);
    CHECK(found.best_ms == 5);
    CHECK(runs == Runs{5, 5, 5, 5, 5, 5, 0});
    runs.assign(times.size(), 0);
    found = fastest_groups(slower_at_first, 4095);
    CHECK(found.groups == 2);
    CHECK(runs == Runs{2, 2, 0, 0, 0, 0, 0});
    std::size_t most = 0;
    CHECK(
        fastest_groups([&](std::size_t groups) { return most = groups, 1.0 / static_cast<double>(groups); }, 1'000'000)
            .groups == max_groups);
    CHECK(most == max_groups);
}

TEST_CASE("the table of what was tried shows what is saved against one group") {
    CHECK(saved_percent(8, 2) == 75);
    CHECK(saved_percent(4, 5) == -25);
    CHECK(saved_percent(0, 0) == 0);
    CHECK(tuning_table({{"GPU", "dot", "float", 1024, 5, 8, 2}, {"GPU", "spmv", "float", 1024, 1, 0.5, 0.5}}) ==
          "GPU, up to 1024 rows in float: groups per compute unit\n"
          "  kernel         1: ms    best: ms  groups   saved\n"
          "  dot           8.0000      2.0000       5     75%\n"
          "  spmv          0.5000      0.5000       1      0%\n");
    CHECK(tuning_table({{"CPU", "dot", "double", 1024, 2, 4, 3}}) ==
          "CPU, up to 1024 rows in double: groups per compute unit\n"
          "  kernel         1: ms    best: ms  groups   saved\n"
          "  dot           4.0000      3.0000       2     25%\n");
}

TEST_CASE("what was found is kept in a file, by device, kernel, type and size") {
    const gpulab::testing::ScratchFile file;
    {
        TuningCache cache(file.path());
        CHECK_FALSE(cache.find("GPU, large", "dot", "float", 1024));
        cache.store({"GPU, large", "dot", "float", 1024, 5, 2.5, 0.5});
    }
    const TuningCache again(file.path());
    REQUIRE(again.find("GPU, large", "dot", "float", 1024));
    CHECK(again.find("GPU, large", "dot", "float", 1024)->groups == 5);
    CHECK_FALSE(again.find("GPU, large", "dot", "double", 1024));
    CHECK_FALSE(again.find("GPU, large", "spmv", "float", 1024));
    CHECK_FALSE(again.find("GPU, large", "dot", "float", 512));
    CHECK_FALSE(again.find("GPU, large", "dot", "float", 2048));
    const std::string head = "device,kernel,type,rows,groups,one_ms,best_ms\n";
    CHECK(file.text() == head + "GPU  large,dot,float,1024,5,2.5,0.5\n");
    for (const std::string& broken :
         {std::string("x\n"), head + "GPU,dot,float,1024,5,2.5\n", head + "GPU,dot,float,1024,0,2.5,0.5\n",
          head + "GPU,dot,float,1024,33,2.5,0.5\n", head + "GPU,dot,float,many,5,2.5,0.5\n",
          head + "GPU,dot,float,1024,5,inf,0.5\n", head + "GPU,dot,float,1024,5,2.5,nan\n",
          head + "GPU,dot,float,1024,5,-1,0.5\n"}) {
        file.write(broken);
        CHECK_THROWS_AS(TuningCache(file.path()), gpulab::UsageError);
    }
    CHECK_THROWS_AS(TuningCache("/dev/zero"), gpulab::UsageError); // it never ends
    CHECK_THROWS_AS(TuningCache("/tmp"), gpulab::UsageError);
}

TEST_CASE("stiffness matrices are symmetric and positive definite") {
    const auto chain = gpulab::stiffness<double>(4, 3);
    CHECK(chain.row_start == std::vector<std::int64_t>{0, 2, 5, 8, 10});
    for (const std::size_t first : {2, 5}) // a node that moves with both of its neighbours pulls at no bar
        CHECK(std::abs(chain.value[first] + chain.value[first + 1] + chain.value[first + 2]) < 1e-12);
    for (const char* const what :
         {"stiffness:1", "stiffness:50", "springs:1x1", "springs:7x4", "springs:3x4x2", "springs:1x9"}) {
        INFO(what);
        const auto c = generated<double>(what, settings(0, 1)); // checks the symmetry
        const gpulab::Csr<double>& a = c.problem.matrix;
        CHECK(gpulab::generated_size(what).rows == a.rows);
        CHECK(gpulab::generated_size(what).nonzeros >= static_cast<double>(a.nonzeros()));
        // Cholesky's pivots are all positive.
        std::vector<double> l = gpulab::to_dense(a);
        const std::size_t n = a.rows;
        bool positive = true;
        for (std::size_t j = 0; j < n; ++j) {
            for (std::size_t k = 0; k < j; ++k)
                for (std::size_t i = j; i < n; ++i) l[i * n + j] -= l[i * n + k] * l[j * n + k];
            positive = positive && l[j * n + j] > 0;
            const double root = std::sqrt(l[j * n + j]);
            for (std::size_t i = j; i < n; ++i) l[i * n + j] /= root;
        }
        CHECK(positive);
    }
    CHECK(gpulab::generate_matrix<float>("springs:3x3", 1) == gpulab::springs<float>(3, 3, 1, 1));
    CHECK_THROWS_AS(gpulab::generate_matrix<float>("springs:9", 1), gpulab::UsageError);
    CHECK_THROWS_AS(gpulab::generate_matrix<float>("springs:50000x50000", 1), gpulab::UsageError);
}
