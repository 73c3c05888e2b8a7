#include <span>

#include "fuzz/model_bytes.h"
#include "fuzz/targets.h"
#include "predict/analytic/time_model.h"

namespace trainyard::fuzz {
namespace {

void read_time_model_bytes(std::string_view bytes) {
  predict::parse_time_model(predict::parse_model_container(std::as_bytes(std::span(bytes)), "fuzz"), "fuzz");
}

}  // namespace

std::vector<std::string> time_model_seeds() {
  predict::TimeModel model;
  model.networks = {"lenet"};
  model.devices.push_back({{"here", 1e12, 1e11, 5e-6, 8e9, 20}, predict::first_of_device(), 1});
  model.shared_covariance = predict::covariances_of({}, 1).shared;
  model.devices[0].covariance = model.shared_covariance;
  model.residual = predict::Residual({{predict::Place{}, 0.1, 2}});
  model.use = predict::UseModel::fit({{predict::UsePlace{}, "here", {{"gpu_util", 0.9, 0.1, 0.5}}}}, nullptr);
  const predict::ModelContainer container = predict::to_container(model);
  return {bytes_of(container), container.description};
}

// Also as what a right header says of a model: past the container, which model_file looks at.
void fuzz_time_model(std::string_view bytes) {
  read_both("time_model", read_time_model_bytes, bytes);
  std::string header = R"({"schema":"trainyard-time-model","version":)" +
                       std::to_string(predict::kTimeModelVersion) + R"(,"model":)" + std::string(bytes) +
                       R"(,"tensors":[{"name":"residual","dtype":"f64","shape":[0,14],"crc32c":0},)"
                       R"({"name":"covariance","dtype":"f64","shape":[0,784],"crc32c":0},)"
                       R"({"name":"use_means","dtype":"f64","shape":[0,0],"crc32c":0},)"
                       R"({"name":"use","dtype":"f64","shape":[0,13],"crc32c":0}]})";
  expect_error_or_result("time_model", read_time_model_bytes, predict::with_model_header(header, 0));
}

}  // namespace trainyard::fuzz
