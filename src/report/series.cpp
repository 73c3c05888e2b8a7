#include "report/series.h"

#include <iterator>

#include "record/cell_summary.h"

namespace trainyard::report {

namespace {

constexpr std::array kShapes = {"layers", "width",  "inputs", "classes",    "blocks",    "filters",
                                "image",  "hidden", "length", "vocabulary", "image_size"};

}  // namespace

bool sweep_networks(const std::vector<std::string>& settings) {
  return std::any_of(settings.begin(), settings.end(), [](const std::string& name) {
    return std::find(kShapes.begin(), kShapes.end(), name) != kShapes.end();
  });
}

namespace {

using record::Value;

constexpr std::size_t kMostColours = 10, kMostSeriesPanels = 12, kMostShapes = 6, kLinesWithRuns = 8;

std::vector<Value> settings_at(const CellView& cell, const std::vector<Axis>& axes) {
  std::vector<Value> values;
  for (const Axis& axis : axes) values.push_back(cell.setting(axis.name));
  return values;
}

std::map<std::vector<Value>, Cells> grouped(const Cells& cells, const std::vector<Axis>& axes) {
  std::map<std::vector<Value>, Cells> groups;
  for (const CellView* cell : cells) groups[settings_at(*cell, axes)].push_back(cell);
  return groups;
}

// Returns whether these axes suffice: no line has two cells at one place, or cells that differ in any other
// axis, except that some may lack it ("scaling" on one device).
bool suffice(const std::vector<Axis>& kept, const Cells& cells, const std::vector<Axis>& all,
             const std::string& on_x) {
  for (const auto& [key, group] : grouped(cells, kept)) {
    std::set<Value> places;
    for (const CellView* cell : group)
      if (!places.insert(cell->setting(on_x)).second) return false;
    for (const Axis& axis : all) {
      std::set<Value> values;
      for (const CellView* cell : group)
        if (const Value value = cell->setting(axis.name); !is_absent(value)) values.insert(value);
      if (values.size() > 1) return false;
    }
  }
  return true;
}

std::vector<Axis> axes_without(const std::vector<Axis>& axes, std::size_t at) {
  std::vector<Axis> rest = axes;
  rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(at));
  return rest;
}

// Returns the axes that make lines: numbers go first, as words say more.
std::vector<Axis> line_axes(const Cells& cells, const std::vector<Axis>& all, const std::string& on_x) {
  std::vector<Axis> axes = all;
  for (const bool numeric : {true, false})
    for (std::size_t i = axes.size(); i-- > 0;)
      if (axes[i].numeric == numeric)
        if (std::vector<Axis> rest = axes_without(axes, i); suffice(rest, cells, all, on_x))
          axes = std::move(rest);
  return axes;
}

}  // namespace

Series::Series(const StudyView& view, const std::string& on_x) {
  std::vector<Axis> others;
  std::copy_if(view.axes.begin(), view.axes.end(), std::back_inserter(others),
               [&](const Axis& axis) { return axis.name != on_x; });
  Cells placed;
  for (const CellView& cell : view.cells)
    if (cell.throughput.runs > 0 && record::number_or(cell.setting(on_x), 0) > 0) placed.push_back(&cell);
  const std::vector<Axis> keys = line_axes(placed, varying_axes(placed, others), on_x);
  for (const auto& [key, group] : grouped(placed, keys))
    if (group.size() > 1) cells_.insert(cells_.end(), group.begin(), group.end());
  std::sort(cells_.begin(), cells_.end());  // they lie in one list, in the order of the study
  lines_ = placing_ = varying_axes(cells_, keys);
  if (const Axis* x = view.find_axis(on_x); x != nullptr) placing_.push_back(*x);
  shared_ = shared_label(cells_, others);
  choose_panels();
  names_ = labels(colours_);
  if (colours_.size() == 1 && colours_[0].numeric) {
    std::map<std::string, double> numbers;
    for (const CellView* cell : cells_)
      numbers[name(*cell)] = record::number_or(cell->setting(colours_[0].name), 0);
    std::stable_sort(names_.begin(), names_.end(),
                     [&](const std::string& a, const std::string& b) { return numbers[a] < numbers[b]; });
  }
  if (!panels_.empty()) panel_names_ = labels(panels_);
}

