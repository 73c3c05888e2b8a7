#include "report/naming.h"

#include <iterator>
#include <tuple>

#include "report/text.h"

namespace trainyard::report {
namespace {

using record::Value;

std::set<Value> values_among(const Cells& cells, const std::string& axis) {
  std::set<Value> values;
  for (const CellView* cell : cells) values.insert(cell->setting(axis));
  return values;
}

// Every value of `by` comes with one value of `axis`.
bool implied(const Cells& cells, const Axis& axis, const Axis& by) {
  std::map<Value, Value> found;
  for (const CellView* cell : cells)
    if (const auto [at, added] = found.try_emplace(cell->setting(by.name), cell->setting(axis.name));
        !added && at->second != cell->setting(axis.name))
      return false;
  return true;
}

// No two cells have one name, and none has no name.
bool tell_apart(const Cells& cells, const std::vector<Axis>& axes) {
  std::set<std::vector<Value>> seen;
  for (const CellView* cell : cells) {
    std::vector<Value> values;
    for (const Axis& axis : axes) values.push_back(cell->setting(axis.name));
    const bool named =
        std::any_of(values.begin(), values.end(), [](const Value& value) { return !is_absent(value); });
    if (!named || !seen.insert(std::move(values)).second) return false;
  }
  return true;
}

bool has_gaps(const Cells& cells, const Axis& axis) {
  return std::any_of(cells.begin(), cells.end(),
                     [&](const CellView* cell) { return is_absent(cell->setting(axis.name)); });
}

std::vector<Axis> drop_axis(const std::vector<Axis>& axes, const std::string& name) {
  std::vector<Axis> rest;
  std::copy_if(axes.begin(), axes.end(), std::back_inserter(rest),
               [&](const Axis& axis) { return axis.name != name; });
  return rest;
}

// Returns words that another word implies; of two that imply each other the later one.
std::vector<Axis> without_implied_words(const Cells& cells, std::vector<Axis> axes) {
  for (std::size_t i = axes.size(); i-- > 0;) {
    const bool drop = !axes[i].numeric && std::any_of(axes.begin(), axes.end(), [&](const Axis& by) {
      return by.name != axes[i].name && !by.numeric && implied(cells, axes[i], by);
    });
    if (drop) axes.erase(axes.begin() + static_cast<std::ptrdiff_t>(i));
  }
  return axes;
}

double median_log_speed(const Cells& cells) {
  std::vector<double> logs;
  for (const CellView* cell : cells)
    if (cell->throughput.runs > 0 && cell->throughput.centre() > 0)
      logs.push_back(std::log(cell->throughput.centre()));
  return logs.empty() ? NAN : stats::quantile(logs, 0.5);
}

std::map<Value, Cells> groups_by(const Cells& cells, const std::string& axis) {
  std::map<Value, Cells> groups;
  for (const CellView* cell : cells) groups[cell->setting(axis)].push_back(cell);
  return groups;
}

// Values of a word in groups of one scale each, the fastest group first; those without a result are in the
// last.
struct Cluster {
  std::vector<Value> values;
  double fastest = 0;
};

std::vector<Cluster> clusters(const Cells& cells, const Axis& axis) {
  std::vector<std::pair<double, Value>> speeds;
  std::vector<Value> unknown;
  for (const auto& [value, group] : groups_by(cells, axis.name)) {
    const double speed = median_log_speed(group);
    if (std::isnan(speed))
      unknown.push_back(value);
    else
      speeds.emplace_back(-speed, value);
  }
  std::sort(speeds.begin(), speeds.end());
  std::vector<Cluster> found;
  for (const auto& [slowness, value] : speeds) {
    if (found.empty() || found.back().fastest + slowness >= std::log(kOneScale))
      found.push_back({{}, -slowness});
    found.back().values.push_back(value);
  }
  if (!found.empty()) std::move(unknown.begin(), unknown.end(), std::back_inserter(found.back().values));
  return found;
}

std::string with_comma(const std::string& a, const std::string& b) {
  return a.empty() || b.empty() ? a + b : a + ", " + b;
}

void split(const Cells& cells, const std::vector<Axis>& axes, const std::string& name,
           std::vector<ScalePart>& parts) {
  constexpr std::size_t kMostValues = 40;
  // A word that all cells have, of few values, and then the one that differs most.
  const Axis* best = nullptr;
  std::tuple<bool, std::size_t, double> best_rank;
  const std::vector<Axis> varying = varying_axes(cells, axes);
  for (const Axis& axis : varying) {
    const std::size_t count = values_among(cells, axis.name).size();
    const double spread = scale_spread(cells, axis, varying);
    if (axis.numeric || count > kMostValues || spread < kOneScale) continue;
    if (const std::tuple rank(has_gaps(cells, axis), count, -spread); best == nullptr || rank < best_rank) {
      best = &axis;
      best_rank = rank;
    }
  }
  const std::vector<Cluster> found = best == nullptr ? std::vector<Cluster>{} : clusters(cells, *best);
  if (found.size() < 2) {
    parts.push_back({name, cells, naming_axes(cells, axes)});
    return;
  }
  for (const Cluster& cluster : found) {
    Cells inside;
    std::string words;
    for (const Value& value : best->values)
      if (std::find(cluster.values.begin(), cluster.values.end(), value) != cluster.values.end())
        words += (words.empty() ? "" : " and ") +
                 (is_absent(value) ? "without " + spaced(best->name) : record::to_text(value));
    std::copy_if(cells.begin(), cells.end(), std::back_inserter(inside), [&](const CellView* cell) {
      return std::find(cluster.values.begin(), cluster.values.end(), cell->setting(best->name)) !=
             cluster.values.end();
    });
    split(inside, axes, with_comma(name, words), parts);
  }
}

}  // namespace

Cells all_cells(const StudyView& view) {
  Cells cells;
  for (const CellView& cell : view.cells) cells.push_back(&cell);
  return cells;
}

std::vector<Axis> varying_axes(const Cells& cells, const std::vector<Axis>& axes) {
  std::vector<Axis> varying;
  for (Axis axis : axes) {
    const std::set<Value> values = values_among(cells, axis.name);
    std::erase_if(axis.values, [&](const Value& value) { return !values.contains(value); });
    if (values.size() > 1) varying.push_back(std::move(axis));
  }
  return varying;
}

std::vector<Axis> naming_axes(const Cells& cells, const std::vector<Axis>& axes) {
  std::vector<Axis> named = without_implied_words(cells, varying_axes(cells, axes));
  std::vector<Axis> optional;  // words that all cells have say what was done, and stay
  std::copy_if(named.begin(), named.end(), std::back_inserter(optional),
               [&](const Axis& axis) { return axis.numeric || has_gaps(cells, axis); });
  std::stable_sort(optional.begin(), optional.end(),
                   [](const Axis& a, const Axis& b) { return a.values.size() < b.values.size(); });
  for (const Axis& axis : optional)
    if (std::vector<Axis> rest = drop_axis(named, axis.name); tell_apart(cells, rest))
      named = std::move(rest);
  return named;
}

std::string shared_label(const Cells& cells, const std::vector<Axis>& axes) {
  if (cells.empty()) return "";
  std::vector<Axis> shared;
  std::copy_if(axes.begin(), axes.end(), std::back_inserter(shared), [&](const Axis& axis) {
    return values_among(cells, axis.name).size() == 1 && !is_absent(cells.front()->setting(axis.name));
  });
  return shared.empty() ? "" : label(*cells.front(), shared);
}

double scale_spread(const Cells& cells, const Axis& axis, const std::vector<Axis>& axes) {
  struct Alike {
    std::set<Value> values;
    double low = INFINITY, high = -INFINITY;
  };
  std::map<std::vector<Value>, Alike> alike;  // cells that differ in this axis alone
  for (const CellView* cell : cells) {
    if (cell->throughput.runs == 0 || !(cell->throughput.centre() > 0)) continue;
    std::vector<Value> others;
    for (const Axis& other : axes)
      if (other.name != axis.name) others.push_back(cell->setting(other.name));
    const double speed = std::log(cell->throughput.centre());
    Alike& group = alike[std::move(others)];
    group.values.insert(cell->setting(axis.name));
    group.low = std::min(group.low, speed);
    group.high = std::max(group.high, speed);
  }
  std::vector<double> spreads;
  for (const auto& [others, group] : alike)
    if (group.values.size() > 1) spreads.push_back(group.high - group.low);
  if (!spreads.empty()) return std::exp(stats::median(spreads));
  double low = INFINITY, high = -INFINITY;
  for (const auto& [value, group] : groups_by(cells, axis.name)) {
    const double speed = median_log_speed(group);
    if (std::isnan(speed)) continue;
    low = std::min(low, speed);
    high = std::max(high, speed);
  }
  return high > low ? std::exp(high - low) : 1;
}

std::vector<ScalePart> split_by_scale(const StudyView& view) {
  std::vector<ScalePart> parts;
  split(all_cells(view), view.axes, "", parts);
  if (parts.size() == 1) return parts;
  for (ScalePart& part : parts) {
    std::vector<Axis> further;  // a word of the name needs not be said again
    std::copy_if(view.axes.begin(), view.axes.end(), std::back_inserter(further), [&](const Axis& axis) {
      const std::string word = ", " + record::to_text(part.cells.front()->setting(axis.name)) + ", ";
      return axis.numeric || (", " + part.name + ", ").find(word) == std::string::npos;
    });
    part.name = with_comma(part.name, shared_label(part.cells, further));
  }
  return parts;
}

}  // namespace trainyard::report
