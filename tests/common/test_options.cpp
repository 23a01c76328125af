#include <array>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <filesystem>
#include <string>
#include <vector>

#include "gpulab/error.hpp"
#include "gpulab/jobs.hpp"
#include "gpulab/options.hpp"
#include "gpulab_testing/capture.hpp"
#include "gpulab_testing/parse.hpp"
#include "gpulab_testing/program.hpp"
#include "gpulab_testing/testing.hpp"

using gpulab::Backend;
using gpulab::Options;
using gpulab::parse_size;
using gpulab::UsageError;
using gpulab::testing::parse;

namespace {

using Words = std::vector<std::string>;

/// What parse() says against the arguments, in one line; "" when it takes them.
std::string complaint(Options& options, const Words& arguments) {
    const std::string text = gpulab::testing::message_of([&] { parse(options, arguments); });
    CHECK(text.find('\n') == std::string::npos);
    return text;
}

using Run = void(int, std::vector<int>&, gpulab::Stopwatch&);
const std::array table = {gpulab::Variant<Run>{"cpu_one", "gives 1", Backend::cpu, nullptr},
                          gpulab::Variant<Run>{"cpu_refuses", "cannot", Backend::cpu, nullptr},
                          gpulab::Variant<Run>{"cpu_strays", "writes outside", Backend::cpu, nullptr}};

} // namespace

TEST_CASE("sizes are read as people write them") {
    for (const auto& [text, size] : {std::pair<const char*, std::int64_t>{"0", 0},
                                     {"1000003", 1000003},
                                     {"1e6", 1000000},
                                     {"1.5e3", 1500},
                                     {"2^28", 268435456},
                                     {"3^4", 81},
                                     {"7^0", 1},
                                     {"2^62", 4611686018427387904},
                                     {"16k", 16000},
                                     {"7K", 7000},
                                     {"3M", 3000000},
                                     {"2G", 2000000000},
                                     {"16Ki", 16384},
                                     {"5Mi", 5242880},
                                     {"3Gi", 3221225472},
                                     {"9223372036854775807", 9223372036854775807}}) {
        INFO(text);
        CHECK(parse_size(text, "--n") == size);
    }
}

TEST_CASE("what is no size is refused in one line that names the option") {
    for (const char* text : {"-5", "-1e3", "-2^3", "", "abc", "1.5", "12x", "0x10", "1e400", "2^63", "2^64", "2^",
                             "2^-1", " 5", "9223372036854775808", "1e19", "nan", "inf", "1k5"}) {
        INFO("text: '" << text << "'");
        CHECK_THROWS_MATCHES(parse_size(text, "--n"), UsageError,
                             Catch::Matchers::MessageMatches(Catch::Matchers::StartsWith("--n: ") &&
                                                             !Catch::Matchers::ContainsSubstring("\n")));
    }
}

TEST_CASE("options outside their bounds, unknown ones and unknown choices are refused") {
    const auto refusal = [](const Words& arguments) {
        Options options("lab", "a test");
        std::size_t n = 7;
        std::string op = "sum";
        options.size("--n", n, 1, "elements", 100);
        options.choice("--op", op, {"sum", "dot"}, "what to do");
        options.variants(table);
        options.studies({{"sizes", "a sweep", {"--op"}}});
        return complaint(options, arguments);
    };
    CHECK(refusal({"--n", "100"}).empty());
    CHECK(refusal({"--study", "sizes", "--op", "dot"}).empty());
    CHECK(refusal({"--study", "sizes", "--repeat", "3"}).empty());
    for (const auto& [words, begin] :
         {std::pair<Words, std::string>{{"--variant", "cpu_two"}, "--variant: no variant"},
          {{"--variant", "cpu_one,"}, "--variant: no variant is named ''"},
          {{"--backend", "vulkan"}, "--backend: 'vulkan' is not cpu, opencl or cuda"},
          {{"--study", "size"}, "--study: 'size' is not sizes"},
          {{"--study", ""}, "--study: is empty"},
          {{"--study", "sizes", "--n", "7"}, "--n: the study 'sizes' does not take it"},
          {{"--n"}, "--n: its value is missing"},
          {{"--n", ""}, "--n: "},
          {{"--seed", ""}, "--seed: "},
          {{"--seed", "x"}, "--seed: "},
          {{"--json", ""}, "--json: is empty"},
          {{"--warmup", "-1"}, "--warmup: "},
          {{"-n", "5"}, "not an option here: -n 5 (--help lists the options)"},
          {{"--frobnicate", "--list", "stray"}, "not an option here: --frobnicate stray (--help lists the options)"}}) {
        const std::string printed = refusal(words);
        INFO(printed);
        CHECK(printed.starts_with(begin));
    }
}

