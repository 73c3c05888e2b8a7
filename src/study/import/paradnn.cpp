#include "study/import/paradnn.h"

#include <charconv>

#include "base/json.h"

namespace trainyard::study {

namespace {

constexpr double kElementBytes = 4;
constexpr double kOptimizerMoves = 7;
constexpr double kActivationMoves = 5;  // two forward, three backward

// Counts the elements of a product's three operands.
double operands(double rows, double inner, double columns) {
  return rows * inner + inner * columns + rows * columns;
}

}  // namespace

record::Settings FcPoint::settings() const {
  return {{"network", std::string("fc")}, {"layers", layers}, {"width", width}, {"inputs", inputs},
          {"classes", classes},           {"batch", batch}};
}

FcCounts count_fc(const FcPoint& point, std::int64_t hidden) {
  const auto batch = static_cast<double>(point.batch), width = static_cast<double>(point.width),
             inputs = static_cast<double>(point.inputs), classes = static_cast<double>(point.classes),
             square = static_cast<double>(hidden);
  const double weights = square * width * width + width * (inputs + classes);
  const double parameters = weights + (square + 1) * width + classes;
  // The sum covers forward, d_src and d_weight of every layer, but no d_src of the first.
  const double products = 2 * operands(batch, inputs, width) +
                          3 * (square * operands(batch, width, width) + operands(batch, width, classes));
  const double activations = kActivationMoves * (square + 1) * batch * width;
  return {parameters, 6 * batch * weights - 2 * batch * width * inputs,
          kElementBytes * (products + activations + kOptimizerMoves * parameters)};
}

namespace {

constexpr std::pair<std::string_view, std::int64_t FcPoint::*> kKeys[] = {{"layer_", &FcPoint::layers},
                                                                          {"node_", &FcPoint::width},
                                                                          {"input_", &FcPoint::inputs},
                                                                          {"output_", &FcPoint::classes},
                                                                          {"bs_", &FcPoint::batch}};

// Takes "key_123" off the front.
bool take(std::string_view& text, FcPoint& point) {
  for (const auto& [key, member] : kKeys) {
    if (!text.starts_with(key) || point.*member != 0) continue;
    const char* begin = text.data() + key.size();
    const auto [end, problem] = std::from_chars(begin, text.data() + text.size(), point.*member);
    if (problem != std::errc() || point.*member <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return true;
  }
  return false;
}

}  // namespace

std::optional<FcLabel> parse_fc_label(std::string_view label) {
  FcLabel found;
  for (std::size_t keys = 0; keys < std::size(kKeys); ++keys) {
    if (keys > 0 && !label.starts_with('-')) return std::nullopt;
    if (keys > 0) label.remove_prefix(1);
    if (!take(label, found.point)) return std::nullopt;
  }
  if (!label.empty() && !label.starts_with('-')) return std::nullopt;
  if (!label.empty()) found.rest = label.substr(1);
  return found;
}

namespace {

using record::RunRecord;

// Python writes non-numbers as NaN, which JSON does not have.
struct Readable {
  std::string text;
  std::vector<std::size_t> longer;  // bytes of `text` after which it is one byte longer than the file
};

Readable without_nan(std::string_view text) {
  Readable result;
  bool quoted = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '"' && (at == 0 || text[at - 1] != '\\')) quoted = !quoted;
    if (!quoted && text.substr(at, 3) == "NaN") {
      result.text += "null";
      result.longer.push_back(result.text.size());
      at += 2;
    } else {
      result.text += text[at];
    }
  }
  return result;
}

Json parse(const std::string& file, std::string_view text) {
  const Readable readable = without_nan(text);
  try {
    return parse_json(readable.text);
  } catch (const Json::SyntaxError& error) {
    std::size_t byte = error.byte;
    for (const std::size_t after : readable.longer) byte -= after < error.byte ? 1 : 0;
    fail(ErrorKind::config, "'{}': not JSON at byte {} of {}", file, byte, text.size());
  }
}

// Columns holds arrays of equal length, with one entry for each label.
class Columns {
 public:
  Columns(const std::string& file, const Json& json, const char* labels)
      : file_(file), json_(json), labels_(column(labels)), rows_(labels_.size()) {}

  std::size_t rows() const { return rows_; }

