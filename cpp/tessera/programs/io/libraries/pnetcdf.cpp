// Parallel NetCDF: all ranks write through PnetCDF (Li et al.), which makes collective calls of MPI-IO.
#include <fmt/format.h>
#include <mpi.h>
#include <pnetcdf.h>

#include <optional>
#include <string>
#include <vector>

#include "tessera/base/error.h"
#include "tessera/io/write/formats/netcdf.h"
#include "tessera/programs/io/libraries/library_file.h"
#include "tessera/programs/io/library_methods.h"

namespace tessera::programs {

namespace {

using io::write::Atoms;
using io::write::WriteJob;
namespace netcdf = io::write::netcdf;

/// A file of the library in a layout of ours. All functions are collective.
class LibraryFile {
 public:
  LibraryFile(std::string path, const netcdf::Layout& layout, bool is_root)
      : path_(std::move(path)), is_double_(layout.variables.back().type == netcdf::Type::real64) {
    const int version = layout.version == netcdf::Version::cdf5 ? NC_64BIT_DATA : NC_64BIT_OFFSET;
    check(ncmpi_create(MPI_COMM_WORLD, path_.c_str(), NC_CLOBBER | version, MPI_INFO_NULL, &id_));
    is_open_ = true;
    int ignored = 0;
    for (const auto& one : layout.dimensions)
      check(ncmpi_def_dim(id_, one.name.c_str(), one.length, &ignored));  // 0: NC_UNLIMITED
    add(NC_GLOBAL, layout.attributes);
    for (const auto& one : layout.variables) {
      check(ncmpi_def_var(id_, one.name.c_str(), static_cast<int>(one.type), static_cast<int>(one.dimensions.size()),
                          one.dimensions.data(), &last_));
      add(last_, one.attributes);
    }
    check(ncmpi__enddef(id_, 0, 4, 0, 4));  // without gaps, as the NetCDF library has it
    for (int i = 0; i < last_; ++i) {
      const auto& one = layout.variables[static_cast<std::size_t>(i)];
      constexpr MPI_Offset start[] = {0, 0};
      MPI_Offset count[] = {0, 0};
      if (is_root) {
        count[0] = count[1] = 1;
        for (std::size_t d = 0; d < one.dimensions.size(); ++d)
          if (const auto length = layout.dimensions[static_cast<std::size_t>(one.dimensions[d])].length; length > 0)
            count[d] = length;
      }
      if (!one.text.empty()) check(ncmpi_put_vara_text_all(id_, i, start, count, one.text.c_str()));
      if (!one.numbers.empty()) check(ncmpi_put_vara_double_all(id_, i, start, count, one.numbers.data()));
    }
  }
  LibraryFile(const LibraryFile&) = delete;
  LibraryFile& operator=(const LibraryFile&) = delete;
  ~LibraryFile() {
    if (is_open_) ncmpi_close(id_);
  }

  /// Writes this rank's atoms, of which there may be none.
  void write(const Atoms& atoms, std::int64_t first) {
    const MPI_Offset n = static_cast<MPI_Offset>(atoms.size());
    const MPI_Offset start[] = {0, n > 0 ? first : 0, 0}, count[] = {n > 0 ? 1 : 0, n, 3};
    if (is_double_)
      check(ncmpi_put_vara_double_all(id_, last_, start, count, coordinates(atoms, doubles_)));
    else
      check(ncmpi_put_vara_float_all(id_, last_, start, count, coordinates(atoms, floats_)));
  }

  void close() {
    check(ncmpi_sync(id_));
    is_open_ = false;
    check(ncmpi_close(id_));
  }

 private:
  void check(int status) const {
    if (status != NC_NOERR)
      throw RunError(
          fmt::format("{}: can't write to the file by PnetCDF: {}", path_, reason(path_, ncmpi_strerror(status))));
  }

  void add(int variable, const std::vector<netcdf::Attribute>& attributes) const {
    for (const auto& one : attributes)
      check(ncmpi_put_att_text(id_, variable, one.name.c_str(), std::ssize(one.text), one.text.c_str()));
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
  job.attempt([&] {
    const auto layout = netcdf::layout(job.frame(), job.n_atoms(), *io::write::netcdf_type(job.format()));
    open.emplace(file.temporary_path(), layout, job.comm().is_root());
  });
  job.agree();
  reserve(job, file, std::ssize(job.header()) + job.n_atoms() * job.format().atom_bytes);
  job.take_batches([&](const Atoms& atoms, std::int64_t first) {
    job.attempt_together([&](bool has_failed) { open->write(has_failed ? atoms.first(0) : atoms, first); });
  });
  job.attempt_together([&](bool) { open->close(); });
  file.commit();
}

const io::write::Method method{"pnetcdf", "parallel NetCDF: all ranks write by PnetCDF at once",
                               [](const io::write::Format& format) { return netcdf_type(format).has_value(); },
                               io::write::plan_all_ranks, write};
const io::write::Method* const methods[] = {&method};

}  // namespace

std::span<const io::write::Method* const> library_methods() { return methods; }

}  // namespace tessera::programs
