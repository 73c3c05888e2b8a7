#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

// The fuzz targets. Each function accepts any bytes and returns; a defect of ours stops the process.
namespace trainyard::fuzz {

void fuzz_onnx(std::string_view bytes);
void fuzz_graph_def(std::string_view bytes);
void fuzz_graph_def_wire(std::string_view bytes);
void fuzz_dot(std::string_view bytes);
void fuzz_kernel_model(std::string_view bytes);
void fuzz_model_file(std::string_view bytes);
void fuzz_network_yaml(std::string_view bytes);
void fuzz_safetensors(std::string_view bytes);
void fuzz_state_dict(std::string_view bytes);
void fuzz_study_file(std::string_view bytes);
void fuzz_time_model(std::string_view bytes);

// Files to begin from.
std::vector<std::string> onnx_seeds();
std::vector<std::string> graph_def_seeds();
std::vector<std::string> graph_def_wire_seeds();
std::vector<std::string> dot_seeds();
std::vector<std::string> kernel_model_seeds();
std::vector<std::string> model_file_seeds();
std::vector<std::string> network_yaml_seeds();
std::vector<std::string> safetensors_seeds();
std::vector<std::string> state_dict_seeds();
std::vector<std::string> study_file_seeds();
std::vector<std::string> time_model_seeds();

struct Target {
  const char* name;
  void (*run)(std::string_view);
  std::vector<std::string> (*seeds)();
};
inline const Target kTargets[] = {{"onnx", fuzz_onnx, onnx_seeds},
                                  {"graph_def", fuzz_graph_def, graph_def_seeds},
                                  {"graph_def_wire", fuzz_graph_def_wire, graph_def_wire_seeds},
                                  {"dot", fuzz_dot, dot_seeds},
                                  {"kernel_model", fuzz_kernel_model, kernel_model_seeds},
                                  {"model_file", fuzz_model_file, model_file_seeds},
                                  {"network_yaml", fuzz_network_yaml, network_yaml_seeds},
                                  {"safetensors", fuzz_safetensors, safetensors_seeds},
                                  {"state_dict", fuzz_state_dict, state_dict_seeds},
                                  {"study_file", fuzz_study_file, study_file_seeds},
                                  {"time_model", fuzz_time_model, time_model_seeds}};

// Runs `read`; an Error of the caller's is fine when it is one line, anything else is thrown on.
void expect_error_or_result(const char* target, void (*read)(std::string_view), std::string_view bytes);

}  // namespace trainyard::fuzz
