// Serial NetCDF write (SNCW) of Todorov et al.: the master writes through the NetCDF library, all others send to it in
// turn.
#include <fmt/format.h>
#include <netcdf.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/error.h"
#include "tessera/base/files/descriptor.h"
#include "tessera/io/write/formats/netcdf.h"
#include "tessera/io/write/new_file.h"
#include "tessera/programs/io/libraries/library_file.h"
#include "tessera/programs/io/library_methods.h"

namespace tessera::programs {

namespace {

using io::write::Atoms;
using io::write::WriteJob;
namespace netcdf = io::write::netcdf;

/// A file of the library in a layout of ours.
class LibraryFile {
 public:
  LibraryFile(const std::string& path, const netcdf::Layout& layout, std::int64_t buffer)
      : path_(path), is_double_(layout.variables.back().type == netcdf::Type::real64) {
    auto hint = static_cast<std::size_t>(buffer);
    const int version = layout.version == netcdf::Version::cdf5 ? NC_64BIT_DATA : NC_64BIT_OFFSET;
    check(nc__create(path.c_str(), NC_CLOBBER | version, 0, &hint, &id_));
    is_open_ = true;
    int ignored = 0;
    check(nc_set_fill(id_, NC_NOFILL, &ignored));
    for (const auto& one : layout.dimensions)
      check(nc_def_dim(id_, one.name.c_str(), static_cast<std::size_t>(one.length), &ignored));  // 0: NC_UNLIMITED
    add(NC_GLOBAL, layout.attributes);
    for (const auto& one : layout.variables) {
      check(nc_def_var(id_, one.name.c_str(), static_cast<int>(one.type), static_cast<int>(one.dimensions.size()),
                       one.dimensions.data(), &last_));
      add(last_, one.attributes);
    }
    check(nc_enddef(id_));
    for (int i = 0; i < last_; ++i) {
      const auto& one = layout.variables[static_cast<std::size_t>(i)];
      if (!one.text.empty()) check(nc_put_var_text(id_, i, one.text.c_str()));
      constexpr std::size_t start[] = {0, 0};
      const std::size_t count[] = {1, one.numbers.size()};
      if (!one.numbers.empty()) check(nc_put_vara_double(id_, i, start, count, one.numbers.data()));
    }
  }
  LibraryFile(const LibraryFile&) = delete;
  LibraryFile& operator=(const LibraryFile&) = delete;
  ~LibraryFile() {
    if (is_open_) nc_abort(id_);
  }

  void write(const Atoms& atoms, std::int64_t first) {
    const std::size_t start[] = {0, static_cast<std::size_t>(first), 0}, count[] = {1, atoms.size(), 3};
    if (is_double_)
      check(nc_put_vara_double(id_, last_, start, count, coordinates(atoms, doubles_)));
    else
      check(nc_put_vara_float(id_, last_, start, count, coordinates(atoms, floats_)));
  }

  void close() {
    is_open_ = false;
    check(nc_close(id_));
  }

 private:
  void check(int status) const {
    if (status == NC_NOERR) return;
    throw RunError(fmt::format("{}: can't write to the file by the NetCDF library: {}", path_,
                               status > 0 ? system_error_text(status) : nc_strerror(status)));
  }

  void add(int variable, const std::vector<netcdf::Attribute>& attributes) const {
    for (const auto& one : attributes)
      check(nc_put_att_text(id_, variable, one.name.c_str(), one.text.size(), one.text.c_str()));
  }

  std::string path_;
  bool is_double_;
  int id_ = 0, last_ = 0;
  bool is_open_ = false;
  std::vector<float> floats_;
  std::vector<double> doubles_;
};

void write(WriteJob& job) {
  io::write::NewFile file(job);
  std::optional<LibraryFile> open;
  if (job.mine())
    job.attempt([&] {
      const auto layout = netcdf::layout(job.frame(), job.n_atoms(), *io::write::netcdf_type(job.format()));
      open.emplace(file.temporary_path(), layout, job.options().buffer);
    });
  job.take_in_turn([&](const Atoms& atoms, std::int64_t first) {
    if (job.mine()) job.attempt([&] { open->write(atoms, first); });
  });
  if (job.mine())
    job.attempt([&] {
      open->close();
      file.open().synchronize();
    });
  file.commit();
}

const io::write::Method method{
    "sncw", "serial NetCDF: the master writes by the NetCDF library, others send in turn",
    [](const io::write::Format& format) { return io::write::netcdf_type(format).has_value(); }, io::write::plan_root,
    write};

const io::write::Method* const methods[] = {&method};

}  // namespace

std::span<const io::write::Method* const> library_methods() { return methods; }

}  // namespace tessera::programs
