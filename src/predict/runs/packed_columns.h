#pragma once

#include <span>

#include "base/standard.h"

namespace trainyard::predict {

// Packs rows of `columns` numbers without loss, each column as its different numbers and where they stand.
// Columns of measurements hold few different ones, so that a file takes a tenth of the numbers themselves.
// REQUIRES: whole rows; no NaN.
std::vector<std::byte> pack_columns(std::span<const double> numbers, std::size_t columns);

// Returns the rows again. Throws std::invalid_argument where the bytes are no such rows.
std::vector<double> unpack_columns(std::span<const std::byte> packed, std::size_t rows, std::size_t columns);

}  // namespace trainyard::predict
