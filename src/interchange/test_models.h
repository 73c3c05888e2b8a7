#pragma once

// For tests only.

#include "interchange/onnx_export.h"
#include "interchange/onnx_model.h"
#include "networks/zoo/zoo.h"

namespace trainyard::interchange {

inline std::string onnx_file_of(const networks::Model& model, const WeightSource& weights = nullptr) {
  std::string file;
  export_onnx(model.graph, model.logits, {.name = "test", .weights = weights},
              [&](std::string_view bytes) { file += bytes; });
  return file;
}

inline std::string onnx_file_of(const onnx::Model& model) {
  std::string file;
  onnx::write_model(model, [&](std::string_view bytes) { file += bytes; });
  return file;
}

inline onnx::Tensor float_tensor(const std::string& name, std::vector<std::int64_t> dims, float value = 0) {
  onnx::Tensor tensor;
  tensor.name = name;
  tensor.dtype = "f32";
  tensor.dims = std::move(dims);
  const auto elements = static_cast<std::size_t>(tensor.elements());
  tensor.content = [elements, value] {
    const std::vector<float> values(elements, value);
    std::vector<std::byte> bytes(elements * sizeof(float));
    std::memcpy(bytes.data(), values.data(), bytes.size());
    return bytes;
  };
  return tensor;
}

// x (batch, 3, 8, 8) -> Conv -> `middle` -> Flatten -> Gemm -> y (batch, 10)
inline onnx::Model small_onnx_model(const std::string& middle, std::int64_t batch = kUnknown) {
  onnx::Model model;
  model.producer = "test";
  model.graph_name = "small";
  model.ir_version = 7;
  model.opset = 13;
  model.inputs = {{"x", "", {true, {batch, 3, 8, 8}, "f32"}}};
  model.outputs = {{"y", "", {true, {batch, 10}, "f32"}}};
  model.initializers.push_back(float_tensor("w", {4, 3, 3, 3}));
  model.initializers.push_back(float_tensor("v", {10, 4 * 6 * 6}));
  model.initializers.push_back(float_tensor("b", {10}));
  model.nodes = {{.name = "conv", .type = "Conv", .domain = "", .inputs = {"x", "w"}, .outputs = {"c"}},
                 {.name = "middle", .type = middle, .domain = "", .inputs = {"c"}, .outputs = {"m"}},
                 {.name = "flat", .type = "Flatten", .domain = "", .inputs = {"m"}, .outputs = {"f"}},
                 {.name = "out",
                  .type = "Gemm",
                  .domain = "",
                  .inputs = {"f", "v", "b"},
                  .outputs = {"y"},
                  .attributes = {{.name = "transB", .kind = onnx::Attribute::Kind::integer, .integer = 1}}}};
  return model;
}

inline const char* small_graph_def() {
  return R"(# a convolution on a GPU
node { name: "images" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } }
       attr { key: "shape" value { shape { dim { size: 2 } dim { size: 8 } dim { size: 8 } dim { size: 3 } } } } }
node { name: 'kernel' op: "VariableV2" device: "/device:GPU:0" attr { key: "dtype" value { type: DT_FLOAT } }
       attr { key: "shape" value { shape { dim: [{ size: 3 }, { size: 3 }, { size: 3 }, { size: 16 }] } } } }
node { name: "momentum" op: "VariableV2" device: "/device:GPU:0" attr { key: "dtype" value { type: DT_FLOAT } }
       attr { key: "shape" value { shape { dim { size: 3 } dim { size: 3 } dim { size: 3 } dim { size: 16 } } } } }
node { name: "conv" op: "Conv2D" input: "images" input: "kernel" device: "/device:GPU:0"
       attr { key: "T" value { type: DT_FLOAT } }
       attr { key: "strides" value { list { i: 1 i: 2 i: 2 i: 1 } } }
       attr { key: "padding" value { s: "SAME" } } }
node < name: "relu"; op: "Relu", input: "conv:0" device: "/device:GPU:0" attr { key: "T" value { type: DT_FLOAT } } >
node { name: "sizes" op: "Const" attr { key: "dtype" value { type: DT_INT32 } }
       attr { key: "value" value { tensor { dtype: DT_INT32 tensor_shape { dim { size: 4 } }
              tensor_content: "\003\000\000\000\003\000\000\000\003\000\000\000\020\000\000\000" } } } }
node { name: "d_kernel" op: "Conv2DBackpropFilter" input: "images" input: "sizes" input: "relu" device: "/device:GPU:0"
       attr { key: "T" value { type: DT_FLOAT } } }
node { name: "apply" op: "ApplyMomentum" input: "kernel" input: "momentum" input: "d_kernel" device: "/device:GPU:0"
       attr { key: "T" value { type: DT_FLOAT } } }
node { name: "done" op: "NoOp" input: "^apply" }
versions { producer: 27 }
library { function { signature { name: "f" } } }
)";
}

}  // namespace trainyard::interchange
