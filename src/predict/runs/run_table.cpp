#include "predict/runs/run_table.h"

#include <charconv>
#include <tuple>

#include "base/device_spec.h"
#include "base/file.h"
#include "base/json.h"
#include "predict/runs/csv_rows.h"
#include "predict/runs/network_work.h"
#include "predict/runs/run_set.h"

namespace trainyard::predict {
namespace {

// Twice the epochs take at least this much longer, start-up and noise included; crashes take as long.
constexpr double kGrowth = 1.3;

struct CsvLine {
  const std::string& file;
  const std::map<std::string, std::size_t>& columns;
  const CsvRow& row;

  [[noreturn]] void refuse(const std::string& what) const {
    fail(ErrorKind::config, "{}:{}: {}", file, row.line, what);
  }
  const std::string& text(const char* column) const {
    const std::size_t at = columns.at(column);
    if (at >= row.cells.size())
      refuse(fmt::format("{} columns, but '{}' is number {}", row.cells.size(), column, at + 1));
    return row.cells[at];
  }
  bool says(const char* column) const { return columns.contains(column) && !text(column).empty(); }
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
  std::int64_t whole_number_of(const char* column, std::int64_t most) const {
    const double value = parsed(column);
    if (!(value >= 1 && value <= static_cast<double>(most)) || value != std::floor(value))
      refuse(fmt::format("{} '{}': wants a whole number from 1 to {}", column, text(column), most));
    return static_cast<std::int64_t>(value);
  }
  double share_of(const char* column) const {
    const double value = parsed(column);
    if (!(value >= 0 && value <= 1))
      refuse(fmt::format("{} '{}': wants a number from 0 to 1", column, text(column)));
    return value;
  }
};

constexpr std::int64_t kMostBatch = 1 << 30, kMostClasses = 100'000'000, kMostSide = 100'000;

void set_data(const CsvLine& line, TableRun& run) {
  run.dataset = line.text("Dataset");
  if (line.says("Images")) run.images_per_epoch = line.number_of("Images");
  if (line.says("Classes")) run.classes = static_cast<int>(line.whole_number_of("Classes", kMostClasses));
  try {
    complete_by_data_set(run, line.says("ImageSize") ? line.whole_number_of("ImageSize", kMostSide) : 0);
  } catch (const Error& error) {
    line.refuse(error.what());
  }
}

TableRun run_of(const CsvLine& line) {
  TableRun run{.device = line.text("GPU"), .network = line.text("Model")};
  run.batch = line.whole_number_of("BatchSize", kMostBatch);
  try {
    run.optimizer = optimizer_named(line.text("Optimizer"));
  } catch (const Error& error) {
    line.refuse(error.what());
  }
  run.epochs = line.number_of("Epoch");
  set_data(line, run);
  run.seconds = line.number_of("Execution Time");
  if (line.says("Status")) {
    const std::string& status = line.text("Status");
    if (status != "ok" && status != "oom") line.refuse(fmt::format("Status '{}': ok or oom", status));
    run.end = status == "oom" ? RunEnd::oom : RunEnd::ok;
    run.end_is_known = true;
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

std::map<std::string, std::size_t> columns_of(const std::string& file, const CsvRow& head) {
  std::map<std::string, std::size_t> columns;
  for (std::size_t i = 0; i < head.cells.size(); ++i) columns[head.cells[i]] = i;
  for (const char* wanted : {"GPU", "Model", "BatchSize", "Optimizer", "Epoch", "Dataset", "Execution Time"})
    if (!columns.contains(wanted))
      fail(ErrorKind::config,
           "{}:{}: no column '{}'; a table of runs has GPU, Model, BatchSize, Optimizer, Epoch, Dataset and "
           "Execution Time",
           file, head.line, wanted);
  return columns;
}

// Returns everything on which a run's memory depends.
auto configuration(const TableRun& run) {
  const auto named = find_named_network(run.network, run.dataset);
  const Shape input = run.input.rank() > 0 || !named ? run.input : named->input;
  return std::tuple(run.device, named ? named->network : run.network, input.to_string(), run.batch,
                    run.optimizer);
}

// Two runs of one configuration and data set, the first of which trained about twice as long.
bool compare(const TableRun& longer, const TableRun& shorter) {
  return longer.dataset == shorter.dataset && longer.images_per_epoch == shorter.images_per_epoch &&
         longer.epochs >= 1.9 * shorter.epochs;
}

bool has_grown(const TableRun& longer, const TableRun& shorter) {
  return longer.seconds >= kGrowth * shorter.seconds;
}

// Returns whether the device's peak rate allows for the run's time, as far as network and device are known. A
// small network takes most of its time to start, and need not grow with its epochs.
bool may_have_run(const TableRun& run) {
  const auto device =
      std::find_if(known_devices().begin(), known_devices().end(),
                   [&](const DeviceSheet& one) { return same_device_name(one.name, run.device); });
  if (device == known_devices().end() || !find_named_network(run.network, run.dataset)) return false;
  const NamedNetwork network = network_of(run);
  const double flops = work_of({.network = network.network,
                                .batch = run.batch,
                                .classes = run.classes,
                                .input = network.input,
                                .optimizer = run.optimizer})
                           .flops;
  return run.steps() * flops <= device->flops_per_second * run.seconds;
}

}  // namespace

NamedNetwork network_of(const TableRun& run) {
  NamedNetwork network = named_network(run.network, run.dataset);
  if (run.input.rank() == 0) return network;
  const networks::NetworkInfo info = networks::find_network(network.network, run.parameters);
  if (info.reads_sequences())
    fail(ErrorKind::config, "ImageSize {}: network '{}' reads sequences", run.input[1], network.network);
  network.input = run.input;
  return network;
}

void complete_by_data_set(TableRun& run, std::int64_t image_size) {
  const DataSetSheet* data = find_data_set(run.dataset);
  if (data == nullptr && !(run.images_per_epoch > 0)) {
    std::string known;
    for (const DataSetSheet& sheet : known_data_sets())
      known += (known.empty() ? "" : ", ") + std::string(sheet.name);
    fail(ErrorKind::config, "dataset '{}': one of {}; of another one the images of an epoch have to be given",
         run.dataset, known);
  }
  if (data != nullptr && !(run.images_per_epoch > 0)) run.images_per_epoch = data->images;
  if (data != nullptr && run.classes == 0) run.classes = data->classes;
  if (image_size > 0) run.input = {data != nullptr ? data->image[0] : 3, image_size, image_size};
}

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
  for (TableRun& run : runs)
    if (!run.end_is_known) alike[configuration(run)].push_back(&run);
  for (auto& [key, members] : alike) {
    bool crashed = false, grown = false;
    for (const TableRun* longer : members)
      for (const TableRun* shorter : members) {
        if (!compare(*longer, *shorter)) continue;
        grown = grown || has_grown(*longer, *shorter);
        crashed = crashed || (!has_grown(*longer, *shorter) && !may_have_run(*longer));
      }
    for (TableRun* run : members) {
      if (crashed) run->end = RunEnd::oom;
      run->end_is_known = crashed || grown;
    }
  }
}

RunTable read_run_csv(const std::filesystem::path& path) {
  const std::vector<std::byte> bytes = read_file(path);
  const std::string file = path.string();
  const std::vector<CsvRow> rows =
      parse_csv({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, file);
  RunTable table{file, {}};
  if (rows.empty()) fail(ErrorKind::config, "{}: no runs", file);
  const std::map<std::string, std::size_t> columns = columns_of(file, rows[0]);
  const auto key_of_run = [](const TableRun& run) {
    return std::tuple(run.device, run.network, run.batch, run.optimizer, run.dataset, run.epochs,
                      run.images_per_epoch, run.classes, run.input.to_string());
  };
  std::map<decltype(key_of_run(TableRun{})), std::size_t> seen;
  for (std::size_t r = 1; r < rows.size(); ++r) {
    const CsvLine line{file, columns, rows[r]};
    const TableRun run = run_of(line);
    const auto [at, fresh] = seen.try_emplace(key_of_run(run), table.runs.size());
    if (fresh) table.runs.push_back(run);
    if (says_use(columns)) table.runs[at->second].use.push_back(use_of(line));
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
  const Json json = parse_json_or_discard(ops->second);
  if (!json.is_object() || !json.contains("kernels")) return kernels;
  try {
    for (const Json& row : json.at("kernels"))
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
  run.end_is_known = true;
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
