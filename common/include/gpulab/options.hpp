/// @file
/// The command line that every lab has, and the lab's own options beside it.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "gpulab/device.hpp"
#include "gpulab/stopwatch.hpp"
#include "gpulab/variant.hpp"

namespace CLI {
class App;
}

namespace gpulab {

/// Reads a size as people write it: 1000000, 1e6, 2^20, 16Ki, 3M (k, M, G: powers of 1000; Ki, Mi, Gi: of 1024).
/// @throws UsageError naming `what` when the text is not a whole number, negative, or beyond 2^63 - 1
std::int64_t parse_size(const std::string& text, std::string_view what);

/// What --list shows of a variant.
struct VariantSummary {
    std::string name;
    std::string summary;
    Backend backend = Backend::cpu;
};

/// What `--study list` shows of a study.
struct StudySummary {
    std::string name;
    std::string summary;
    std::vector<std::string> takes; ///< the lab's own options that it uses, such as "--n"; the others are refused
};

/// The options of one lab program.
///
///     Options options("saxpy", "c = k a + b, the first parallel program");
///     options.size("--n", n, 1, "elements in each array");
///     options.variants(saxpy::variants());
///     if (!options.parse(argc, argv)) return 0;   // --help, --list and `--study list` have been answered
class Options {
public:
    /// @param lab the program's name
    /// @param purpose one line for --help
    Options(std::string lab, const std::string& purpose);
    ~Options();
    Options(const Options&) = delete;
    Options& operator=(const Options&) = delete;

    /// A size option of the lab: at least `least`, at most 2^63 - 1; see parse_size() for how it may be written.
    /// The variable keeps its value when the option is not given. --help shows it, unless it is less than `least`: such
    /// a value stands for "not given".
    void size(const std::string& name, std::size_t& value, std::size_t least, const std::string& help,
              std::size_t most = std::numeric_limits<std::int64_t>::max());
    /// The default of an option for single runs in the CUDA emulator, where its usual one takes long. A run says so.
    void small(const std::string& name, std::size_t& value, std::size_t in_emulator);
    /// The same of an option that is a text, such as --generate.
    void small(const std::string& name, std::string& value, const std::string& in_emulator);
    /// A number option of the lab, within [least, most].
    void number(const std::string& name, double& value, double least, double most, const std::string& help);
    /// A choice among words.
    void choice(const std::string& name, std::string& value, const std::vector<std::string>& words,
                const std::string& help);
    /// Free text.
    void text(const std::string& name, std::string& value, const std::string& help);
    /// The name of a file that the program reads.
    void input(const std::string& name, std::string& value, const std::string& help);
    /// The name of a file that the program writes. No two such options, --json and --csv among them, may name the same
    /// file, nor one that the program reads. If one names stdout, that is `-`, /dev/stdout or a file that stdout goes
    /// to, parse() makes it `-`, and from then on stdout has only what an OutputFile of that name is given: everything
    /// else that the program prints goes to stderr.
    void output(const std::string& name, std::string& value, const std::string& help);
    /// A switch.
    void flag(const std::string& name, bool& value, const std::string& help);

    /// Announces the lab's variant table, for --list and for checking --variant.
    template <class Table> void variants(const Table& table) {
        for (const auto& v : table) variants_.push_back({std::string(v.name), std::string(v.summary), v.backend});
    }
    /// Announces the lab's studies, for `--study list` and for checking --study.
    void studies(std::vector<StudySummary> studies) { studies_ = std::move(studies); }

    /// Reads the command line. A program without variants, or without studies, does not list their options in --help.
    /// @return false when the question was answered already (--help, --list, `--study list`) and the program is done
    /// @throws UsageError with one line that says what is wrong
    bool parse(int argc, const char* const* argv);

    /// Refuses outputs that would overwrite a file that the program reads although no option names it.
    /// @pre parse() has been called
    /// @param input the file @param reader what reads it, for the message: "the scene"
    /// @throws UsageError "OPTION would overwrite the file that READER reads, FILE"
    void check_read(const std::string& input, const std::string& reader) const;

    /// Whether the command line has this option, such as "--n".
    bool given(const std::string& option) const;

    const std::string& lab() const { return lab_; }
    const std::string& study() const { return study_; } ///< empty: a single run
    std::uint64_t seed() const { return seed_; }
    const std::string& json() const { return json_; } ///< file to write; empty: none
    const std::string& csv() const { return csv_; }
    const std::vector<std::string>& recorded() const { return recorded_; } ///< whose stored results to show
    Stopwatch stopwatch() const; ///< a fresh one with the repeats and the warm-up asked for

    /// Whether the user chose this variant, of that back end: by --variant, --backend and --device, or by giving
    /// none of them.
    bool wants(std::string_view variant, Backend backend) const;
    /// Whether the choice leaves this lab a variant on that back end.
    bool wants_any(Backend backend) const;
    /// Whether the user asked for this variant by its name, so that being unable to run it is an error. With --recorded
    /// it is none: there are stored results to see.
    bool named(std::string_view variant) const;
    /// The variants the user asked for by name; empty: all.
    const std::vector<std::string>& chosen_variants() const { return chosen_variants_; }
    /// Whether the user asked for this back end by its name, by --backend or --device.
    bool named(Backend backend) const;
    /// The devices of a back end that the user chose; may be empty. The CUDA emulator must be asked for: by its back
    /// end, its device, or variants of CUDA alone. Studies, which measure, have none.
    std::vector<Device> devices(Backend backend) const;
    /// Why devices() is empty for every choice of devices; empty when it is not.
    std::string why_no_devices(Backend backend) const;
    /// Whether this run is in the CUDA emulator. @pre parse() has been called
    bool emulated() const;

private:
    /// An option whose text is taken when the whole command line has been read, if it is given.
    void option(const std::string& name, const std::string& type, const std::string& help,
                const std::function<void(const std::string&)>& take);
    /// Refuses an option without its value: the parser would take the next option for it.
    void check_values(int argc, const char* const* argv) const;
    /// Keeps stdout for the output that names it.
    void keep_stdout();
    /// Refuses two outputs in one file, and an output onto an input.
    void check_files() const;

    std::string file_of(const std::string& option) const; // its value

    std::unique_ptr<CLI::App> app_;
    std::string lab_;
    std::vector<VariantSummary> variants_;
    std::vector<StudySummary> studies_;
    std::vector<std::string> lab_options_; // added by size(), number(), ...
    std::vector<std::string> inputs_;
    struct Output {
        std::string option;
        std::string* file;
    };
    std::vector<Output> outputs_ = {{"--json", &json_}, {"--csv", &csv_}};
    std::vector<std::function<void()>> checks_;
    std::vector<std::function<std::string()>> when_emulated_; // added by small()
    bool list_ = false;
    std::vector<std::string> chosen_variants_;
    std::vector<std::string> chosen_backends_;
    std::vector<std::string> chosen_devices_;
    int repeat_ = 0;
    int warmup_ = 3;
    bool flush_l2_ = false;
    std::uint64_t seed_ = 42;
    std::string study_;
    std::string json_;
    std::string csv_;
    std::vector<std::string> recorded_;
};

} // namespace gpulab
