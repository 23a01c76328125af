#include <catch2/catch_test_macros.hpp>
#include <cstdlib>
#include <string>

#include "gpulab/terminal.hpp"
#include "gpulab_testing/capture.hpp"
#include "gpulab_testing/environment.hpp"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

using gpulab::wrapped;
using gpulab::testing::Environment;

namespace {

/// A terminal that no person sits at, in the place of a standard stream.
class PretendedTerminal {
public:
    /// @param stream 1 for stdout, 2 for stderr
    explicit PretendedTerminal(unsigned short columns, int stream = 1)
        : stream_(stream), master_(posix_openpt(O_RDWR | O_NOCTTY)), before_(dup(stream)) {
        REQUIRE(master_ >= 0);
        REQUIRE(grantpt(master_) == 0);
        REQUIRE(unlockpt(master_) == 0);
        const int terminal = open(ptsname(master_), O_RDWR | O_NOCTTY);
        REQUIRE(terminal >= 0);
        winsize size{};
        size.ws_col = columns;
        REQUIRE(ioctl(terminal, TIOCSWINSZ, &size) == 0);
        dup2(terminal, stream_);
        close(terminal);
    }
    ~PretendedTerminal() {
        dup2(before_, stream_);
        close(before_);
        close(master_);
    }
    PretendedTerminal(const PretendedTerminal&) = delete;
    PretendedTerminal& operator=(const PretendedTerminal&) = delete;

private:
    int stream_, master_, before_;
};

/// What terminal_of_stdout() says of a terminal that reports this width, in this environment. @param reported 0: none
gpulab::Terminal terminal(unsigned short reported, const std::string& columns = "", const std::string& no_color = "",
                          const std::string& term = "xterm") {
    const Environment first("COLUMNS", columns), second("NO_COLOR", no_color), third("TERM", term);
    const PretendedTerminal here(reported);
    return gpulab::terminal_of_stdout();
}

} // namespace

TEST_CASE("a file or a pipe gets 110 columns and no colour, whatever the environment says") {
    const Environment columns("COLUMNS", "80"), no_color("NO_COLOR", ""), term("TERM", "xterm");
    gpulab::Terminal file;
    (void)gpulab::testing::printed_by([&] { file = gpulab::terminal_of_stdout(); });
    CHECK((file.columns == 110 && !file.colour && !file.progress));
}

TEST_CASE("a table is as wide as the terminal, but 80 columns at least and 110 at most") {
    CHECK(terminal(80).columns == 80);
    CHECK(terminal(97).columns == 97);
    CHECK(terminal(40).columns == 80);
    CHECK(terminal(250).columns == 110);
    CHECK(terminal(0).columns == 110); // it does not say
}

TEST_CASE("COLUMNS counts more than what the terminal says, if it is a number") {
    CHECK(terminal(110, "90").columns == 90);
    CHECK(terminal(0, "90").columns == 90);
    for (const char* const none : {"", "wide", "-5"}) CHECK(terminal(97, none).columns == 97);
}

TEST_CASE("a terminal has colours unless NO_COLOR says something or TERM is dumb") {
    CHECK(terminal(80).colour);
    CHECK_FALSE(terminal(80, "", "0").colour);
    CHECK_FALSE(terminal(80, "", "", "dumb").colour);
    const Environment columns("COLUMNS", ""), no_color("NO_COLOR", ""), term("TERM", ""); // given back in the end
    for (const char* const name : {"COLUMNS", "NO_COLOR", "TERM"}) unsetenv(name);
    const PretendedTerminal here(93);
    CHECK(gpulab::terminal_of_stdout().colour);
    CHECK(gpulab::terminal_of_stdout().columns == 93);
}

TEST_CASE("text is broken between words, and neither inside a number nor beside an equals sign") {
    CHECK(wrapped("short", 20, 0, 4) == "short\n");
    CHECK(wrapped("just as long as it may be", 25, 0, 4) == "just as long as it may be\n");
    CHECK(wrapped("just as long as it may not", 25, 0, 4) == "just as long as it may\n    not\n");
    CHECK(wrapped("one two three four", 10, 2, 4) == "  one two\n    three\n    four\n");
    CHECK(wrapped("expected 0.123456789, got 2", 12, 0, 0) == "expected\n0.123456789,\ngot 2\n");
    CHECK(wrapped("a 0.12345678901234567 b", 10, 0, 0) == "a\n0.12345678901234567\nb\n"); // longer than a line
    CHECK(wrapped("0.12345678901234567", 10, 0, 0) == "0.12345678901234567\n");
    CHECK(wrapped("m = 512, k = 512, n = 64", 14, 0, 2) == "m = 512,\n  k = 512,\n  n = 64\n");
    CHECK(wrapped("cpu:0  two spaces", 80, 0, 0) == "cpu:0  two spaces\n");
    CHECK(wrapped("two\nlines", 80, 2, 4) == "  two\n    lines\n");
    CHECK(wrapped("", 80, 2, 4) == "  \n");
}

TEST_CASE("progress is shown where stderr is a terminal") {
    const auto shown = [] {
        const PretendedTerminal here(80, 2);
        return gpulab::terminal_of_stdout().progress;
    };
    CHECK(shown());
}
