import { type Field, informational, refused, used } from '../wire/field-table.ts'

const modelPath: Field = used(
  'model_path',
  'the name of a model (also in another case of letters), `OWNER/REPO`, `hf:…`, `https:…`, or the absolute path of a GGUF file or folder; that of a LoRA adapter means its model with it',
)
const token: Field = used('hf_token', 'access to a gated repository, for this download only; neither logged nor kept')
const variant: Field = used(
  'gguf_variant',
  'the quantization, such as `Q4_K_M`; absent: the best compromise that fits the memory',
)
const loadRequestId: Field = used(
  'load_request_id',
  'up to 128 characters; `POST /api/inference/unload` with it cancels exactly this load, of the same key, also when it comes first',
)

/** The request fields of `POST /api/inference/load`. */
export const loadFields: readonly Field[] = [
  modelPath,
  token,
  variant,
  loadRequestId,
  used('max_seq_length', 'the context of one request; 0: as configured'),
  used('chat_template_override', "Jinja that replaces the model's template; blank: none"),
  used('cache_type_kv', 'the number format of the cache: f32, f16, bf16, q8_0, q4_0, q4_1, q5_0, q5_1 or iq4_nl'),
  used(
    'speculative_type',
    '`default` (as configured), `off`, `ngram-simple` or `ngram-mod`; with the engine `llama` the last two are the same',
  ),
  used('n_parallel', 'requests that are generated at the same time'),
  used('disable_vision', 'load the model without its projector'),
  used('n_batch', 'prompt tokens of one step; with the engine `llama` only'),
  used('gpu_layers', 'layers on the GPU; -1: what fits'),
  used('force_reload', 'load again what is loaded with these settings'),
  used('force_cancel_active', 'cancel the requests that use the model, instead of 409'),
  informational('is_lora', 'what a file is, it says itself'),
  informational('load_in_4bit', 'the file decides: see `gguf_variant`'),
  refused('trust_remote_code', 'no code of a repository is ever run', { accepts: [false] }),
  refused('gpu_ids', 'set the devices for the server, such as CUDA_VISIBLE_DEVICES', { accepts: [[]] }),
  refused('n_ubatch', 'n_batch is what can be set'),
  refused('load_mode', 'files are mapped into memory'),
  refused('ctx_checkpoints', 'the slots keep their prefixes'),
  refused('cache_ram', 'the slots keep their prefixes'),
  refused('tensor_parallel', 'use `args` of an engine `llama-server`', { accepts: [false, 1] }),
  refused('tensor_split', 'use `args` of an engine `llama-server`', { accepts: [[]] }),
  refused('gpu_memory_mode', 'gpu_layers is what can be set', { accepts: ['auto'] }),
  refused('n_cpu_moe', 'use `args` of an engine `llama-server`', { accepts: [0] }),
  refused('spec_draft_n_max', 'configure `draft` of the model'),
  refused('llama_extra_args', 'use `args` of an engine `llama-server`', { accepts: [[]] }),
]

/** The request fields of `POST /api/inference/validate`. */
export const validateFields: readonly Field[] = [modelPath, token, variant]

/** The request fields of `POST /api/inference/unload`. */
export const unloadFields: readonly Field[] = [
  used('model_path', 'the name of a model; 404 for one that is not there. Cancels its load'),
  { ...loadRequestId, note: 'cancels this load, and nothing else' },
  used('force_cancel_active', 'cancel the requests that use the model, instead of 409'),
]

/** The request fields of `POST /api/inference/generate/stream`. */
export const generateFields: readonly Field[] = [
  used('model', 'extension; absent: the model that was loaded last, else `default`, else the first'),
  used('messages', 'as of chat completions, with the text roles `system`, `user` and `assistant`'),
  used('system_prompt', 'a system message before the others; empty: none'),
  used('temperature', '0 to 2; default 0.6'),
  used('top_p', '0 to 1; default 0.95'),
  used('top_k', "-1 to 100; absent: the model's own default, and -1 is all tokens"),
  used('max_new_tokens', '1 to 4096; default 2048'),
  used('repetition_penalty', '1 to 2; default 1'),
  used('presence_penalty', '0 to 2; default 0'),
  refused('image_base64', 'send images in chat completions'),
]

/** The request fields of `POST /v1/audio/generate`. */
export const speechFields: readonly Field[] = [
  used('model', '`default` or absent: the first model that has the service `speech`'),
  used('messages', 'the text of the last user message is spoken; the others have no effect'),
  used('voice', 'extension: as of `/v1/audio/speech`; default `alloy`'),
  used('speed', 'extension: the same'),
  used('instructions', 'extension: the same'),
]
