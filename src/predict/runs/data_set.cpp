#include "predict/runs/data_set.h"

#include <cctype>

namespace trainyard::predict {

// ImageNet is the part of it on which GPUAlloc's published campaign trained.
const std::vector<DataSetSheet>& known_data_sets() {
  static const std::vector<DataSetSheet> known = {{"cifar10", 50000, 11, {3, 32, 32}},
                                                  {"cifar100", 50000, 101, {3, 32, 32}},
                                                  {"imagenet", 64058, 1001, {3, 224, 224}},
                                                  {"mnist", 60000, 11, {1, 28, 28}}};
  return known;
}

const DataSetSheet* find_data_set(std::string_view name) {
  const std::string wanted = squeezed(name);
  for (const DataSetSheet& sheet : known_data_sets())
    if (wanted == sheet.name) return &sheet;
  return nullptr;
}

std::string squeezed(std::string_view name) {
  std::string plain;
  for (const char c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) != 0)
      plain += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return plain;
}

}  // namespace trainyard::predict
