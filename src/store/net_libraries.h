#pragma once

#include <curl/curl.h>

#include <cstddef>
#include <string_view>

#include "base/error.h"

// libcurl and libcrypto, loaded when the first object store is used: who has a warehouse on local
// disk does without them. They are loaded apart from what else is in the process ("deep binding"):
// libparquet of the pyarrow wheel exports the functions of an OpenSSL of its own, and in one scope
// with it libcrypto would call into that, which crashes.

namespace timelake::store {

struct Curl {
  decltype(&curl_global_init) global_init;
  decltype(&curl_easy_init) easy_init;
  decltype(&curl_easy_cleanup) easy_cleanup;
  decltype(&curl_easy_reset) easy_reset;
  decltype(&curl_easy_perform) easy_perform;
  decltype(&curl_easy_strerror) easy_strerror;
  CURLcode (*easy_setopt)(CURL*, CURLoption, ...);
  CURLcode (*easy_getinfo)(CURL*, CURLINFO, ...);
  decltype(&curl_slist_append) slist_append;
  decltype(&curl_slist_free_all) slist_free_all;
  decltype(&curl_getdate) getdate;
};

struct Crypto {
  const void* (*sha256)();
  const void* (*md5)();
  int (*digest)(const void* data, size_t size, unsigned char* out, unsigned* out_size,
                const void* kind, void* engine);
  unsigned char* (*hmac)(const void* kind, const void* key, int key_size, const unsigned char* data,
                         size_t size, unsigned char* out, unsigned* out_size);
  // For signatures with a private key.
  void* (*bio_new_mem_buf)(const void* data, int size);
  int (*bio_free)(void* bio);
  void* (*pem_read_private_key)(void* bio, void** key,
                                int (*password)(char* to, int size, int writing, void* user),
                                void* user);
  void (*pkey_free)(void* key);
  void* (*md_ctx_new)();
  void (*md_ctx_free)(void* context);
  int (*sign_init)(void* context, void** key_context, const void* kind, void* engine, void* key);
  int (*sign)(void* context, unsigned char* out, size_t* out_size, const unsigned char* data,
              size_t size);
};

// kUnsupported, naming the library and its Debian package, where it is not installed. Loaded once;
// never unloaded. Thread-safe.
Result<const Curl*> LoadCurl();
Result<const Crypto*> LoadCrypto();

}  // namespace timelake::store
