import { type Answer, chatChunk, doneLine, openStream } from '../../support/upstream/upstream.ts'
import { fine } from '../answers.ts'
import { event, finish, has, header, status, text, upstreamGot, upstreamLacks, upstreamSaw } from '../checks.ts'
import {
  better,
  chat,
  complete,
  differs,
  type Group,
  get,
  over,
  post,
  type Row,
  refused,
  sent,
  shownBy,
  soon,
  tiny,
  tool,
  user,
  works,
} from '../row.ts'
import { noPeers } from './mlc-steps.ts'
import { counting, streamed, tokensAreTexts } from './shown-steps.ts'

const isSecond = ({ path }: { readonly path: string }) => path.startsWith('/second')

/** Of two servers, the one that is asked first fails. */
function failsFirst(): Answer {
  let failing: boolean | undefined
  return (request, response) => {
    failing ??= isSecond(request)
    return isSecond(request) === failing ? void response.writeHead(500).end() : fine(request, response)
  }
}

/** It breaks off, and goes on when it is asked to continue. */
const breaksOff: Answer = (request, response) => {
  const [last] = (request.body.messages as { role: string; content: string }[]).slice(-1)
  openStream(response)
  if (last?.role !== 'assistant') {
    response.write(chatChunk({ delta: { content: 'one ' } }), () => response.destroy())
    return
  }
  response.end(`${chatChunk({ delta: { content: 'two' } })}${chatChunk({ delta: {}, finish_reason: 'stop' })}${doneLine}`)
}

const phases = [
  'while queued: its queue entry is freed, and the running request continues',
  'while its prompt is read: the slot is free within 250 ms',
]

const routers: readonly Row[] = [
  works(
    89,
    'a client that leaves ends its run',
    shownBy('e2e/models/lifecycle.test.ts', 'while it is answered: the slot is free within 250 ms'),
    shownBy('e2e/models/lifecycle.test.ts', 'of a reply that is not a stream: the slot is free as well'),
  ),
  better(
    90,
    ['also while a prompt is read, and in the queue', 'at once in each'],
    ...phases.map((name) => shownBy('e2e/models/lifecycle.test.ts', name)),
  ),
  works(
    91,
    'several servers behind one name',
    get(
      '/v1/models/fleet',
      has('servers', (all: unknown[]) => all.length === 2),
    ),
    sent(
      { upstream: failsFirst() },
      chat(
        { model: 'fleet' },
        text('ok'),
        upstreamSaw(isSecond),
        upstreamSaw((request) => !isSecond(request)),
      ),
    ),
  ),
  works(
    92,
    'the least busy one is chosen',
    shownBy('../src/engine/remote/fleet/pool.test.ts', 'the least loaded is chosen, in tokens by weight'),
  ),
  differs(
    93,
    ['round-robin', 'the least busy server that has the prompt cached; idle ones take turns'],
    shownBy('fleet-simulation.test.ts', 'a hundred replicas find at least 96 % of what they have cached'),
    shownBy('../src/engine/remote/fleet/pool.test.ts', 'equals take turns'),
  ),
  refused(
    94,
    ['prefill and decoding on different servers', noPeers],
    post('/microserving/start_generate', {}, status(404, /whole request/)),
  ),
  differs(
    95,
    ['it starts its engines', 'one llama-server for each model; servers of several GPUs are started by their operator'],
    shownBy('e2e/engines/engine-llama-server.test.ts', 'answers, and its server asks everybody else for the key'),
    shownBy('e2e/engines/engine-llama-server.test.ts', 'nothing is left when Dragoman closes'),
  ),
  works(
    96,
    'servers are asked whether they are well',
    soon(get('/v1/models/vllm', has('servers.0.state', 'healthy'))),
    shownBy('../src/engine/remote/fleet/attempts/watch-attempt.test.ts', 'health checks that fail eject a server, too'),
  ),
  better(
    97,
    ['a preempted request starts anew', 'it is continued elsewhere'],
    sent(
      { upstream: breaksOff },
      chat(
        { model: 'pair', stream: true },
        streamed('one two'),
        finish('stop'),
        upstreamSaw(({ body }) => JSON.stringify(body.messages).includes('"content":"one "')),
      ),
    ),
  ),
  better(
    98,
    ['chats through the router', 'with keys, usage and all protocols'],
    over(fine, {}, text('ok'), has('model', 'vllm'), has('usage.prompt_tokens', 3), has('usage.completion_tokens', 1)),
    sent({ key: 'none' }, over(fine, {}, status(401))),
    sent(
      { upstream: fine },
      post('/v1/messages', { model: 'vllm', max_tokens: 5, messages: [user('a')] }, has('content.0.text', 'ok')),
    ),
    sent(
      { upstream: fine },
      post('/api/chat', { model: 'vllm', stream: false, messages: [user('a')] }, has('message.content', 'ok')),
    ),
  ),
  better(
    99,
    ['errors', 'JSON once, not as a string in JSON'],
    chat({ messages: 1 }, has('error.message', 'messages: expected an array of messages, got 1'), has('error.param', 'messages')),
  ),
]

