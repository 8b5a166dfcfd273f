// Datasets of an HDF5 file that grow while others read it.
#include <fmt/format.h>
#include <hdf5.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "tessera/base/error.h"
#include "tessera/io/hdf5.h"
#include "tessera/io/hdf5_handles.h"
#include "tessera/io/hdf5_mark.h"

namespace tessera::io {

using namespace hdf5;

template <class Value>
void Hdf5File::make_extendible(const std::string& dataset, const std::vector<std::int64_t>& row_shape,
                               std::int64_t rows_per_chunk) {
  make_group(parent_of(dataset));
  const Handle links = link_properties(), properties = creation_properties(H5P_DATASET_CREATE);
  std::vector<hsize_t> none = {0}, unlimited = {H5S_UNLIMITED}, chunk = {static_cast<hsize_t>(rows_per_chunk)};
  for (const auto extent : row_shape)
    for (auto* list : {&none, &unlimited, &chunk}) list->push_back(static_cast<hsize_t>(extent));
  const Handle space(H5Screate_simple(static_cast<int>(none.size()), none.data(), unlimited.data()), H5Sclose);
  H5Pset_chunk(properties, static_cast<int>(chunk.size()), chunk.data());
  H5Pset_fill_time(properties, H5D_FILL_TIME_NEVER);  // rows to come are not written twice
  const Handle set(H5Dcreate2(handle_, dataset.c_str(), memory_type<Value>(), space, links, properties, H5P_DEFAULT),
                   H5Dclose);
  if (!set.is_valid()) fail_write(fmt::format("dataset {} can't be made", dataset));
}

template <class Value>
void Hdf5File::append(const std::string& dataset, std::span<const Value> values) {
  Handle set = open_dataset(path_, handle_, dataset);
  auto dimensions = extents_of_dataset(set);
  TESSERA_CHECK(!dimensions.empty());
  const std::size_t row = product(dimensions, 1);
  TESSERA_CHECK(row > 0 && values.size() % row == 0);
  if (values.empty()) return;
  std::vector<hsize_t> start(dimensions.size(), 0);
  start[0] = dimensions[0];
  auto count = dimensions;
  count[0] = values.size() / row;
  dimensions[0] += count[0];
  const auto problem_of_writing = [&]() -> std::string {  // told here: closing what is used wipes the error out
    if (H5Dset_extent(set, dimensions.data()) < 0) return write_error();
    const Handle space(H5Dget_space(set), H5Sclose);
    const Handle memory(H5Screate_simple(static_cast<int>(count.size()), count.data(), nullptr), H5Sclose);
    H5Sselect_hyperslab(space, H5S_SELECT_SET, start.data(), nullptr, count.data(), nullptr);
    // Written now: closing the dataset would write it too, but can't say that it failed.
    const bool is_written =
        H5Dwrite(set, memory_type<Value>(), memory, space, H5P_DEFAULT, values.data()) >= 0 && H5Dflush(set) >= 0;
    return is_written ? "" : write_error();
  };
  if (const auto problem = problem_of_writing(); !problem.empty()) {
    set.abandon();
    fail_write(fmt::format("dataset {} can't grow", dataset), problem);
  }
}

std::int64_t Hdf5File::add_row(const std::string& dataset) {
  TESSERA_CHECK(growing_.has_value());
  const Handle access(H5Pcreate(H5P_DATASET_ACCESS), H5Pclose);
  H5Pset_chunk_cache(access, 0, 0, 1);  // a number is written alone, not with its chunk
  Handle set = open_dataset(path_, handle_, dataset, access);
  const Handle type(H5Dget_type(set), H5Tclose), properties(H5Dget_create_plist(set), H5Pclose);
  auto dimensions = extents_of_dataset(set);
  std::vector<hsize_t> chunk(dimensions.size());
  TESSERA_CHECK(H5Pget_chunk(properties, static_cast<int>(chunk.size()), chunk.data()) > 0);
  const hsize_t row = dimensions[0]++, row_of_chunk = row % chunk[0];
  std::vector<hsize_t> first(dimensions.size(), 0);
  first[0] = row - row_of_chunk;
  const auto known = chunk_places_.find(dataset);
  auto place = known == chunk_places_.end() || row_of_chunk == 0 ? HADDR_UNDEF : static_cast<haddr_t>(known->second);
  const auto problem_of_writing = [&]() -> std::string {  // told here: closing what is used wipes the error out
    if (H5Dset_extent(set, dimensions.data()) < 0) return write_error();
    if (row_of_chunk == 0) {  // HDF5 finds a place for a chunk when a number of it is written
      const Handle space(H5Dget_space(set), H5Sclose), memory(H5Screate(H5S_SCALAR), H5Sclose);
      const std::vector<hsize_t> one(dimensions.size(), 1);
      H5Sselect_hyperslab(space, H5S_SELECT_SET, first.data(), nullptr, one.data(), nullptr);
      const std::vector<std::byte> zero(H5Tget_size(type));
      if (H5Dwrite(set, type, memory, space, H5P_DEFAULT, zero.data()) < 0) return write_error();
    }
    if (place == HADDR_UNDEF) {
      unsigned filters = 0;
      hsize_t bytes = 0;
      if (H5Dget_chunk_info_by_coord(set, first.data(), &filters, &place, &bytes) < 0) return write_error();
      // The file is as long as its first block is about to say, so that it can be read if this process ends here.
      const auto page = sysconf(_SC_PAGESIZE),
                 end = (static_cast<std::int64_t>(place + bytes) + page - 1) / page * page;
      try {
        if (growing_->size() < end) growing_->write_at("", 1, end - 1);
      } catch (const RunError& error) {
        return error.what();
      }
    }
    return H5Dflush(set) < 0 ? write_error() : "";
  };
  if (const auto problem = problem_of_writing(); !problem.empty()) {
    set.abandon();
    fail_write(fmt::format("dataset {} can't grow", dataset), problem);
  }
  chunk_places_[dataset] = static_cast<std::int64_t>(place);
  return static_cast<std::int64_t>(place + row_of_chunk * product(dimensions, 1) * H5Tget_size(type));
}

void Hdf5File::check_index(const std::string& dataset) const {
  const Handle set = open_dataset(path_, handle_, dataset), space(H5Dget_space(set), H5Sclose);
  hsize_t n = 0;
  if (H5Dget_num_chunks(set, space, &n) < 0)
    refuse(path_,
           fmt::format("where the rows of {} are can't be read: {}; the file is damaged", dataset, last_error()));
}

void Hdf5File::truncate(const std::string& dataset, std::int64_t rows) {
  const Handle set = open_dataset(path_, handle_, dataset);
  auto dimensions = extents_of_dataset(set);
  TESSERA_CHECK(!dimensions.empty() && rows >= 0);
  if (static_cast<hsize_t>(rows) >= dimensions[0]) return;
  dimensions[0] = static_cast<hsize_t>(rows);
  if (H5Dset_extent(set, dimensions.data()) < 0) fail_write(fmt::format("dataset {} can't be cut", dataset));
}

void Hdf5File::flush() {
  if (H5Fflush(handle_, H5F_SCOPE_GLOBAL) < 0) fail_write("can't be written");
  if (growing_) clear_open_mark(*growing_);
}

void Hdf5File::start_growing() {
  silence();
  if (H5Fstart_swmr_write(handle_) < 0) fail_write("can't be written frame by frame");
  void* handle = nullptr;
  if (H5Fget_vfd_handle(handle_, H5P_DEFAULT, &handle) < 0) fail_write("can't be written frame by frame");
  growing_ = Descriptor::duplicate(path_, *static_cast<int*>(handle));
  flush();
}

#define TESSERA_INSTANTIATE(Value)                                                                                    \
  template void Hdf5File::make_extendible<Value>(const std::string&, const std::vector<std::int64_t>&, std::int64_t); \
  template void Hdf5File::append<Value>(const std::string&, std::span<const Value>);
TESSERA_INSTANTIATE(double)
TESSERA_INSTANTIATE(float)
TESSERA_INSTANTIATE(std::int32_t)
TESSERA_INSTANTIATE(std::int64_t)
TESSERA_INSTANTIATE(std::uint8_t)
#undef TESSERA_INSTANTIATE

}  // namespace tessera::io
