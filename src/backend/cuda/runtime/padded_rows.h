#pragma once

#include "backend/kernel.h"

namespace trainyard::backend::cuda {

// Rows of a matrix that are not a multiple of 16 bytes apart keep the matrix units from their fast kernels. A
// wide one lies in blocks of 8 of its columns instead: as a plain matrix does, but with rows that are padded.
Layout padded_rows();

// Returns whether the rows of a matrix are so wide, and so placed, that padding them is worth it.
bool padding_pays(const graph::TensorType& type);

// Returns padded rows where the planner has them so already, else the natural layout.
Layout present_rows(const KernelRequest& request, int input);

// Returns the numbers from one row of a matrix to the next; its layout is plain or padded_rows().
std::int64_t row_stride(const Layout& layout, const Shape& shape);

}  // namespace trainyard::backend::cuda
