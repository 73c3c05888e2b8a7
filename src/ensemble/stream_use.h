#pragma once

#include "ensemble/fill_log.h"
#include "meter/cpu.h"
#include "record/run_record.h"

namespace trainyard::ensemble {

// StreamUse holds the resources that a process used while it took part in the stream.
struct StreamUse {
  meter::CpuUse cpu;
  std::vector<meter::ThreadTimes> threads;  // since they began
};

StreamUse use_since(const meter::CpuSnapshot& before);

// Adds the use, and how full the process's queues were meanwhile, to the record; ends the log.
void add_use(record::RunRecord& run, const StreamUse& use, FillLog& log);

}  // namespace trainyard::ensemble