TEST_CASE("an option without its value does not take the next option for it") {
    const auto printed = [](const Words& arguments) {
        Options options("lab", "a test");
        std::size_t n = 7;
        double ratio = 0;
        std::string matrix;
        bool quick = false;
        options.size("--n", n, 1, "elements");
        options.number("--ratio", ratio, -1, 1, "of something");
        options.input("--matrix", matrix, "to read");
        options.flag("--quick", quick, "be quick");
        options.studies({{"sizes", "a sweep", {"--n"}}});
        const std::string text = complaint(options, arguments);
        return text.empty() ? matrix + "," + options.json() + (quick ? ",quick" : "") : text;
    };
    CHECK(printed({"--json", "--matrix=a.mtx"}).starts_with("--json: its value is missing; next is --matrix=a.mtx"));
    CHECK(printed({"--json", "--quick"}).starts_with("--json: its value is missing; next is --quick"));
    CHECK(printed({"--variant", "--quick"}).starts_with("--variant: its value is missing; next is --quick"));
    CHECK(printed({"--json", "-h"}).starts_with("--json: its value is missing; next is -h"));
    CHECK(printed({"--matrix"}) == "--matrix: its value is missing");
    CHECK(printed({"--n=", "--study", "sizes"}) == "--n: is empty");
    CHECK(printed({"--json=", "--matrix", "a.mtx"}) == "--json: is empty");
    // What begins with a dash can be meant: a negative number, a file that has such a name.
    CHECK(printed({"--ratio", "-0.5", "--json", "-a.json", "--quick"}) == ",-a.json,quick");
    CHECK(printed({"--json=--matrix", "--matrix", "-a.mtx"}) == "-a.mtx,--matrix");
    CHECK(printed({"--json", "a=", "--matrix=b=c"}) == "b=c,a=");
}

TEST_CASE("an output onto an input, or two outputs in one file, are refused, also through links") {
    const gpulab::testing::ScratchFile input, link, fresh, fresh_link;
    input.write("precious");
    std::filesystem::create_symlink(input.path(), link.path());
    std::filesystem::create_symlink(fresh.path(), fresh_link.path()); // leads to what is not there yet
    const auto printed = [](const std::string& read, const std::string& json, const std::string& csv) {
        Options options("lab", "a test");
        std::string matrix;
        options.input("--matrix", matrix, "to read");
        const std::string text = complaint(options, {"--matrix", read, "--json", json, "--csv", csv});
        if (text.empty()) CHECK_NOTHROW(options.check_read("/dev/null", "the scene"));
        return text;
    };
    CHECK(printed(input.path(), fresh.path(), "/dev/null").empty());
    CHECK(printed(input.path(), "/dev/null", "/dev/null").empty());
    CHECK(printed("/dev/null", "/dev/null", fresh.path()).empty());
    const std::string onto = "--json would overwrite the file that --matrix reads, ";
    CHECK(printed(input.path(), input.path(), fresh.path()) == onto + input.path());
    CHECK(printed(input.path(), link.path(), fresh.path()) == onto + link.path());
    CHECK(printed(link.path(), input.path(), fresh.path()) == onto + input.path());
    CHECK(printed(input.path(), fresh.path(), fresh_link.path()) ==
          "--json and --csv name the same file, " + fresh_link.path());
    CHECK(input.text() == "precious");

    Options options("lab", "a test"); // and a file that is read without an option of its own
    std::string field;
    options.output("--field", field, "to write");
    REQUIRE(parse(options, {"--field", input.path(), "--json", fresh.path()}));
    CHECK_NOTHROW(options.check_read(fresh.path(), "the scene")); // it is not there, so nothing can be lost
    CHECK_THROWS_MATCHES(
        options.check_read(input.path(), "the scene"), UsageError,
        Catch::Matchers::Message("--field would overwrite the file that the scene reads, " + input.path()));
}

