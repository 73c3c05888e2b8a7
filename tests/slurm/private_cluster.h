#pragma once

#include <sys/types.h>

#include <string>

#include "base/test_folder.h"

namespace trainyard::slurm_test {

// A whole Slurm of this machine: munge, a controller that keeps a file of completed jobs, and two nodes of
// four CPUs each: n1 with four GPUs of type k80, n2 with two of type p100 (plain files, no devices).
// Partitions: shared, and exclusive, which hands out whole nodes. It has its own folder and ports and may
// stand beside another one. SLURM_CONF points to it while it lives. However this process ends, nothing of it
// stays.
class PrivateCluster {
 public:
  // Returns the reason why none can be started here; "" when one can.
  static std::string obstacle();

  PrivateCluster();  // waits until both nodes are ready; throws what its logs say when they never are
  ~PrivateCluster();
  PrivateCluster(const PrivateCluster&) = delete;
  PrivateCluster& operator=(const PrivateCluster&) = delete;

  std::filesystem::path folder() const { return folder_.path(); }

 private:
  void write_configuration() const;

  TestFolder folder_;
  pid_t keeper_ = -1;
  int lifeline_ = -1;  // the keeper ends everything when the other end closes
};

}  // namespace trainyard::slurm_test
