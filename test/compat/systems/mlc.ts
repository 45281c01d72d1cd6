import { fine } from '../answers.ts'
import { body, type Check, calls, event, finish, has, header, status, text, upstreamGot } from '../checks.ts'
import {
  assistant,
  asUser,
  better,
  called,
  chat,
  complete,
  differs,
  elsewhere,
  get,
  imagePart,
  over,
  post,
  prompt,
  type Row,
  refused,
  refuses,
  result,
  type System,
  sent,
  shownBy,
  system,
  textPart,
  tiny,
  tool,
  user,
  withoutKey,
  works,
  writes,
} from '../row.ts'
import { picture } from '../servers.ts'
import { mlcReplies } from './mlc-replies.ts'

const noPeers = 'for engines that hand prompts to each other; behind vLLM or SGLang their routers do it'
const f = (raw: string, fields: object, ...checks: readonly Check[]) =>
  writes(raw, { model: 'writes-pythonic', tools: [tool(), tool('g')], ...fields }, ...checks)
const embed = (fields: object, ...checks: readonly Check[]) =>
  post('/v1/embeddings', { model: 'scripted', input: 'a b', ...fields }, ...checks)

/** A route for debugging, which is there where the operator wants it. */
const debugs = (name: string) => elsewhere(post(`/llm/debug/${name}`, { model: 'any' }, status(200)))
const debugged = (debug: object, more: object = {}, check = status(200)) =>
  elsewhere(post('/llm/v1/chat/completions', { max_tokens: 3, messages: [user('x')], debug_config: debug, ...more }, check))