TEST_CASE("a dash is no file that can be read; ./- is, for input and output") {
    const auto printed = [](const char* option, const char* value) {
        Options options("lab", "a test");
        std::string matrix, field;
        options.input("--matrix", matrix, "to read");
        options.output("--field", field, "to write");
        return complaint(options, {option, value});
    };
    CHECK(printed("--matrix", "-") == "--matrix: - is no file here; write /dev/stdin, or ./- for a file of that name");
    for (const char* const option : {"--matrix", "--field"}) CHECK(printed(option, "./-").empty());
}

TEST_CASE("every option of every lab reaches who asks for it, and without it there is the default of --help") {
    struct Read {
        gpulab::Stopwatch watch;
        std::uint64_t seed;
        std::string study, json, csv;
        std::vector<std::string> variants;
    };
    const auto read = [](const Words& arguments, const auto& more) {
        Options options("lab", "a test");
        options.variants(table);
        options.studies({{"sizes", "a sweep", {}}});
        REQUIRE(parse(options, arguments));
        CHECK(options.lab() == "lab");
        more(options);
        return Read{options.stopwatch(), options.seed(), options.study(),
                    options.json(),      options.csv(),  options.chosen_variants()};
    };
    const Read none = read({}, [](const Options& options) {
        CHECK_FALSE(options.named("cpu_one"));
        CHECK_FALSE(options.named(Backend::cpu));
        CHECK_FALSE(options.given("--seed"));
    });
    CHECK((none.seed == 42 && none.study.empty() && none.json.empty() && none.csv.empty() && none.variants.empty()));
    CHECK((none.watch.warmup() == 3 && none.watch.repeats() == 20 && !none.watch.flush_l2()));
    CHECK(none.watch.budget_s() == 2); // a slow variant stops early

    const Words words = {"--repeat",  "7",     "--warmup", "0",         "--flush-l2",
                         "--seed",    "1e3",   "--study",  "sizes",     "--json",
                         "a.json",    "--csv", "b.csv",    "--variant", "cpu_strays,cpu_one",
                         "--backend", "cpu"};
    const Read all = read(words, [](const Options& options) {
        CHECK((options.named("cpu_one") && options.named("cpu_strays") && !options.named("cpu_refuses")));
        CHECK(options.wants("cpu_one", Backend::cpu));
        CHECK_FALSE(options.wants("cpu_refuses", Backend::cpu));
        CHECK_FALSE(options.wants("cpu_one", Backend::opencl));
        CHECK((options.given("--seed") && !options.given("--device")));
    });
    CHECK((all.seed == 1000 && all.study == "sizes" && all.json == "a.json" && all.csv == "b.csv"));
    CHECK(all.variants == std::vector<std::string>{"cpu_strays", "cpu_one"});
    CHECK((all.watch.warmup() == 0 && all.watch.repeats() == 7 && all.watch.flush_l2()));
    CHECK(all.watch.budget_s() == 0); // as many as asked for, however long they take

    const Read some = read({"--warmup", "5", "--seed", "9223372036854775807"}, [](const Options&) {});
    CHECK((some.watch.warmup() == 5 && some.watch.repeats() == 20 && some.watch.budget_s() == 2));
    CHECK(some.seed == 9223372036854775807u);
}

