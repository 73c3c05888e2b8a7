#include "predict/runs/run_set.h"

#include <charconv>
#include <sstream>

#include "base/json.h"
#include "data/get/gzip_file.h"
#include "networks/zoo/zoo.h"
#include "predict/runs/graph_work.h"
#include "record/settings.h"

namespace trainyard::predict {

namespace {

// Returns the word behind an option, or after its `=`.
std::string option_in(const std::string& program, const std::string& option) {
  std::istringstream words(program);
  for (std::string word; words >> word;) {
    if (word == option) return words >> word ? word : "";
    if (word.starts_with(option + "=")) return word.substr(option.size() + 1);
  }
  return "";
}

double whole_option(const std::string& program, const std::string& option, double otherwise) {
  const std::string word = option_in(program, option);
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  return error == std::errc() && end == word.data() + word.size() && value >= 0 ? static_cast<double>(value)
                                                                                : otherwise;
}

std::vector<ResourceUse> profiled_use(const std::string& profile) {
  const Json json = parse_json_or_discard(profile);
  std::vector<ResourceUse> use;
  if (!json.is_object() || !json.contains("signals") || !json["signals"].is_array()) return use;
  for (const Json& signal : json["signals"]) {
    const auto share = [&](const char* key) {
      const auto at = signal.find(key);
      const double value = at != signal.end() && at->is_number() ? at->get<double>() : std::nan("");
      return value >= 0 && value <= 1 ? value : std::nan("");
    };
    if (!signal.is_object() || !signal.contains("signal") || !signal["signal"].is_string()) continue;
    const auto name = signal["signal"].get<std::string>();
    if (resource_key(name) != name)  // one of those that predictions speak of
      use.push_back({name, share("burst_share"), share("idle_share"), share("peak_share")});
  }
  return use;
}

}  // namespace

std::optional<TableRun> run_of_profile(const record::RunRecord& record, const std::string& device) {
  const auto asked = record.asked.find("program");
  if (asked == record.asked.end() || record.status != record::Status::ok) return std::nullopt;
  const std::string program = record::to_text(asked->second);
  const double steps = whole_option(program, "--steps", 0), batch = whole_option(program, "--batch", 0);
  const double seconds = record.figure_or("seconds", 0);
  const std::string on = device.empty() ? option_in(program, "--device") : device;
  TableRun run{.device = on.empty() ? "cpu" : on, .network = option_in(program, "--network")};
  if (run.network.empty() || batch < 1 || steps < 1 || !(seconds > 0)) return std::nullopt;
  const std::string optimizer = option_in(program, "--optimizer");
  if (!optimizer.empty()) run.optimizer = optimizer_named(optimizer);
  run.batch = static_cast<std::int64_t>(batch);
  run.epochs = steps;
  run.images_per_epoch = batch;
  const bool bench = program.find(" bench ") != std::string::npos;
  run.warmup_steps = whole_option(program, "--warmup", bench ? record::default_number("warmup", "bench") : 0);
  run.seconds = seconds;
  run.end_is_known = true;
  const auto profile = record.details.find("profile");
  if (profile != record.details.end()) run.use = profiled_use(profile->second);
  return run;
}

namespace {

namespace fs = std::filesystem;

bool holds_record_a_line(const fs::path& path) {
  return path.extension() == ".jsonl" || (path.extension() == ".gz" && path.stem().extension() == ".jsonl");
}

std::string unpacked_text(const fs::path& path) {
  constexpr std::size_t kPiece = 1 << 20, kMost = std::size_t{1} << 32;
  data::GzipFile file(path);
  std::string text;
  for (std::size_t read = kPiece; read == kPiece;) {
    if (text.size() >= kMost) fail(ErrorKind::config, "'{}': more than 4 GiB of records", path.string());
    text.resize(text.size() + kPiece);
    read = file.read(text.data() + text.size() - kPiece, kPiece);
    text.resize(text.size() - kPiece + read);
  }
  return text;
}

void read_lines(const fs::path& path, std::vector<record::RunRecord>& records) {
  const std::string text = unpacked_text(path);
  int line = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    ++line;
    try {
      if (end > begin) records.push_back(record::run_record_from_json({text.data() + begin, end - begin}));
    } catch (const Error& error) {
      fail(ErrorKind::config, "'{}' line {}: {}", path.string(), line, error.what());
    }
    begin = end + 1;
  }
}

std::vector<fs::path> record_files(const fs::path& path) {
  if (!fs::is_directory(path)) return {path};
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(path))
    if (entry.path().extension() == ".json") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  if (files.empty()) fail(ErrorKind::config, "{}: no record files in this folder", path.string());
  return files;
}

}  // namespace

