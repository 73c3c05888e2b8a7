#include "predict/analytic/model_file.h"

#include <algorithm>
#include <cmath>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "predict/analytic/use_model.h"
#include "predict/runs/device.h"

namespace trainyard::predict {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMostDevices = 1000, kMostNetworks = 10000;
constexpr std::int64_t kMostSamples = 4000;
constexpr const char* kResidualTensor = "residual";

template <std::size_t Count>
Json named(const std::array<ConstantRow, Count>& rows, const std::array<double, Count>& values) {
  Json json = Json::object();
  for (std::size_t i = 0; i < Count; ++i) json[rows[i].name] = values[i];
  return json;
}

Json json_of_device(const DeviceModel& one) {
  Json json = Json::parse(device_to_json(one.device));
  json["runs"] = one.runs;
  json["constants"] = named(kDeviceRows, one.constants);
  return json;
}

constexpr double kTiny = 1e-30, kHuge = 1e30;

template <std::size_t Count>
std::array<double, Count> constants_in(const JsonMembers& members,
                                       const std::array<ConstantRow, Count>& rows) {
  std::array<double, Count> values{};
  for (std::size_t i = 0; i < Count; ++i) values[i] = members.number(rows[i].name, kTiny, kHuge);
  return values;
}

DeviceModel device_in(const JsonMembers& members) {
  DeviceModel one;
  one.device = parse_device(members);
  one.runs = members.number("runs", 0, kHuge);
  one.constants = constants_in(members.object("constants"), kDeviceRows);
  return one;
}

// A sample is a row: place, error, runs.
constexpr std::size_t kSampleColumns = kPlaceDimensions + 2;

ModelTensor tensor_of(const std::vector<Residual::Sample>& samples) {
  std::vector<double> numbers;
  for (const Residual::Sample& sample : samples) {
    numbers.insert(numbers.end(), sample.place.begin(), sample.place.end());
    numbers.push_back(sample.error);
    numbers.push_back(sample.runs);
  }
  return {kResidualTensor, {static_cast<std::int64_t>(samples.size()), kSampleColumns}, std::move(numbers)};
}

std::vector<Residual::Sample> samples_in(const ModelContainer& container, const std::string& who) {
  const std::span<const double> numbers = container.rows(kResidualTensor, kSampleColumns, kMostSamples, who);
  std::vector<Residual::Sample> samples;
  for (std::size_t at = 0; at < numbers.size(); at += kSampleColumns) {
    const std::span<const double> cells = numbers.subspan(at, kSampleColumns);
    Residual::Sample sample;
    std::copy_n(cells.begin(), kPlaceDimensions, sample.place.begin());
    sample.error = cells[kPlaceDimensions];
    sample.runs = cells[kPlaceDimensions + 1];
    if (std::any_of(cells.begin(), cells.end(), [](double x) { return !(std::abs(x) < kHuge); }) ||
        !(sample.runs >= 1))
      fail(ErrorKind::config, "'{}': row {} of tensor '{}' is out of bounds", who, samples.size(),
           kResidualTensor);
    samples.push_back(sample);
  }
  return samples;
}

}  // namespace

ModelContainer to_container(const TimeModel& model) {
  Json devices = Json::array();
  for (const DeviceModel& one : model.devices) devices.push_back(json_of_device(one));
  const Json description{
      {"runs", model.runs},
      {"networks", model.networks},
      {"shared", named(kSharedRows, model.shared)},
      {"devices", std::move(devices)},
      {"calibration", {{"known", model.calibration.known}, {"fresh", model.calibration.fresh}}},
      {"memory", {{"usable_share", model.memory.usable_share}, {"deviation", model.memory.deviation}}},
      {"use", Json::parse(use_to_json(model.use))}};
  ModelContainer container{kTimeModelSchema, kTimeModelVersion, description.dump(), use_tensors(model.use)};
  container.tensors.push_back(tensor_of(model.residual.samples()));
  return container;
}

TimeModel parse_time_model(const ModelContainer& container, const std::string& who) {
  want_schema(container, kTimeModelSchema, kTimeModelVersion, who);
  const JsonMembers members(container.description, who);
  TimeModel model;
  model.runs = members.number("runs", 0, kHuge);
  model.networks = members.texts("networks", kMostNetworks);
  model.shared = constants_in(members.object("shared"), kSharedRows);
  for (const JsonMembers& device : members.objects("devices", kMostDevices))
    model.devices.push_back(device_in(device));
  const JsonMembers calibration = members.object("calibration"), memory = members.object("memory");
  model.calibration = {calibration.number("known", 0, 10), calibration.number("fresh", 0, 10)};
  model.memory = {memory.number("usable_share", 0.01, 10), memory.number("deviation", 1e-6, 10)};
  model.residual = Residual(samples_in(container, who));
  model.use = parse_use(members.object("use"), container, who);
  return model;
}

void write_time_model(const TimeModel& model, const std::filesystem::path& path) {
  write_model_container(path, to_container(model));
}

TimeModel read_time_model(const std::filesystem::path& path) {
  return parse_time_model(read_model_container(path), path.string());
}

}  // namespace trainyard::predict
