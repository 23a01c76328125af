#include "scene.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <fmt/format.h>
#include <limits>
#include <nlohmann/json.hpp>
#include <numbers>
#include <set>
#include <sstream>

#include "gpulab/error.hpp"
#include "gpulab/image/image.hpp"
#include "gpulab/input_file.hpp"
#include "gpulab/number.hpp"

namespace fdtd {

namespace {

using Json = nlohmann::json;
using gpulab::UsageError;

constexpr double tiny = 1e-30, huge = 1e30; // bounds of numbers that have no others

/// The constants of a medium, by their key.
struct Constant {
    const char* name;
    double Material::*of_material;
    std::vector<double> CellMedia::*of_cells;
    double least, most; // in a file
};
constexpr Constant media_constants[] = {{"eps_r", &Material::eps_r, &CellMedia::eps_r, 1e-6, 1e6},
                                        {"mu_r", &Material::mu_r, &CellMedia::mu_r, 1e-6, 1e6},
                                        {"sigma", &Material::sigma, &CellMedia::sigma, 0, 1e12},
                                        {"sigma_m", &Material::sigma_m, &CellMedia::sigma_m, 0, 1e18}};

[[noreturn]] void fault(const std::string& key, const std::string& what) {
    throw UsageError(fmt::format("{}: {}", key, what));
}

/// An object of the file, and where it is: "sources[1]". It knows which keys were asked for, so that any other key is
/// an error.
class Object {
public:
    Object(const Json& json, std::string where) : json_(json), where_(std::move(where)) {
        if (!json.is_object()) fault(where_.empty() ? "the scene" : where_, "must be an object { ... }");
    }

    std::string key(const std::string& name) const { return where_.empty() ? name : where_ + "." + name; }

    /// The value of a key, or null when it is not there.
    const Json* find(const std::string& name) {
        known_.insert(name);
        const auto at = json_.find(name);
        return at == json_.end() ? nullptr : &*at;
    }
    const Json& need(const std::string& name) {
        const Json* value = find(name);
        if (!value) fault(key(name), "is missing");
        return *value;
    }

    /// A finite number within [least, most]; here and below, without `otherwise` the key must be there.
    double number(const std::string& name, double least, double most, std::optional<double> otherwise = {}) {
        return otherwise && !find(name) ? *otherwise : number_of(need(name), key(name), least, most);
    }
    static double number_of(const Json& value, const std::string& key, double least, double most) {
        if (!value.is_number()) fault(key, "must be a number");
        const double x = value.get<double>();
        if (!(x >= least && x <= most)) fault(key, fmt::format("{:g} is not from {:g} to {:g}", x, least, most));
        return x;
    }
    std::size_t size(const std::string& name, std::size_t least, std::size_t most,
                     std::optional<std::size_t> otherwise = {}) {
        return otherwise && !find(name) ? *otherwise : size_of(need(name), key(name), least, most);
    }
    static std::size_t size_of(const Json& value, const std::string& key, std::size_t least, std::size_t most) {
        if (!value.is_number_integer()) fault(key, "must be a whole number");
        const double x = value.get<double>(); // exact below 2^53, which is more than any limit here
        if (!(x >= static_cast<double>(least) && x <= static_cast<double>(most)))
            fault(key, fmt::format("{} is not from {} to {}", value.dump(), least, most));
        return value.get<std::size_t>();
    }

    std::string text(const std::string& name, const std::optional<std::string>& otherwise = {}) {
        if (otherwise && !find(name)) return *otherwise;
        const Json& value = need(name);
        if (!value.is_string()) fault(key(name), "must be a text in quotes");
        return value.get<std::string>();
    }
    /// One of some words. @return its position
    std::size_t word(const std::string& name, const std::vector<std::string>& words,
                     std::optional<std::size_t> otherwise = {}) {
        return otherwise && !find(name) ? *otherwise : word_of(need(name), key(name), words);
    }
    static std::size_t word_of(const Json& value, const std::string& key, const std::vector<std::string>& words) {
        const std::string all = fmt::format("{}", fmt::join(words, ", "));
        if (!value.is_string()) fault(key, "must be one of " + all);
        const auto at = std::find(words.begin(), words.end(), value.get<std::string>());
        if (at == words.end()) fault(key, value.dump(-1, ' ', true) + " is not one of " + all);
        return static_cast<std::size_t>(at - words.begin());
    }

    /// The elements of a list, or none when the key is not there.
    const Json& list(const std::string& name) {
        static const Json none = Json::array();
        const Json* value = find(name);
        if (!value) return none;
        if (!value->is_array()) fault(key(name), "must be a list [ ... ]");
        return *value;
    }

