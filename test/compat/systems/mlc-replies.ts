import { fine } from '../answers.ts'
import { body, type Check, event, finish, has, header, status, text, upstreamGot } from '../checks.ts'
import {
  better,
  chat,
  complete,
  differs,
  elsewhere,
  type Group,
  get,
  over,
  post,
  type Row,
  refused,
  sent,
  shownBy,
  tiny,
  tinyComplete,
  tool,
  user,
  works,
} from '../row.ts'

const noPeers = 'for engines that hand prompts to each other; behind vLLM or SGLang their routers do it'
const embed = (fields: object, ...checks: readonly Check[]) =>
  post('/v1/embeddings', { model: 'scripted', input: 'a b', ...fields }, ...checks)

const replies: readonly Row[] = [
  works(
    70,
    'early errors of a stream have a status',
    chat({ stream: true, messages: [user('{"chunks":["a"],"failAfter":0}')] }, status(500)),
  ),
  better(
    71,
    ['a late failure ends without `[DONE]`', 'an error event, then `[DONE]`'],
    chat({ stream: true, messages: [user('{"chunks":["a","b"],"failAfter":1}')] }, event('error.message'), body(/\[DONE\]/)),
  ),
  better(
    72,
    ['`role` in each delta', "once: OpenAI's SDK for Python joins them"],
    chat({ stream: true }, event('choices.0.delta.role', 'assistant')),
  ),
  better(73, ['log-probabilities', 'with bytes'], tiny({ logprobs: true }, has('choices.0.logprobs.content.0.bytes'))),
  works(74, 'the chunk with usage', chat({ stream: true, stream_options: { include_usage: true } }, event('usage.total_tokens'))),
  works(
    75,
    '`usage.extra`: times and rates, with `server.usageTimes: [mlc]`',
    elsewhere(post('/llm/v1/chat/completions', { model: 'any', messages: [user('a')] }, has('usage.extra.prefill_tokens_per_s'))),
  ),
  better(
    76,
    ['finish reasons error, abort, preempt', 'never; failures are errors'],
    chat({ messages: [user('{"chunks":["a"],"failAfter":0}')] }, status(500)),
  ),
]

const completions: readonly Row[] = [
  works(77, 'prompts as text or token ids', tinyComplete({ prompt: [5, 6] }), tinyComplete({ prompt: 'a' })),
  better(78, ['one prompt', 'or a list, each with its choices'], complete({ prompt: ['a', 'b'] }, has('choices.1.text', 'b'))),
  works(79, '`echo`', complete({ echo: true }, has('choices.0.text', 'hellohello'))),
  better(
    80,
    ['`echo` with `logprobs`', 'the prompt has its log-probabilities'],
    tinyComplete({ echo: true, logprobs: 1 }, has('choices.0.logprobs.token_logprobs.1')),
  ),
  differs(
    81,
    ['`suffix` is put behind the text', 'the model fills in the middle, as in the API of OpenAI; 400 for models that cannot'],
    tinyComplete({ suffix: 'x' }, status(400, /suffix/)),
  ),
  works(82, '`logprobs` 0 to 5', tinyComplete({ logprobs: 5 }, has('choices.0.logprobs.text_offset.0'))),
  works('82a', '`usage: null` in each chunk of completions', complete({ stream: true }, event('usage', null))),
  works(
    83,
    'streams with usage, ids `cmpl-`',
    complete({ stream: true, stream_options: { include_usage: true } }, event('id', /^cmpl-/), event('usage.total_tokens')),
  ),
  works(
    84,
    'texts to embed: one, a list, token ids',
    embed({ input: ['a', 'b'] }, has('data.1.index', 1)),
    embed({ model: 'ranker', input: [5, 6] }, status(400)),
    embed({ model: 'dragoman-tiny', input: [5, 6] }),
  ),
  differs(
    85,
    ['an empty text to embed', "a 400, as in OpenAI's API: its vector would mean nothing"],
    embed({ input: '' }, status(400, /empty/)),
  ),
  works(86, '`encoding_format: base64`', embed({ encoding_format: 'base64' }, has('data.0.embedding', /^[A-Za-z0-9+/]+=*$/))),
  better(
    87,
    ['`dimensions`', 'vectors keep length 1'],
    embed(
      { dimensions: 8 },
      has('data.0.embedding', (vector: number[]) => Math.abs(Math.hypot(...vector) - 1) < 1e-5),
    ),
  ),
  better(
    88,
    ['usage and index of embeddings', 'and errors with `param`'],
    embed({}, has('usage.prompt_tokens', 2)),
    embed({ input: 3 }, has('error.param', 'input')),
  ),
]

