#include "data/labels.h"

#include "base/error.h"

namespace trainyard::data {

void check_labels(std::span<const std::int32_t> labels, int classes, const std::filesystem::path& file) {
  for (std::size_t i = 0; i < labels.size(); ++i)
    if (labels[i] < 0 || labels[i] >= classes)
      fail(ErrorKind::config, "'{}': label {} of image {} is out of range, 0 to {} expected", file.string(),
           labels[i], i, classes - 1);
}

}  // namespace trainyard::data
