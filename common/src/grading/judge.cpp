#include "gpulab/grading/judge.hpp"

#include <fstream>
#include <iostream>
#include <sstream>

#include "gpulab/device.hpp"

namespace gpulab::grading {

namespace {

std::string text_of(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    if (!file) throw UsageError("cannot read " + path);
    return text.str();
}

const char* name_of(Answer answer) {
    switch (answer) {
    case Answer::output: return "output";
    case Answer::wrong: return "failed";
    case Answer::unsupported: return "unsupported";
    case Answer::build_error: return "build error";
    case Answer::error: return "error";
    case Answer::no_device: return "no device";
    }
    return "error";
}

} // namespace

std::uint64_t Judge::seed_of(const Case& c) { return std::stoull(field<std::string>(c, "seed", "1")); }

const Judge::Entry& Judge::entry_of(const Case& c) const {
    const std::string name = field<std::string>(c, "op", "") + " " + field<std::string>(c, "type", "");
    const auto entry = tasks_.find(name);
    if (entry == tasks_.end()) throw UsageError("no task is called '" + name + "'");
    return entry->second;
}

nlohmann::json Judge::verdict(const Case& c, std::string_view answer) const {
    try {
        Reader in(answer);
        Answer kind{};
        std::string message;
        in(kind, message);
        if (kind != Answer::output) return {{"status", name_of(kind)}, {"message", message}};
        const Comparison comparison = entry_of(c).check(c, in);
        return {{"status", comparison.passed ? "passed" : "failed"}, {"message", comparison.message}};
    } catch (const UsageError&) {
        throw;
    } catch (const Error& e) { // an answer that is no message
        return {{"status", "error"}, {"message", "the answer cannot be read: " + std::string(e.what())}};
    }
}

int Judge::main(int argc, char** argv) const try {
    const std::string command = argc > 1 ? argv[1] : "";
    if (command == "devices" && argc == 2) {
        nlohmann::json all;
        for (const Backend backend : {Backend::cpu, Backend::opencl, Backend::cuda}) {
            nlohmann::json names = nlohmann::json::array(), platforms = names;
            for (const Device& device : devices(backend)) {
                names.push_back(device.name);
                platforms.push_back(device.platform);
            }
            all[std::string(gpulab::name_of(backend))] = {
                {"names", names},
                {"platforms", platforms},
                {"why", devices(backend).empty() ? why_no_devices(backend) : ""}};
        }
        std::cout << all.dump() << '\n';
        return exit_success;
    }
    if (argc != 4 || (command != "make" && command != "check"))
        throw UsageError("usage: make SPEC CASES, check SPEC ANSWERS or devices");
    const nlohmann::json cases = nlohmann::json::parse(text_of(argv[2]));
    if (command == "make") {
        std::ofstream file(argv[3], std::ios::binary);
        for (const Case& c : cases) {
            Writer out;
            out(field<std::string>(c, "type", ""), std::int32_t{field(c, "repeats", 1)},
                field<std::uint32_t>(c, "group", 0), field<std::uint64_t>(c, "changes", 0));
            entry_of(c).problem(c, out);
            const std::uint64_t size = out.bytes().size();
            file.write(reinterpret_cast<const char*>(&size), sizeof size);
            file.write(out.bytes().data(), static_cast<std::streamsize>(size));
        }
        if (!file.flush()) throw UsageError("cannot write " + std::string(argv[3]));
        return exit_success;
    }
    const std::string answers = text_of(argv[3]);
    Reader in(answers);
    nlohmann::json verdicts = nlohmann::json::array();
    for (const Case& c : cases) {
        if (in.at_end()) break; // the worker ended before it answered
        std::string answer;
        in(answer);
        verdicts.push_back(verdict(c, answer));
    }
    std::cout << verdicts.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << '\n';
    return exit_success;
} catch (...) {
    return fail("judge");
}

} // namespace gpulab::grading

int main(int argc, char** argv) {
    gpulab::grading::Judge judge;
    gpulab::grading::add_tasks(judge);
    return judge.main(argc, argv);
}
