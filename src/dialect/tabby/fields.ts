import { type Field, refused, used } from '../wire/field-table.ts'

const skipQueue: Field = used('skip_queue', 'cancel the requests that use the model; otherwise the load waits for them')
const cacheMode: Field = used(
  'cache_mode',
  '`FP16`, `Q8` or `Q4`, or bits of keys and values: `8,4`; of `FP8`, `Q6` and other bits, the next larger that llama.cpp has',
)

/** Whether a body limits the length of one request. */
function hasLength(body: object): boolean {
  const length: unknown = Reflect.get(body, 'max_seq_len')
  return typeof length === 'number' && length > 0
}

export const modelLoadFields: readonly Field[] = [
  used('model_name', 'the name of a model, such as a file or a folder of `modelsFolder`; `OWNER/REPO` fetches it', {
    aliases: ['name'],
  }),
  used('max_seq_len', 'the context of one request; -1: as configured'),
  used('max_batch_size', 'requests that are generated at the same time'),
  used('chunk_size', 'prompt tokens of one step; with the engine `llama` only'),
  cacheMode,
  used('no_flash_attention', 'true: the model is loaded without flash attention'),
  used('prompt_template', 'a name from `GET /v1/templates`; `model`: its own'),
  used(
    'draft_model.draft_model_name',
    'a model that drafts tokens, on the engines `llama` and `llama-server`. In an object `draft_model`',
  ),
  refused('draft_model.draft_rope_scale', 'the file of the model has it', { accepts: [1] }),
  refused('draft_model.draft_rope_alpha', 'the file of the model has it', { accepts: [1, 'auto'] }),
  refused('draft_model.draft_gpu_split', 'use `args` of an engine `llama-server`', { accepts: [[]] }),
  skipQueue,
  refused('backend', 'the configuration says which engine runs a model'),
  used(
    'cache_size',
    'tokens of all requests together, with `max_seq_len`: as many requests at the same time as fit, and `max_batch_size` at most; without it named as ignored',
    { ignores: (_, body) => !hasLength(body) },
  ),
  refused('tensor_parallel', 'use `args` of an engine `llama-server`', { accepts: [false] }),
  refused('tensor_parallel_backend', 'use `args` of an engine `llama-server`'),
  refused('gpu_split_auto', 'use `args` of an engine `llama-server`', { accepts: [true] }),
  refused('gpu_split', 'use `args` of an engine `llama-server`', { accepts: [[]] }),
  refused('autosplit_reserve', 'see `memory` of the configuration', { accepts: [[], [96]] }),
  refused('rope_scale', 'the file of the model has it', { accepts: [1] }),
  refused('rope_alpha', 'the file of the model has it', { accepts: [1, 'auto'] }),
  refused('output_chunking', 'memory is reserved for the whole context', { accepts: [true, false] }),
  used(
    'vision',
    'false: without a projector; true: 400 without one; absent: with the one beside the file, where there is a llama-server',
  ),
]

export const loraLoadFields: readonly Field[] = [
  used(
    'loras',
    'objects with `name`, that of an adapter of the configuration or its source (`hf:OWNER/REPO/FILE.gguf`, `https:…`, an absolute path), and `scaling` (1); they replace those that are loaded',
  ),
  skipQueue,
]

export const loraUnloadFields: readonly Field[] = [skipQueue]

export const embeddingLoadFields: readonly Field[] = [
  used('embedding_model_name', 'the name of a model', { aliases: ['name'] }),
  refused('embeddings_device', 'configure `gpuLayers` of the model', { accepts: ['auto'] }),
]

export const downloadFields: readonly Field[] = [
  used('repo_id', '`OWNER/REPO`'),
  used('revision', 'a branch, tag or commit; absent: `main`'),
  used('token', 'gives access to the repository; sent to the hub only, never logged or kept'),
  used('include', 'patterns with `*` and `?`; of the GGUF files that one matches, the best that fits the memory is fetched'),
  used('exclude', 'patterns of files that are not fetched'),
  used('timeout', 'the most seconds that the download may take'),
  refused('repo_type', 'only models are fetched', { accepts: ['model'] }),
  refused('folder_name', 'the folder is named after the repository and its revision'),
  refused('chunk_limit', 'one file is fetched in one stream'),
]
