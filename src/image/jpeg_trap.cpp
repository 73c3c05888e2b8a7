#include "image/jpeg_trap.h"

#include <jerror.h>

namespace trainyard::image {
namespace {

void give_up(j_common_ptr info) {
  auto* trap = reinterpret_cast<JpegTrap*>(info->err);
  info->err->format_message(info, trap->message);
  std::longjmp(trap->jump, 1);
}

// Cameras and editors write such files, and every pixel of them is there.
bool is_harmless(int code) {
  return code == JWRN_EXTRANEOUS_DATA || code == JWRN_ADOBE_XFORM || code == JWRN_JFIF_MAJOR ||
         code == JWRN_BOGUS_ICC;
}

void judge(j_common_ptr info, int level) {
  if (level < 0 && !is_harmless(info->err->msg_code)) give_up(info);
}

}  // namespace

jpeg_error_mgr* arm(JpegTrap& trap) {
  jpeg_std_error(&trap.manager);
  trap.manager.error_exit = give_up;
  trap.manager.emit_message = judge;
  return &trap.manager;
}

}  // namespace trainyard::image
