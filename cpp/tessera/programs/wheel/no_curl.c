// Stands in for libcurl in a package. Debian's HDF5 can read files from the network by it, which Tessera never asks for, and
// libcurl would bring thirty libraries along. HDF5 calls these functions only for such a file, which it then can't open.
#include <stddef.h>

int curl_global_init(long flags) { return flags == 0 ? 0 : 2; }  // 2: the start failed
void curl_global_cleanup(void) {}
void* curl_easy_init(void) { return NULL; }
int curl_easy_setopt(void* handle, int option, ...) { return handle == NULL || option == 0 ? 2 : 0; }
int curl_easy_perform(void* handle) { return handle == NULL ? 2 : 0; }
void curl_easy_cleanup(void* handle) { (void)handle; }
void* curl_slist_append(void* list, const char* text) {
  (void)list;
  (void)text;
  return NULL;
}
void curl_slist_free_all(void* list) { (void)list; }
