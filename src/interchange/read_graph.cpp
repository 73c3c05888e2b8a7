#include "interchange/read_graph.h"

#include "base/file.h"
#include "interchange/dot.h"
#include "interchange/graph_def.h"
#include "interchange/text_format.h"

namespace trainyard::interchange {

const char* name(Format format) {
  switch (format) {
    case Format::onnx:
      return "ONNX";
    case Format::graph_def:
      return "TensorFlow GraphDef";
    case Format::dot:
      return "DOT";
  }
  return "";
}

std::optional<Format> format_of(const std::filesystem::path& path) {
  const std::string end = path.extension().string();
  if (end == ".onnx") return Format::onnx;
  if (end == ".pbtxt" || end == ".pb") return Format::graph_def;
  if (end == ".dot" || end == ".gv") return Format::dot;
  return std::nullopt;
}

GraphFile read_graph_file(const std::filesystem::path& path, const OnnxImportOptions& options) {
  const std::optional<Format> format = format_of(path);
  if (!format)
    fail(ErrorKind::usage, "'{}': the name of a graph ends with .onnx, .pb, .pbtxt, .dot or .gv",
         path.string());
  const MappedFile file(path);
  const std::string who = fmt::format("'{}'", path.string());
  const bool is_text = *format != Format::onnx && path.extension() != ".pb";
  const std::int64_t most = is_text ? kMaxTextBytes : kMaxFileBytes;
  if (file.bytes() > most) fail(ErrorKind::config, "{}: {} bytes, at most {}", who, file.bytes(), most);
  const std::string_view content(reinterpret_cast<const char*>(file.data()),
                                 static_cast<std::size_t>(file.bytes()));
  GraphFile result;
  result.format = *format;
  if (*format == Format::onnx) {
    result.network = import_onnx(onnx::read_model(content, who), options, who);
    result.graph = result.network->exchange;
  } else if (*format == Format::dot) {
    result.graph = read_dot(content, who);
  } else if (is_text) {
    result.graph = read_graph_def(content, who, options.batch);
  } else {
    result.graph = read_graph_def(text_of_graph_def(content, who), who, options.batch);
  }
  if (result.graph.name.empty()) result.graph.name = path.stem().string();
  return result;
}

}  // namespace trainyard::interchange
