#include "analyze/point.h"

#include "base/json.h"

namespace trainyard::analyze {
namespace {

using record::RunRecord;

// Gathered collects all runs of one point.
struct Gathered {
  Point point;
  std::map<std::string, std::vector<double>> samples;
};

void add_samples(const RunRecord& run, std::map<std::string, std::vector<double>>& samples) {
  const auto add = [&](const std::string& name, double value) {
    if (std::isfinite(value)) samples[name].push_back(value);
  };
  for (const auto& [name, figure] : run.figures) add(name, figure);
  const double speed = run.images_per_second.value_or(kUnknown);
  add("images_per_second", speed);
  if (run.statistics.steps > 0)
    add("step_seconds", run.statistics.median);
  else if (speed > 0)
    add("step_seconds", run.images_per_step / speed);
}

void add_run(const RunRecord& run, Gathered& gathered) {
  Point& point = gathered.point;
  const bool went_well = run.status == record::Status::ok;
  if (!went_well) {
    if (point.runs > 0) return;
    point.status = run.status;
    point.reason = run.reason;
    return;
  }
  point.status = record::Status::ok;
  point.reason.clear();
  ++point.runs;
  add_samples(run, gathered.samples);
  if (std::vector<OpCategory> ops = op_categories_of(run); !ops.empty()) point.ops = std::move(ops);
}

// Adds the bytes that the ops of a step move and the number of ops, unless the record has these for the whole
// step.
void add_sums_of_ops(Point& point) {
  double bytes = 0, kernels = 0;
  for (const OpCategory& category : point.ops) {
    bytes += std::isfinite(category.bytes) ? category.bytes : 0;
    kernels += std::isfinite(category.kernels) ? category.kernels : 0;
  }
  if (bytes > 0) point.metrics.emplace("bytes_per_step", bytes);
  if (kernels > 0) point.metrics.emplace("kernels_per_step", kernels);
}

// These keys come first, for published and measured runs alike, in the order in which networks are described.
constexpr std::array kFirst = {"layers", "width", "inputs", "classes", "batch"};

std::size_t rank(const std::string& name) {
  return static_cast<std::size_t>(std::find(kFirst.begin(), kFirst.end(), name) - kFirst.begin());
}

}  // namespace

double Point::metric(const std::string& name) const {
  const auto found = metrics.find(name);
  return found == metrics.end() ? kUnknown : found->second;
}

double Point::key(const std::string& name) const {
  const auto found = keys.find(name);
  return found == keys.end() ? kUnknown : record::number_or(found->second, kUnknown);
}

record::Settings keys_of(const RunRecord& run) {
  record::Settings keys = record::envelope(run);
  keys.erase("command");
  keys.erase("build");  // an analysis is of one
  return keys;
}

std::vector<Point> make_points(std::span<const RunRecord> runs) {
  std::vector<Gathered> gathered;
  std::map<record::Settings, std::size_t> places;
  for (const RunRecord& run : runs) {
    record::Settings keys = keys_of(run);
    const auto [place, is_new] = places.emplace(keys, gathered.size());
    if (is_new) {
      gathered.emplace_back();
      gathered.back().point.keys = std::move(keys);
    }
    add_run(run, gathered[place->second]);
  }
  std::vector<Point> points;
  for (Gathered& one : gathered) {
    for (const auto& [name, values] : one.samples) one.point.metrics[name] = stats::median(values);
    add_sums_of_ops(one.point);
    points.push_back(std::move(one.point));
  }
  return points;
}

std::vector<std::string> dimensions_of(std::span<const Point> points) {
  std::map<std::string, std::set<double>> values;
  std::map<std::string, std::size_t> counts;
  std::size_t good = 0;
  for (const Point& point : points) {
    if (!point.ok()) continue;
    ++good;
    for (const auto& [name, value] : point.keys)
      if (const double number = record::number_or(value, kUnknown); std::isfinite(number)) {
        values[name].insert(number);
        ++counts[name];
      }
  }
  std::vector<std::string> names;
  for (const auto& [name, seen] : values)
    if (seen.size() > 1 && counts[name] == good) names.push_back(name);
  std::stable_sort(names.begin(), names.end(),
                   [](const std::string& a, const std::string& b) { return rank(a) < rank(b); });
  return names;
}

std::vector<const Point*> with_metric(std::span<const Point> points, const std::string& metric) {
  std::vector<const Point*> found;
  for (const Point& point : points)
    if (point.ok() && std::isfinite(point.metric(metric))) found.push_back(&point);
  return found;
}

std::vector<std::string> metrics_of(std::span<const Point> points) {
  std::set<std::string> names;
  for (const Point& point : points)
    for (const auto& [name, value] : point.metrics) names.insert(name);
  return {names.begin(), names.end()};
}

namespace {

double number_at(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number() ? found->get<double>()
                                                     : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace

double peak_fraction_of(const OpCategory& category, double roof) {
  if (std::isfinite(category.peak_fraction)) return category.peak_fraction;
  const bool can_be_told = roof > 0 && category.flops > 0 && category.seconds > 0;
  return can_be_told ? category.flops / category.seconds / roof : std::numeric_limits<double>::quiet_NaN();
}

std::vector<OpCategory> op_categories_of(const record::RunRecord& run) {
  const auto detail = run.details.find("ops");
  if (detail == run.details.end()) return {};
  const Json ops = parse_json_or_discard(detail->second);
  const auto list = ops.is_object() ? ops.find("by_category") : ops.end();
  if (list == ops.end() || !list->is_array()) return {};
  const double step = run.statistics.steps > 0 ? run.statistics.median
                      : run.images_per_second  ? run.images_per_step / *run.images_per_second
                                               : std::numeric_limits<double>::quiet_NaN();
  std::vector<OpCategory> categories;
  for (const Json& row : *list) {
    if (!row.is_object() || !row.contains("category") || !row["category"].is_string()) continue;
    categories.push_back({row["category"].get<std::string>(), number_at(row, "share"),
                          number_at(row, "seconds"), number_at(row, "flops"), number_at(row, "bytes"),
                          number_at(row, "peak_fraction"), number_at(row, "count")});
    OpCategory& category = categories.back();
    if (!std::isfinite(category.seconds)) category.seconds = category.time_fraction * step;
  }
  return categories;
}

}  // namespace trainyard::analyze
