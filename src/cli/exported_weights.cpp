#include "cli/exported_weights.h"

#include <charconv>
#include <map>
#include <memory>

#include "base/crc32c.h"
#include "base/error.h"
#include "base/file.h"
#include "base/mapped_file.h"
#include "engine/checkpoint.h"
#include "engine/initialise.h"

namespace trainyard::cli {
namespace {

std::vector<std::byte> first_content(const graph::Value& value, std::uint64_t seed) {
  std::vector<std::byte> content(static_cast<std::size_t>(value.type.bytes()));
  engine::fill(value.initializer, value.name, seed, value.type, Layout::plain(value.type.shape.rank()),
               content.data());
  return content;
}

class CheckpointWeights {
 public:
  explicit CheckpointWeights(const std::filesystem::path& folder)
      : path_(folder / "tensors.bin"), tensors_(path_) {
    const std::filesystem::path path = folder / "manifest.json";
    const std::vector<std::byte> text = read_file(path);
    engine::CheckpointManifest manifest =
        engine::parse_manifest({reinterpret_cast<const char*>(text.data()), text.size()}, path);
    for (engine::StoredTensor& tensor : manifest.tensors) stored_[tensor.name] = std::move(tensor);
    header_ = std::move(manifest.header);
  }

  // Sequences have the classes and the length that the parameters say.
  void describe(networks::ModelOptions& model) const {
    const networks::NetworkInfo& info = networks::find_network(model.network);
    if (header_.network != model.network)
      fail(ErrorKind::config, "'{}' is of network '{}', not '{}'", path_.string(), header_.network,
           model.network);
    for (const auto& [name, value] : header_.asked) {
      if (info.generator != nullptr)
        for (const networks::generator::Parameter& parameter : info.generator->parameters)
          if (parameter.name == name) model.parameters[name] = value;
      if (info.reads_sequences()) continue;
      if (name == "classes") std::from_chars(value.data(), value.data() + value.size(), model.classes);
      if (name == "input") model.input = Shape::parse(value);
    }
  }

  std::vector<std::byte> content(const graph::Value& value) const {
    const auto found = stored_.find(value.name);
    if (found == stored_.end())
      fail(ErrorKind::config, "'{}' has no tensor '{}': is it of this network?", path_.string(), value.name);
    const engine::StoredTensor& stored = found->second;
    if (!(stored.type == value.type))
      fail(ErrorKind::config, "'{}': tensor '{}' is {}, the network's {}", path_.string(), value.name,
           stored.type.to_string(), value.type.to_string());
    const std::int64_t bytes = value.type.bytes();
    if (stored.offset < 0 || stored.offset > tensors_.bytes() - bytes)
      fail(ErrorKind::config, "'{}' ends before tensor '{}'", path_.string(), value.name);
    const auto* first = reinterpret_cast<const std::byte*>(tensors_.data()) + stored.offset;
    if (crc32c(first, static_cast<std::size_t>(bytes)) != stored.crc32c)
      fail(ErrorKind::config, "'{}': the checksum of tensor '{}' does not agree", path_.string(), value.name);
    return {first, first + bytes};
  }

 private:
  std::filesystem::path path_;
  MappedFile tensors_;
  std::map<std::string, engine::StoredTensor> stored_;
  engine::CheckpointHeader header_;
};

}  // namespace

ExportedWeights exported_weights(const std::string& weights, std::uint64_t seed,
                                 networks::ModelOptions model) {
  if (weights == "none") return {nullptr, std::move(model)};
  if (weights == "initial")
    return {[seed](const graph::Value& value) { return first_content(value, seed); }, std::move(model)};
  std::filesystem::path folder = weights;
  if (!std::filesystem::exists(folder / "manifest.json")) {
    const std::optional<std::filesystem::path> latest =
        std::filesystem::is_directory(folder) ? engine::latest_checkpoint(folder) : std::nullopt;
    if (!latest)
      fail(ErrorKind::usage, "--weights '{}': wants none, initial, a checkpoint or a folder of them",
           weights);
    folder = *latest;
  }
  const auto checkpoint = std::make_shared<CheckpointWeights>(folder);
  checkpoint->describe(model);
  return {[checkpoint](const graph::Value& value) { return checkpoint->content(value); }, std::move(model)};
}

}  // namespace trainyard::cli