const counted = '1, 2, 3, 4, 5, 6, 7, 8, '

const weather = { location: { type: 'string' }, unit: { type: 'string', enum: ['celsius', 'fahrenheit'] } }

const clients: readonly Row[] = [
  works(
    100,
    'its four examples: whole, streamed, with a tool, with the stream helper',
    tiny({ max_tokens: 20, messages: [user('What is the capital of France?')] }, text(/Paris/)),
    tiny(
      {
        max_tokens: 20,
        messages: [user('What is the capital of France?')],
        stream: true,
        stream_options: { include_usage: true },
      },
      text(/Paris/),
      event('usage.total_tokens', (count: number) => count > 5),
    ),
    tiny(
      {
        max_tokens: 60,
        messages: [user('What is the weather in Paris?')],
        tool_choice: 'required',
        tools: [tool('get_weather', { type: 'object', properties: weather, required: ['location'] })],
      },
      has('choices.0.message.tool_calls.0.function.name', 'get_weather'),
      has('choices.0.message.tool_calls.0.function.arguments', /"location": ?"/),
    ),
  ),
  works(
    101,
    '`debug_config` with its defaults',
    chat({ debug_config: { ignore_eos: false } }, text('hello'), finish('stop')),
    chat({ debug_config: { ignore_eos: true } }, text('hello'), finish('stop'), header('x-dragoman-ignored', /^debug_config$/)),
  ),
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
    counting({ stream: true, n: 2, logprobs: true }, tokensAreTexts(2), streamed(counted, counted)),
  ),
  works(
    105,
    '`tool_choice: auto` without tools',
    chat({ tool_choice: 'auto' }, text('hello')),
    over(fine, { tool_choice: 'auto' }, text('ok'), upstreamLacks('tool_choice')),
  ),
  works(
    106,
    'token ids through another server',
    sent({ upstream: fine }, complete({ model: 'completions', prompt: [1, 2] }, text('ok'), upstreamGot('prompt', [1, 2]))),
  ),
  works(
    107,
    '`user`, `metadata`; others are named',
    over(
      fine,
      { user: 'x', metadata: { a: 'b' }, metadata_json: 1 },
      header('x-dragoman-ignored', /^metadata_json$/),
      upstreamLacks('metadata_json'),
    ),
    sent(
      { upstream: fine },
      chat({ model: 'openai', user: 'x', metadata: { a: 'b' } }, upstreamGot('user', 'x'), upstreamGot('metadata', { a: 'b' })),
    ),
  ),
  better(
    108,
    ['a model that is not served: 400', '404 model_not_found, which SDKs know'],
    chat({ model: 'z' }, status(404, /model_not_found/)),
  ),
  works(
    109,
    'a required call that its limit truncates',
    tiny(
      { max_tokens: 12, tools: [tool('get_weather')], tool_choice: 'required' },
      finish('length'),
      has('choices.0.message.tool_calls.0.function.arguments', (args: string) => /^\{(?!.*\}$)/.test(args)),
    ),
  ),
]

/** How MLC-LLM serve is reached. */
export const mlcClients: readonly Group[] = [
  { title: 'cancelling, routers and errors', rows: routers },
  { title: 'clients', rows: clients },
]
