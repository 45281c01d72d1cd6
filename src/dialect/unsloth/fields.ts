import type { Field } from '../wire/field-table.ts'

const modelPath: Field = {
  name: 'model_path',
  treatment: 'used',
  note: 'the name of a model (also in another case of letters), `OWNER/REPO`, `hf:…`, `https:…`, or the absolute path of a GGUF file or folder; that of a LoRA adapter means its model with it',
}
const token: Field = {
  name: 'hf_token',
  treatment: 'used',
  note: 'access to a gated repository, for this download only; neither logged nor kept',
}
const variant: Field = {
  name: 'gguf_variant',
  treatment: 'used',
  note: 'the quantization, such as `Q4_K_M`; absent: the best compromise that fits the memory',
}
const loadRequestId: Field = {
  name: 'load_request_id',
  treatment: 'used',
  note: 'up to 128 characters; `POST /api/inference/unload` with it cancels exactly this load, of the same key, also when it comes first',
}

/** The request fields of `POST /api/inference/load`. */
export const loadFields: readonly Field[] = [
  modelPath,
  token,
  variant,
  loadRequestId,
  { name: 'max_seq_length', treatment: 'used', note: 'the context of one request; 0: as configured' },
  { name: 'chat_template_override', treatment: 'used', note: "Jinja that replaces the model's template; blank: none" },
  {
    name: 'cache_type_kv',
    treatment: 'used',
    note: 'the number format of the cache: f32, f16, bf16, q8_0, q4_0, q4_1, q5_0, q5_1 or iq4_nl',
  },
  {
    name: 'speculative_type',
    treatment: 'used',
    note: '`default` (as configured), `off`, `ngram-simple` or `ngram-mod`; with the engine `llama` the last two are the same',
  },
  { name: 'n_parallel', treatment: 'used', note: 'requests that are generated at the same time' },
  { name: 'disable_vision', treatment: 'used', note: 'load the model without its projector' },
  { name: 'n_batch', treatment: 'used', note: 'prompt tokens of one step; with the engine `llama` only' },
  { name: 'gpu_layers', treatment: 'used', note: 'layers on the GPU; -1: what fits' },
  { name: 'force_reload', treatment: 'used', note: 'load again what is loaded with these settings' },
  { name: 'force_cancel_active', treatment: 'used', note: 'cancel the requests that use the model, instead of 409' },
  { name: 'is_lora', treatment: 'informational', note: 'what a file is, it says itself' },
  { name: 'load_in_4bit', treatment: 'informational', note: 'the file decides: see `gguf_variant`' },
  { name: 'trust_remote_code', treatment: 'refused', accepts: [false], note: 'no code of a repository is ever run' },
  { name: 'gpu_ids', treatment: 'refused', accepts: [[]], note: 'set the devices for the server, such as CUDA_VISIBLE_DEVICES' },
  { name: 'n_ubatch', treatment: 'refused', note: 'n_batch is what can be set' },
  { name: 'load_mode', treatment: 'refused', note: 'files are mapped into memory' },
  { name: 'ctx_checkpoints', treatment: 'refused', note: 'the slots keep their prefixes' },
  { name: 'cache_ram', treatment: 'refused', note: 'the slots keep their prefixes' },
  { name: 'tensor_parallel', treatment: 'refused', accepts: [false, 1], note: 'use `args` of an engine `llama-server`' },
  { name: 'tensor_split', treatment: 'refused', accepts: [[]], note: 'use `args` of an engine `llama-server`' },
  { name: 'gpu_memory_mode', treatment: 'refused', accepts: ['auto'], note: 'gpu_layers is what can be set' },
  { name: 'n_cpu_moe', treatment: 'refused', accepts: [0], note: 'use `args` of an engine `llama-server`' },
  { name: 'spec_draft_n_max', treatment: 'refused', note: 'configure `draft` of the model' },
  { name: 'llama_extra_args', treatment: 'refused', accepts: [[]], note: 'use `args` of an engine `llama-server`' },
]

/** The request fields of `POST /api/inference/validate`. */
export const validateFields: readonly Field[] = [modelPath, token, variant]

/** The request fields of `POST /api/inference/unload`. */
export const unloadFields: readonly Field[] = [
  { name: 'model_path', treatment: 'used', note: 'the name of a model; 404 for one that is not there. Cancels its load' },
  { ...loadRequestId, note: 'cancels this load, and nothing else' },
  { name: 'force_cancel_active', treatment: 'used', note: 'cancel the requests that use the model, instead of 409' },
]

/** The request fields of `POST /api/inference/generate/stream`. */
export const generateFields: readonly Field[] = [
  { name: 'model', treatment: 'used', note: 'extension; absent: the model that was loaded last, else `default`, else the first' },
  { name: 'messages', treatment: 'used', note: 'as of chat completions, with the text roles `system`, `user` and `assistant`' },
  { name: 'system_prompt', treatment: 'used', note: 'a system message before the others; empty: none' },
  { name: 'temperature', treatment: 'used', note: '0 to 2; default 0.6' },
  { name: 'top_p', treatment: 'used', note: '0 to 1; default 0.95' },
  { name: 'top_k', treatment: 'used', note: '-1 to 100; default 20, and -1 is all tokens' },
  { name: 'max_new_tokens', treatment: 'used', note: '1 to 4096; default 2048' },
  { name: 'repetition_penalty', treatment: 'used', note: '1 to 2; default 1' },
  { name: 'presence_penalty', treatment: 'used', note: '0 to 2; default 0' },
  { name: 'image_base64', treatment: 'refused', note: 'send images in chat completions' },
]

/** The request fields of `POST /v1/audio/generate`. */
export const speechFields: readonly Field[] = [
  { name: 'model', treatment: 'used', note: '`default` or absent: the first model that has the service `speech`' },
  { name: 'messages', treatment: 'used', note: 'the text of the last user message is spoken; the others have no effect' },
  { name: 'voice', treatment: 'used', note: 'extension: as of `/v1/audio/speech`; default `alloy`' },
  { name: 'speed', treatment: 'used', note: 'extension: the same' },
  { name: 'instructions', treatment: 'used', note: 'extension: the same' },
]
