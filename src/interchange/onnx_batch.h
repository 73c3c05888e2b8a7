#pragma once

#include "interchange/onnx_model.h"

namespace trainyard::interchange {

// Gives a model that was written for one batch an open one, where reshapes alone have the batch in their
// constants: a first dimension becomes that of what is reshaped, or follows from the others. `batch` is the
// file's. Other constants that have it stay, and the model is then of that batch.
void open_reshapes(onnx::Model& model, std::int64_t batch);

}  // namespace trainyard::interchange
