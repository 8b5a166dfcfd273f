#include "tessera/app/device/facts.h"

#include <nlohmann/json.hpp>

#include "tessera/base/error.h"
#include "tessera/device/device.h"

namespace tessera::app {

namespace {

/// Returns why kernels could not run on a device; empty where they could.
std::string error_of_kernels(const device::Driver& driver, int number) {
  try {
    const device::Device in_use(driver, number);
    const device::Kernels kernels(in_use, device::folder_of_program());
    return "";
  } catch (const RunError& error) {
    return error.what();
  }
}

}  // namespace

std::string devices_to_json() {
  nlohmann::ordered_json found = {{"error", ""}, {"cuda", ""}, {"devices", nlohmann::ordered_json::array()}};
  try {
    const device::Driver driver;
    found["cuda"] = device::text_of_cuda(driver.cuda());
    for (int number = 0; number < driver.n_devices(); ++number) {
      const auto facts = device::facts_of_device(driver, number);
      found["devices"].push_back({{"name", facts.name},
                                  {"capability", facts.capability()},
                                  {"bytes", facts.bytes},
                                  {"error", error_of_kernels(driver, number)}});
    }
  } catch (const RunError& error) {
    found["error"] = error.what();
  }
  return found.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace tessera::app