    /// To be called last. @throws UsageError for a key that nobody asked for
    void no_other_keys() const {
        for (const auto& [name, value] : json_.items())
            if (!known_.contains(name))
                fault(key(name), fmt::format("is not a key here; there are {}", fmt::join(known_, ", ")));
    }

private:
    const Json& json_;
    std::string where_;
    std::set<std::string> known_;
};

/// Without the bytes that are not plain characters, for messages about files that may not be text at all.
std::string printable(std::string text) {
    for (char& c : text)
        if (c < 0x20 || c >= 0x7F) c = '?'; // char may have a sign: bytes above 127 are below 0
    return text;
}

/// What read() returns; the error of a file that it cannot read gets the key in front.
template <class Read> auto read_for(const std::string& key, const Read& read) try {
    return read();
} catch (const UsageError& e) {
    fault(key, e.what());
}

/// Looks through a JSON text for what the parser takes: a key that is there twice, and a nesting that would need more
/// stack than there is. (A callback of Json::parse() could do the same, in time that grows with the square of a list.)
struct Checks final : Json::json_sax_t {
    std::vector<std::set<std::string>> keys; // of the objects around; lists have none

    bool enter() {
        if (keys.size() >= 32) throw UsageError("the scene: is nested more than 32 deep");
        keys.emplace_back();
        return true;
    }
    bool leave() {
        keys.pop_back();
        return true;
    }
    bool key(string_t& name) override {
        if (!keys.back().insert(name).second) fault(printable(name), "is there twice");
        return true;
    }
    bool start_object(std::size_t) override { return enter(); }
    bool start_array(std::size_t) override { return enter(); }
    bool end_object() override { return leave(); }
    bool end_array() override { return leave(); }
    bool null() override { return true; }
    bool boolean(bool) override { return true; }
    bool number_integer(number_integer_t) override { return true; }
    bool number_unsigned(number_unsigned_t) override { return true; }
    bool number_float(number_float_t, const string_t&) override { return true; }
    bool string(string_t&) override { return true; }
    bool binary(binary_t&) override { return true; }
    bool parse_error(std::size_t, const std::string&, const Json::exception&) override { return false; } // see parse()
};

constexpr std::size_t max_text = std::size_t{1} << 28; // bytes of a scene, or of a column of numbers

/// The file that the value of a key names, relative to the scene's folder.
std::string in_folder(const std::string& folder, const std::string& file, const std::string& key) {
    if (file.empty()) fault(key, "is empty; a file must be named");
    if (file.find('\0') != std::string::npos) fault(key, "no file has a name with the character U+0000");
    return (std::filesystem::path(folder) / file).string();
}

/// Calls body(line, at) for each line that is not empty and no comment (#), without the spaces around it; at counts
/// from 1.
template <class Body> void each_line(const std::string& path, const std::string& key, const Body& body) {
    std::istringstream text(read_for(key, [&] { return gpulab::content_of(path, max_text); }));
    std::size_t at = 0;
    for (std::string line; std::getline(text, line);) {
        if (++at == 1 && line.starts_with("\xEF\xBB\xBF")) line.erase(0, 3); // the byte-order mark of some editors
        const std::size_t begin = line.find_first_not_of(" \t\r");
        if (begin == std::string::npos || line[begin] == '#') continue;
        body(line.substr(begin, line.find_last_not_of(" \t\r") + 1 - begin), at);
    }
}

/// The number that a word is, within [least, most].
double number_in(const std::string& word, const std::string& path, std::size_t line, const std::string& key,
                 double least = -1e300, double most = 1e300) {
    const std::optional<double> x = gpulab::real_in(word);
    if (!x || !std::isfinite(*x))
        fault(key, fmt::format("{}:{}: '{}' is not a finite number{}", path, line, printable(word.substr(0, 40)),
                               gpulab::hint_of_minus(word)));
    if (!(*x >= least && *x <= most))
        fault(key, fmt::format("{}:{}: {:g} is not from {:g} to {:g}", path, line, *x, least, most));
    return *x;
}

std::vector<double> column_of(const std::string& path, const std::string& key) {
    std::vector<double> numbers;
    each_line(path, key,
              [&](const std::string& line, std::size_t at) { numbers.push_back(number_in(line, path, at, key)); });
    if (numbers.empty()) fault(key, path + ": holds no numbers");
    return numbers;
}

/// The scene's folder, and the files that it names.
struct Files {
    std::string folder;
    std::vector<std::string>& found;
    /// The file that the value of a key names, which must be there.
    const std::string& of(Object& o, const std::string& key) {
        return found.emplace_back(in_folder(folder, o.text(key), o.key(key)));
    }
};

/// Columns and rows of numbers.
struct Extent {
    std::size_t columns, rows;
    /// value(i, j) for all of them, row j = 0 first.
    template <class Value> std::vector<double> plane(const Value& value) const {
        std::vector<double> all;
        all.reserve(columns * rows);
        for (std::size_t j = 0; j < rows; ++j)
            for (std::size_t i = 0; i < columns; ++i) all.push_back(value(i, j));
        return all;
    }
};

/// The file that a key names has a line of numbers for each row, the top row first. It is drawn over `to` cells: a cell
/// has the number at its lower left corner. @param from columns and rows in the file @return row y = 0 first
std::vector<double> plane_of(Files& files, Object& o, const std::string& name, const Extent& from, const Extent& to,
                             double least = -huge, double most = huge) {
    const std::string path = files.of(o, name), key = o.key(name);
    std::vector<double> numbers;
    each_line(path, key, [&](const std::string& line, std::size_t at) {
        std::istringstream words(line);
        const std::size_t before = numbers.size();
        for (std::string word; words >> word;) {
            if (numbers.size() - before == from.columns)
                fault(key, fmt::format("{}:{}: more than {} numbers", path, at, from.columns));
            numbers.push_back(number_in(word, path, at, key, least, most));
        }
        if (const std::size_t found = numbers.size() - before; found < from.columns)
            fault(key, fmt::format("{}:{}: {} numbers, not {}", path, at, found, from.columns));
        if (numbers.size() > from.columns * from.rows)
            fault(key, fmt::format("{}:{}: more than {} rows", path, at, from.rows));
    });
    if (numbers.size() < from.columns * from.rows)
        fault(key, fmt::format("{}: {} rows, not {}", path, numbers.size() / from.columns, from.rows));
    return to.plane([&](std::size_t i, std::size_t j) {
        return numbers[(from.rows - 1 - j * from.rows / to.rows) * from.columns + i * from.columns / to.columns];
    });
}

Waveform waveform_of(const Json& json, const std::string& where, Files& files) {
    Object o(json, where);
    Waveform w;
    w.kind = static_cast<Waveform::Kind>(o.word("type", {"book", "gaussian", "sine", "modulated_gaussian", "column"}));
    w.amplitude = o.number("amplitude", -huge, huge, 1);
    const bool waves = w.kind == Waveform::Kind::sine || w.kind == Waveform::Kind::modulated_gaussian;
    const bool bell = w.kind == Waveform::Kind::gaussian || w.kind == Waveform::Kind::modulated_gaussian;
    if (waves) {
        w.frequency = o.number("frequency", 0, huge);
        w.phase = o.number("phase", -1e6, 1e6, 0);
    }
    if (w.kind == Waveform::Kind::sine) w.rise = o.number("rise", 0, huge, 0);
    if (bell) {
        w.width = o.number("width", tiny, huge);
        w.delay = o.number("delay", -huge, huge);
    }
    if (w.kind == Waveform::Kind::column) w.numbers = column_of(files.of(o, "file"), o.key("file"));
    o.no_other_keys();
    return w;
}

Side side_of(const Json& json, const std::string& where, Files& files) {
    Side side;
    const std::vector<std::string> kinds = {"conductor", "dirichlet", "pml", "driven"};
    if (json.is_string()) {
        side.kind = static_cast<Side::Kind>(Object::word_of(json, where, kinds));
        if (side.kind == Side::Kind::driven) fault(where, "a driven side needs an object with a waveform");
        return side;
    }
    if (!json.is_object())
        fault(where, "must be one of conductor, dirichlet, pml, driven, or an object with such a type");
    Object o(json, where);
    side.kind = static_cast<Side::Kind>(o.word("type", kinds));
    if (side.kind == Side::Kind::dirichlet) side.value = o.number("value", -huge, huge, 0);
    if (side.kind == Side::Kind::pml) {
        side.cells = o.size("cells", 1, max_cells, side.cells);
        side.grading = o.number("grading", 0, 10, side.grading);
        side.reflection = o.number("reflection", 1e-30, 0.9999, side.reflection);
    }
    if (side.kind == Side::Kind::driven) side.waveform = waveform_of(o.need("waveform"), o.key("waveform"), files);
    o.no_other_keys();
    return side;
}

/// Numbers of a list of fixed length.
std::vector<std::size_t> numbers_of(const Json& json, const std::string& key, const std::vector<std::size_t>& most) {
    if (!json.is_array() || json.size() != most.size())
        fault(key, fmt::format("must be a list of {} numbers", most.size()));
    std::vector<std::size_t> all;
    for (std::size_t i = 0; i < most.size(); ++i)
        all.push_back(Object::size_of(json[i], fmt::format("{}[{}]", key, i), 0, most[i]));
    return all;
}

/// Numbers in cells, of a list that has one for each of these names.
std::vector<double> numbers_in(const Json& json, const std::string& key, const std::vector<std::string>& names) {
    if (!json.is_array() || json.size() != names.size())
        fault(key, fmt::format("must be [{}] in cells", fmt::join(names, ", ")));
    std::vector<double> all;
    for (std::size_t i = 0; i < names.size(); ++i)
        all.push_back(Object::number_of(json[i], fmt::format("{}[{}]", key, i), -1e6, 1e6));
    return all;
}

/// Moves positions from the grid of the file to that which the user asked for.
struct Scaling {
    Extent from, to;
    std::size_t cell_x(std::size_t i) const { return i * to.columns / from.columns; }
    std::size_t cell_y(std::size_t j) const { return j * to.rows / from.rows; }
    /// The end of a region that begins at `begin`; it keeps at least one cell.
    std::size_t end_x(std::size_t begin, std::size_t end) const { return std::max(cell_x(begin) + 1, cell_x(end)); }
    std::size_t end_y(std::size_t begin, std::size_t end) const { return std::max(cell_y(begin) + 1, cell_y(end)); }
    /// Cells of the new grid for one of the file's.
    double per_x() const { return static_cast<double>(to.columns) / static_cast<double>(from.columns); }
    double per_y() const { return static_cast<double>(to.rows) / static_cast<double>(from.rows); }

