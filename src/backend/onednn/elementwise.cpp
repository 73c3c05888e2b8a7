#include "backend/onednn/elementwise.h"

namespace trainyard::backend::onednn {

KernelIo follow_io(const KernelRequest& request, int leader, std::vector<std::pair<int, int>> in_place) {
  KernelIo io = plain_io(request.node);
  for (Layout& layout : io.inputs) layout = request.input_or_plain(leader);
  for (Layout& layout : io.outputs) layout = request.input_or_plain(leader);
  io.in_place = std::move(in_place);
  return io;
}

}  // namespace trainyard::backend::onednn
