#pragma once

// Field numbers of the messages in ONNX's onnx.proto (IR version 8), as many as we read or write.
namespace trainyard::exchange::onnx::field {

namespace model {
inline constexpr unsigned ir_version = 1, producer_name = 2, producer_version = 3, graph = 7,
                          opset_import = 8;
}
namespace opset {
inline constexpr unsigned domain = 1, version = 2;
}
namespace graph {
inline constexpr unsigned node = 1, name = 2, initializer = 5, input = 11, output = 12, value_info = 13;
}
namespace node {
inline constexpr unsigned input = 1, output = 2, name = 3, op_type = 4, attribute = 5, domain = 7;
}
namespace attribute {
inline constexpr unsigned name = 1, f = 2, i = 3, s = 4, t = 5, floats = 7, ints = 8, type = 20;
inline constexpr unsigned is_float = 1, is_int = 2, is_string = 3, is_tensor = 4, is_floats = 6, is_ints = 7;
}  // namespace attribute
namespace tensor {
inline constexpr unsigned dims = 1, data_type = 2, float_data = 4, int32_data = 5, int64_data = 7, name = 8,
                          raw_data = 9, double_data = 10, doc_string = 12, external_data = 13;
}
namespace value_info {
inline constexpr unsigned name = 1, type = 2, doc_string = 3;
}
namespace type {
inline constexpr unsigned tensor_type = 1;
}
namespace tensor_type {
inline constexpr unsigned elem_type = 1, shape = 2;
}
namespace shape {
inline constexpr unsigned dim = 1;
}
namespace dim {
inline constexpr unsigned value = 1;
}

}  // namespace trainyard::exchange::onnx::field