  std::string text(const char* name, std::size_t row) const {
    const Json& value = at(name, row);
    if (!value.is_string()) fail(ErrorKind::config, "'{}': {}[{}] is no text", file_, name, row);
    return value.get<std::string>();
  }

  double number(const char* name, std::size_t row) const {
    const Json& value = at(name, row);
    if (value.is_null()) return std::nan("");
    if (!value.is_number()) fail(ErrorKind::config, "'{}': {}[{}] is no number", file_, name, row);
    return value.get<double>();
  }

  const Json& list(const char* name, std::size_t row) const { return at(name, row); }

  FcLabel label(const char* name, std::size_t row) const {
    const std::string label = text(name, row);
    const std::optional<FcLabel> parsed = parse_fc_label(label);
    if (!parsed)
      fail(ErrorKind::config, "'{}': {}[{}] is '{}', not layer_L-node_N-input_I-output_O-bs_B", file_, name,
           row, label);
    return *parsed;
  }

 private:
  const Json& column(const char* name) const {
    const auto found = json_.find(name);
    if (found == json_.end() || !found->is_array())
      fail(ErrorKind::config, "'{}': no array '{}'", file_, name);
    return *found;
  }
  const Json& at(const char* name, std::size_t row) const {
    const Json& values = column(name);
    if (values.size() != rows_)
      fail(ErrorKind::config, "'{}': '{}' has {} entries, the labels are {}", file_, name, values.size(),
           rows_);
    return values[row];
  }

