#include "run/start_weights.h"

#include "base/crc32c.h"
#include "base/file.h"
#include "engine/checkpoint.h"
#include "interchange/given_weights.h"

namespace trainyard::run {
namespace {

namespace fs = std::filesystem;
using interchange::OfferedWeights;

// The parameters and statistics of a checkpoint, whose content stays mapped.
class CheckpointContent {
 public:
  explicit CheckpointContent(const fs::path& checkpoint)
      : file_(checkpoint / "tensors.bin"),
        who_(checkpoint.string()),
        manifest_(engine::read_manifest(checkpoint)) {
    if (file_.bytes() != manifest_.tensors_bytes)
      fail(ErrorKind::config, "'{}': tensors.bin has {} bytes, {} expected", who_, file_.bytes(),
           manifest_.tensors_bytes);
  }

  const std::vector<engine::StoredTensor>& tensors() const { return manifest_.tensors; }

  std::vector<double> numbers(const engine::StoredTensor& tensor) const {
    const std::int64_t bytes = tensor.type.bytes();
    if (tensor.offset < 0 || bytes > file_.bytes() || tensor.offset > file_.bytes() - bytes)
      fail(ErrorKind::config, "'{}' ends before tensor '{}'", who_, tensor.name);
    const auto* first = file_.data() + tensor.offset;
    if (crc32c(first, static_cast<std::size_t>(bytes)) != tensor.crc32c)
      fail(ErrorKind::config, "'{}' is damaged: checksum mismatch in tensor '{}'", who_, tensor.name);
    std::vector<float> content(static_cast<std::size_t>(tensor.type.shape.elements()));
    std::memcpy(content.data(), first, static_cast<std::size_t>(bytes));
    return {content.begin(), content.end()};
  }

 private:
  MappedFile file_;
  std::string who_;
  engine::CheckpointManifest manifest_;
};

OfferedWeights offered_by_checkpoint(const fs::path& checkpoint) {
  const auto content = std::make_shared<const CheckpointContent>(checkpoint);
  OfferedWeights offered{checkpoint.string(), true, {}};
  for (const engine::StoredTensor& tensor : content->tensors()) {
    if (tensor.role == graph::Role::optimizer_state || tensor.type.dtype != DType::f32) continue;
    offered.tensors.push_back({tensor.name,
                               name(tensor.type.dtype),
                               {tensor.type.shape.begin(), tensor.type.shape.end()},
                               [content, &tensor] { return content->numbers(tensor); }});
  }
  return offered;
}

OfferedWeights offered_by(const fs::path& from) {
  std::error_code code;
  if (fs::exists(from / "manifest.json", code)) return offered_by_checkpoint(from);
  if (!fs::is_directory(from, code)) return interchange::read_offered_weights(from);
  const std::optional<fs::path> latest = engine::latest_checkpoint(from);
  if (!latest)
    fail(ErrorKind::usage, "{} '{}': there is no checkpoint in this folder", Setting{"weights"},
         from.string());
  return offered_by_checkpoint(*latest);
}

}  // namespace

std::string give_weights(const RunOptions& options, const networks::NetworkFile* network_file,
                         train::SessionOptions& session) {
  const fs::path& from = options.weights;
  if (from.empty() && options.partial_weights)
    fail(ErrorKind::usage, "{} wants {}", Setting{"partial_weights"}, Setting{"weights"});
  if (from.empty() && !(options.new_head && network_file != nullptr)) return "";
  if (options.mode == "decode") return "";
  // A network that got another number of classes is another file's, so to say.
  const auto resized = network_file != nullptr && session.model.classes != 0 &&
                               session.model.classes != network_file->info.classes
                           ? network_file->with_classes(session.model.classes)
                           : nullptr;
  if (resized) network_file = resized.get();
  const interchange::GivenWeights given =
      from.empty()
          ? interchange::renew_head(session.model, *network_file)
          : interchange::match_weights(session.model, network_file, offered_by(from),
                                       {.new_head = options.new_head, .partial = options.partial_weights});
  networks::StartWeights start = *given.start;
  if (!from.empty()) start.from = from.string();  // of a folder of checkpoints, not which one of them
  session.model.start = std::make_shared<const networks::StartWeights>(std::move(start));
  return given.note;
}

std::string give_weights(const RunOptions& options, train::SessionOptions& session) {
  return give_weights(options, networks::imported_file(options.network).get(), session);
}

void check_no_frozen(const RunOptions& options, const std::string& mode) {
  if (!options.freeze.empty())
    fail(ErrorKind::usage,
         "{} {}: parameter servers ({}) update all that they keep; {} single, towers-device, towers-host, "
         "allreduce and independent leave parameters as they are",
         Setting{"freeze"}, options.freeze, mode, Setting{"strategy"});
}

}  // namespace trainyard::run
