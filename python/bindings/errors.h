// The classes of tessera/errors.py for our errors: what a module raises is what users catch.
#pragma once

#include <nanobind/nanobind.h>

#include <exception>

#include "tessera/base/error.h"
#include "tessera/comm/job.h"

/// Makes a module raise them. Each module calls it once.
inline void register_errors() {
  nanobind::register_exception_translator(
      [](const std::exception_ptr& raised, void*) {
        const auto raise = [](const char* name, const std::exception& error) {
          const auto type = nanobind::module_::import_("tessera.errors").attr(name);
          PyErr_SetString(type.ptr(), tessera::comm::printable(error.what()).c_str());
        };
        try {
          std::rethrow_exception(raised);
        } catch (const tessera::InputError& error) {
          raise("InputError", error);
        } catch (const tessera::RunError& error) {
          raise("RunError", error);
        }
      },
      nullptr);
}
