#include "study/local_launcher.h"

#include "study/supervise.h"

namespace trainyard::study {

void LocalLauncher::run(std::span<const Job> jobs, const Finished& finished, const Stop& stop) {
  for (const Job& job : jobs) {
    if (stop()) return;
    finished(supervise(job, folder_, stop));
  }
}

}  // namespace trainyard::study
