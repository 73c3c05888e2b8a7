// The container of models through the readers of every kind: what one refuses as another's, its own takes.

#include <span>

#include "fuzz/model_bytes.h"
#include "fuzz/targets.h"
#include "predict/analytic/time_model.h"
#include "predict/gnn/run_model.h"
#include "predict/kernels/kernel_model.h"

namespace trainyard::fuzz {
namespace {

void read_container(std::string_view bytes) {
  predict::parse_model_container(std::as_bytes(std::span(bytes)), "fuzz");
}

void read_graph_model(std::string_view bytes) {
  predict::parse_model(predict::parse_model_file(
                           predict::parse_model_container(std::as_bytes(std::span(bytes)), "fuzz"), "fuzz"),
                       "fuzz");
}

void read_graph_run_model(std::string_view bytes) {
  predict::parse_graph_run_model(predict::parse_model_container(std::as_bytes(std::span(bytes)), "fuzz"),
                                 "fuzz");
}

void read_time_model(std::string_view bytes) {
  predict::parse_time_model(predict::parse_model_container(std::as_bytes(std::span(bytes)), "fuzz"), "fuzz");
}

void read_kernel_model(std::string_view bytes) {
  predict::parse_kernel_model(predict::parse_model_container(std::as_bytes(std::span(bytes)), "fuzz"),
                              "fuzz");
}

}  // namespace

std::vector<std::string> model_file_seeds() {
  predict::ModelFile model{.schema = "gnn", .settings = {{"rounds", "3"}}, .tensors = {}};
  model.tensors.push_back({.name = "weight", .shape = {2, 3}, .numbers = {1, 2, 3, 4, 5, 6}});
  return {bytes_of(predict::to_container(model)), bytes_of(predict::to_container(predict::TimeModel{}))};
}

void fuzz_model_file(std::string_view bytes) {
  for (const auto read :
       {read_container, read_graph_model, read_graph_run_model, read_time_model, read_kernel_model})
    read_both("model_file", read, bytes);
}

}  // namespace trainyard::fuzz