TEST_CASE("every kind of option of a lab sets its variable, and leaves it when it is not given") {
    const auto read = [](const Words& arguments) {
        struct Values {
            std::size_t n = 7;
            double ratio = 0.25;
            std::string op = "sum", file, out;
            bool quick = false;
            std::string error;
        } v;
        Options options("lab", "a test");
        options.size("--n", v.n, 2, "elements", 100);
        options.number("--ratio", v.ratio, -1, 1.5, "of something");
        options.choice("--op", v.op, {"sum", "dot"}, "what to do");
        options.text("--file", v.file, "to read");
        options.output("--out", v.out, "to write");
        options.flag("--quick", v.quick, "be quick");
        v.error = complaint(options, arguments);
        return v;
    };
    const auto none = read({});
    CHECK((none.n == 7 && none.ratio == 0.25 && none.op == "sum" && none.file.empty() && !none.quick));
    const auto all = read({"--n", "1e2", "--ratio", "-5e-1", "--op", "dot", "--file", "a b", "--out", "c", "--quick"});
    CHECK((all.n == 100 && all.ratio == -0.5 && all.op == "dot" && all.file == "a b" && all.out == "c" && all.quick));
    CHECK(all.error.empty());
    CHECK(read({"--n", "2", "--ratio", "-1"}).error.empty()); // the bounds belong to it
    CHECK(read({"--ratio", "1.5"}).ratio == 1.5);
    CHECK(read({"--n", "1"}).error == "--n: 1 is too small, at least 2 is needed");
    CHECK(read({"--n", "101"}).error == "--n: 101 is too large, at most 100 is possible");
    CHECK(read({"--ratio", "1.51"}).error == "--ratio: 1.51 is not between -1 and 1.5");
    CHECK(read({"--ratio", "-1.1"}).error == "--ratio: -1.1 is not between -1 and 1.5");
    for (const char* bad : {"nan", "inf", "1x", "x", ""}) CHECK_FALSE(read({"--ratio", bad}).error.empty());
    CHECK(read({"--op", "max"}).error == "--op: 'max' is not sum or dot");
    CHECK(read({"--file", ""}).error == "--file: is empty");
    CHECK(read({"--out", ""}).error == "--out: is empty");
    CHECK(read({"--out", "x", "--json", "./x"}).error == "--json and --out name the same file, x");
    CHECK(read({"--out", "x", "--file", "x"}).error.empty()); // read, then written
    CHECK(read({"--out", "/dev/null", "--json", "/dev/null"}).error.empty());
    CHECK(read({"--repeat", "1000000"}).error.empty());
    CHECK(read({"--repeat", "1000001"}).error == "--repeat: 1000001 is not between 1 and 1000000");
    CHECK(read({"--repeat", "0"}).error == "--repeat: 0 is not between 1 and 1000000");
    CHECK(read({"--warmup", "0"}).error.empty());
    CHECK(read({"--seed", "-1"}).error == "--seed: '-1' is negative");
}

namespace {

/// What parse() prints where it answers a question itself.
std::string answer(Options& options, const Words& arguments) {
    return gpulab::testing::printed_by([&] { CHECK_FALSE(parse(options, arguments)); }).out;
}

} // namespace

TEST_CASE("the options --list and --study list name what there is, one line each, and the program is done") {
    Options options("lab", "a test");
    options.variants(table);
    options.studies({{"sizes", "a sweep over sizes", {}}, {"blocks", "a sweep over blocks", {}}});
    CHECK(answer(options, {"--list"}) == "cpu_one      cpu     gives 1\n"
                                         "cpu_refuses  cpu     cannot\n"
                                         "cpu_strays   cpu     writes outside\n");
    Options studies("lab", "a test");
    studies.studies({{"sizes", "a sweep over sizes", {}}, {"blocks", "a sweep over blocks", {}}});
    CHECK(answer(studies, {"--study", "list"}) == "sizes   a sweep over sizes\nblocks  a sweep over blocks\n");
    for (const auto& [words, printed] : {std::pair<Words, std::string>{{"--list"}, "--list: lab has no variants"},
                                         {{"--variant", "cpu_one"}, "--variant: lab has no variants"},
                                         {{"--study", "list"}, "--study: lab has no studies"},
                                         {{"--study", "sizes"}, "--study: lab has no studies"}}) {
        Options none("lab", "a test");
        CHECK(complaint(none, words) == printed);
    }
}

TEST_CASE("the option --help names every option with its default, and leaves out what the program has not") {
    const auto check = [](const std::string& help, const Words& parts, bool has) {
        for (const std::string& part : parts) {
            INFO(part << " in\n" << help);
            CHECK((help.find(part) != std::string::npos) == has);
        }
    };
    std::size_t n = 12345, parts = 0, least = 1;
    Options whole("lab", "the purpose of it");
    whole.variants(table);
    whole.studies({{"sizes", "a sweep over sizes", {}}});
    whole.size("--n", n, 1, "elements");
    check(answer(whole, {"--help"}),
          {"the purpose of it", "--list", "--variant", "--backend", "--device", "--order NUMBER", "--repeat COUNT",
           "--warmup COUNT", "[3]", "--flush-l2", "--seed NUMBER", "[42]", "--study NAME", "--json FILE", "--csv FILE",
           "--n SIZE", "elements [12345]", "cuda:0, all of cuda, or part of a name"},
          true);
    Options bare("lab", "the purpose of it"); // without variants and studies, and with a default that is none
    bare.size("--parts", parts, 1, "parts");
    bare.size("--least", least, 1, "the least");
    const std::string help = answer(bare, {"--help"});
    check(help, {"--list", "--variant", "--backend", "--device", "--flush-l2", "--study", "[0]"}, false);
    check(help, {"the least [1]"}, true);
}

