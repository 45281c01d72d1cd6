import type { StrictnessTable } from './row.ts'

/** How Unsloth's loads are read. */
export const unslothLoadStrictness: StrictnessTable = {
  title: 'Unsloth, POST /api/inference/load',
  base: { model_path: 'm' },
  rows: [
    { what: 'no `model_path`', sample: { model_path: null }, outcome: 'refused', param: 'model_path', note: '' },
    {
      what: '`max_seq_length` 0',
      sample: { max_seq_length: 0 },
      outcome: 'tolerated',
      becomes: { settings: {} },
      note: 'as configured',
    },
    {
      what: '`max_seq_length` above 1048576',
      sample: { max_seq_length: 1_048_577 },
      outcome: 'refused',
      param: 'max_seq_length',
      note: 'as Unsloth does',
    },
    {
      what: 'a blank `chat_template_override`',
      sample: { chat_template_override: ' ' },
      outcome: 'healed',
      becomes: { settings: {} },
      note: 'none',
    },
    {
      what: 'an empty `hf_token`',
      sample: { hf_token: '' },
      outcome: 'healed',
      becomes: { name: 'm', settings: {}, reloads: false, endsRequests: false },
      note: 'none',
    },
    {
      what: '`cache_type_kv`',
      sample: { cache_type_kv: 'q8_0' },
      outcome: 'tolerated',
      becomes: { settings: { cacheTypeK: 'q8_0', cacheTypeV: 'q8_0' } },
      note: 'of keys and of values',
    },
    {
      what: 'an unknown `cache_type_kv`',
      sample: { cache_type_kv: 'fp8' },
      outcome: 'refused',
      param: 'cache_type_kv',
      note: '',
    },
    {
      what: '`speculative_type` "default"',
      sample: { speculative_type: 'default' },
      outcome: 'tolerated',
      becomes: { settings: {} },
      note: 'as configured',
    },
    {
      what: '`gpu_layers` -1',
      sample: { gpu_layers: -1 },
      outcome: 'healed',
      becomes: { settings: { gpuLayers: 'auto' } },
      note: 'as many as fit',
    },
    {
      what: '`trust_remote_code` false',
      sample: { trust_remote_code: false, gpu_ids: [], n_cpu_moe: 0 },
      outcome: 'tolerated',
      note: 'the defaults of fields that are refused',
    },
    {
      what: '`trust_remote_code` true',
      sample: { trust_remote_code: true },
      outcome: 'refused',
      param: 'trust_remote_code',
      note: 'no code of a repository is run',
    },
    { what: '`gpu_ids`', sample: { gpu_ids: [0] }, outcome: 'refused', param: 'gpu_ids', note: '' },
    {
      what: 'an empty text in an optional field, or a number as text',
      sample: { load_request_id: '', gguf_variant: '', cache_type_kv: '', max_seq_length: '512' },
      outcome: 'healed',
      becomes: { settings: { contextLength: 512 } },
      note: 'as forms send what is not filled in',
    },
    { what: 'an unknown field', sample: { mood: 'good' }, outcome: 'tolerated', ignored: ['mood'], note: '' },
  ],
}

/** How Unsloth's plain generations are read. */
export const unslothGenerateStrictness: StrictnessTable = {
  title: 'Unsloth, POST /api/inference/generate/stream',
  base: { model: 'm', messages: [{ role: 'user', content: 'hi' }] },
  rows: [
    { what: 'no messages', sample: { messages: [] }, outcome: 'refused', param: 'messages', note: '' },
    {
      what: 'a role "tool"',
      sample: { messages: [{ role: 'tool', content: 'x' }] },
      outcome: 'refused',
      param: 'messages[0].role',
      note: '',
    },
    { what: '`max_new_tokens` 0', sample: { max_new_tokens: 0 }, outcome: 'refused', param: 'max_new_tokens', note: '1 to 4096' },
    {
      what: '`top_k` -1',
      sample: { top_k: -1 },
      outcome: 'healed',
      becomes: { sampling: { topK: 0 } },
      note: 'all tokens',
    },
    { what: 'a `temperature` above 2', sample: { temperature: 2.1 }, outcome: 'refused', param: 'temperature', note: '' },
    {
      what: '`image_base64`',
      sample: { image_base64: 'x' },
      outcome: 'refused',
      param: 'image_base64',
      note: 'send it in chat completions',
    },
    {
      what: 'no sampling',
      sample: { temperature: null, top_p: null },
      outcome: 'tolerated',
      becomes: { sampling: { temperature: 0.6, topP: 0.95 }, maxOutputTokens: 2048 },
      note: "Unsloth's defaults, not the model's",
    },
    { what: 'an unknown field', sample: { mood: 'good' }, outcome: 'tolerated', ignored: ['mood'], note: '' },
  ],
}
