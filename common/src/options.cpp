#include "gpulab/options.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <fmt/format.h>

#include "backends.hpp"
#include "gpulab/error.hpp"
#include "gpulab/file.hpp"
#include "gpulab/guard.hpp"
#include "gpulab/number.hpp"
#include "recorded.hpp"

namespace gpulab {

namespace {

/// "cpu, opencl or cuda"
template <class Names> std::string listed(const Names& names) {
    std::string text;
    for (std::size_t i = 0; i < names.size(); ++i)
        text += (i == 0 ? "" : i + 1 == names.size() ? " or " : ", ") + names[i];
    return text;
}

std::vector<std::string> split_commas(const std::vector<std::string>& texts) {
    std::vector<std::string> words;
    for (const std::string& text : texts)
        for (std::size_t begin = 0; begin <= text.size();) {
            const std::size_t comma = std::min(text.find(',', begin), text.size());
            words.push_back(text.substr(begin, comma - begin));
            begin = comma + 1;
        }
    return words;
}

bool contains(const std::vector<std::string>& words, std::string_view word) {
    return std::find(words.begin(), words.end(), word) != words.end();
}

/// Of variants or studies.
std::size_t longest_name(const auto& list) {
    std::size_t width = 0;
    for (const auto& one : list) width = std::max(width, one.name.size());
    return width;
}

std::vector<Device> all_devices() {
    std::vector<Device> all;
    for (const Backend backend : {Backend::cpu, Backend::opencl, Backend::cuda})
        for (const Device& device : gpulab::devices(backend)) all.push_back(device);
    return all;
}

} // namespace

Options::Options(std::string lab, const std::string& purpose)
    : app_(std::make_unique<CLI::App>(purpose, lab)), lab_(std::move(lab)) {
    CLI::App& app = *app_;
    app.set_help_flag("-h,--help", "show this and stop");
    app.add_flag("--list", list_, "list the variants and stop");
    app.add_option("--variant", chosen_variants_, "run these variants only: a,b,...");
    app.add_option("--backend", chosen_backends_, "run these back ends only: cpu,opencl,cuda");
    app.add_option("--device", chosen_devices_,
                   "run on these devices only: cuda:0, all of cuda, or part of a name: h200");
    const auto count = [this](const std::string& name, int& value, int least, const std::string& help) {
        option(name, "COUNT", help, [=, &value](const std::string& text) {
            const std::int64_t number = parse_size(text, name);
            if (number < least || number > 1'000'000)
                throw UsageError(fmt::format("{}: {} is not between {} and 1000000", name, number, least));
            value = static_cast<int>(number);
        });
    };
    count("--repeat", repeat_, 1, "timed runs of each kernel [20, fewer for a slow variant]");
    count("--warmup", warmup_, 0, "untimed runs before them [3]");
    app.add_flag("--flush-l2", flush_l2_, "on a GPU, empty the L2 cache before every timed run");
    option("--seed", "NUMBER", "of the random input [42]",
           [this](const std::string& text) { seed_ = static_cast<std::uint64_t>(parse_size(text, "--seed")); });
    option("--order", "NUMBER", "CUDA emulator: run blocks, warps and commands in another order [0]",
           [](const std::string& text) { // the emulator reads its settings when it is first called, which is after this
               setenv("CUDA_EMULATOR_ORDER", std::to_string(parse_size(text, "--order")).c_str(), 1);
           });
    app.add_option("--study", study_, "run a study instead of one problem; 'list' names them")->type_name("NAME");
    app.add_option("--recorded", recorded_, "show stored results of these devices beside this run's: h100,h200")
        ->type_name("NAME");
    app.add_option("--json", json_, "write the results to this file as JSON")->type_name("FILE");
    app.add_option("--csv", csv_, "write the results to this file as CSV")->type_name("FILE");
}

Options::~Options() = default;

void Options::option(const std::string& name, const std::string& type, const std::string& help,
                     const std::function<void(const std::string&)>& take) {
    auto text = std::make_shared<std::string>();
    app_->add_option(name, *text, help)->type_name(type);
    checks_.push_back([=, this] {
        if (given(name)) take(*text);
    });
}

void Options::size(const std::string& name, std::size_t& value, std::size_t least, const std::string& help,
                   std::size_t most) {
    lab_options_.push_back(name);
    const bool has_default = value >= least; // else it stands for "not given", and the help says what happens then
    const std::string text = has_default ? fmt::format("{} [{}]", help, value) : help;
    option(name, "SIZE", text, [=, &value](const std::string& word) {
        const auto number = static_cast<std::size_t>(parse_size(word, name));
        if (number < least)
            throw UsageError(fmt::format("{}: {} is too small, at least {} is needed", name, number, least));
        if (number > most)
            throw UsageError(fmt::format("{}: {} is too large, at most {} is possible", name, number, most));
        value = number;
    });
}

void Options::small(const std::string& name, std::size_t& value, std::size_t in_emulator) {
    when_emulated_.push_back([=, this, &value] {
        if (given(name)) return std::string();
        value = in_emulator;
        return fmt::format("{} {}", name, value);
    });
}

void Options::small(const std::string& name, std::string& value, const std::string& in_emulator) {
    when_emulated_.push_back([=, this, &value] {
        if (given(name) || given("--matrix")) return std::string(); // which stands in for --generate
        value = in_emulator;
        return fmt::format("{} {}", name, value);
    });
}

void Options::number(const std::string& name, double& value, double least, double most, const std::string& help) {
    lab_options_.push_back(name);
    option(name, "NUMBER", fmt::format("{} [{}]", help, value), [=, &value](const std::string& text) {
        const std::optional<double> number = real_in(text);
        if (!number) throw UsageError(fmt::format("{}: '{}' is not a number", name, text));
        if (!(*number >= least && *number <= most))
            throw UsageError(fmt::format("{}: {} is not between {} and {}", name, text, least, most));
        value = *number;
    });
}

void Options::choice(const std::string& name, std::string& value, const std::vector<std::string>& words,
                     const std::string& help) {
    lab_options_.push_back(name);
    app_->add_option(name, value, fmt::format("{}: {} [{}]", help, listed(words), value))->type_name("WORD");
    checks_.push_back([=, &value] {
        if (!contains(words, value)) throw UsageError(fmt::format("{}: '{}' is not {}", name, value, listed(words)));
    });
}

void Options::text(const std::string& name, std::string& value, const std::string& help) {
    lab_options_.push_back(name);
    app_->add_option(name, value, help)->type_name("TEXT");
    checks_.push_back([=, this, &value] {
        if (given(name) && value.empty()) throw UsageError(fmt::format("{}: is empty", name));
    });
}

void Options::input(const std::string& name, std::string& value, const std::string& help) {
    text(name, value, help);
    inputs_.push_back(name);
    checks_.push_back([=, &value] {
        if (value == "-")
            throw UsageError(
                fmt::format("{}: - is no file here; write /dev/stdin, or ./- for a file of that name", name));
    });
}

void Options::output(const std::string& name, std::string& value, const std::string& help) {
    text(name, value, help);
    outputs_.push_back({name, &value});
}

void Options::flag(const std::string& name, bool& value, const std::string& help) {
    lab_options_.push_back(name);
    app_->add_flag(name, value, help);
}

bool Options::given(const std::string& option) const { return app_->count(option) > 0; }

void Options::check_values(int argc, const char* const* argv) const {
    for (int i = 1; i < argc; ++i) {
        const std::string word = argv[i];
        const std::size_t equals = word.find('=');
        const std::string name = word.substr(0, equals);
        const CLI::Option* const option = name.starts_with("--") ? app_->get_option_no_throw(name) : nullptr;
        if (!option || option->get_items_expected_max() == 0) continue; // not an option, or a switch
        if (equals != std::string::npos) {
            if (equals + 1 == word.size()) throw UsageError(fmt::format("{}: is empty", name));
            continue;
        }
        if (i + 1 == argc) throw UsageError(fmt::format("{}: its value is missing", name));
        const std::string value = argv[i + 1];
        if (value.starts_with("--") || value == "-h")
            throw UsageError(fmt::format("{}: its value is missing; next is {} (a value like that: {}={})", name, value,
                                         name, value));
        ++i;
    }
}

namespace {
/// Refuses settings of the environment that would be refused later, or by some variants only.
void check_environment() { guard_bytes(), poisons(), hardware_threads(); }
} // namespace

std::string Options::file_of(const std::string& option) const { return app_->get_option(option)->as<std::string>(); }

void Options::check_read(const std::string& input, const std::string& reader) const {
    std::error_code ignored;
    for (const auto& [output, value] : outputs_)
        // One terminal may be both; a file that is written while or after it is read is lost.
        if (given(output) && std::filesystem::is_regular_file(file_of(output), ignored) &&
            same_file(file_of(output), input))
            throw UsageError(
                fmt::format("{} would overwrite the file that {} reads, {}", output, reader, file_of(output)));
}

void Options::keep_stdout() {
    std::string there; // the option that names it
    for (const auto& [option, file] : outputs_) {
        if (!given(option) || !names_stdout(*file)) continue;
        if (!there.empty()) throw UsageError(fmt::format("{} and {} cannot both go to stdout", there, option));
        there = option;
        *file = "-";
    }
    if (!there.empty()) keep_stdout_for_results();
}

void Options::check_files() const {
    for (std::size_t i = 0; i < outputs_.size(); ++i) {
        if (!given(outputs_[i].option)) continue;
        const std::string file = file_of(outputs_[i].option);
        for (std::size_t j = 0; j < i; ++j)
            if (given(outputs_[j].option) && same_file(file, file_of(outputs_[j].option)) &&
                !same_file(file, "/dev/null"))
                throw UsageError(
                    fmt::format("{} and {} name the same file, {}", outputs_[j].option, outputs_[i].option, file));
    }
    for (const std::string& input : inputs_)
        if (given(input)) check_read(file_of(input), input);
}

bool Options::parse(int argc, const char* const* argv) {
    detail::ignore_file_size_signal();
    detail::survive_opencl(const_cast<char* const*>(argv));
    check_values(argc, argv);
    check_environment();
    const auto hide = [&](const char* name) { app_->get_option(name)->group(""); }; // from --help
    if (variants_.empty())
        for (const char* name : {"--list", "--variant", "--backend", "--device", "--order", "--flush-l2", "--recorded"})
            hide(name);
    if (studies_.empty()) hide("--study");
    try {
        app_->parse(argc, argv);
    } catch (const CLI::CallForHelp&) {
        fmt::print("{}", app_->help());
        flush_stdout();
        return false;
    } catch (const CLI::ExtrasError&) {
        throw UsageError(
            fmt::format("not an option here: {} (--help lists the options)", fmt::join(app_->remaining(), " ")));
    } catch (const CLI::ParseError& e) {
        std::string line = e.what();
        std::replace(line.begin(), line.end(), '\n', ' ');
        throw UsageError(line + " (--help lists the options)");
    }
    for (const auto& check : checks_) check();
    for (const char* name : {"--study", "--json", "--csv"})
        if (app_->count(name) > 0 && app_->get_option(name)->as<std::string>().empty())
            throw UsageError(fmt::format("{}: is empty", name));

    keep_stdout();
    check_files();

    if (variants_.empty() && (list_ || !chosen_variants_.empty()))
        throw UsageError(fmt::format("{}: {} has no variants", list_ ? "--list" : "--variant", lab_));
    if (studies_.empty() && !study_.empty()) throw UsageError(fmt::format("--study: {} has no studies", lab_));
    if (list_) {
        const std::size_t width = longest_name(variants_);
        for (const auto& v : variants_) fmt::print("{:<{}}  {:<6}  {}\n", v.name, width, name_of(v.backend), v.summary);
        flush_stdout();
        return false;
    }
    if (study_ == "list") {
        const std::size_t width = longest_name(studies_);
        for (const auto& s : studies_) fmt::print("{:<{}}  {}\n", s.name, width, s.summary);
        flush_stdout();
        return false;
    }
    if (!study_.empty()) {
        const auto study = std::ranges::find(studies_, study_, &StudySummary::name);
        if (study == studies_.end()) {
            std::vector<std::string> names;
            for (const auto& s : studies_) names.push_back(s.name);
            throw UsageError(fmt::format("--study: '{}' is not {}", study_, listed(names)));
        }
        for (const std::string& option : lab_options_)
            if (given(option) && !contains(study->takes, option))
                throw UsageError(fmt::format("{}: the study '{}' does not take it", option, study_));
    }

    recorded_ = split_commas(recorded_);
    for (const std::string& name : recorded_)
        if (const auto names = recorded_names(); !contains(names, name))
            throw UsageError(
                fmt::format("--recorded: no results of '{}' are stored; there are: {}", name, fmt::join(names, " ")));
    chosen_variants_ = split_commas(chosen_variants_);
    for (const std::string& name : chosen_variants_)
        if (std::ranges::find(variants_, name, &VariantSummary::name) == variants_.end())
            throw UsageError(fmt::format("--variant: no variant is named '{}' (--list names them)", name));
    chosen_backends_ = split_commas(chosen_backends_);
    for (const std::string& name : chosen_backends_)
        if (!contains({"cpu", "opencl", "cuda"}, name))
            throw UsageError(fmt::format("--backend: '{}' is not cpu, opencl or cuda", name));
    chosen_devices_ = split_commas(chosen_devices_);
    for (const std::string& requested : chosen_devices_) {
        const std::vector<Device> all = all_devices();
        if (std::none_of(all.begin(), all.end(), [&](const Device& d) { return d.is_meant_by(requested); })) {
            std::string here;
            for (const Device& d : all) here += fmt::format("{}{} ({})", here.empty() ? "" : ", ", d.id(), d.name);
            std::string why; // for "cuda" or "cuda:0" where there is no CUDA
            for (const Backend backend : {Backend::opencl, Backend::cuda})
                if (detail::lower(requested).starts_with(name_of(backend)) && gpulab::devices(backend).empty())
                    why = fmt::format(" ({})", why_no_devices(backend));
            throw UsageError(fmt::format("--device: no device is '{}'{}; this machine has {}", requested, why, here));
        }
    }
    if (given("--order") && !emulated())
        throw UsageError("--order: orders can be chosen in the CUDA emulator only (--backend cuda, without a GPU)");
    if (study_.empty() && emulated()) {
        std::vector<std::string> made;
        for (const auto& make_small : when_emulated_)
            if (const std::string option = make_small(); !option.empty()) made.push_back(option);
        if (!made.empty()) fmt::print("Small, because it is emulated: {}\n", fmt::join(made, " "));
    }
    return true;
}

Stopwatch Options::stopwatch() const {
    if (emulated()) return Stopwatch(0, repeat_ > 0 ? repeat_ : 1); // it has no times
    // Without --repeat, twenty runs or two seconds, whichever is over first.
    return repeat_ > 0 ? Stopwatch(warmup_, repeat_, 0, flush_l2_) : Stopwatch(warmup_, 20, 2.0, flush_l2_);
}

bool Options::wants(std::string_view variant, Backend backend) const {
    return (chosen_variants_.empty() || contains(chosen_variants_, variant)) &&
           (chosen_backends_.empty() || contains(chosen_backends_, name_of(backend))) &&
           (chosen_devices_.empty() || !devices(backend).empty());
}

bool Options::wants_any(Backend backend) const {
    return std::ranges::any_of(variants_,
                               [&](const auto& v) { return v.backend == backend && wants(v.name, backend); });
}

bool Options::named(std::string_view variant) const { return recorded_.empty() && contains(chosen_variants_, variant); }

bool Options::named(Backend backend) const {
    const auto is_its_name = [&](const std::string& requested) { return detail::lower(requested) == name_of(backend); };
    if (!recorded_.empty()) return false;
    return contains(chosen_backends_, name_of(backend)) || std::ranges::any_of(chosen_devices_, is_its_name);
}

std::string Options::why_no_devices(Backend backend) const {
    const std::vector<Device>& found = gpulab::devices(backend);
    if (found.empty()) return gpulab::why_no_devices(backend);
    const auto is_cuda = [&](const std::string& name) {
        return std::ranges::any_of(variants_,
                                   [&](const auto& v) { return v.name == name && v.backend == Backend::cuda; });
    };
    const bool asked = contains(chosen_backends_, name_of(backend)) || !chosen_devices_.empty() ||
                       (!chosen_variants_.empty() && std::ranges::all_of(chosen_variants_, is_cuda));
    if (!std::ranges::all_of(found, &Device::emulated)) return "";
    if (!study_.empty()) return "no NVIDIA GPU, and studies measure";
    if (asked) return "";
    return "no NVIDIA GPU; --backend cuda runs it in the emulator";
}

bool Options::emulated() const {
    return wants_any(Backend::cuda) && std::ranges::any_of(devices(Backend::cuda), &Device::emulated);
}

std::vector<Device> Options::devices(Backend backend) const {
    if (!chosen_backends_.empty() && !contains(chosen_backends_, name_of(backend))) return {};
    if (!why_no_devices(backend).empty()) return {};
    std::vector<Device> chosen;
    for (const Device& device : gpulab::devices(backend)) {
        const auto means_it = [&](const std::string& requested) { return device.is_meant_by(requested); };
        if (chosen_devices_.empty() || std::ranges::any_of(chosen_devices_, means_it)) chosen.push_back(device);
    }
    return chosen;
}

} // namespace gpulab
