#include "store/net_libraries.h"

#include <dlfcn.h>

#include <initializer_list>

namespace timelake::store {
namespace {

// The sanitizers' runtimes do not allow deep binding.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int kFlags = RTLD_LAZY | RTLD_LOCAL;
#else
constexpr int kFlags = RTLD_LAZY | RTLD_LOCAL | RTLD_DEEPBIND;
#endif

Result<void*> OpenAny(std::initializer_list<const char*> names, const char* package) {
  for (const char* name : names) {
    if (void* handle = dlopen(name, kFlags)) return handle;
  }
  const char* why = dlerror();
  return Unsupported("object stores need the library {} (on Debian: apt install {}): {}",
                     *names.begin(), package, why == nullptr ? "not found" : why);
}

template <typename Function>
Status Find(void* handle, const char* name, Function* function) {
  void* found = dlsym(handle, name);
  if (found == nullptr) return Unsupported("the installed library lacks the function {}", name);
  *function = reinterpret_cast<Function>(found);
  return Status::OK();
}

Result<Curl> OpenCurl() {
  TL_ASSIGN_OR_RAISE(void* handle, OpenAny({"libcurl.so.4"}, "libcurl4"));
  Curl curl{};
  TL_RETURN_NOT_OK(Find(handle, "curl_global_init", &curl.global_init));
  TL_RETURN_NOT_OK(Find(handle, "curl_easy_init", &curl.easy_init));
  TL_RETURN_NOT_OK(Find(handle, "curl_easy_cleanup", &curl.easy_cleanup));
  TL_RETURN_NOT_OK(Find(handle, "curl_easy_reset", &curl.easy_reset));
  TL_RETURN_NOT_OK(Find(handle, "curl_easy_perform", &curl.easy_perform));
  TL_RETURN_NOT_OK(Find(handle, "curl_easy_strerror", &curl.easy_strerror));
  TL_RETURN_NOT_OK(Find(handle, "curl_easy_setopt", &curl.easy_setopt));
  TL_RETURN_NOT_OK(Find(handle, "curl_easy_getinfo", &curl.easy_getinfo));
  TL_RETURN_NOT_OK(Find(handle, "curl_slist_append", &curl.slist_append));
  TL_RETURN_NOT_OK(Find(handle, "curl_slist_free_all", &curl.slist_free_all));
  TL_RETURN_NOT_OK(Find(handle, "curl_getdate", &curl.getdate));
  curl.global_init(CURL_GLOBAL_DEFAULT);
  return curl;
}

Result<Crypto> OpenCrypto() {
  TL_ASSIGN_OR_RAISE(void* handle, OpenAny({"libcrypto.so.3", "libcrypto.so.1.1"}, "libssl3"));
  Crypto crypto{};
  TL_RETURN_NOT_OK(Find(handle, "EVP_sha256", &crypto.sha256));
  TL_RETURN_NOT_OK(Find(handle, "EVP_md5", &crypto.md5));
  TL_RETURN_NOT_OK(Find(handle, "EVP_Digest", &crypto.digest));
  TL_RETURN_NOT_OK(Find(handle, "HMAC", &crypto.hmac));
  TL_RETURN_NOT_OK(Find(handle, "BIO_new_mem_buf", &crypto.bio_new_mem_buf));
  TL_RETURN_NOT_OK(Find(handle, "BIO_free", &crypto.bio_free));
  TL_RETURN_NOT_OK(Find(handle, "PEM_read_bio_PrivateKey", &crypto.pem_read_private_key));
  TL_RETURN_NOT_OK(Find(handle, "EVP_PKEY_free", &crypto.pkey_free));
  TL_RETURN_NOT_OK(Find(handle, "EVP_MD_CTX_new", &crypto.md_ctx_new));
  TL_RETURN_NOT_OK(Find(handle, "EVP_MD_CTX_free", &crypto.md_ctx_free));
  TL_RETURN_NOT_OK(Find(handle, "EVP_DigestSignInit", &crypto.sign_init));
  TL_RETURN_NOT_OK(Find(handle, "EVP_DigestSign", &crypto.sign));
  return crypto;
}

}  // namespace

Result<const Curl*> LoadCurl() {
  static const Result<Curl>& curl = *new Result<Curl>(OpenCurl());
  TL_RETURN_NOT_OK(curl.status());
  return &*curl;
}

Result<const Crypto*> LoadCrypto() {
  static const Result<Crypto>& crypto = *new Result<Crypto>(OpenCrypto());
  TL_RETURN_NOT_OK(crypto.status());
  return &*crypto;
}

}  // namespace timelake::store