  std::string file_;
  const Json& json_;
  const Json& labels_;
  std::size_t rows_;
};

RunRecord make_run(const std::string& file, const FcPoint& point, const std::string& device,
                   const std::string& kind) {
  RunRecord run;
  run.command = "import";
  run.asked = point.settings();
  run.asked["device"] = device;
  run.asked["optimizer"] = std::string("rmsprop");
  if (kind != "sweep") run.asked["profile"] = std::string("trace");  // measured under a profiler
  run.id = fmt::format("paradnn-{}-{}-l{}-n{}-i{}-o{}-b{}", kind, device, point.layers, point.width,
                       point.inputs, point.classes, point.batch);
  run.images_per_step = static_cast<double>(point.batch);
  run.provenance = {{"import", "from", std::string("ParaDnn, FC")}, {"import", "file", file}};
  const FcCounts counts = count_fc(point, point.layers - 1);
  run.figures = {{"parameters", counts.parameters},
                 {"flops_per_step", counts.flops_per_step},
                 {"bytes_per_step", counts.bytes_per_step}};
  return run;
}

// Maps only the words of the log parser; any other state is a failure that keeps its own words.
record::Status status_of(const std::string& state) {
  static const std::map<std::string, record::Status> kStates{
      {"OOM", record::Status::oom},
      {"NaN value", record::Status::nan},
      {"Deadline Exceeded", record::Status::timeout},
      {"Socket closed", record::Status::crash},
      {"unhealthy", record::Status::crash},
      {"Negative dimension size", record::Status::refused},
      {"not run", record::Status::refused}};
  const auto found = kStates.find(state);
  return found == kStates.end() ? record::Status::failed : found->second;
}

// The profiler counted the graph of one shard: 6 flops a weight and image, over the shards. The published
// sweeps have one (a GPU) or eight (a TPU).
double shards_of(const FcPoint& point, double gigaflops) {
  const auto width = static_cast<double>(point.width);
  const double weights = static_cast<double>(point.layers - 1) * width * width +
                         width * static_cast<double>(point.inputs + point.classes);
  return 6e-9 * static_cast<double>(point.batch) * weights / gigaflops > 4 ? 8 : 1;
}

void add_speed(const Columns& columns, std::size_t row, double shards, RunRecord& run) {
  const double images_per_second = columns.number("example_per_sec", row);
  if (!(images_per_second > 0)) {
    run.status = record::Status::failed;
    run.reason = "finished, but no performance";
    return;
  }
  run.images_per_second = images_per_second;
  run.figures["published_parameters"] = columns.number("params", row);
  run.figures["published_flops_per_step"] = columns.number("fl", row) * 1e9 * shards;
  run.figures["published_flops_per_second"] = columns.number("flops", row) * 1e9 * shards;
  run.figures["published_intensity"] = columns.number("intensity", row);
  run.figures["flops_per_second"] = run.figures["flops_per_step"] / run.images_per_step * images_per_second;
}

std::vector<RunRecord> import_sweep(const std::string& file, const Json& json) {
  const Columns done(file, json, "labels"), failed(file, json, "err_jobs");
  std::vector<RunRecord> runs;
  double shards = 1;
  for (std::size_t row = 0; row < done.rows(); ++row) {
    const FcPoint point = done.label("labels", row).point;
    shards = shards_of(point, done.number("fl", row));
    runs.push_back(make_run(file, point, shards > 1 ? "tpu" : "gpu", "sweep"));
    add_speed(done, row, shards, runs.back());
  }
  for (std::size_t row = 0; row < failed.rows(); ++row) {
    runs.push_back(make_run(file, failed.label("err_jobs", row).point, shards > 1 ? "tpu" : "gpu", "sweep"));
    runs.back().reason = failed.text("states", row);
    runs.back().status = status_of(runs.back().reason);
  }
  return runs;
}

std::vector<RunRecord> import_trace(const std::string& file, const Json& json) {
  const Columns columns(file, json, "labels");
  std::vector<RunRecord> runs;
  for (std::size_t row = 0; row < columns.rows(); ++row) {
    runs.push_back(make_run(file, columns.label("labels", row).point, "tpu", "trace"));
    record::Numbers& figures = runs.back().figures;
    figures["peak_fraction"] = columns.number("flops_perc", row) / 100;
    figures["peak_fraction_mean"] = columns.number("flops_perc_m", row) / 100;
    figures["peak_fraction_deviation"] = columns.number("flops_perc_std", row) / 100;
    figures["bandwidth_fraction"] = columns.number("memory_bandwidth", row) / 100;
    figures["flops_per_byte"] = columns.number("intensity", row);
    figures["input_wait_fraction"] = columns.number("infeed", row) / 100;
    figures["traced_bytes"] = columns.number("rawMB", row) * 1e6;
    runs.back().details["captured_peak_percent"] = json_text(columns.list("flops_trace", row));
    runs.back().details["captured_input_wait_percent"] = json_text(columns.list("infeed_trace", row));
  }
  return runs;
}

Json number_or_null(double number) { return std::isfinite(number) ? Json(number) : Json(nullptr); }

std::vector<RunRecord> import_breakdown(const std::string& file, const Json& json) {
  const Columns columns(file, json, "labels");
  std::vector<RunRecord> runs;
  std::map<std::string, std::size_t> places;
  std::vector<Json> categories;
  for (std::size_t row = 0; row < columns.rows(); ++row) {
    const FcLabel label = columns.label("labels", row);
    RunRecord run = make_run(file, label.point, "tpu", "ops");
    const auto [place, is_new] = places.emplace(run.id, runs.size());
    if (is_new) {
      runs.push_back(std::move(run));
      categories.push_back(Json::array());
    }
    const double bytes = columns.number("rawMB", row) * 1e6, intensity = columns.number("intensity", row);
    categories[place->second].push_back(
        {{"category", label.rest},
         {"share", number_or_null(columns.number("time_perc", row) / 100)},
         {"flops", number_or_null(bytes > 0 ? bytes * intensity : 0)},
         {"bytes", number_or_null(bytes)},
         {"peak_fraction", number_or_null(columns.number("flops_perc", row) / 100)},
         {"bandwidth_fraction", number_or_null(columns.number("memory_bandwidth", row) / 100)}});
  }
  for (std::size_t i = 0; i < runs.size(); ++i)
    runs[i].details["ops"] = json_text(Json{{"by_category", categories[i]}});
  return runs;
}

}  // namespace

bool is_paradnn(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && text[first] == '{' &&
         text.find("\"labels\"") != std::string_view::npos &&
         (text.find("\"intensity\"") != std::string_view::npos ||
          text.find("\"example_per_sec\"") != std::string_view::npos);
}

std::vector<RunRecord> import_paradnn(const std::string& file, std::string_view text) {
  const Json json = parse(file, text);
  if (json.contains("example_per_sec")) return import_sweep(file, json);
  if (json.contains("infeed")) return import_trace(file, json);
  if (json.contains("time_perc")) return import_breakdown(file, json);
  fail(ErrorKind::config, "'{}': neither a sweep, a trace nor an op breakdown of ParaDnn", file);
}

}  // namespace trainyard::study
