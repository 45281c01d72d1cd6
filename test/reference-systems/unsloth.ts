import { type ReferenceTable, refused } from './row.ts'

const chat = { messages: [{ role: 'user', content: 'hello' }] }

/** Unsloth Studio's inference server: its routes. Fields are in docs/protocols.md. */
export const unslothTable: ReferenceTable = {
  title: 'Unsloth Studio',
  introduction:
    'Its routes are below `/api/inference` and `/v1`; its request fields are in [protocols.md](protocols.md). Errors below `/api` have its `detail` in every protocol. The rules of its stop button are in [cancelling.md](cancelling.md).',
  rows: [
    {
      what: 'POST /load',
      outcome: 'served',
      note: 'every field of the reply; `already_loaded` compares all settings',
      probes: [
        { call: 'POST /api/inference/load', body: { model_path: 'echo' }, reply: /"status":"(already_)?loaded","model":"echo"/ },
        { call: 'POST /v1/load', body: { model_path: 'ECHO' }, reply: /"status":"already_loaded","model":"echo"/ },
        { call: 'POST /api/inference/load', body: { model_path: 'echo' }, key: 'user', status: 403, reply: /"detail"/ },
        { call: 'POST /api/inference/load', body: { model_path: ' ' }, status: 400, reply: /"detail":"model_path is empty/ },
        { call: 'GET /api/inference/load', status: 405, reply: /"detail":"GET is not allowed/ },
      ],
    },
    {
      what: 'POST /validate',
      outcome: 'served',
      note: 'what is not there is a 404, where Unsloth sends 400',
      probes: [
        { call: 'POST /api/inference/validate', body: { model_path: ' Tiny ' }, reply: /"valid":true.*"identifier":"tiny"/ },
        { call: 'POST /v1/validate', body: { model_path: 'zzz' }, status: 404, reply: /"detail":"there is no model 'zzz'/ },
      ],
    },
    {
      what: 'GET /status, /load-progress',
      outcome: 'served',
      note: '`models` and more phases are additions',
      probes: [
        { call: 'GET /api/inference/status', key: 'user', reply: /"active_model":"echo".*"loaded":\["echo"/ },
        { call: 'GET /v1/status', key: 'user', reply: /"active_model":"echo"/ },
        { call: 'GET /v1/load-progress', key: 'user', reply: /"phase":"ready"/ },
      ],
    },
    {
      what: 'POST /generate/stream',
      outcome: 'served',
      note: 'pictures go to chat completions',
      probes: [{ call: 'POST /v1/generate/stream', key: 'user', body: chat, reply: /"content":"hello".*\[DONE\]/s }],
    },
    {
      what: 'POST /unload',
      outcome: 'served',
      note: 'by the name, in any case of letters, or by what its load was called, such as a path; 404 for an unknown one',
      probes: [
        { call: 'POST /v1/unload', body: { model_path: ' ECHO ' }, reply: /"status":"unloaded","model":"echo"/ },
        { call: 'POST /api/inference/unload', body: { model_path: 'zzz' }, status: 404, reply: /"detail":"there is no model/ },
        { call: 'POST /api/inference/unload', body: {}, status: 400, reply: /"detail":"model_path is missing/ },
        { call: 'POST /api/inference/unload', status: 400, reply: /"detail":"the request has no body/ },
      ],
    },
    {
      what: 'POST /cancel',
      outcome: 'served',
      note: 'below `/api/inference` only, as there',
      probes: [
        { call: 'POST /api/inference/cancel', key: 'user', reply: /"cancelled":0/ },
        { call: 'POST /v1/cancel', key: 'user', body: {}, status: 404 },
      ],
    },
    {
      what: 'POST /chat/completions, /completions, /embeddings, /responses, /messages; GET /models',
      outcome: 'served',
      note: 'below both prefixes, with any engine',
      probes: [
        { call: 'POST /api/inference/chat/completions', body: chat, reply: /"content":"hello"/ },
        { call: 'POST /api/inference/completions', body: { prompt: 'a' }, reply: /"text":"a"/ },
        { call: 'POST /api/inference/embeddings', body: { model: 'echo', input: 'a' }, reply: /"embedding"/ },
        { call: 'POST /api/inference/responses', body: { model: 'echo', input: 'a' }, reply: /"object":"response"/ },
        { call: 'POST /api/inference/messages', body: { model: 'echo', max_tokens: 9, ...chat }, reply: /"type":"message"/ },
        { call: 'GET /api/inference/models', reply: /"id":"echo"/ },
        { call: 'GET /api/inference/models/tiny', reply: /"id":"tiny"/ },
        {
          call: 'POST /api/inference/chat/completions',
          body: { model: 'zzz', ...chat },
          status: 404,
          reply: /"detail":"model 'zzz'/,
        },
      ],
    },
    {
      what: 'POST /messages/count_tokens, /chat/count_tokens',
      outcome: 'served',
      note: '`estimated` where the tokenizer cannot be used',
      probes: [
        { call: 'POST /api/inference/messages/count_tokens', body: { model: 'echo', ...chat }, reply: /"input_tokens":1/ },
        { call: 'POST /api/inference/chat/count_tokens', body: chat, reply: /"input_tokens":1,"model":"echo"/ },
        { call: 'POST /v1/chat/count_tokens', key: 'user', body: { messages: 1 }, status: 400, reply: /messages/ },
      ],
    },
    {
      what: 'POST /audio/generate, /audio/speech, /audio/transcriptions, /images/generations',
      outcome: 'served',
      note: 'by a remote model whose `services` list it (media.md); without one, 400 says so',
      probes: ['/api/inference', '/v1'].flatMap((base) => [
        { call: `POST ${base}/audio/generate`, body: chat, status: 400, reply: /services/ },
        { call: `POST ${base}/audio/speech`, body: { input: 'a' }, status: 400, reply: /services/ },
        { call: `POST ${base}/images/generations`, body: { prompt: 'a' }, status: 400, reply: /services/ },
        { call: `POST ${base}/audio/transcriptions`, body: {}, status: 415, reply: /multipart/ },
      ]),
    },
    {
      what: 'GET /active-generations',
      outcome: 'served',
      note: "the key's own chats and completions; a thread is a session",
      probes: [{ call: 'GET /api/inference/active-generations', key: 'user', reply: /"count":0.*"parallel_slots":\d+/ }],
    },
    refused(
      'GET /monitor, DELETE /monitor',
      'requests are not kept',
      ['GET /api/inference/monitor', 'GET /api/inference/monitor/a'],
      /"detail":.*metrics/,
    ),
    {
      what: 'GET /sandbox/…',
      outcome: 'served',
      note: 'pictures that programs made, for the same key, where `tools` has programs (tools.md)',
      probes: [{ call: 'GET /api/inference/sandbox/a/b.png', status: 404, reply: /the tools python and terminal are off/ }],
    },
    {
      what: 'POST /tool-confirm',
      outcome: 'served',
      note: 'for calls of `enable_tools` that wait (tools.md)',
      probes: ['/api/inference', '/v1'].map((base) => ({
        call: `POST ${base}/tool-confirm`,
        body: { tool_call_id: 'a', approved: true },
        status: 404,
        reply: /waits for an approval/,
      })),
    },
    {
      what: 'GET /api/health',
      outcome: 'served',
      note: 'without a key',
      probes: [{ call: 'GET /api/health', key: 'none', reply: /"status":"ok"/ }],
    },
    refused('POST /api/shutdown', 'stop the process', ['POST /api/shutdown'], /"detail":.*SIGTERM/),
    refused(
      'GET /api/system…',
      '`dragoman doctor`',
      ['GET /api/system', 'GET /api/system/hardware'],
      /"detail":.*dragoman doctor/,
    ),
    refused(
      '/api/auth/…',
      'API keys in place of logins',
      ['POST /api/auth/login', 'GET /api/auth/status'],
      /"detail":.*dragoman keys new/,
    ),
    refused('/api/models/…', 'GET /v1/models, and the routes above', ['GET /api/models/list'], /"detail":.*GET \/v1\/models/),
    refused(
      'training, data, export, settings, providers',
      'only inference is served',
      ['GET /api/train/status', 'GET /api/settings'],
      /"detail":.*only inference/,
    ),
    {
      what: 'an unknown route below /api/inference',
      outcome: 'served',
      note: '404 with `detail`',
      probes: [
        { call: 'GET /api/inference/zzz', status: 404, reply: /^\{"detail":"there is no route GET \/api\/inference\/zzz[":]/ },
      ],
    },
  ],
}