const routers: readonly Row[] = [
  works(89, 'a client that leaves ends its run', shownBy('e2e/models/lifecycle.test.ts', 'the slot is free within 250 ms')),
  better(
    90,
    ['also while a prompt is read, and in the queue', 'at once in each'],
    shownBy('e2e/models/lifecycle.test.ts', 'the slot is free within 250 ms'),
  ),
  works(91, 'several servers behind one name', shownBy('fleet-simulation.test.ts', 'a hundred replicas find')),
  works(92, 'the least busy one is chosen', shownBy('fleet-simulation.test.ts', 'a hundred replicas find')),
  differs(
    93,
    ['round-robin', 'the least busy server that has the prompt cached; idle ones take turns'],
    over(fine, {}, text('ok')),
  ),
  refused(94, ['prefill and decoding on different servers', noPeers], post('/microserving/start_generate', {}, status(404))),
  differs(
    95,
    ['it starts its engines', 'one llama-server for each model; servers of several GPUs are started by their operator'],
    shownBy('e2e/engines/spawn-llama-server.test.ts', 'the exit of a server is reported'),
  ),
  works(96, 'servers are asked whether they are well', get('/v1/models/vllm', has('id', 'vllm'))),
  better(
    97,
    ['a preempted request starts anew', 'it is continued elsewhere'],
    shownBy('../src/engine/remote/generate-reply.test.ts', 'is continued by the one that can'),
  ),
  better(
    98,
    ['chats through the router', 'with keys, usage and all protocols'],
    over(fine, {}, text('ok'), has('usage.prompt_tokens', 3)),
  ),
  better(99, ['errors', 'JSON once, not as a string in JSON'], chat({ messages: 1 }, has('error.message'))),
]

const weather = { location: { type: 'string' }, unit: { type: 'string', enum: ['celsius', 'fahrenheit'] } }

const clients: readonly Row[] = [
  works(
    100,
    'its four examples: whole, streamed, with a tool, with the stream helper',
    tiny({ messages: [user('What is the capital of France?')] }),
    tiny(
      { messages: [user('What is the capital of France?')], stream: true, stream_options: { include_usage: true } },
      event('usage.total_tokens'),
    ),
    tiny(
      {
        max_tokens: 60,
        messages: [user('What is the weather in Paris?')],
        tool_choice: 'required',
        tools: [tool('get_weather', { type: 'object', properties: weather, required: ['location'] })],
      },
      has('choices.0.message.tool_calls.0.function.name', 'get_weather'),
    ),
  ),
  works(101, '`debug_config` with its defaults', chat({ debug_config: { ignore_eos: false } }, text('hello'))),
  works(
    102,
    'bodies with every field null',
    chat(
      {
        frequency_penalty: null,
        presence_penalty: null,
        logprobs: null,
        top_logprobs: null,
        logit_bias: null,
        max_tokens: null,
        n: null,
        seed: null,
        stop: null,
        stream_options: null,
        temperature: null,
        top_p: null,
        tools: null,
        tool_choice: null,
        user: null,
        response_format: null,
        debug_config: null,
      },
      text('hello'),
    ),
  ),
  better(
    103,
    ['the engine without HTTP', '`createDragoman()` of the package, in JavaScript'],
    shownBy('../src/app/create-dragoman.test.ts', 'a text is a prompt, and the result has its parts'),
  ),
  works(
    104,
    'log-probabilities of streams, with `n` 2',
    tiny({ stream: true, n: 2, logprobs: true }, event('choices.0.logprobs.content.0.token')),
  ),
  works(105, '`tool_choice: auto` without tools', chat({ tool_choice: 'auto' }, text('hello'))),
  works(
    106,
    'token ids through another server',
    sent({ upstream: fine }, complete({ model: 'completions', prompt: [1, 2] }, upstreamGot('prompt', [1, 2]))),
  ),
  works(
    107,
    '`user`, `metadata`; others are named',
    over(fine, { user: 'x', metadata: { a: 'b' }, metadata_json: 1 }, header('x-dragoman-ignored', /metadata_json/)),
  ),
  better(
    108,
    ['a model that is not served: 400', '404 model_not_found, which SDKs know'],
    chat({ model: 'z' }, status(404, /model_not_found/)),
  ),
  works(
    109,
    'a required call that its limit truncates',
    tiny({ max_tokens: 3, tools: [tool()], tool_choice: 'required' }, finish('length')),
  ),
]

/** What MLC-LLM serve answers, and how it is reached. */
export const mlcReplies: readonly Group[] = [
  { title: 'replies', rows: replies },
  { title: 'completions and embeddings', rows: completions },
  { title: 'cancelling, routers and errors', rows: routers },
  { title: 'clients', rows: clients },
]
