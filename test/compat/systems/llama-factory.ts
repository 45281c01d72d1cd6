import { whole } from '../answers.ts'
import { body, has, header, status, text, upstreamGot } from '../checks.ts'
import {
  better,
  chat,
  differs,
  elsewhere,
  file,
  get,
  imagePart,
  post,
  type Row,
  type System,
  sent,
  shownBy,
  soon,
  starts,
  textPart,
  tiny,
  user,
  withoutKey,
  works,
} from '../row.ts'
import { picture } from '../servers.ts'
import { llamaFactoryConversations } from './llama-factory-conversations.ts'
import { llamaFactoryFields } from './llama-factory-fields.ts'
import { llamaFactoryReplies } from './llama-factory-replies.ts'
import { score, seen, streamed } from './shown-steps.ts'

/** A completion that repeats its prompt of three tokens, with their log-probabilities. */
const echoed = whole({
  object: 'text_completion',
  choices: [
    {
      index: 0,
      text: 'a b c d',
      finish_reason: 'length',
      logprobs: { tokens: ['a', ' b', ' c', ' d'], token_logprobs: [null, -1, -2, -9], top_logprobs: [null, {}, {}, {}] },
    },
  ],
  usage: { prompt_tokens: 3, completion_tokens: 1, total_tokens: 4 },
})

const routes: readonly Row[] = [
  better(
    1,
    ['GET /v1/models', 'with state, aliases and context length'],
    get(
      '/v1/models',
      has('object', 'list'),
      has('data.0.id', 'scripted'),
      has('data.0.state', 'ready'),
      has('data.0.aliases', ['default', 'gpt-*']),
      has('data.1.context_length', 20),
    ),
  ),
  works(
    2,
    'POST /v1/chat/completions, whole and as events',
    chat({}, text('hello'), has('id', /^chatcmpl-[0-9a-f]{32}$/), has('object', 'chat.completion')),
    chat({ stream: true, messages: [user('a b c')] }, streamed('a b c'), body(/\n\ndata: \[DONE\]\n\n$/)),
  ),
  better(
    3,
    ['a model that cannot generate refuses a chat', '400 that names embeddings and ranking, where LLaMA-Factory sends 405'],
    tiny({ model: 'ranker' }, status(400, /encoder.*embeddings or ranking/), has('error.param', 'model')),
  ),
  works(
    4,
    'POST /v1/score/evaluation with a reward model',
    score({}, has('method', 'ranking_head'), has('object', 'score.evaluation'), has('scores', first('above'))),
    score({ messages: ['b', 'a b c d'] }, has('scores', first('below'))),
  ),
  better(
    5,
    ['scores of a model without a reward head', 'the log-probability of the text, in place of 405'],
    score(
      { model: 'dragoman-tiny', messages: ['1, 2, 3, 4, 5, 6', '1, fox, red, of, 5, is'] },
      has('method', 'log_likelihood'),
      has('scores', first('above')),
      has('scores.0', (value: number) => value < 0),
    ),
  ),
  works(
    6,
    '`max_length` of a score cuts the text',
    score(
      { messages: ['a b c d', 'a b c'], max_length: 3 },
      has('truncated', [true, false]),
      has('scores', ([cut, short]: number[]) => cut === short),
    ),
  ),
  works(7, 'a score of no text is a 400', score({ messages: [] }, status(400, /at least one text/))),
  better(
    8,
    ['a text to score that is not a string', '400 with its place'],
    score({ messages: ['a', 3] }, status(400, /messages\[1\]/)),
  ),
  better(
    9,
    ['scores from vLLM or SGLang', 'by the log-probabilities of the prompt, in place of 500'],
    ...['vllm', 'sglang'].map((model) =>
      sent({ upstream: echoed }, score({ model, messages: ['a b c'] }, has('scores', [-3]), upstreamGot('prompt', 'a b c'))),
    ),
  ),
  works(
    10,
    'GET /docs and /openapi.json',
    get('/docs', body(/<html/i)),
    get('/openapi.json', has('openapi', /^3/), has('paths./v1/chat/completions.post.requestBody', /messages|ref/)),
  ),
  differs(
    11,
    ['any `model` is answered', '404 with the names; an alias `*` takes every name, and the reply has the id that served'],
    chat({ model: 'nobody' }, status(404, /model_not_found/), has('error.message', /available: scripted/)),
    elsewhere(post('/llm/v1/chat/completions', { model: 'nobody', messages: [user('a')] }, has('model', 'any'), text('a'))),
  ),
  better(
    12,
    ['unknown fields are ignored', 'and named in `x-dragoman-ignored`'],
    chat({ foo: 1, messages: [user('a', { zip: 2 })] }, text('a'), header('x-dragoman-ignored', /^foo, messages\[\]\.zip$/)),
  ),
]

/** Which of two scores is greater. */
function first(place: 'above' | 'below') {
  return ([one = 0, other = 0]: readonly number[]) => (place === 'above' ? one > other : one < other)
}