RunTable read_runs(const fs::path& path, const std::string& device_of_records) {
  std::vector<record::RunRecord> records;
  if (holds_record_a_line(path))
    read_lines(path, records);
  else if (fs::is_directory(path) || path.extension() == ".json")
    for (const fs::path& file : record_files(path)) records.push_back(record::read_run_record(file));
  else
    return read_run_csv(path);
  return table_of_records(records, device_of_records, path.string());
}

namespace {

constexpr double kImpossible = 4;  // times the peak, whatever the algorithm

bool is_impossible(const TableRun& run, const NetworkWork& work, const DeviceSheet& device) {
  return !run.end_is_known && run.steps() * work.flops > kImpossible * device.flops_per_second * run.seconds;
}

class WorkList {
 public:
  explicit WorkList(std::vector<NetworkWork>& works) : works_(works) {}

  std::size_t add(const TableRun& run) {
    const WorkOptions options{.network = run.network,
                              .batch = run.batch,
                              .classes = run.classes,
                              .input = run.input,
                              .optimizer = run.optimizer,
                              .parameters = run.parameters};
    const auto [at, fresh] = positions_.try_emplace(key_of(options), works_.size());
    if (fresh) works_.push_back(work_of(options));
    return at->second;
  }

 private:
  std::vector<NetworkWork>& works_;
  std::map<WorkKey, std::size_t> positions_;
};

// A run says nothing of a file that is another one now.
class NetworkSums {
 public:
  void want_unchanged(const TableRun& run) {
    if (run.network_sha256.empty()) return;
    if (!fs::exists(run.network))
      fail(ErrorKind::config, "network file '{}': a run of it was recorded, and it is gone", run.network);
    const auto [known, fresh] = sums_.try_emplace(run.network);
    if (fresh) known->second = data::sha256_of_file(run.network);
    if (known->second != run.network_sha256)
      fail(
          ErrorKind::config,
          "network file '{}': a run of it was recorded, and it has changed since: its SHA-256 was {:.12}..., "
          "and is {:.12}...",
          run.network, run.network_sha256, known->second);
  }

 private:
  std::map<std::string, std::string> sums_;
};

}  // namespace

std::vector<std::string> RunSet::networks() const {
  std::vector<std::string> names;
  for (const Row& row : rows)
    if (std::find(names.begin(), names.end(), row.run.network) == names.end())
      names.push_back(row.run.network);
  return names;
}

namespace {

// Returns why a run is left out: the network or the device that is unknown.
std::optional<std::string> unknown_name(const TableRun& run, const std::vector<DeviceSheet>& devices) {
  if (!find_named_network(run.network, run.dataset)) return run.network;
  const bool known = std::any_of(devices.begin(), devices.end(), [&](const DeviceSheet& device) {
    return same_device_name(device.name, run.device);
  });
  return known ? std::nullopt : std::optional(run.device);
}

// Returns the place of the device among those that rows have.
std::size_t place_of_device(const DeviceSheet& device, std::vector<DeviceSheet>& seen) {
  const auto at = std::find(seen.begin(), seen.end(), device);
  if (at != seen.end()) return static_cast<std::size_t>(at - seen.begin());
  seen.push_back(device);
  return seen.size() - 1;
}

}  // namespace

RunSet prepare_runs(const RunTable& table, const std::vector<DeviceSheet>& devices, bool skip_unknown) {
  RunSet set;
  WorkList works(set.works);
  NetworkSums files;
  for (const TableRun& given : table.runs) {
    if (const auto unknown = unknown_name(given, devices); unknown && skip_unknown) {
      ++set.skipped[*unknown];
      continue;
    }
    RunSet::Row row{given};
    try {
      files.want_unchanged(given);
      const NamedNetwork network = network_of(given);
      row.device = place_of_device(find_device(devices, given.device), set.devices);
      row.run.device = set.devices[row.device].name;
      row.run.network = network.network;
      row.run.input = network.input;
      row.work = works.add(row.run);
    } catch (const Error& error) {
      if (!skip_unknown || !names_graph_file(given.network))
        fail(ErrorKind::config, "{}: {}", table.source, error.what());
      ++set.skipped[given.network];
      continue;
    }
    if (is_impossible(row.run, set.work(row), set.devices[row.device])) row.run.end = RunEnd::oom;
    set.rows.push_back(std::move(row));
  }
  if (set.rows.empty())
    fail(ErrorKind::config, "{}: no run of a known network on a known device", table.source);
  return set;
}

std::string family_of(const std::string& network) {
  return is_foreign_graph(network) ? "graph" : networks::find_network(network).family;
}

}  // namespace trainyard::predict
