#include "predict/model_file.h"

#include <cmath>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"

namespace trainyard::predict {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kSchemaName = "trainyard-time-model";
constexpr int kSchemaVersion = 1;
constexpr std::size_t kMostDevices = 1000, kMostSamples = 4000, kMostNetworks = 10000;

template <std::size_t Count>
Json named(const std::array<ConstantRow, Count>& rows, const std::array<double, Count>& values) {
  Json json = Json::object();
  for (std::size_t i = 0; i < Count; ++i) json[rows[i].name] = values[i];
  return json;
}

Json json_of_device(const DeviceModel& one) {
  return {{"name", one.device.name},
          {"flops_per_second", one.device.flops_per_second},
          {"bytes_per_second", one.device.bytes_per_second},
          {"launch_seconds", one.device.launch_seconds},
          {"memory_bytes", one.device.memory_bytes},
          {"multiprocessors", one.device.multiprocessors},
          {"watts", one.device.watts},
          {"price_per_hour", one.device.price_per_hour},
          {"runs", one.runs},
          {"constants", named(kDeviceRows, one.constants)}};
}

// Reads members of one object, each within bounds.
class Members {
 public:
  Members(const Json& json, std::string where) : json_(json), where_(std::move(where)) {
    if (!json.is_object()) refuse("", "an object");
  }
  [[noreturn]] void refuse(const std::string& key, const std::string& wanted) const {
    fail(ErrorKind::config, "{}{}{}: wants {}", where_, key.empty() ? "" : ".", key, wanted);
  }
  double number(const char* key, double least, double most) const {
    const auto at = json_.find(key);
    if (at == json_.end() || !at->is_number()) refuse(key, "a number");
    const double value = at->get<double>();
    if (!(value >= least && value <= most)) refuse(key, fmt::format("a number from {} to {}", least, most));
    return value;
  }
  std::string text(const char* key) const {
    const auto at = json_.find(key);
    if (at == json_.end() || !at->is_string() || at->get<std::string>().empty()) refuse(key, "a text");
    return at->get<std::string>();
  }
  const Json& array(const char* key, std::size_t most) const {
    const auto at = json_.find(key);
    if (at == json_.end() || !at->is_array() || at->size() > most)
      refuse(key, fmt::format("an array of at most {}", most));
    return *at;
  }
  Members object(const char* key) const {
    const auto at = json_.find(key);
    if (at == json_.end()) refuse(key, "an object");
    return {*at, where_ + "." + key};
  }

 private:
  const Json& json_;
  std::string where_;
};

constexpr double kTiny = 1e-30, kHuge = 1e30;

template <std::size_t Count>
std::array<double, Count> constants_in(const Members& members, const std::array<ConstantRow, Count>& rows) {
  std::array<double, Count> values{};
  for (std::size_t i = 0; i < Count; ++i) values[i] = members.number(rows[i].name, kTiny, kHuge);
  return values;
}

DeviceModel device_in(const Members& members) {
  DeviceModel one;
  one.device = {.name = members.text("name"),
                .flops_per_second = members.number("flops_per_second", 1, kHuge),
                .bytes_per_second = members.number("bytes_per_second", 1, kHuge),
                .launch_seconds = members.number("launch_seconds", kTiny, 1),
                .memory_bytes = members.number("memory_bytes", 1, kHuge),
                .multiprocessors = members.number("multiprocessors", 1, 1e6),
                .watts = members.number("watts", 0, kHuge),
                .price_per_hour = members.number("price_per_hour", 0, kHuge)};
  one.runs = members.number("runs", 0, kHuge);
  one.constants = constants_in(members.object("constants"), kDeviceRows);
  return one;
}

// A sample is a row: place, error, runs.
Residual::Sample sample_in(const Json& json, const std::string& where) {
  if (!json.is_array() || json.size() != kPlaceDimensions + 2)
    fail(ErrorKind::config, "{}: wants an array of {} numbers", where, kPlaceDimensions + 2);
  std::array<double, kPlaceDimensions + 2> cells{};
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (!json[i].is_number() || !(std::abs(json[i].get<double>()) < kHuge))
      fail(ErrorKind::config, "{}[{}]: wants a number", where, i);
    cells[i] = json[i].get<double>();
  }
  Residual::Sample sample;
  std::copy_n(cells.begin(), kPlaceDimensions, sample.place.begin());
  sample.error = cells[kPlaceDimensions];
  sample.runs = cells[kPlaceDimensions + 1];
  if (!(sample.runs >= 1)) fail(ErrorKind::config, "{}: wants at least one run", where);
  return sample;
}

}  // namespace

std::string to_json(const TimeModel& model) {
  Json devices = Json::array(), samples = Json::array();
  for (const DeviceModel& one : model.devices) devices.push_back(json_of_device(one));
  for (const Residual::Sample& sample : model.residual.samples()) {
    Json row = sample.place;
    row.push_back(sample.error);
    row.push_back(sample.runs);
    samples.push_back(std::move(row));
  }
  return Json{
             {"schema", kSchemaName},
             {"version", kSchemaVersion},
             {"runs", model.runs},
             {"networks", model.networks},
             {"shared", named(kSharedRows, model.shared)},
             {"devices", std::move(devices)},
             {"calibration", {{"known", model.calibration.known}, {"fresh", model.calibration.fresh}}},
             {"memory", {{"usable_share", model.memory.usable_share}, {"deviation", model.memory.deviation}}},
             {"residual", std::move(samples)}}
             .dump() +
         "\n";
}

TimeModel time_model_from_json(std::string_view text, const std::string& source) {
  Json json;
  try {
    json = Json::parse(text);
  } catch (const nlohmann::json::exception&) {
    fail(ErrorKind::config, "{}: is no JSON, so no model", source);
  }
  const Members members(json, source);
  if (members.text("schema") != kSchemaName) members.refuse("schema", fmt::format("'{}'", kSchemaName));
  if (members.number("version", 1, 1e9) > kSchemaVersion)
    members.refuse("version", fmt::format("at most {}: it was written by a newer program", kSchemaVersion));
  TimeModel model;
  model.runs = members.number("runs", 0, kHuge);
  for (const Json& name : members.array("networks", kMostNetworks)) {
    if (!name.is_string()) members.refuse("networks", "texts");
    model.networks.push_back(name.get<std::string>());
  }
  model.shared = constants_in(members.object("shared"), kSharedRows);
  for (const Json& device : members.array("devices", kMostDevices))
    model.devices.push_back(device_in({device, source + ".devices"}));
  const Members calibration = members.object("calibration"), memory = members.object("memory");
  model.calibration = {calibration.number("known", 0, 10), calibration.number("fresh", 0, 10)};
  model.memory = {memory.number("usable_share", 0.01, 10), memory.number("deviation", 1e-6, 10)};
  std::vector<Residual::Sample> samples;
  for (const Json& sample : members.array("residual", kMostSamples))
    samples.push_back(sample_in(sample, source + ".residual"));
  model.residual = Residual(std::move(samples));
  return model;
}

void write_time_model(const TimeModel& model, const std::filesystem::path& path) {
  AtomicFile file(path);
  file.write(to_json(model));
  file.commit();
}

TimeModel read_time_model(const std::filesystem::path& path) {
  const std::vector<std::byte> bytes = read_file(path);
  return time_model_from_json({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, path.string());
}

}  // namespace trainyard::predict
