#include "predict/runs/run_table.h"

#include <charconv>
#include <tuple>

#include "base/device_spec.h"
#include "base/file.h"
#include "base/json.h"
#include "networks/zoo/zoo.h"
#include "predict/runs/run_set.h"

namespace trainyard::predict {
namespace {

// TableDataset holds the images of an epoch and the classes, as the published campaign ran them (its ImageNet
// is a part).
struct TableDataset {
  const char* name;
  double images;
  int classes;
};
constexpr TableDataset kDatasets[] = {{"cifar10", 50000, 11}, {"imagenet", 64058, 1001}};

// Twice the epochs take at least this much longer, start-up and noise included; crashes take as long.
constexpr double kGrowth = 1.3;

std::vector<std::string> split_line(std::string_view line) {
  std::vector<std::string> cells{""};
  for (const char c : line) {
    if (c == ',')
      cells.emplace_back();
    else if (c != '\r' && c != '"')
      cells.back() += c;
  }
  return cells;
}

struct CsvLine {
  const std::string& file;
  int number;
  const std::map<std::string, std::size_t>& columns;
  std::vector<std::string> cells;

  [[noreturn]] void refuse(const std::string& what) const {
    fail(ErrorKind::config, "{}:{}: {}", file, number, what);
  }
  const std::string& text(const char* column) const {
    const std::size_t at = columns.at(column);
    if (at >= cells.size())
      refuse(fmt::format("{} columns, but '{}' is number {}", cells.size(), column, at + 1));
    return cells[at];
  }
  double parsed(const char* column) const {  // NaN: no number
    const std::string& cell = text(column);
    double value = 0;
    const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
    return error == std::errc() && end == cell.data() + cell.size() ? value : std::nan("");
  }
  double number_of(const char* column) const {
    const double value = parsed(column);
    if (!(value > 0) || !std::isfinite(value))
      refuse(fmt::format("{} '{}': wants a number above 0", column, text(column)));
    return value;
  }
  double share_of(const char* column) const {
    const double value = parsed(column);
    if (!(value >= 0 && value <= 1))
      refuse(fmt::format("{} '{}': wants a number from 0 to 1", column, text(column)));
    return value;
  }
};

TableRun run_of(const CsvLine& line) {
  TableRun run{.device = line.text("GPU"), .network = line.text("Model")};
  run.batch = static_cast<std::int64_t>(line.number_of("BatchSize"));
  if (run.batch < 1) line.refuse("BatchSize: at least 1");
  try {
    run.optimizer = optimizer_named(line.text("Optimizer"));
  } catch (const Error& error) {
    line.refuse(error.what());
  }
  run.epochs = line.number_of("Epoch");
  run.dataset = line.text("Dataset");
  const auto* dataset = std::find_if(std::begin(kDatasets), std::end(kDatasets),
                                     [&](const TableDataset& row) { return row.name == run.dataset; });
  if (dataset == std::end(kDatasets))
    line.refuse(fmt::format("dataset '{}': one of cifar10, imagenet", run.dataset));
  run.images_per_epoch = dataset->images;
  run.classes = dataset->classes;
  run.seconds = line.number_of("Execution Time");
  if (line.columns.contains("Status")) {
    const std::string& status = line.text("Status");
    if (status != "ok" && status != "oom") line.refuse(fmt::format("Status '{}': ok or oom", status));
    run.end = status == "oom" ? RunEnd::oom : RunEnd::ok;
  }
  return run;
}

bool says_use(const std::map<std::string, std::size_t>& columns) {
  return columns.contains("Resource") && columns.contains("avg Idle time") &&
         columns.contains("avg Active time") && columns.contains("avg Peak consumption");
}

ResourceUse use_of(const CsvLine& line) {
  return {line.text("Resource"), line.share_of("avg Idle time"), line.share_of("avg Active time"),
          line.share_of("avg Peak consumption")};
}

std::map<std::string, std::size_t> columns_of(const std::string& file, std::string_view head) {
  std::map<std::string, std::size_t> columns;
  const std::vector<std::string> names = split_line(head);
  for (std::size_t i = 0; i < names.size(); ++i) columns[names[i]] = i;
  for (const char* wanted : {"GPU", "Model", "BatchSize", "Optimizer", "Epoch", "Dataset", "Execution Time"})
    if (!columns.contains(wanted))
      fail(ErrorKind::config,
           "{}:1: no column '{}'; a table of runs has GPU, Model, BatchSize, Optimizer, Epoch, Dataset and "
           "Execution Time",
           file, wanted);
  return columns;
}

// Returns everything on which a run's memory depends.
auto configuration(const TableRun& run) {
  return std::tuple(run.device, run.network, run.batch, run.optimizer);
}

bool has_not_grown(const TableRun& longer, const TableRun& shorter) {
  return longer.dataset == shorter.dataset && longer.epochs >= 1.9 * shorter.epochs &&
         longer.seconds < kGrowth * shorter.seconds;
}

}  // namespace

// A decoupled decay and Nesterov's momentum take the time and memory of the rules that they vary.
ops::Rule optimizer_named(const std::string& name) {
  if (name == "adamw") return ops::Rule::adam;
  if (name == "nesterov") return ops::Rule::momentum;
  for (const ops::Rule rule : {ops::Rule::sgd, ops::Rule::momentum, ops::Rule::rmsprop, ops::Rule::adam})
    if (name == ops::name(rule)) return rule;
  fail(ErrorKind::config, "optimizer '{}': one of sgd, momentum, nesterov, rmsprop, adam, adamw", name);
}

backend::Precision precision_named(const std::string& name) {
  for (const auto precision : {backend::Precision::f32, backend::Precision::tf32, backend::Precision::bf16})
    if (name == backend::name(precision)) return precision;
  fail(ErrorKind::config, "precision '{}': one of f32, tf32, bf16", name);
}

void mark_crashes(std::vector<TableRun>& runs) {
  std::map<decltype(configuration(runs[0])), std::vector<TableRun*>> alike;
  for (TableRun& run : runs) alike[configuration(run)].push_back(&run);
  for (auto& [key, members] : alike) {
    const bool crashed =
        std::any_of(members.begin(), members.end(), [&members = members](const TableRun* longer) {
          return std::any_of(members.begin(), members.end(),
                             [&](const TableRun* shorter) { return has_not_grown(*longer, *shorter); });
        });
    if (!crashed) continue;
    for (TableRun* run : members) run->end = RunEnd::oom;
  }
}

RunTable read_run_csv(const std::filesystem::path& path) {
  const std::vector<std::byte> bytes = read_file(path);
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const std::string file = path.string();
  RunTable table{file, {}};
  std::map<std::string, std::size_t> columns;
  std::map<std::tuple<std::string, std::string, std::int64_t, ops::Rule, std::string, double>, std::size_t>
      seen;
  int number = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = text.substr(begin, end - begin);
    begin = end + 1;
    ++number;
    if (line.empty() || line == "\r") continue;
    if (columns.empty()) {
      columns = columns_of(file, line);
      continue;
    }
    const CsvLine csv{file, number, columns, split_line(line)};
    const TableRun run = run_of(csv);
    const auto [at, fresh] = seen.try_emplace(
        {run.device, run.network, run.batch, run.optimizer, run.dataset, run.epochs}, table.runs.size());
    if (fresh) table.runs.push_back(run);
    if (says_use(columns)) table.runs[at->second].use.push_back(use_of(csv));
  }
  if (table.runs.empty()) fail(ErrorKind::config, "{}: no runs", file);
  mark_crashes(table.runs);
  return table;
}

