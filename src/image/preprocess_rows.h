#pragma once

#include <memory>

#include "image/preprocess.h"

// One file each; make_preprocessor has checked the options.
namespace trainyard::image {

std::unique_ptr<const Preprocessor> make_inception(const PreprocessOptions& options);
std::unique_ptr<const Preprocessor> make_vgg(const PreprocessOptions& options);
std::unique_ptr<const Preprocessor> make_cifarnet(const PreprocessOptions& options);
std::unique_ptr<const Preprocessor> make_lenet(const PreprocessOptions& options);

}  // namespace trainyard::image
