import type { ReferenceTable } from './row.ts'

const chat = { messages: [{ role: 'user', content: 'hello' }] }

/** tabbyAPI: its routes, keys, and how it finds the model of a request. Fields are in docs/protocols.md. */
export const tabbyTable: ReferenceTable = {
  title: 'tabbyAPI',
  introduction:
    'Its request fields are in [protocols.md](protocols.md): chat completions, completions, and the routes named after it. A field that is\n' +
    'refused there refuses the whole request, unless it has the value with which it changes nothing: the default bodies of SillyTavern pass.',
  rows: [
    {
      what: 'POST /v1/chat/completions, /v1/completions, /v1/embeddings',
      outcome: 'served',
      note: 'each prompt of a list has its own choices',
      probes: [
        { call: 'POST /v1/chat/completions', body: { model: 'echo', ...chat }, reply: /"content":"hello"/ },
        { call: 'POST /v1/completions', body: { model: 'echo', prompt: ['a', 'b'] }, reply: /"text":"b"/ },
        { call: 'POST /v1/embeddings', body: { model: 'echo', input: 'a' }, reply: /"embedding":\[/ },
      ],
    },
    {
      what: 'GET /health',
      outcome: 'mapped',
      note: '`{"status":"ok"}` while the server runs; `GET /ready` has the models, and recovers',
      probes: [{ call: 'GET /health', key: 'none', reply: /"status":"ok"/ }],
    },
    {
      what: 'GET /.well-known/serviceinfo',
      outcome: 'served',
      note: 'without a key; the name of the software is Dragoman',
      probes: [{ call: 'GET /.well-known/serviceinfo', key: 'none', reply: /"openai":\{.*"relative_url":"\/v1"/ }],
    },
    {
      what: 'GET /v1/models, /v1/model/list',
      outcome: 'mapped',
      note: 'every model that the key may use, with its state; tabbyAPI shows keys without `admin` only what is loaded',
      probes: [
        { call: 'GET /v1/models', key: 'user', reply: /"id":"tiny".*"state":"stopped"/ },
        { call: 'GET /v1/model/list', key: 'user', reply: /"id":"echo"/ },
      ],
    },
    {
      what: 'GET /v1/model, /props',
      outcome: 'served',
      note: 'of the model that was loaded last, else the default one, or of `?model=`; values of the GPU split are not there',
      probes: [
        { call: 'GET /v1/model', key: 'user', reply: /"id":"echo".*"parameters":\{.*"max_batch_size"/ },
        { call: 'GET /props', key: 'user', reply: /"total_slots":\d+/ },
      ],
    },
    {
      what: 'GET /v1/model/draft/list, /v1/model/embedding/list',
      outcome: 'served',
      note: 'a draft model is any model; those that embed are the ones whose engine can',
      probes: [
        { call: 'GET /v1/model/draft/list', key: 'user', reply: /"id":"tiny"/ },
        { call: 'GET /v1/model/embedding/list', key: 'user', reply: /"id":"echo"/ },
      ],
    },
    {
      what: 'POST /v1/model/load',
      outcome: 'served',
      note: 'events with hundredths in place of modules, and bytes; a load waits for requests that use the model, unless `skip_queue` ends them',
      probes: [
        { call: 'POST /v1/model/load', body: { model_name: 'echo', max_seq_len: 500 }, reply: /"status":"finished"/ },
        { call: 'GET /v1/model', reply: /"max_seq_len":500/ },
        { call: 'POST /v1/model/load', body: { model_name: 'echo' }, key: 'user', status: 403, reply: /admin/ },
        { call: 'POST /v1/model/load', body: {}, status: 400, reply: /model_name is missing/ },
      ],
    },
    {
      what: 'load parameters',
      outcome: 'mapped',
      note: '`max_seq_len`, `cache_mode`, `chunk_size`, `prompt_template` and the draft model; those of several GPUs, RoPE and vision are refused by name',
      probes: [
        { call: 'POST /v1/model/load', body: { model_name: 'echo', rope_alpha: 2 }, status: 400, reply: /rope_alpha.*file/ },
        { call: 'POST /v1/model/load', body: { model_name: 'echo', gpu_split: [1, 2] }, status: 400, reply: /llama-server/ },
      ],
    },
    {
      what: 'POST /v1/model/unload',
      outcome: 'served',
      note: 'cancels what runs; 400 without a loaded model',
      probes: [{ call: 'POST /v1/model/unload', reply: /^\{\}$/ }],
    },
    {
      what: 'POST /v1/model/embedding/load, /unload; GET /v1/model/embedding',
      outcome: 'served',
      note: 'beside the other models; requests without a model stay with the model that was loaded to generate',
      probes: [
        {
          call: 'POST /v1/model/embedding/load',
          body: { embedding_model_name: 'echo' },
          reply: /"model_type":"embedding_model"/,
        },
        { call: 'GET /v1/model/embedding', reply: /"id":"echo"/ },
        { call: 'POST /v1/model/embedding/unload', reply: /^\{\}$/ },
        { call: 'POST /v1/model/embedding/unload', status: 400, reply: /no embedding model/ },
      ],
    },
    {
      what: 'POST /v1/download',
      outcome: 'served',
      note: 'the best file that fits of those that match; `folder_name` and LoRA repositories are refused by name',
      probes: [
        { call: 'POST /v1/download', body: {}, status: 400, reply: /repo_id/ },
        { call: 'POST /v1/download', body: { repo_id: 'a/b', folder_name: 'x' }, status: 400, reply: /folder_name/ },
      ],
    },
    {
      what: 'GET /v1/loras, /v1/lora; POST /v1/lora/load, /unload',
      outcome: 'served',
      note: 'all adapters are loaded, or none: 400 instead of a list of failures',
      probes: [
        { call: 'POST /v1/model/load', body: { model_name: 'echo' }, reply: /finished/ },
        { call: 'GET /v1/loras', key: 'user', reply: /"object":"list"/ },
        { call: 'GET /v1/lora', key: 'user', reply: /"object":"list"/ },
        { call: 'POST /v1/lora/load', body: { loras: [{ name: 'x' }] }, status: 400, reply: /adapter/ },
      ],
    },
    {
      what: 'POST /v1/token/encode, /v1/token/decode',
      outcome: 'served',
      note: 'texts and conversations, with all flags and `template_vars`',
      probes: [
        { call: 'POST /v1/token/encode', key: 'user', body: { text: 'ab' }, reply: /"tokens":\[97,98\],"length":2/ },
        { call: 'POST /v1/token/encode', key: 'user', body: { model: 'tiny', text: chat.messages }, reply: /"length":\d/ },
        { call: 'POST /v1/token/decode', key: 'user', body: { tokens: [97, 98] }, reply: /"text":"ab"/ },
        { call: 'POST /v1/token/encode', key: 'user', body: {}, status: 400, reply: /text is missing/ },
      ],
    },
    {
      what: 'GET /v1/auth/permission',
      outcome: 'served',
      note: '`admin` for keys with that scope',
      probes: [
        { call: 'GET /v1/auth/permission', reply: /"permission":"admin"/ },
        { call: 'GET /v1/auth/permission', key: 'user', reply: /"permission":"api"/ },
        { call: 'GET /v1/auth/permission', key: 'none', status: 401 },
      ],
    },
    {
      what: 'GET /v1/templates, /v1/template/list; POST /v1/template/switch, /unload',
      outcome: 'served',
      note: 'also the own template of a model, as `model`; any key sees all names',
      probes: [
        { call: 'GET /v1/templates', key: 'user', reply: /"selected"/ },
        { call: 'POST /v1/template/switch', body: { prompt_template_name: 'zzz' }, status: 400, reply: /choose one of/ },
        { call: 'POST /v1/template/unload', key: 'user', status: 403 },
        { call: 'POST /v1/template/unload', reply: /"selected"/ },
        { call: 'POST /v1/template/switch', body: { prompt_template_name: 'model' }, reply: /"selected"/ },
      ],
    },
    {
      what: 'GET /v1/sampling/overrides; POST /v1/sampling/override/switch, /unload',
      outcome: 'served',
      note: 'forced zeros count; the presets are in the configuration; any key sees their names',
      probes: [
        { call: 'GET /v1/sampling/overrides', key: 'user', reply: /"overrides":\{\}/ },
        {
          call: 'POST /v1/sampling/override/switch',
          body: { overrides: { temperature: { override: 0, force: true } } },
          reply: /"force":true/,
        },
        { call: 'POST /v1/sampling/override/unload', reply: /"overrides":\{\}/ },
        { call: 'POST /v1/sampling/override/switch', body: {}, status: 400, reply: /preset/ },
        { call: 'POST /v1/sampling/override/switch', body: { preset: 'zzz' }, status: 400, reply: /no preset/ },
      ],
    },
    {
      what: "KoboldAI's API (/api/v1, /api/latest, /api/extra)",
      outcome: 'served',
      note: 'generates, streams, counts and aborts; `POST /api/extra/generate/check` is refused',
      probes: [
        { call: 'POST /api/v1/generate', body: { prompt: 'a' }, reply: /"results":\[\{"text":/ },
        { call: 'GET /api/latest/model', reply: /"result":"koboldcpp\// },
        { call: 'GET /api/v1/config/max_context_length', reply: /"value":\d/ },
        { call: 'GET /api/extra/version', reply: /"result":"KoboldCpp"/ },
        { call: 'POST /api/extra/tokencount', body: { prompt: 'ab' }, reply: /"value":2/ },
        { call: 'POST /api/extra/abort', body: {}, reply: /"success":false/ },
        { call: 'POST /api/extra/generate/check', body: {}, status: 404, reply: /there is no route/ },
      ],
    },
    {
      what: 'a busy port: the next one',
      outcome: 'mapped',
      note: '`server.portFallback: true`; else the server stops, and says that the port is in use',
    },
    { what: '`disable_fetch_requests`', outcome: 'mapped', note: '`media.urls: off`, and by default public addresses only' },
    {
      what: '`disable_request_streaming`',
      outcome: 'mapped',
      note: '`server.streaming: false`: the events of a stream come at once, when it is complete',
    },
    { what: '`send_tracebacks`', outcome: 'mapped', note: 'never; the log has the cause, with the id of the request' },
    { what: '`sse_ping_interval`', outcome: 'mapped', note: '`server.heartbeatMs`; 0 turns heartbeats off' },
    {
      what: 'API keys and an admin key, in `X-Api-Key`, `X-Admin-Key` or as bearer',
      outcome: 'served',
      note: 'any number of keys, with scopes, models, limits and an expiry',
      probes: [
        { call: 'GET /v1/models', key: 'none', headers: { 'x-api-key': 'user' }, reply: /"data"/ },
        { call: 'GET /v1/auth/permission', key: 'none', headers: { 'x-admin-key': 'admin' }, reply: /admin/ },
        { call: 'GET /v1/models', key: 'none', headers: { 'x-api-key': 'wrong' }, status: 401 },
      ],
    },
    {
      what: 'a file of keys, followed while the server runs',
      outcome: 'mapped',
      note: '`dragoman keys`, and the configuration, which is followed',
    },
    { what: 'keys in the log', outcome: 'mapped', note: 'never; tabbyAPI prints them at its start' },
    { what: '`disable_auth`', outcome: 'mapped', note: 'no key is needed on loopback when none is configured' },
    {
      what: 'a request without `model`',
      outcome: 'served',
      note: 'the model that was loaded last, else the default one; also in chat completions of other clients. Embeddings need a model',
      probes: [{ call: 'POST /v1/chat/completions', key: 'user', body: chat, reply: /"model":"echo"/ }],
    },
    {
      what: 'a `model` that is not there is answered by the loaded one',
      outcome: 'mapped',
      note: '404 with the names; an alias `*` takes every name',
      probes: [
        { call: 'POST /v1/chat/completions', body: { model: 'zzz', ...chat }, status: 404, reply: /available: echo, tiny/ },
      ],
    },
    {
      what: 'inline loading by `model`',
      outcome: 'served',
      note: 'for every key that may use the model; what does not fit beside it is unloaded when it is idle (residency.md)',
    },
    { what: 'dummy model names', outcome: 'mapped', note: '`aliases`' },
    {
      what: '`template_vars_default`, `template_vars_force`, reasoning on or off by default',
      outcome: 'mapped',
      note: '`chat` of a model, on each engine',
    },
    {
      what: '`tabby_config.yml` of a model, `use_as_default`',
      outcome: 'mapped',
      note: 'settings and `defaults` of the model in the configuration',
    },
    {
      what: 'replies name the loaded model',
      outcome: 'served',
      note: 'its id, not the alias that was sent',
      probes: [{ call: 'POST /v1/completions', body: { model: 'echo', prompt: 'a' }, reply: /"model":"echo"/ }],
    },
    {
      what: 'errors as `{"detail": …}`',
      outcome: 'mapped',
      note: "OpenAI's envelope, as its clients read it; below `/api` with `detail` beside it",
      probes: [{ call: 'POST /v1/chat/completions', body: {}, status: 400, reply: /^\{"error":\{"message":"messages/ }],
    },
  ],
}
