#include "networks/layers/layer.h"

#include <iterator>

namespace trainyard::networks::layers {

const std::vector<LayerRow>& layer_rows() {
  static const std::vector<LayerRow> kRows = [] {
    std::vector<LayerRow> joined;
    for (const auto family : {image_layers, plain_layers, sequence_layers, block_layers}) {
      std::vector<LayerRow> rows = family();
      joined.insert(joined.end(), std::make_move_iterator(rows.begin()), std::make_move_iterator(rows.end()));
    }
    return joined;
  }();
  return kRows;
}

const LayerRow* find_layer_row(std::string_view name) {
  for (const LayerRow& row : layer_rows())
    if (row.name == name) return &row;
  return nullptr;
}

}  // namespace trainyard::networks::layers
