#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdio>
#include <map>
#include <memory>
#include <string_view>

#include "emulator/machine.hpp"

namespace hopper_gemm::emulator {
namespace {

// "matmul/src/ladder/x.cu:12 (discriminator 3)" becomes "src/ladder/x.cu:12".
std::string project_line(std::string_view line) {
  line = line.substr(0, line.find(" (discriminator"));
  constexpr std::string_view kRoot = HG_SOURCE_ROOT "/";
  if (line.starts_with(kRoot)) line.remove_prefix(kRoot.size());
  return std::string(line);
}

std::string look_up(const void* pc) {
  Dl_info object{};
  if (dladdr(pc, &object) == 0 || object.dli_fname == nullptr) return "an unknown place";
  // The address is that of the instruction after the call.
  const auto offset =
      static_cast<const unsigned char*>(pc) - static_cast<const unsigned char*>(object.dli_fbase) - 1;
  const std::string command = fmt::format("addr2line -i -e '{}' {:#x} 2>/dev/null", object.dli_fname, offset);
  // NOLINTNEXTLINE(bugprone-command-processor): the path is that of a loaded library
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  std::string places;
  char line[1024];
  while (pipe != nullptr && std::fgets(line, sizeof(line), pipe.get()) != nullptr) {
    std::string_view text(line);
    if (text.ends_with('\n')) text.remove_suffix(1);
    const std::string place = project_line(text);
    if (place.find("src/emulator/") != std::string::npos) continue;
    places += (places.empty() ? "" : ", called at ") + place;
  }
  if (places.empty() || places.starts_with("??")) {
    return fmt::format("{}+{:#x} (addr2line of binutils would name the line)", object.dli_fname, offset);
  }
  return places;
}

}  // namespace

std::string where(const void* pc) {
  static std::map<const void*, std::string> known;
  const auto [place, is_new] = known.try_emplace(pc);
  if (is_new) place->second = look_up(pc);
  return place->second;
}

std::string of_launch(const Launch& launch) {
  return machine.has_several_launches() ? fmt::format(" of launch {}", launch.ordinal) : "";
}

std::string who(const Thread& thread) {
  std::string role;
  for (const Thread& other : thread.cta->threads) {
    if (other.warpgroup != thread.warpgroup) continue;
    if (other.multiplied) role = "consumer";
    if (other.loaded && role.empty()) role = "producer";
  }
  if (thread.role != nullptr) role = thread.role;
  return fmt::format("thread {} of CTA {}{} (warpgroup {}{}{}{})", thread.number, thread.cta->index.x,
                     of_launch(*thread.cta->launch), thread.warpgroup->number, role.empty() ? "" : ", ", role,
                     thread.stage >= 0 ? fmt::format(", last at stage {}", thread.stage) : "");
}

}  // namespace hopper_gemm::emulator
