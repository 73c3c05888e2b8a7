#include "predict/use_model_file.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "base/error.h"

namespace trainyard::predict {
namespace {

constexpr std::size_t kMostUseDevices = 1000, kMostShares = 64;
constexpr const char *kMeansTensor = "use_means", *kWeightsTensor = "use";

// A row over all devices, then one for each.
ModelTensor means_tensor(const UseModel& use) {
  std::vector<double> numbers;
  for (const UseModel::DeviceMeans& one : use.means())
    numbers.insert(numbers.end(), one.shares.begin(), one.shares.end());
  return {kMeansTensor,
          {static_cast<std::int64_t>(use.means().size()), static_cast<std::int64_t>(use.outputs().size())},
          std::move(numbers)};
}

// A row is a place and the weights of the outputs there.
ModelTensor weights_tensor(const UseModel& use) {
  std::vector<double> numbers;
  for (const UseModel::Row& row : use.rows()) {
    numbers.insert(numbers.end(), row.place.begin(), row.place.end());
    numbers.insert(numbers.end(), row.weights.begin(), row.weights.end());
  }
  return {kWeightsTensor,
          {static_cast<std::int64_t>(use.rows().size()),
           static_cast<std::int64_t>(kUseDimensions + use.outputs().size())},
          std::move(numbers)};
}

}  // namespace

std::string use_to_json(const UseModel& use) {
  std::vector<std::string> resources, shares, devices;
  for (const UseModel::Output& output : use.outputs()) {
    resources.push_back(output.resource);
    shares.push_back(output.peak ? "peak" : "burst");
  }
  for (std::size_t i = 1; i < use.means().size(); ++i) devices.push_back(use.means()[i].device);
  return nlohmann::ordered_json{{"resources", resources}, {"shares", shares}, {"devices", devices}}.dump();
}

std::vector<ModelTensor> use_tensors(const UseModel& use) { return {means_tensor(use), weights_tensor(use)}; }

UseModel parse_use(const JsonMembers& members, const ModelContainer& container, const std::string& who) {
  const std::vector<std::string> resources = members.texts("resources", kMostShares),
                                 shares = members.texts("shares", kMostShares),
                                 devices = members.texts("devices", kMostUseDevices);
  if (shares.size() != resources.size()) members.refuse("shares", "one for each of 'resources'");
  const std::size_t count = resources.size(), columns = kUseDimensions + count;
  std::vector<UseModel::Output> outputs;
  for (std::size_t o = 0; o < count; ++o) {
    if (shares[o] != "burst" && shares[o] != "peak") members.refuse("shares", "burst or peak");
    outputs.push_back({resources[o], shares[o] == "peak"});
  }
  const auto means = container.rows(kMeansTensor, static_cast<std::int64_t>(count),
                                    static_cast<std::int64_t>(kMostUseDevices + 1), who);
  const auto weights = container.rows(kWeightsTensor, static_cast<std::int64_t>(columns),
                                      static_cast<std::int64_t>(kMostUseRows), who);
  if (count == 0) return {};
  if (means.size() != (devices.size() + 1) * count ||
      std::any_of(means.begin(), means.end(), [](double share) { return !(share >= 0 && share <= 1); }))
    fail(ErrorKind::config, "'{}': tensor '{}' wants {} rows of shares from 0 to 1", who, kMeansTensor,
         devices.size() + 1);
  std::vector<UseModel::DeviceMeans> of_devices;
  for (std::size_t d = 0; d <= devices.size(); ++d) {
    const auto row = means.subspan(d * count, count);
    of_devices.push_back({d == 0 ? "" : devices[d - 1], {row.begin(), row.end()}});
  }
  std::vector<UseModel::Row> rows;
  for (std::size_t at = 0; at < weights.size(); at += columns) {
    const auto row = weights.subspan(at, columns);
    rows.push_back({{}, {row.begin() + kUseDimensions, row.end()}});
    std::copy_n(row.begin(), kUseDimensions, rows.back().place.begin());
  }
  return {std::move(outputs), std::move(of_devices), std::move(rows)};
}

}  // namespace trainyard::predict
