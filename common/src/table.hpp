/// @file
/// The table that a Report shows: which columns there are, and what stands in them.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "gpulab/report.hpp"
#include "gpulab/terminal.hpp"

namespace gpulab {

/// A parameter of the problem, or an extra of the results, that has a column.
struct NamedColumn {
    std::string name;
    std::string heading;
    std::string format; ///< of a double, as fmt has it
};

/// How a person reads the value of a parameter.
std::string shown(const Parameter& p);

/// A table with as many columns as there is room for.
class Table {
public:
    /// @param problem,work of the first row: they say which of the columns there are
    /// @param named the columns that the lab asked for
    /// @param with_device whether each row names its device
    Table(const Parameters& problem, const Work& work, const std::vector<NamedColumn>& named, bool with_device,
          const Terminal& terminal);

    /// The line of headings.
    std::string heading() const;
    /// The line of one result, and below it the reason where there is no room for it in the line.
    /// @param stated a reason that was given already and is not repeated
    std::string row(const Parameters& problem, const Result& r, const std::string& stated) const;
    /// The headings of the columns for which there is no room.
    const std::vector<std::string>& left_out() const { return left_out_; }

private:
    struct Column {
        std::string heading;
        std::size_t width;
        int leaves; ///< where there is no room, the column with the smallest number leaves first
        std::function<std::string(const Result&)> cell;
    };
    std::string labels(const std::vector<std::string>& parameters, const std::string& variant,
                       const std::string& device) const;
    void leave_out_what_does_not_fit();

    Terminal terminal_;
    std::vector<NamedColumn> parameters_; ///< in front of the variant
    std::vector<std::size_t> parameter_widths_;
    bool with_device_;
    std::vector<Column> figures_;
    std::size_t gap_ = 1; ///< spaces between figures: two where there is room
    std::vector<std::string> left_out_;
};

} // namespace gpulab
