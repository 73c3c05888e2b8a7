#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "record/run_record.h"
#include "record/value.h"

namespace trainyard::record {
namespace {

using record::json_of;

constexpr int kSchema = 2;

// ---- writing

Json json_of(const stats::Interval& interval) {
  return Json::array({json_of(interval.low), json_of(interval.high)});
}

Json json_of(const std::vector<double>& numbers) {
  Json array = Json::array();
  for (const double number : numbers) array.push_back(json_of(number));
  return array;
}

// Without steps all values are unknown.
Json json_of(const StepStatistics& s) {
  const auto number = [&](double value) { return s.steps > 0 ? json_of(value) : Json(nullptr); };
  return {{"mean", number(s.mean)},
          {"median", number(s.median)},
          {"min", number(s.min)},
          {"max", number(s.max)},
          {"standard_deviation", number(s.standard_deviation)},
          {"p5", number(s.p5)},
          {"p25", number(s.p25)},
          {"p75", number(s.p75)},
          {"p95", number(s.p95)},
          {"p99", number(s.p99)},
          {"lag1_autocorrelation", number(s.lag1_autocorrelation)},
          {"effective_samples", number(s.effective_samples)},
          {"mean_interval", json_of(s.mean_interval)},
          {"median_interval", json_of(s.median_interval)},
          {"block_steps", s.block_steps},
          {"unsteady_steps", s.unsteady_steps},
          {"steady", s.steady},
          {"outliers", s.outliers}};
}

Json json_of(const LegacyMetrics& legacy) {
  return {{"mean_seconds", json_of(legacy.mean_seconds)},
          {"mean_speed", json_of(legacy.mean_speed)},
          {"speed_uncertainty", json_of(legacy.speed_uncertainty)},
          {"speed_jitter", json_of(legacy.speed_jitter)}};
}

Json json_of(const Provenance& facts) {
  Json sections = Json::object();
  for (const Fact& fact : facts) sections[fact.section][fact.key] = json_of(fact.value);
  return sections;
}

Json json_of(const std::vector<Warning>& warnings) {
  Json array = Json::array();
  for (const Warning& warning : warnings) array.push_back({{"kind", warning.kind}, {"text", warning.text}});
  return array;
}

// ---- reading. A null number means that it is not known.

double number_of(const Json& json) {
  if (json.is_null()) return std::numeric_limits<double>::quiet_NaN();
  return json.get<double>();
}

double number_at(const Json& object, const char* key) {
  return object.contains(key) ? number_of(object[key]) : 0;
}

stats::Interval interval_at(const Json& object, const char* key) {
  if (!object.contains(key)) return {};
  return {number_of(object[key].at(0)), number_of(object[key].at(1))};
}

std::vector<double> numbers_at(const Json& object, const char* key) {
  std::vector<double> numbers;
  if (object.contains(key))
    for (const Json& number : object[key]) numbers.push_back(number_of(number));
  return numbers;
}

StepStatistics statistics_of(const Json& json) {
  StepStatistics s;
  const std::pair<const char*, double*> fields[] = {{"mean", &s.mean},
                                                    {"median", &s.median},
                                                    {"min", &s.min},
                                                    {"max", &s.max},
                                                    {"standard_deviation", &s.standard_deviation},
                                                    {"p5", &s.p5},
                                                    {"p25", &s.p25},
                                                    {"p75", &s.p75},
                                                    {"p95", &s.p95},
                                                    {"p99", &s.p99},
                                                    {"lag1_autocorrelation", &s.lag1_autocorrelation},
                                                    {"effective_samples", &s.effective_samples}};
  for (const auto& [key, field] : fields) *field = number_at(json, key);
  s.mean_interval = interval_at(json, "mean_interval");
  s.median_interval = interval_at(json, "median_interval");
  s.block_steps = json.value("block_steps", std::int64_t{0});
  s.unsteady_steps = json.value("unsteady_steps", std::int64_t{0});
  s.steady = json.value("steady", true);
  s.outliers = json.value("outliers", std::vector<std::int64_t>());
  return s;
}

LegacyMetrics legacy_of(const Json& json) {
  return {number_at(json, "mean_seconds"), number_at(json, "mean_speed"),
          number_at(json, "speed_uncertainty"), number_at(json, "speed_jitter")};
}

Provenance provenance_of(const Json& json) {
  Provenance facts;
  for (const auto& [section, keys] : json.items())
    for (const auto& [key, value] : keys.items())
      if (value.is_primitive() && !value.is_null()) facts.push_back({section, key, value_of(value)});
  return facts;
}

// These keys have a field of their own. Every other number is a figure, text a word, list or table a detail.
const std::set<std::string> kFields = {"schema",
                                       "id",
                                       "study",
                                       "cell",
                                       "replicate",
                                       "attempt",
                                       "status",
                                       "reason",
                                       "exit_code",
                                       "command",
                                       "asked",
                                       "node",
                                       "wall_seconds",
                                       "steps",
                                       "started_seconds",
                                       "step_seconds",
                                       "warmup_step_seconds",
                                       "raw_step_seconds",
                                       "legacy",
                                       "warnings",
                                       "images_per_step",
                                       "provenance",
                                       "images_per_second"};

Status status_of(const Json& json) {
  const auto text = json.value("status", std::string("ok"));
  const auto status = find_status(text);
  if (!status) fail(ErrorKind::config, "run record: unknown status '{}'", text);
  return *status;
}

void read_steps(const Json& json, RunRecord& run) {
  run.warmup_step_seconds = numbers_at(json, "warmup_step_seconds");
  run.step_seconds = numbers_at(json, "raw_step_seconds");
  run.images_per_step = number_at(json, "images_per_step");
  if (json.contains("step_seconds")) run.statistics = statistics_of(json["step_seconds"]);
  if (json.contains("legacy")) run.statistics.legacy = legacy_of(json["legacy"]);
  run.statistics.steps = json.value("steps", std::int64_t{0});
  if (json.contains("images_per_second") && json["images_per_second"].is_number())
    run.images_per_second = json["images_per_second"].get<double>();
}

// Before schema 2 the headline was images over the median step, which does not show stalls.
void take_mean_speed(RunRecord& run) {
  if (!run.images_per_second || run.statistics.steps == 0 || !(run.statistics.mean > 0)) return;
  const double slower = run.statistics.median / run.statistics.mean;
  run.figures["median_images_per_second"] = *run.images_per_second;
  *run.images_per_second *= slower;
  static constexpr NumberName kBySteps[] = {"images_per_second_per_device", "flops_per_second",
                                            "peak_fraction"};
  for (const NumberName figure : kBySteps)
    if (run.figures.contains(figure)) run.figures[figure] *= slower;
}

RunRecord record_of(const Json& json) {
  const int schema = json.value("schema", kSchema);
  if (schema > kSchema)
    fail(ErrorKind::config, "run record: schema {}, this trainyard reads up to {}", schema, kSchema);
  RunRecord run;
  run.id = json.value("id", "");
  run.study = json.value("study", "");
  run.cell = json.value("cell", "");
  run.replicate = json.value("replicate", 1);
  run.attempt = json.value("attempt", 1);
  run.status = status_of(json);
  run.reason = json.value("reason", "");
  run.exit_code = json.value("exit_code", 0);
  run.command = json.value("command", "");
  if (json.contains("asked")) run.asked = settings_of(json["asked"]);
  run.node = json.value("node", "");
  run.started_seconds = number_at(json, "started_seconds");
  run.wall_seconds = number_at(json, "wall_seconds");
  read_steps(json, run);
  for (const auto& [key, value] : json.items()) {
    if (kFields.contains(key)) continue;
    if (value.is_number()) run.figures.any()[key] = value.get<double>();
    if (value.is_string()) run.words.any()[key] = value.get<std::string>();
    if (value.is_structured()) run.details.any()[key] = json_text(value);
  }
  if (schema < 2 && (run.command == "bench" || run.command == "train")) take_mean_speed(run);
  if (json.contains("provenance")) run.provenance = provenance_of(json["provenance"]);
  if (json.contains("warnings"))
    for (const Json& warning : json["warnings"])
      run.warnings.push_back({warning.value("kind", ""), warning.value("text", "")});
  return run;
}

}  // namespace

std::string to_json(const RunRecord& run) {
  Json json = {{"schema", kSchema}, {"id", run.id}};
  if (!run.study.empty()) json["study"] = run.study;
  if (!run.cell.empty())
    json.update({{"cell", run.cell}, {"replicate", run.replicate}, {"attempt", run.attempt}});
  json.update({{"status", name(run.status)}, {"reason", run.reason}, {"exit_code", run.exit_code}});
  json.update({{"command", run.command}, {"asked", json_of(run.asked)}, {"node", run.node}});
  json["started_seconds"] = json_of(run.started_seconds);
  json["wall_seconds"] = json_of(run.wall_seconds);
  for (const auto& [key, word] : run.words) json[key] = word.empty() ? Json(nullptr) : Json(word);
  for (const auto& [key, figure] : run.figures) json[key] = json_of(figure);
  for (const auto& [key, text] : run.details) json[key] = parse_json(text);
  json["steps"] = run.statistics.steps;
  json["images_per_step"] = json_of(run.images_per_step);
  json["images_per_second"] = run.images_per_second ? json_of(*run.images_per_second) : Json(nullptr);
  json["step_seconds"] = json_of(run.statistics);
  json["legacy"] = json_of(run.statistics.legacy);
  json["warmup_step_seconds"] = json_of(run.warmup_step_seconds);
  json["raw_step_seconds"] = json_of(run.step_seconds);
  json["warnings"] = json_of(run.warnings);
  json["provenance"] = json_of(run.provenance);
  // Names and paths are not always UTF-8.
  return json_text(json);
}

RunRecord run_record_from_json(std::string_view text) {
  const Json json = parse_json_or_discard(text);
  if (!json.is_object()) fail(ErrorKind::config, "run record: not a JSON object");
  try {
    return record_of(json);
  } catch (const Json::Error& error) {
    fail(ErrorKind::config, "run record: {}", error.what());
  }
}

RunRecord read_run_record(const std::filesystem::path& path) {
  const std::vector<std::byte> bytes = read_file(path);
  try {
    return run_record_from_json({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  } catch (const Error& error) {
    fail(error.kind(), "'{}': {}", path.string(), error.what());
  }
}

void write_run_record(const RunRecord& record, const std::filesystem::path& path) {
  AtomicFile file(path);
  file.write(to_json(record) + "\n");
  file.commit();
}

}  // namespace trainyard::record
