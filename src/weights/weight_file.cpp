#include "weights/weight_file.h"

#include "weights/safetensors.h"
#include "weights/state_dict.h"

namespace trainyard::weights {
namespace {

struct Row {
  const char* end;
  Format format;
};
constexpr Row kRows[] = {{".safetensors", Format::safetensors},
                         {".pt", Format::state_dict},
                         {".pth", Format::state_dict},
                         {".pkl", Format::state_dict}};

std::vector<Tensor> parse(const MappedFile& file, const std::filesystem::path& path) {
  const std::optional<Format> format = format_of(path);
  if (!format)
    fail(ErrorKind::usage, "'{}': the name of a file of weights ends with .onnx, .safetensors, .pt or .pth",
         path.string());
  const std::span content(reinterpret_cast<const std::byte*>(file.data()),
                          static_cast<std::size_t>(file.bytes()));
  return *format == Format::safetensors ? parse_safetensors(content, path.string())
                                        : parse_state_dict(content, path.string());
}

}  // namespace

std::optional<Format> format_of(const std::filesystem::path& path) {
  for (const Row& row : kRows)
    if (path.extension() == row.end) return row.format;
  return std::nullopt;
}

WeightFile::WeightFile(const std::filesystem::path& path) : file_(path), tensors_(parse(file_, path)) {}

}  // namespace trainyard::weights
