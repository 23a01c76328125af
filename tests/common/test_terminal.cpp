#include <catch2/catch_test_macros.hpp>
#include <string>

#include "gpulab/terminal.hpp"
#include "gpulab_testing/environment.hpp"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

using gpulab::make_terminal;
using gpulab::wrapped;
using gpulab::testing::Environment;

TEST_CASE("a file or a pipe gets 110 columns and no colour, whatever the environment says") {
    CHECK(make_terminal(false, 0, {}).columns == 110);
    CHECK(make_terminal(false, 80, {.columns = "80"}).columns == 110);
    CHECK_FALSE(make_terminal(false, 80, {.term = "xterm"}).colour);
}

TEST_CASE("a table is as wide as the terminal, but 80 columns at least and 110 at most") {
    CHECK(make_terminal(true, 80, {}).columns == 80);
    CHECK(make_terminal(true, 97, {}).columns == 97);
    CHECK(make_terminal(true, 40, {}).columns == 80);
    CHECK(make_terminal(true, 250, {}).columns == 110);
    CHECK(make_terminal(true, 0, {}).columns == 110); // it does not say
}

TEST_CASE("COLUMNS counts more than what the terminal says, if it is a number") {
    CHECK(make_terminal(true, 110, {.columns = "90"}).columns == 90);
    CHECK(make_terminal(true, 0, {.columns = "90"}).columns == 90);
    CHECK(make_terminal(true, 97, {.columns = ""}).columns == 97);
    CHECK(make_terminal(true, 97, {.columns = "wide"}).columns == 97);
    CHECK(make_terminal(true, 97, {.columns = "-5"}).columns == 97);
}

TEST_CASE("a terminal has colours unless NO_COLOR says something or TERM is dumb") {
    CHECK(make_terminal(true, 80, {}).colour);
    CHECK(make_terminal(true, 80, {.term = "xterm"}).colour);
    CHECK(make_terminal(true, 80, {.no_color = ""}).colour);
    CHECK_FALSE(make_terminal(true, 80, {.no_color = "0"}).colour);
    CHECK_FALSE(make_terminal(true, 80, {.term = "dumb"}).colour);
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

gpulab::Terminal terminal_of(unsigned short columns) {
    const PretendedTerminal here(columns);
    return gpulab::terminal_of_stdout();
}

} // namespace

TEST_CASE("stdout says how wide it is, and COLUMNS, NO_COLOR and TERM are heeded") {
    const Environment columns("COLUMNS", ""), no_color("NO_COLOR", ""), term("TERM", "xterm");
    CHECK(terminal_of(93).columns == 93);
    CHECK(terminal_of(93).colour);
    {
        const Environment wide("COLUMNS", "101");
        CHECK(terminal_of(93).columns == 101);
    }
    {
        const Environment plain("NO_COLOR", "1");
        CHECK_FALSE(terminal_of(93).colour);
    }
    const Environment dumb("TERM", "dumb");
    CHECK_FALSE(terminal_of(93).colour);
}

TEST_CASE("progress is shown where stderr is a terminal") {
    const auto shown = [] {
        const PretendedTerminal here(80, 2);
        return gpulab::terminal_of_stdout().progress;
    };
    CHECK(shown());
}
