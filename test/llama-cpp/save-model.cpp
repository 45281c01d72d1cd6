// Linked with llama.cpp's test of architectures by scripts/architectures.ts, in place of two functions of the library.
#include "gguf.h"
#include "llama-model-loader.h"
#include "llama-model-saver.h"
#include <cstdlib>

// A model that is made from metadata has more tensors than the library expects.
void llama_model_loader::done_getting_tensors(bool) const {}

// Saves a model with the vocabulary and the chat template of the file that VOCABULARY names.
void llama_model_save_to_file(const llama_model * model, const char * path) {
    gguf_context * vocabulary = gguf_init_from_file(getenv("VOCABULARY"), { true, nullptr });
    llama_model_saver saver(model);
    saver.add_kv_from_model();
    gguf_set_kv(saver.gguf_ctx, vocabulary);
    saver.add_tensors_from_model();
    saver.save(path);
}
