// libFuzzer target: whatever the file of --tuning holds (lab 09), TuningCache reads a table that is the same when it is
// written and read again, or throws an error of one line.
#include <cstdint>
#include <string>

#include "fuzzed_file.hpp"
#include "labs/09_cg/tuning.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string heading = "device,kernel,type,rows,groups,one_ms,best_ms\n";
    const std::string rest(reinterpret_cast<const char*>(data), size);
    fuzz::write_file(size > 0 && data[0] % 8 == 0 ? rest : heading + rest); // most inputs shall reach the lines
    fuzz::accepts([] {
        const cg::TuningCache first(fuzz::file_name());
        fuzz::write_file(first.text());
        fuzz::require(cg::TuningCache(fuzz::file_name()).text() == first.text(), "read again, the table differs");
    });
    return 0;
}
