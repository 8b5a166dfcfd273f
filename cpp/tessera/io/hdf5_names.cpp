// Lists the objects of an HDF5 file and checks that the file holds all of their data.
#include <fmt/format.h>
#include <hdf5.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "tessera/base/error.h"
#include "tessera/io/hdf5.h"

namespace tessera::io {
namespace {

struct Found {
  std::vector<std::string> names;
  std::string elsewhere;  // the first soft or external link
};

/// Returns what is wrong with how a dataset is stored; empty where its numbers are in the file, plain or compressed by
/// HDF5's own filters.
std::string problem_of_dataset(hid_t dataset) {
  const hid_t properties = H5Dget_create_plist(dataset);
  std::string problem;
  if (properties < 0)
    problem = "can't be read";
  else if (H5Pget_layout(properties) == H5D_VIRTUAL || H5Pget_external_count(properties) > 0)
    problem = "keeps its numbers in another file";
  else
    for (int i = 0; i < H5Pget_nfilters(properties); ++i) {
      std::size_t n_values = 0;
      const auto filter =
          H5Pget_filter2(properties, static_cast<unsigned>(i), nullptr, &n_values, nullptr, 0, nullptr, nullptr);
      constexpr std::array<H5Z_filter_t, 3> known = {H5Z_FILTER_DEFLATE, H5Z_FILTER_SHUFFLE, H5Z_FILTER_FLETCHER32};
      if (std::find(known.begin(), known.end(), filter) == known.end())
        problem = fmt::format("is packed by filter {}, which is not known", filter);
    }
  if (properties >= 0) H5Pclose(properties);
  return problem;
}

}  // namespace

std::vector<std::string> Hdf5File::names() const {
  const auto refuse = [&](const std::string& name, const std::string& problem) {
    throw InputError(fmt::format("{}: {} {}; the file is damaged or was not written by tessera: make it again", path_,
                                 name, problem));
  };
  Found found;
  const herr_t status = H5Lvisit(
      handle_, H5_INDEX_NAME, H5_ITER_INC,
      [](hid_t, const char* name, const H5L_info_t* link, void* data) -> herr_t {
        auto& all = *static_cast<Found*>(data);
        all.names.push_back(fmt::format("/{}", name));
        if (link->type == H5L_TYPE_HARD) return 0;
        all.elsewhere = all.names.back();
        return 1;
      },
      &found);
  if (status < 0) refuse(found.names.empty() ? "/" : found.names.back(), "or what follows it can't be found");
  if (!found.elsewhere.empty()) refuse(found.elsewhere, "is a link to another name or file, expected numbers");
  for (const auto& name : found.names) {
    const hid_t object = H5Oopen(handle_, name.c_str(), H5P_DEFAULT);
    if (object < 0) refuse(name, "can't be opened");
    const auto kind = H5Iget_type(object);
    const std::string problem = kind == H5I_DATASET ? problem_of_dataset(object)
                                : kind == H5I_GROUP ? ""
                                                    : "is neither numbers nor a group of them";
    H5Oclose(object);
    if (!problem.empty()) refuse(name, problem);
  }
  return std::move(found.names);
}

}  // namespace tessera::io