// Words first: a panel's title is easier to read than a legend. Then the axis that changes the scale most.
void Series::choose_panels() {
  colours_ = lines_;
  while (!colours_.empty()) {
    std::optional<std::size_t> best;
    double best_spread = 0;
    const bool too_many = labels(colours_).size() > kMostColours;
    for (std::size_t i = 0; i < colours_.size(); ++i) {
      const double spread = scale_spread(cells_, colours_[i], placing_) * (colours_[i].numeric ? 1e-3 : 1);
      std::vector<Axis> more = panels_;
      more.push_back(colours_[i]);
      if (labels(more).size() > kMostSeriesPanels || (!too_many && spread < kOneScale)) continue;
      if (too_many && colours_.size() == 1) continue;
      if (!best || spread > best_spread) {
        best = i;
        best_spread = spread;
      }
    }
    if (!best) break;
    panels_.push_back(colours_[*best]);
    colours_.erase(colours_.begin() + static_cast<std::ptrdiff_t>(*best));
  }
  // Still too many: the colour says the setting that matters most among those with few values.
  if (labels(colours_).size() <= kMostColours) return;
  std::vector<Axis> one;
  double widest = 0;
  for (const Axis& axis : colours_)
    if (const double spread = scale_spread(cells_, axis, placing_);
        spread > widest && labels({axis}).size() <= kMostColours) {
      one = {axis};
      widest = spread;
    }
  colours_ = one;
}

std::vector<std::string> Series::labels(const std::vector<Axis>& axes) const {
  std::vector<std::string> found;
  std::set<std::string> seen;
  for (const CellView* cell : cells_)
    if (std::string text = label(*cell, axes); seen.insert(text).second) found.push_back(std::move(text));
  return found;
}

std::vector<std::string> Series::own_scales() const {
  std::map<std::string, double> most;
  for (const CellView* cell : cells_)
    most[panel(*cell)] = std::max(most[panel(*cell)], cell->throughput.centre());
  if (most.size() < 2) return {};
  const auto [low, high] = std::minmax_element(
      most.begin(), most.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  return high->second >= kOneScale * low->second ? std::vector<std::string>{"y"} : std::vector<std::string>{};
}

bool Series::shows_runs() const {
  std::map<std::string, std::set<std::string>> lines;
  for (const CellView* cell : cells_) lines[panel(*cell)].insert(line(*cell));
  return std::all_of(lines.begin(), lines.end(),
                     [](const auto& panel) { return panel.second.size() <= kLinesWithRuns; });
}

std::string Series::colour_channel() const {
  const bool ramp = colours_.size() == 1 && colours_[0].numeric && names_.size() > 3;
  std::vector<std::string> tones;
  for (std::size_t i = 0; i < names_.size(); ++i) tones.push_back(fmt::format("@c{}", i % kPaletteTones + 1));
  const std::string range = ramp ? fmt::format("\"@ramp {}\"", names_.size()) : to_json(tones);
  return fmt::format(
      R"({{"field": "series", "type": "nominal", "title": null, "scale": {{"domain": {}, "range": {}}}{}}})",
      to_json(names_), range, names_.size() < 2 ? R"(, "legend": null)" : "");
}

std::string Series::shape_channel() const {
  if (names_.size() < 2 || names_.size() > kMostShapes) return R"({"value": "circle"})";
  std::vector<std::string> shapes{"circle", "square", "triangle-up", "diamond", "cross", "triangle-down"};
  shapes.resize(names_.size());
  return fmt::format(
      R"({{"field": "series", "type": "nominal", "title": null, "scale": {{"domain": {}, "range": {}}}}})",
      to_json(names_), to_json(shapes));
}

}  // namespace trainyard::report