    /// A position [x, y] in the file's grid.
    std::vector<std::size_t> cell(const Json& json, const std::string& key) const {
        return numbers_of(json, key, {from.columns - 1, from.rows - 1});
    }
    /// A region in the file's grid.
    std::vector<std::size_t> region(const Json& json, const std::string& key) const {
        const auto c = numbers_of(json, key, {from.columns, from.rows, from.columns, from.rows});
        if (c[0] >= c[2] || c[1] >= c[3]) fault(key, "is empty; it is [x0, y0, x1, y1] without column x1 and row y1");
        return c;
    }
};

/// The value of "field", such as "Hz".
Component component_of(Object& o, Mode mode) {
    return static_cast<Component>(
        o.word("field", {name_of(mode, Component::z), name_of(mode, Component::x), name_of(mode, Component::y)}));
}

Source source_of(const Json& json, const std::string& where, Mode mode, const Scaling& scaling, Files& files) {
    Object o(json, where);
    Source s;
    s.component = component_of(o, mode);
    const Json* at = o.find("at");
    const Json* region = o.find("region");
    if ((at != nullptr) == (region != nullptr)) fault(o.key("at"), "either at or region is needed");
    std::vector<std::size_t> c = at ? scaling.cell(*at, o.key("at")) : scaling.region(*region, o.key("region"));
    if (at) c = {c[0], c[1], c[0] + 1, c[1] + 1};
    s.x0 = scaling.cell_x(c[0]);
    s.y0 = scaling.cell_y(c[1]);
    s.x1 = at ? s.x0 + 1 : scaling.end_x(c[0], c[2]);
    s.y1 = at ? s.y0 + 1 : scaling.end_y(c[1], c[3]);
    s.hard = o.word("kind", {"soft", "hard"}, 0) == 1;
    s.waveform = waveform_of(o.need("waveform"), o.key("waveform"), files);
    if (o.find("strength"))
        s.strength = plane_of(files, o, "strength", {c[2] - c[0], c[3] - c[1]}, {s.x1 - s.x0, s.y1 - s.y0});
    o.no_other_keys();
    return s;
}

/// One of the media's constants in each cell: a file of numbers, or a straight line from one side to the other.
std::vector<double> constants_of(Object& media, const Constant& c, const Scaling& scaling, Files& files) {
    const Json* json = media.find(c.name);
    if (!json) return {};
    const Extent& to = scaling.to;
    if (json->is_string()) return plane_of(files, media, c.name, scaling.from, to, c.least, c.most);
    Object o(*json, media.key(c.name));
    const double first = o.number("from", c.least, c.most), last = o.number("to", c.least, c.most);
    const bool along_x = o.word("along", {"x", "y"}, 0) == 0;
    o.no_other_keys();
    return to.plane([&](std::size_t i, std::size_t j) {
        const double share = along_x ? (static_cast<double>(i) + 0.5) / static_cast<double>(to.columns)
                                     : (static_cast<double>(j) + 0.5) / static_cast<double>(to.rows);
        return first + (last - first) * share;
    });
}

Initial initial_of(const Json& json, const std::string& where, Mode mode, const Scaling& scaling, Files& files) {
    Object o(json, where);
    Initial initial;
    initial.component = component_of(o, mode);
    initial.kind = static_cast<Initial::Kind>(o.word("type", {"gaussian", "mode", "numbers"}));
    initial.amplitude = o.number("amplitude", -huge, huge, 1);
    switch (initial.kind) {
    case Initial::Kind::gaussian: {
        const auto at = numbers_in(o.need("at"), o.key("at"), {"x", "y"});
        const double width = o.number("width", 1e-3, 1e6);
        initial.x = scaling.per_x() * at[0];
        initial.width_x = scaling.per_x() * width;
        initial.y = scaling.per_y() * at[1];
        initial.width_y = scaling.per_y() * width;
        break;
    }
    case Initial::Kind::mode:
        if (initial.component != Component::z)
            fault(o.key("field"), std::string("a mode is one of ") + name_of(mode, Component::z));
        initial.m = o.size("m", 0, max_cells, 1);
        initial.n = o.size("n", 0, max_cells, 1);
        break;
    case Initial::Kind::numbers: initial.numbers = plane_of(files, o, "file", scaling.from, scaling.to); break;
    }
    o.no_other_keys();
    return initial;
}

Material material_of(const Json& json, const std::string& where) {
    Object o(json, where);
    Material m;
    m.name = o.text("name");
    for (const Constant& c : media_constants) m.*c.of_material = o.number(c.name, c.least, c.most, m.*c.of_material);
    o.no_other_keys();
    return m;
}

/// The picture's grey values, or its indices, as indices of materials, drawn over the whole grid: a cell has the
/// material of the pixel at its lower left corner. The picture's first row is the top.
void read_map(Scene& scene, const std::string& path, const std::string& key) {
    const gpulab::Image image = read_for(key, [&] { return gpulab::read_png_numbers(path, "materials"); });
    for (std::size_t j = 0; j < scene.ny; ++j)
        for (std::size_t i = 0; i < scene.nx; ++i) {
            const std::size_t x = i * image.width / scene.nx, y = (scene.ny - 1 - j) * image.height / scene.ny;
            const std::uint8_t index = image.pixels[y * image.width + x];
            if (index >= scene.materials.size())
                fault(key, fmt::format("pixel ({}, {}) has material {}, but there are {} materials, counted from 0", x,
                                       y, index, scene.materials.size()));
            scene.map[j * scene.nx + i] = index;
        }
}

/// Draws a shape with one material over what is there.
void draw(Scene& scene, const Json& json, const std::string& where, const Scaling& scaling) {
    Object o(json, where);
    std::vector<std::string> names;
    for (const Material& m : scene.materials) names.push_back(m.name);
    const auto index = static_cast<std::uint8_t>(o.word("material", names));
    const Json* rectangle = o.find("rectangle");
    const Json* circle = o.find("circle");
    if ((rectangle != nullptr) == (circle != nullptr))
        fault(o.key("rectangle"), "either rectangle or circle is needed");
    if (rectangle) {
        const auto c = scaling.region(*rectangle, o.key("rectangle"));
        for (std::size_t j = scaling.cell_y(c[1]); j < scaling.end_y(c[1], c[3]); ++j)
            for (std::size_t i = scaling.cell_x(c[0]); i < scaling.end_x(c[0], c[2]); ++i)
                scene.map[j * scene.nx + i] = index;
    } else {
        const auto c = numbers_in(*circle, o.key("circle"), {"x", "y", "radius"});
        if (c[2] < 0) fault(o.key("circle"), "has a radius below 0");
        for (std::size_t j = 0; j < scene.ny; ++j)
            for (std::size_t i = 0; i < scene.nx; ++i) { // centres of cells, in cells of the file's grid
                const double x = (static_cast<double>(i) + 0.5) / scaling.per_x() - c[0];
                const double y = (static_cast<double>(j) + 0.5) / scaling.per_y() - c[1];
                if (x * x + y * y <= c[2] * c[2]) scene.map[j * scene.nx + i] = index;
            }
    }
    o.no_other_keys();
}

/// Whether a source changes the field in one of its cells. The edges along the border never change, and a soft source
/// adds nothing to a cell whose value a side prescribes.
bool acts(const Scene& scene, const Source& s) {
    if (s.component == Component::x) return s.y1 > 1;
    if (s.component == Component::y) return s.x1 > 1;
    if (s.hard) return true;
    const auto fixed = [&](const Side& side) -> std::size_t { return scene.fixes_z(side); };
    return s.x1 > fixed(scene.left) && s.x0 < scene.nx - fixed(scene.right) && s.y1 > fixed(scene.bottom) &&
           s.y0 < scene.ny - fixed(scene.top);
}
/// Refuses a source that can do nothing. Only in a file: it is a mistake there, and computes as well as any other.
void check_that_all_act(const Scene& scene) {
    for (std::size_t i = 0; i < scene.sources.size(); ++i) {
        const Source& s = scene.sources[i];
        if (!acts(scene, s))
            fault(fmt::format("sources[{}].region", i),
                  fmt::format("[{}, {}, {}, {}] lies where the boundary decides {}: the source would do nothing", s.x0,
                              s.y0, s.x1, s.y1, name_of(scene.mode, s.component)));
    }
}

Scene scene_of(const Json& json, const std::string& folder, const Overrides& overrides) {
    Object o(json, "");
    Scene scene;
    Files files{folder, scene.files};
    // Calls body(element, where) for the elements of a list. `what` they are is for the message about too many.
    const auto each_of = [&](const std::string& name, const char* what, std::size_t most, const auto& body) {
        const Json& list = o.list(name);
        if (list.size() > most) fault(name, fmt::format("{} {}; {} is the most", list.size(), what, most));
        for (std::size_t i = 0; i < list.size(); ++i) body(list[i], fmt::format("{}[{}]", name, i));
    };
    o.text("about", ""); // for people
    scene.mode = o.word("mode", {"TE", "TM"}, 0) == 0 ? Mode::te : Mode::tm;
    const Extent grid{o.size("nx", 3, max_cells), o.size("ny", 3, max_cells)};
    const Scaling scaling{grid, {overrides.nx ? overrides.nx : grid.columns, overrides.ny ? overrides.ny : grid.rows}};
    scene.nx = scaling.to.columns;
    scene.ny = scaling.to.rows;
    const double dx = o.number("dx", 1e-15, 1e9);
    scene.dx = dx / scaling.per_x();
    scene.dy = o.number("dy", 1e-15, 1e9, dx) / scaling.per_y();
    if (o.find("dt") && o.find("courant")) fault("dt", "either dt or courant decides, not both");
    scene.dt = o.number("dt", 1e-30, 1e9, 0);
    scene.courant = o.number("courant", 1e-6, 1, scene.courant);
    scene.steps = o.size("steps", 1, max_steps, scene.steps);
    if (overrides.steps) scene.steps = overrides.steps;

    if (o.find("materials")) scene.materials.clear(); // check_scene() asks for one
    each_of("materials", "materials", max_materials, [&](const Json& one, const std::string& where) {
        const Material material = material_of(one, where);
        for (const Material& other : scene.materials)
            if (other.name == material.name) fault(where + ".name", "is the name of another material");
        scene.materials.push_back(material);
    });
    const Json& shapes = o.list("shapes");
    const bool has_picture = o.find("map") != nullptr;
    if (has_picture || !shapes.empty()) scene.map.assign(scene.nx * scene.ny, 0);
    if (has_picture) read_map(scene, files.of(o, "map"), "map");
    for (std::size_t i = 0; i < shapes.size(); ++i) draw(scene, shapes[i], fmt::format("shapes[{}]", i), scaling);

    if (const Json* constants = o.find("media")) {
        Object media(*constants, "media");
        for (const Constant& c : media_constants) scene.media.*c.of_cells = constants_of(media, c, scaling, files);
        media.no_other_keys();
    }
    each_of("initial", "parts", max_sources, [&](const Json& part, const std::string& where) {
        scene.initial.push_back(initial_of(part, where, scene.mode, scaling, files));
    });

    if (const Json* boundary = o.find("boundary")) {
        Object sides(*boundary, "boundary");
        const Json* all = sides.find("all");
        for (const auto& [name, side] : {std::pair{"left", &scene.left},
                                         {"right", &scene.right},
                                         {"bottom", &scene.bottom},
                                         {"top", &scene.top}}) {
            if (all) *side = side_of(*all, "boundary.all", files);
            if (const Json* own = sides.find(name)) *side = side_of(*own, sides.key(name), files);
        }
        sides.no_other_keys();
    }
    each_of("sources", "sources", max_sources, [&](const Json& source, const std::string& where) {
        scene.sources.push_back(source_of(source, where, scene.mode, scaling, files));
    });
    each_of("probes", "probes", max_sources, [&](const Json& one, const std::string& where) {
        Object probe(one, where);
        const auto c = scaling.cell(probe.need("at"), probe.key("at"));
        const std::string name = probe.text("name", fmt::format("probe {}", scene.probes.size()));
        scene.probes.push_back({name, scaling.cell_x(c[0]), scaling.cell_y(c[1])});
        probe.no_other_keys();
    });
    if (const Json* frames = o.find("frames")) {
        Object f(*frames, "frames");
        scene.frame_every = f.size("every", 1, max_steps, scene.frame_every);
        scene.frame_scale = f.number("scale", tiny, huge, 0);
        f.no_other_keys();
    }
    o.no_other_keys();
    check_scene(scene);
    check_that_all_act(scene);
    return scene;
}

} // namespace

bool Scene::graded() const {
    return std::ranges::any_of(media_constants, [&](const Constant& c) { return !(media.*c.of_cells).empty(); });
}

bool Scene::fixes_z(const Side& side) const {
    return side.kind == Side::Kind::dirichlet || (side.kind != Side::Kind::pml && mode == Mode::tm);
}

Material Scene::material_at(std::size_t i, std::size_t j) const {
    const std::size_t cell = j * nx + i;
    Material m = materials[map.empty() ? 0 : map[cell]];
    for (const Constant& c : media_constants)
        if (const std::vector<double>& own = media.*c.of_cells; !own.empty()) m.*c.of_material = own[cell];
    return m;
}

double Initial::at(const Scene& scene, std::size_t i, std::size_t j) const {
    constexpr double pi = std::numbers::pi;
    const double half_x = component == Component::y ? 0 : 0.5, half_y = component == Component::x ? 0 : 0.5;
    const double px = static_cast<double>(i) + half_x, py = static_cast<double>(j) + half_y;
    switch (kind) {
    case Kind::gaussian: {
        const double a = (px - x) / width_x, b = (py - y) / width_y;
        return amplitude * std::exp(-a * a - b * b);
    }
    case Kind::mode: { // TE: walls are the outermost edges. TM: the centres of the outermost cells.
        const double mx = pi * static_cast<double>(m), ny_ = pi * static_cast<double>(n);
        if (scene.mode == Mode::te)
            return amplitude * std::cos(mx * px / static_cast<double>(scene.nx)) *
                   std::cos(ny_ * py / static_cast<double>(scene.ny));
        return amplitude * std::sin(mx * static_cast<double>(i) / static_cast<double>(scene.nx - 1)) *
               std::sin(ny_ * static_cast<double>(j) / static_cast<double>(scene.ny - 1));
    }
    case Kind::numbers: return amplitude * numbers[j * scene.nx + i];
    }
    return 0;
}

double largest_speed(const Scene& scene) {
    double speed = 0;
    const auto see = [&](const Material& m) {
        speed = std::max(speed, 1 / std::sqrt(m.eps_r * eps_0 * m.mu_r * mu_0));
    };
    if (!scene.media.eps_r.empty() || !scene.media.mu_r.empty()) {
        for (std::size_t j = 0; j < scene.ny; ++j)
            for (std::size_t i = 0; i < scene.nx; ++i) see(scene.material_at(i, j));
        return speed;
    }
    std::array<bool, 256> drawn = {};
    drawn[0] = scene.map.empty(); // the first material fills a grid without a map
    for (const std::uint8_t index : scene.map) drawn[index] = true;
    for (std::size_t i = 0; i < scene.materials.size(); ++i)
        if (drawn[i]) see(scene.materials[i]);
    return speed;
}

double largest_stable_dt(const Scene& scene) {
    return 1 / (largest_speed(scene) * std::sqrt(1 / (scene.dx * scene.dx) + 1 / (scene.dy * scene.dy)));
}

double Scene::time_step() const { return dt > 0 ? dt : courant * largest_stable_dt(*this); }

void check_scene(const Scene& scene) {
    for (const auto& [key, n] : {std::pair{"nx", scene.nx}, {"ny", scene.ny}})
        if (n < 3 || n > max_cells) fault(key, fmt::format("{} is not from 3 to {}", n, max_cells));
    for (const auto& [key, d] : {std::pair{"dx", scene.dx}, {"dy", scene.dy}})
        if (!(d > 0 && std::isfinite(d))) fault(key, "must be above 0");
    if (scene.steps < 1 || scene.steps > max_steps)
        fault("steps", fmt::format("{} is not from 1 to {}", scene.steps, max_steps));
    if (scene.materials.empty() || scene.materials.size() > max_materials)
        fault("materials", fmt::format("{} materials are not from 1 to {}", scene.materials.size(), max_materials));
    if (!scene.map.empty() && scene.map.size() != scene.nx * scene.ny) fault("map", "must have nx * ny cells");
    for (const std::uint8_t index : scene.map)
        if (index >= scene.materials.size()) fault("map", fmt::format("there is no material {}", index));
    const auto plane = [&](const std::string& key, const std::vector<double>& numbers, std::size_t cells,
                           double least) {
        if (!numbers.empty() && numbers.size() != cells)
            fault(key, fmt::format("{} numbers for {} cells", numbers.size(), cells));
        for (const double x : numbers)
            if (!(std::isfinite(x) && x >= least))
                fault(key, fmt::format("{:g} is not {}", x,
                                       least > 0    ? "above 0"
                                       : least == 0 ? "at least 0"
                                                    : "finite"));
    };
    constexpr double any = std::numeric_limits<double>::lowest(), above_0 = std::numeric_limits<double>::min();
    const std::size_t all_cells = scene.nx * scene.ny;
    for (const Constant& c : media_constants) {
        const double least = c.least > 0 ? above_0 : 0;
        for (std::size_t i = 0; i < scene.materials.size(); ++i)
            plane(fmt::format("materials[{}].{}", i, c.name), {scene.materials[i].*c.of_material}, 1, least);
        plane(fmt::format("media.{}", c.name), scene.media.*c.of_cells, all_cells, least);
    }
    for (std::size_t i = 0; i < scene.initial.size(); ++i) {
        const Initial& initial = scene.initial[i];
        plane(fmt::format("initial[{}].file", i), initial.numbers, all_cells, any);
        if (initial.kind == Initial::Kind::numbers && initial.numbers.empty())
            fault(fmt::format("initial[{}].file", i), "holds no numbers");
    }
    const double limit = largest_stable_dt(scene), dt = scene.time_step();
    if (!(dt > 0 && std::isfinite(dt))) fault("dt", "must be above 0");
    if (dt > limit * (1 + 1e-12))
        fault(scene.dt > 0 ? "dt" : "courant",
              fmt::format("{:g} s is longer than {:g} s, the limit of Courant, Friedrichs and Lewy for this grid: the "
                          "field would grow without bound",
                          dt, limit));
    const auto layers = [&](const Side& low, const Side& high, std::size_t n, const char* low_key,
                            const char* high_key) {
        std::size_t cells = 0;
        for (const auto& [side, key] : {std::pair{&low, low_key}, {&high, high_key}}) {
            if (side->kind == Side::Kind::dirichlet && !std::isfinite(side->value))
                fault(fmt::format("boundary.{}.value", key), "must be finite");
            if (side->kind != Side::Kind::pml) continue;
            if (side->cells < 1) fault(fmt::format("boundary.{}.cells", key), "must be at least 1");
            if (!(side->reflection > 0 && side->reflection < 1))
                fault(fmt::format("boundary.{}.reflection", key), "must be between 0 and 1");
            if (!(side->grading >= 0)) fault(fmt::format("boundary.{}.grading", key), "must be at least 0");
            if (side->cells > n || (cells += side->cells) >= n)
                fault(fmt::format("boundary.{}.cells", key),
                      fmt::format("layers of {} cells leave nothing of {} cells", side->cells, n));
        }
    };
    layers(scene.left, scene.right, scene.nx, "left", "right");
    layers(scene.bottom, scene.top, scene.ny, "bottom", "top");
    if (scene.sources.size() > max_sources) fault("sources", "there are too many");
    std::size_t strengths = 0; // Patch counts them with an int
    for (std::size_t i = 0; i < scene.sources.size(); ++i) {
        const Source& s = scene.sources[i];
        strengths += s.strength.size();
        if (strengths > std::size_t{std::numeric_limits<int>::max()})
            fault(fmt::format("sources[{}].strength", i), "all sources together have too many");
        if (s.x0 >= s.x1 || s.y0 >= s.y1 || s.x1 > scene.nx || s.y1 > scene.ny)
            fault(fmt::format("sources[{}].region", i), fmt::format("[{}, {}, {}, {}] is not within {} x {} cells",
                                                                    s.x0, s.y0, s.x1, s.y1, scene.nx, scene.ny));
        plane(fmt::format("sources[{}].strength", i), s.strength, (s.x1 - s.x0) * (s.y1 - s.y0), any);
    }
    if (scene.probes.size() > max_sources) fault("probes", "there are too many");
    for (std::size_t i = 0; i < scene.probes.size(); ++i)
        if (scene.probes[i].x >= scene.nx || scene.probes[i].y >= scene.ny)
            fault(fmt::format("probes[{}].at", i), fmt::format("is not within {} x {} cells", scene.nx, scene.ny));
    if (scene.frame_every < 1) fault("frames.every", "must be at least 1");
}

Scene parse_scene(const std::string& text, const std::string& folder, const Overrides& overrides) {
    Json json;
    if (text.find('\0') != std::string::npos) // the parser takes it for the end
        throw UsageError("the scene: is not JSON: it holds the character U+0000");
    try {
        Checks checks;
        Json::sax_parse(text, &checks, Json::input_format_t::json, true, true); // comments are allowed
        json = Json::parse(text, nullptr, true, true);
    } catch (const Json::exception& e) {
        std::string what = e.what();
        if (what.starts_with("[json.")) what.erase(0, what.find("] ") + 2); // a name that says nothing to users
        throw UsageError("the scene: is not JSON: " + printable(what.substr(0, 200)));
    }
    try {
        return scene_of(json, folder, overrides);
    } catch (const Json::exception& e) { // text that is not UTF-8, for example
        throw UsageError(std::string("the scene: ") + e.what());
    }
}

std::vector<std::string> scene_names() {
    return {"book", "scatterer", "waveguide", "double-slit", "heterogeneous", "lens"};
}

Scene read_scene(const std::string& name, const Overrides& overrides) {
    const std::vector<std::string> known = scene_names();
    const bool ours = std::find(known.begin(), known.end(), name) != known.end();
    const std::string path = ours ? in_folder(FDTD_SCENES, name + ".json", "--scene") : name;
    std::error_code ignored;
    if (!std::filesystem::exists(path, ignored))
        throw UsageError(fmt::format("--scene: {} is neither a file nor one of {}", name, fmt::join(known, ", ")));
    const bool piped = !std::filesystem::is_regular_file(path, ignored); // what it names is then looked for here
    const std::string folder = piped ? "" : std::filesystem::path(path).parent_path().string();
    const std::string text = gpulab::content_of(path, max_text);
    try {
        Scene scene = parse_scene(text, folder, overrides);
        scene.files.push_back(path);
        return scene;
    } catch (const UsageError& e) {
        throw UsageError(fmt::format("{}: {}", name, e.what()));
    }
}

const char* name_of(Mode mode, Component component) {
    static constexpr const char* names[2][3] = {{"Hz", "Ex", "Ey"}, {"Ez", "Hx", "Hy"}};
    return names[mode == Mode::te ? 0 : 1][static_cast<std::size_t>(component)];
}

} // namespace fdtd
