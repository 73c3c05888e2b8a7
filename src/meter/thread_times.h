#pragma once

#include <string>
#include <vector>

#include "meter/system_files.h"

namespace trainyard::meter {

// CPU time of the threads of this process that live now, by their names; threads of one name are counted
// together. It comes in steps of 10 ms.
struct ThreadTimes {
  std::string name;
  int threads = 0;
  double user_seconds = 0, system_seconds = 0;
};
std::vector<ThreadTimes> read_thread_times(const SystemFiles& files = SystemFiles());

// The calling thread's name, in that list and in debuggers; at most 15 letters.
void name_thread(const char* name);

}  // namespace trainyard::meter