namespace {

// Returns the parameters that were asked for, where the network is a generated one.
networks::generator::Given parameters_in(const record::RunRecord& record, const std::string& network) {
  networks::generator::Given given;
  for (const networks::NetworkInfo& info : networks::all_networks())
    if (info.name == network && info.generator != nullptr)
      for (const networks::generator::Parameter& parameter : info.generator->parameters)
        if (const auto at = record.asked.find(parameter.name); at != record.asked.end())
          given[parameter.name] = record::to_text(at->second);
  return given;
}

std::vector<TimedNode> kernels_in(const record::RunRecord& record) {
  std::vector<TimedNode> kernels;
  const auto ops = record.details.find("ops");
  if (ops == record.details.end()) return kernels;
  const SortedJson json = parse_json_or_discard(ops->second);
  if (!json.is_object() || !json.contains("kernels")) return kernels;
  try {
    for (const SortedJson& row : json.at("kernels"))
      kernels.push_back({row.at("name").get<std::string>(), row.at("op").get<std::string>(),
                         row.at("seconds").get<double>(), row.value("workspace_bytes", -1.0)});
  } catch (const Json::Error&) {
    fail(ErrorKind::config, "record '{}': its kernels want name, op and seconds each", record.id);
  }
  return kernels;
}

MeasuredMemory memory_in(const record::RunRecord& record, bool on_cpu) {
  const double resident = on_cpu ? record.figure_or("peak_memory_bytes", 0) : 0;
  const auto backend = record.words.find("backend");
  return {.peak_bytes = record.figure_or("device_memory_bytes", resident),
          .plan_bytes = record.figure_or("plan_bytes", 0),
          .backend = backend == record.words.end() ? on_cpu ? "onednn" : "cuda" : backend->second,
          .threads = static_cast<int>(record.figure_or("threads", 0))};
}

// Returns nothing for a run without network, batch and steps, whose steps have several batches each, or whose
// plan computes values again to fit a limit.
std::optional<TableRun> run_of_record(const record::RunRecord& record, const std::string& device) {
  const auto asked = [&](const char* key, const char* otherwise) {
    const auto at = record.asked.find(key);
    return at == record.asked.end() ? std::string(otherwise) : record::to_text(at->second);
  };
  const auto number = [&](const char* key, double otherwise) {
    return record::number_or(record::to_value(asked(key, "")), otherwise);
  };
  const auto batch = static_cast<std::int64_t>(number("batch", record.images_per_step));
  const bool oom = record.status == record::Status::oom;
  const std::size_t steps = record.step_seconds.size();
  if (asked("network", "").empty() || batch < 1 || asked("mode", "train") != "train" ||
      number("accumulate", 1) > 1 || !asked("memory_limit", "").empty() ||
      !(oom || record.status == record::Status::ok) || (!oom && steps == 0))
    return std::nullopt;
  TableRun run{.device = device.empty() ? asked("device", "cpu") : device, .network = asked("network", "")};
  if (const record::Value* file = record::find_fact(record.provenance, "network", "file"))
    run.network = record::to_text(*file);
  if (const record::Value* sum = record::find_fact(record.provenance, "network", "sha256"))
    run.network_sha256 = record::to_text(*sum);
  run.batch = batch;
  run.classes = static_cast<int>(number("classes", 0));
  run.optimizer = optimizer_named(asked("optimizer", "sgd"));
  run.precision = precision_named(asked("precision", "f32"));
  run.parameters = parameters_in(record, run.network);
  run.epochs = static_cast<double>(steps);
  run.images_per_epoch = static_cast<double>(batch);
  run.warmup_steps = 0;
  run.with_start = false;
  run.end = oom ? RunEnd::oom : RunEnd::ok;
  if (oom) return run;
  run.seconds = static_cast<double>(steps) * stats::median(record.step_seconds);
  run.kernels = kernels_in(record);
  run.memory = memory_in(record, DeviceSpec::find(asked("device", "cpu")) == DeviceSpec::cpu());
  return run;
}

// Disturbances only make a run slower, so of several runs with timed kernels and the same request the fastest
// is kept.
void keep_fastest_of_alike(std::vector<TableRun>& runs) {
  const auto asked = [](const TableRun& run) {
    return std::tie(run.device, run.network, run.batch, run.classes, run.optimizer, run.precision,
                    run.parameters);
  };
  const auto seconds = [](const TableRun& run) { return run.seconds / run.steps(); };
  std::vector<TableRun> kept;
  for (TableRun& run : runs) {
    const auto at = std::find_if(kept.begin(), kept.end(), [&](const TableRun& other) {
      return !run.kernels.empty() && !other.kernels.empty() && asked(other) == asked(run);
    });
    if (at == kept.end())
      kept.push_back(std::move(run));
    else if (seconds(run) < seconds(*at))
      *at = std::move(run);
  }
  runs = std::move(kept);
}

}  // namespace

RunTable table_of_records(const std::vector<record::RunRecord>& records, const std::string& device,
                          const std::string& source) {
  RunTable table{source, {}};
  for (const record::RunRecord& record : records)
    if (const auto run =
            record.command == "profile" ? run_of_profile(record, device) : run_of_record(record, device))
      table.runs.push_back(*run);
  if (table.runs.empty()) fail(ErrorKind::config, "{}: no record says network, batch and steps", source);
  keep_fastest_of_alike(table.runs);
  return table;
}

std::string resource_key(std::string_view name) {
  constexpr std::pair<std::string_view, const char*> kKeys[] = {
      {"GPU Util%", "gpu_util"},
      {"GPU Mem Util%", "gpu_memory_util"},
      {"GPU Memory", "gpu_memory"},
      {"CPU Util%", "cpu_util"},
      {"gpu0_busy_fraction", "gpu_util"},
      {"gpu0_memory_busy_fraction", "gpu_memory_util"},
      {"gpu0_memory_used_bytes", "gpu_memory"},
      {"cpu_cores", "cpu_util"},
      {"resident_bytes", "host_memory"}};
  for (const auto& [given, key] : kKeys)
    if (given == name) return key;
  return std::string(name);
}

}  // namespace trainyard::predict