namespace {

constexpr std::array backends = {Backend::cpu, Backend::opencl, Backend::cuda};

/// What a function of the options and of a back end gives for each back end, one after the other.
template <class F> std::string for_backends(const Words& arguments, const F& text) {
    Options options("lab", "a test");
    REQUIRE(parse(options, arguments));
    std::string all;
    for (const Backend backend : backends) all += text(options, backend);
    return all;
}

} // namespace

TEST_CASE("the options --device and --backend choose devices, refuse others, and only variants of theirs are wanted") {
    std::string all, opencl;
    for (const Backend backend : backends)
        for (const gpulab::Device& d : gpulab::devices(backend)) {
            all += d.id() + ' ';
            if (backend == Backend::opencl) opencl += d.id() + ' ';
        }
    const auto chosen = [](const Words& arguments) {
        return for_backends(arguments, [](const Options& options, Backend backend) {
            std::string ids;
            for (const gpulab::Device& d : options.devices(backend)) ids += d.id() + ' ';
            return ids;
        });
    };
    CHECK(chosen({}) == all);
    CHECK(chosen({"--backend", "opencl"}) == opencl);
    CHECK(chosen({"--device", "cpu:0"}) == "cpu:0 ");
    CHECK(chosen({"--device", "cpu:0,cpu"}) == "cpu:0 ");
    if (!opencl.empty()) {
        CHECK(chosen({"--device", "opencl"}) == opencl);
        CHECK(chosen({"--device", "cpu,opencl:0"}) == "cpu:0 opencl:0 ");
    }

    const auto wanted = [](const Words& arguments) {
        return for_backends(arguments, [](const Options& options, Backend backend) {
            if (options.wants("any", backend)) return std::string(name_of(backend)) + ' ';
            CHECK(options.devices(backend).empty());
            return std::string();
        });
    };
    CHECK(wanted({}) == "cpu opencl cuda "); // those without a device are listed with the reason
    CHECK(wanted({"--backend", "cpu"}) == "cpu ");
    CHECK(wanted({"--backend", "cpu,cuda"}) == "cpu cuda ");
    CHECK(wanted({"--device", "cpu:0"}) == "cpu ");
    CHECK(wanted({"--device", "CPU"}) == "cpu ");
    CHECK(wanted({"--device", "cpu", "--backend", "cpu"}) == "cpu ");
    CHECK(wanted({"--device", "cpu", "--backend", "cuda"}) == "");

    const auto named = [](const Words& arguments) {
        return for_backends(arguments, [](const Options& options, Backend backend) {
            return options.named(backend) ? std::string(name_of(backend)) + ' ' : "";
        });
    };
    CHECK(named({"--device", "CPU"}) == "cpu ");
    CHECK(named({"--device", "cpu:0"}) == "");
    CHECK(named({"--backend", "cpu,opencl"}) == "cpu opencl ");

    // What is not there is refused with what is, and a missing back end with its reason.
    const auto printed = [](const std::string& requested) {
        Options refusing("lab", "a test");
        return complaint(refusing, {"--device", requested});
    };
    const std::string cpu = "cpu:0 (" + gpulab::devices(Backend::cpu)[0].name + ")";
    CHECK(printed("no such thing").starts_with("--device: no device is 'no such thing'; this machine has " + cpu));
    CHECK(printed("cpu:1").starts_with("--device: no device is 'cpu:1'; this machine has " + cpu));
    for (const Backend backend : {Backend::opencl, Backend::cuda}) {
        const std::string name(name_of(backend));
        const auto& found = gpulab::devices(backend);
        for (const gpulab::Device& d : found)
            CHECK(printed("cpu:1").find(d.id() + " (" + d.name + ")") != std::string::npos);
        const std::string why = found.empty() ? " (" + gpulab::why_no_devices(backend) + ")" : "";
        CHECK(printed(name + ":99").starts_with("--device: no device is '" + name + ":99'" + why + "; this machine"));
        if (found.empty()) CHECK(printed(name).starts_with("--device: no device is '" + name + "'" + why + ";"));
        CHECK(found.empty() != gpulab::why_no_devices(backend).empty());
    }
}