const slow = chat({ model: 'narrow', messages: [user('{"chunks":["a","b"],"delayMs":400}')] }, text('ab'))

const server: readonly Row[] = [
  works(
    13,
    '`API_HOST`, `API_PORT`: `server.host`, `server.port`, `--port`',
    shownBy('../src/config/load.test.ts', 'the environment wins over the file'),
    shownBy('../src/config/load.test.ts', 'a flag wins over the environment'),
    shownBy('e2e/install/cli.test.ts', 'a port that is taken is one clear line'),
  ),
  better(
    14,
    ['`API_KEY`; without one the server is open', 'any number of keys, as bearer or `x-api-key`; on loopback without a key'],
    withoutKey(get('/v1/models', status(401))),
    sent({ headers: { authorization: 'Bearer wrong' }, key: 'none' }, get('/v1/models', status(401))),
    sent({ headers: { 'x-api-key': 'user' }, key: 'none' }, get('/v1/models', has('data.0.id', 'scripted'))),
    sent({ key: 'other-user' }, get('/v1/models', has('data.0.id', 'scripted'))),
    elsewhere(get('/llm/v1/models', has('data.0.id', 'any'))),
  ),
  works(
    15,
    '`API_MODEL_NAME`: `id` and `aliases`',
    chat({ model: 'default' }, has('model', 'scripted')),
    chat({ model: 'gpt-3.5-turbo' }, has('model', 'scripted')),
  ),
  works(
    16,
    '`API_VERBOSE` prints requests: `log.captureFolder` keeps them, for `dragoman replay`',
    elsewhere(post('/llm/v1/chat/completions', { model: 'any', messages: [user('row sixteen')] }, text('row sixteen'))),
    file('captured/*', /row sixteen/),
  ),
  works(
    17,
    '`FASTAPI_ROOT_PATH`: `server.basePath`',
    elsewhere(get('/llm/v1/models', has('data.0.id', 'any'))),
    get('/llm/v1/models', status(404)),
  ),
  better(
    18,
    ['`MAX_CONCURRENT`: `slots`', 'with a queue, 429 and `Retry-After` when it is full; a client that leaves frees its place'],
    starts(slow),
    soon(get('/metrics', body(/^dragoman_slots_busy\{model="narrow"\} 1$/m))),
    chat({ model: 'narrow' }, status(429, /queue/), header('retry-after', /^\d+$/)),
    slow,
    chat({ model: 'narrow' }, text('hello')),
    shownBy('e2e/models/lifecycle.test.ts', 'while it is answered: the slot is free within 250 ms'),
  ),
  better(
    19,
    ['`SAFE_MEDIA_PATH`, `ALLOW_LOCAL_FILES`', '`media.allowedLocalPath`; what is outside and what is missing get one answer'],
    seen(imagePart('file://FOLDER/media/red.png'), text(/image\/png/)),
    ...['/etc/passwd', 'FOLDER/media/none.png', 'FOLDER/outside.png'].map((path) =>
      seen(imagePart(path), status(400, /not a file that may be read: it must be below the folder/)),
    ),
    elsewhere(
      post(
        '/llm/v1/chat/completions',
        { model: 'any', messages: [user([imagePart('FOLDER/media/red.png')])] },
        status(400, /allowedLocalPath|media/),
      ),
    ),
  ),
  better(
    20,
    ['media placeholders in texts', 'a literal `<image>` is text, and a picture has its place'],
    chat(
      { messages: [user([textPart('a <image> b'), imagePart(picture), textPart('c')])] },
      text(/^a <image> b\[image image\/png [^\]]+\]c$/),
    ),
  ),
  differs(
    21,
    ['pages of all origins may call', '`server.allowedOrigins`, which may be `*`; others get 403'],
    sent({ headers: { origin: 'https://evil.example' } }, chat({}, status(403, /origin_not_allowed/))),
    sent(
      { headers: { origin: 'https://page.example' } },
      chat({}, text('hello'), header('access-control-allow-origin', /^https:\/\/page\.example$/)),
    ),
    shownBy('../src/http/access/cross-origin.test.ts', 'is any page when all are allowed, without `vary`'),
  ),
  differs(
    22,
    ['the address it listens on', '127.0.0.1 unless another is configured, and then only with a key'],
    shownBy('../src/config/load.test.ts', 'without settings, the default model is served on loopback'),
    shownBy('e2e/install/cli.test.ts', 'reachable from elsewhere it makes a key, shows it once, and asks for it'),
  ),
]

/** LLaMA-Factory's API: chats, scores and models. */
export const llamaFactory: System = {
  title: "LLaMA-Factory's API",
  prefix: 'L',
  introduction:
    'Environment variables became settings of the configuration. `temperature` and the other fields are those of OpenAI.',
  groups: [
    { title: 'routes', rows: routes },
    { title: 'server', rows: server },
    ...llamaFactoryFields,
    ...llamaFactoryConversations,
    ...llamaFactoryReplies,
  ],
}
