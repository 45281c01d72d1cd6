import type { Field } from '../wire/field-table.ts'

const skipQueue: Field = {
  name: 'skip_queue',
  treatment: 'used',
  note: 'cancel the requests that use the model; otherwise the load waits for them',
}
const cacheMode: Field = {
  name: 'cache_mode',
  treatment: 'used',
  note: '`FP16`, `Q8` or `Q4`, or bits of keys and values: `8,4`; of `FP8`, `Q6` and other bits, the next larger that llama.cpp has',
}

/** The request fields of `POST /v1/model/load`. */
export const modelLoadFields: readonly Field[] = [
  {
    name: 'model_name',
    aliases: ['name'],
    treatment: 'used',
    note: 'the name of a model, such as a file or a folder of `modelsFolder`; `OWNER/REPO` fetches it',
  },
  { name: 'max_seq_len', treatment: 'used', note: 'the context of one request; -1: as configured' },
  { name: 'max_batch_size', treatment: 'used', note: 'requests that are generated at the same time' },
  { name: 'chunk_size', treatment: 'used', note: 'prompt tokens of one step; with the engine `llama` only' },
  cacheMode,
  { name: 'no_flash_attention', treatment: 'used', note: 'true: the model is loaded without flash attention' },
  { name: 'prompt_template', treatment: 'used', note: 'a name from `GET /v1/templates`; `model`: its own' },
  {
    name: 'draft_model.draft_model_name',
    treatment: 'used',
    note: 'a model that drafts tokens, on the engines `llama` and `llama-server`. In an object `draft_model`',
  },
  {
    name: 'draft_model.draft_rope_scale',
    treatment: 'refused',
    accepts: [1],
    note: 'the file of the model has it',
  },
  {
    name: 'draft_model.draft_rope_alpha',
    treatment: 'refused',
    accepts: [1, 'auto'],
    note: 'the file of the model has it',
  },
  {
    name: 'draft_model.draft_gpu_split',
    treatment: 'refused',
    accepts: [[]],
    note: 'use `args` of an engine `llama-server`',
  },
  skipQueue,
  { name: 'backend', treatment: 'refused', note: 'the configuration says which engine runs a model' },
  {
    name: 'cache_size',
    treatment: 'used',
    note: 'tokens of all requests together, with `max_seq_len`: as many requests at the same time as fit, and `max_batch_size` at most',
  },
  { name: 'tensor_parallel', treatment: 'refused', accepts: [false], note: 'use `args` of an engine `llama-server`' },
  { name: 'tensor_parallel_backend', treatment: 'refused', note: 'use `args` of an engine `llama-server`' },
  { name: 'gpu_split_auto', treatment: 'refused', accepts: [true], note: 'use `args` of an engine `llama-server`' },
  { name: 'gpu_split', treatment: 'refused', accepts: [[]], note: 'use `args` of an engine `llama-server`' },
  { name: 'autosplit_reserve', treatment: 'refused', accepts: [[]], note: 'see `memory` of the configuration' },
  { name: 'rope_scale', treatment: 'refused', accepts: [1], note: 'the file of the model has it' },
  { name: 'rope_alpha', treatment: 'refused', accepts: [1, 'auto'], note: 'the file of the model has it' },
  { name: 'output_chunking', treatment: 'refused', accepts: [true, false], note: 'memory is reserved for the whole context' },
  {
    name: 'vision',
    treatment: 'used',
    note: 'false: without a projector; true: 400 without one; absent: with the one beside the file, where there is a llama-server',
  },
]

/** The request fields of `POST /v1/lora/load`. */
export const loraLoadFields: readonly Field[] = [
  {
    name: 'loras',
    treatment: 'used',
    note: 'objects with `name`, that of an adapter of the configuration or its source (`hf:OWNER/REPO/FILE.gguf`, `https:…`, an absolute path), and `scaling` (1); they replace those that are loaded',
  },
  skipQueue,
]

/** The request fields of `POST /v1/lora/unload`. */
export const loraUnloadFields: readonly Field[] = [skipQueue]

/** The request fields of `POST /v1/model/embedding/load`. */
export const embeddingLoadFields: readonly Field[] = [
  { name: 'embedding_model_name', aliases: ['name'], treatment: 'used', note: 'the name of a model' },
  { name: 'embeddings_device', treatment: 'refused', accepts: ['auto'], note: 'configure `gpuLayers` of the model' },
]

/** The request fields of `POST /v1/download`. */
export const downloadFields: readonly Field[] = [
  { name: 'repo_id', treatment: 'used', note: '`OWNER/REPO`' },
  { name: 'revision', treatment: 'used', note: 'a branch, tag or commit; absent: `main`' },
  { name: 'token', treatment: 'used', note: 'gives access to the repository; sent to the hub only, never logged or kept' },
  {
    name: 'include',
    treatment: 'used',
    note: 'patterns with `*` and `?`; of the GGUF files that one matches, the best that fits the memory is fetched',
  },
  { name: 'exclude', treatment: 'used', note: 'patterns of files that are not fetched' },
  { name: 'timeout', treatment: 'used', note: 'the most seconds that the download may take' },
  { name: 'repo_type', treatment: 'refused', accepts: ['model'], note: 'only models are fetched' },
  { name: 'folder_name', treatment: 'refused', note: 'the folder is named after the repository and its revision' },
  { name: 'chunk_limit', treatment: 'refused', note: 'one file is fetched in one stream' },
]