const routes: readonly Row[] = [
  better(1, ['GET /v1/models', 'with the state of each'], get('/v1/models', has('data.0.state'))),
  differs(
    '1a',
    ['`owned_by: MLC-LLM`', '`dragoman`, or the owner that a server behind it lists'],
    get('/v1/models', has('data.0.owned_by')),
  ),
  works(2, 'POST /v1/chat/completions', chat({}, text('hello'))),
  works(3, 'POST /v1/completions', complete({}, has('choices.0.text', 'hello'))),
  works(4, 'POST /v1/embeddings', embed({}, has('data.0.embedding.63'))),
  better(
    5,
    ['GET /metrics', 'for keys with the scope `metrics`'],
    get('/metrics', body(/^# HELP/m)),
    asUser(get('/metrics', status(403))),
  ),
  differs(
    '5a',
    ['metrics such as `engine_prefill_time_sum`', 'the same is measured under names of its own'],
    get('/metrics', body(/^dragoman_time_to_first_token_seconds/m)),
  ),
  refused(6, ['POST /microserving/prep_recv', noPeers], post('/microserving/prep_recv', {}, status(404, /whole request/))),
  refused(7, ['POST /microserving/remote_send', noPeers], post('/microserving/remote_send', {}, status(404, /whole request/))),
  refused(
    8,
    ['POST /microserving/start_generate', noPeers],
    post('/microserving/start_generate', {}, status(404, /whole request/)),
  ),
  works(9, 'POST /debug/dump_event_trace, with `server.debug`', debugs('dump_event_trace')),
  refused(
    10,
    ['POST /debug/cuda_profiler_start', 'nsys profiles the process without the help of a route'],
    post('/debug/cuda_profiler_start', {}, status(404, /nsys profile/)),
  ),
  works(11, 'POST /debug/dump_engine_metrics', debugs('dump_engine_metrics')),
  works(12, 'POST /debug/reset_engine', debugs('reset_engine')),
]

const server: readonly Row[] = [
  better(
    13,
    ['the only engine answers any `model`', '404, unless it has the alias `*`; replies have the id that served'],
    elsewhere(post('/llm/v1/chat/completions', { model: 'dist/llama', messages: [user('x')] }, has('model', 'any'))),
  ),
  works(
    14,
    '`model` may be absent',
    post('/v1/chat/completions', { messages: [user('x')] }, status(200)),
    post('/v1/embeddings', { input: 'a' }, status(200)),
    post('/v1/rerank', { query: 'a', documents: ['b'] }, has('model', 'ranker')),
  ),
  works(15, 'several models', chat({ model: 'short' }, has('model', 'short'))),
  differs(
    16,
    ['modes local, interactive, server', '`slots` and `contextLength` of each model'],
    get('/props?model=dragoman-tiny', has('total_slots', 4)),
  ),
  works(
    17,
    'prefixes of prompts are reused',
    tiny({ messages: [user('the same words again and again')] }),
    tiny(
      { messages: [user('the same words again and again')] },
      has('usage.prompt_tokens_details.cached_tokens', (count: number) => count > 5),
    ),
  ),
  refused(
    18,
    [
      'prefix reuse can be switched off',
      'a reused prefix changes no text; a reload forgets it, and so does /debug/reset_engine with `server.debug: on`',
    ],
    post('/debug/reset_engine', { model: 'dragoman-tiny' }, status(404, /server\.debug/)),
  ),
  works(19, 'long prompts are read in steps', shownBy('e2e/engines/rounds-llama.test.ts', 'steps of prompts may take as long')),
  differs(
    20,
    ['speculative decoding', 'with a small model or n-grams, also behind llama-server; llama.cpp has neither EAGLE nor Medusa'],
    shownBy('e2e/engines/speculation-llama.test.ts', 'that is the model itself drafts what the model says'),
  ),
  better(
    21,
    ['the API key covers all routes', 'but /health, /ready and /.well-known, which have no secrets'],
    withoutKey(get('/v1/models', status(401))),
    withoutKey(get('/health')),
  ),
  better(22, ['options of CORS', 'an allow-list'], sent({ headers: { origin: 'https://evil.example' } }, chat({}, status(403)))),
]

const fields: readonly Row[] = [
  better(23, ['empty `messages`', 'a 400'], chat({ messages: [] }, status(400))),
  better(
    24,
    ['lists of parts for users only', 'for every role'],
    chat({ messages: [system([textPart('a')]), user([textPart('b')])] }, text('b')),
  ),
  works(25, '`messages[].name`', chat({ messages: [user('b', { name: 'n' })] }, text('b'))),
  works(26, 'arguments of earlier calls as an object', tiny({ messages: [user('q'), called({ a: 1 }), result('r')] })),
  better(
    27,
    ['earlier calls of the assistant', 'served, where MLC-LLM sends 400'],
    tiny({ messages: [user('q'), called('{"a":1}'), result('r')], tools: [tool()] }),
  ),
  works(
    28,
    'penalties from -2 to 2',
    tiny({ frequency_penalty: -2, presence_penalty: 2 }),
    refuses(chat({ frequency_penalty: 3 }), 'frequency_penalty'),
  ),
  works(
    29,
    '`top_logprobs` up to 20, with `logprobs`',
    tiny({ logprobs: true, top_logprobs: 20 }, has('choices.0.logprobs.content.0.top_logprobs.19')),
    refuses(chat({ top_logprobs: 2 }), 'top_logprobs'),
  ),
  works(30, '`logit_bias`', tiny({ logit_bias: { 5: -100 } }), chat({ logit_bias: { a: 1 } }, status(400, /logit_bias/))),
  works(31, '`max_tokens: -1` is no limit', chat({ max_tokens: -1 }, text('hello'))),
  better(32, ['a bad `n`', '400, in place of 500'], refuses(chat({ n: 0 }), 'n')),
  works(
    33,
    '`seed`; choice i has seed + i',
    shownBy('e2e/engines/choices-llama.test.ts', 'choice i is what one choice with the seed + i is'),
  ),
  works(34, '`seed` null or -1 is random', tiny({ seed: -1 }), tiny({ seed: null })),
  works(35, '`stop`', chat({ messages: [user('a STOP')], stop: ['STOP'] }, text(/^a/), has('choices.0.stop_reason', 'STOP'))),
  works(
    36,
    'stop token ids',
    tiny({ stop_token_ids: [5] }, status(200)),
    over(fine, { stop_token_ids: [5] }, upstreamGot('stop_token_ids', [5])),
  ),
  better(
    37,
    ['`stream_options` without `stream` is an error', 'accepted: a complete reply has its usage'],
    chat({ stream_options: { include_usage: true } }, has('usage.total_tokens')),
  ),
  better(38, ['`stream_options: {}`', 'accepted'], chat({ stream: true, stream_options: {} }, text('hello'))),
  better(39, ['bad temperatures and `top_p`', '400, in place of 500'], refuses(chat({ temperature: -1 }), 'temperature')),
  works(
    40,
    '`tools`, and `tool_choice` none, auto or a function',
    tiny({ tools: [tool()], tool_choice: 'none' }),
    chat({ tools: [tool()], tool_choice: 'auto' }, text('hello')),
    tiny(
      {
        max_tokens: 40,
        tools: [tool('f', { type: 'object', properties: {} })],
        tool_choice: { type: 'function', function: { name: 'f' } },
      },
      calls('f({})'),
    ),
  ),
  better(
    41,
    ['`tool_choice: required`', 'enforced by a grammar'],
    tiny({ max_tokens: 40, tools: [tool('f', { type: 'object', properties: {} })], tool_choice: 'required' }, calls('f({})')),
  ),
  better(42, ['`user` is the id of the run', 'a label; equal ones run side by side'], chat({ user: 'x' }, text('hello'))),
  works(
    43,
    'an id for each request',
    sent({ headers: { 'x-request-id': 'mine' } }, chat({}, header('x-request-id', /^mine$/), has('id', /^chatcmpl-/))),
  ),
  works(
    44,
    '`response_format`, its schema as a string',
    tiny(
      {
        max_tokens: 20,
        response_format: { type: 'json_object', schema: '{"type":"object","properties":{},"additionalProperties":false}' },
      },
      text(/^\{\s*\}$/),
    ),
  ),
  works(
    '44a',
    '`response_format: structural_tag`',
    tiny(
      {
        max_tokens: 20,
        response_format: { type: 'structural_tag', tags: [{ begin: ' ', schema: '{"const":7}', end: ';' }], triggers: [' '] },
      },
      text(/^\S+( 7;\S*)+( 7?)?$/),
      header('x-dragoman-structured', /full/),
    ),
  ),
  better(
    45,
    ['`response_format: json_schema`', 'enforced while it is generated'],
    tiny(
      { max_tokens: 20, response_format: { type: 'json_schema', json_schema: { name: 'x', schema: { const: 7 } } } },
      text('7'),
      header('x-dragoman-structured', /full/),
    ),
  ),
  works(
    46,
    '`debug_config.ignore_eos`, and as a field of its own',
    debugged({ ignore_eos: true }),
    tiny({ ignore_eos: true }, finish('length')),
  ),
  works(47, '`debug_config.pinned_system_prompt`', debugged({ pinned_system_prompt: true })),
  works(
    48,
    '`debug_config.special_request`',
    debugged({ special_request: 'query_engine_metrics' }, { stream: true, stream_options: { include_usage: true } }),
  ),
  works(49, '`debug_config.grammar_execution_mode`', debugged({ grammar_execution_mode: 'constraint' })),
  refused(
    50,
    ['`debug_config.disagg_config`', noPeers],
    debugged({ disagg_config: { kind: 'prepare_receive' } }, {}, status(400, /debug_config/)),
  ),
  works(51, '`best_of` other than 1 is a 400', complete({ best_of: 2 }, status(400, /best_of/))),
]

const prompts: readonly Row[] = [
  better(
    52,
    ['templates of conversations', 'those of the model files, all that llama.cpp has'],
    shownBy('../src/model-text/template/histories.test.ts', 'shows any tool, with the names of all its parameters'),
  ),
  better(53, ['a system message only at the start', 'anywhere'], tiny({ messages: [user('a'), system('b'), user('c')] })),
  better(
    54,
    ['a role that the template lacks', 'its text is in another turn, in place of 500'],
    tiny({ messages: [{ role: 'developer', content: 'x' }, user('a')] }),
  ),
  works(
    55,
    'earlier thoughts are left out',
    prompt(
      'dragoman-tiny',
      [user('a'), assistant('b', { reasoning_content: 'SECRET' }), user('c')],
      has('prompt', (all: string) => !all.includes('SECRET')),
    ),
  ),
  better(
    56,
    ['control tokens in what a user writes', 'are plain text'],
    shownBy('control-tokens.test.ts', 'no string of a request becomes a control token'),
  ),
  works(
    57,
    'a prompt that is too long: 400 with both numbers',
    chat(
      { model: 'short', messages: [user('a '.repeat(30))] },
      status(400, /context_length_exceeded/),
      has('error.message', /20 tokens.*30 tokens/s),
    ),
  ),
  differs(
    58,
    ['a prompt that fills the context: 200 with an empty answer', '400 context_length_exceeded, since nothing can be generated'],
    chat({ model: 'short', messages: [user('a '.repeat(20))] }, status(400, /context_length_exceeded/)),
  ),
  works(59, 'pictures, as data or by URL', chat({ messages: [user([imagePart(picture)])] }, text(/image\/png/))),
  works(
    60,
    '`image_url` as a string',
    chat({ messages: [user([{ type: 'image_url', image_url: picture }])] }, text(/image\/png/)),
  ),
]

const tools: readonly Row[] = [
  better(61, ['`tools: []`', 'the same as none'], chat({ tools: [] }, text('hello'))),
  better(
    62,
    ['a named choice; an unknown name is a 400', 'enforced; the error has the names'],
    chat({ tools: [tool()], tool_choice: { type: 'function', function: { name: 'z' } } }, status(400, /f/)),
  ),
  better(
    63,
    ['functions are in the prompt', 'also where the template shows none'],
    shownBy('../src/model-text/template/describe-tools.test.ts', 'tools for a template that does not show them'),
  ),
  works(64, 'call expressions, with `toolFormat: pythonic`', f('[f(a=1), g(a="x")]', {}, calls('f({"a":1})', 'g({"a":"x"})'))),
  differs(65, ['a call that cannot be read ends with `error`', 'it is the text of the answer'], f('f(a=', {}, text('f(a='))),
  better(
    66,
    ['a truncated call', '`length`, with the arguments so far'],
    chat(
      {
        model: 'writes-hermes',
        messages: [user('{"chunks":["<tool_call>{\\"name\\":\\"f\\",\\"arguments\\":{\\"a\\":1","}}</tool_call>"]}')],
        tools: [tool()],
        max_tokens: 1,
      },
      finish('length'),
    ),
  ),
  better(
    67,
    ['arguments are an object', "JSON as a string, as OpenAI's SDKs read them"],
    f('[f(a=1)]', {}, has('choices.0.message.tool_calls.0.function.arguments', /^\{"a": 1\}$/)),
  ),
  better(
    68,
    ['calls in streams', 'piece by piece'],
    f('[f(a=1)]', { stream: true }, event('choices.0.delta.tool_calls.0.function.name', 'f')),
  ),
  works(69, 'calls of each of `n` choices', f('[f(a=1)]', { n: 2 }, has('choices.1.message.tool_calls.0.function.name', 'f'))),
]

/** MLC-LLM's server. */
export const mlc: System = {
  title: 'MLC-LLM serve',
  prefix: 'M',
  introduction: 'Models are GGUF files, or are on servers such as vLLM; compiled models of MLC-LLM are not read.',
  groups: [
    { title: 'routes', rows: routes },
    { title: 'server', rows: server },
    { title: 'fields', rows: fields },
    { title: 'prompts', rows: prompts },
    { title: 'tools', rows: tools },
    ...mlcReplies,
  ],
}
