#include <cstdlib>
#include <cstring>

#include <gtest/gtest.h>

#include "study/slurm/cluster.h"
#include "study/slurm/launcher.h"

// The tests, or what job scripts call on a node: `study exec FOLDER SUBMISSION TASK`, `study collect FOLDER`.
int main(int argc, char** argv) {
  if (argc == 6 && std::strcmp(argv[2], "exec") == 0)
    return trainyard::study::slurm::run_task({argv[3]}, argv[4], std::atoi(argv[5]));
  if (argc == 4 && std::strcmp(argv[2], "collect") == 0)
    return trainyard::study::slurm::make_missing_records({argv[3]}, 1) < 0;
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
