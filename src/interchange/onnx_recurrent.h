#pragma once

#include "ops/sequence/recurrent.h"

namespace trainyard::interchange {

// A cell of ours, and the operator of ONNX that is the same.
struct CellRow {
  ops::RecurrentCell cell;
  const char* type;
  // Lists the block of ours at each place of ONNX's: i, f, g, o -> i, o, f, g and r, z, n -> z, r, n.
  std::vector<std::size_t> blocks;
};

const CellRow& row_of(ops::RecurrentCell cell);
const CellRow* find_cell_row(std::string_view type);  // nullptr where there is none

}  // namespace trainyard::interchange
