import { body, event, finish, has, header, lacks, status, text } from '../checks.ts'
import {
  better,
  chat,
  complete,
  differs,
  elsewhere,
  type Group,
  post,
  type Row,
  refuses,
  tinyComplete,
  user,
  works,
} from '../row.ts'
import { embed } from './mlc-steps.ts'
import { counting, streamed } from './shown-steps.ts'

const fails = (after: number) => [user(JSON.stringify({ chunks: ['a', 'b'], failAfter: after }))]
const lengthOf = (vector: number[]) => Math.hypot(...vector)

const replies: readonly Row[] = [
  works(
    70,
    'early errors of a stream have a status',
    chat(
      { stream: true, messages: fails(0) },
      status(500, /engine_failed/),
      header('content-type', /^application\/json/),
      has('error.message', /failed after 0 chunks/),
    ),
  ),
  better(
    71,
    ['a late failure ends without `[DONE]`', 'an error event, then `[DONE]`'],
    chat(
      { stream: true, messages: fails(1) },
      streamed('a'),
      event('error.code', 'engine_failed'),
      body(/"error":.*\n\ndata: \[DONE\]\n\n$/),
    ),
  ),
  better(
    72,
    ['`role` in each delta', "once: OpenAI's SDK for Python joins them"],
    chat({ stream: true, messages: [user('a b')] }, body(/^[^\n]*"role":"assistant"(?!.*"role")/s), streamed('a b')),
  ),
  better(
    73,
    ['log-probabilities', 'with bytes'],
    counting(
      { logprobs: true },
      has('choices.0.logprobs.content', (all: { token: string; bytes: number[]; logprob: number }[]) => {
        return (
          all.length === 24 && all.every(({ token, bytes, logprob }) => Buffer.from(bytes).toString() === token && logprob <= 0)
        )
      }),
    ),
  ),
  works(
    74,
    'the chunk with usage',
    chat(
      { stream: true, stream_options: { include_usage: true }, messages: [user('a b')] },
      event('usage.total_tokens', 4),
      body(/"choices":\[\],"usage":\{"prompt_tokens":2.*\n\ndata: \[DONE\]\n\n$/),
    ),
  ),
  works(
    75,
    '`usage.extra`: times and rates, with `server.usageTimes: [mlc]`',
    elsewhere(
      post(
        '/llm/v1/chat/completions',
        { model: 'any', messages: [user('a b')] },
        has('usage.extra.prefill_tokens', 2),
        has('usage.extra.decode_tokens', 2),
        has('usage.extra.prefill_tokens_per_s', (rate: number) => rate > 0),
        has('usage.extra.end_to_end_latency_s', (seconds: number) => seconds > 0),
      ),
    ),
    chat({}, lacks('usage.extra')),
  ),
  better(
    76,
    ['finish reasons error, abort, preempt', 'never; failures are errors'],
    chat({ messages: fails(0) }, status(500, /engine_failed/)),
    chat({ messages: fails(1) }, status(500, /engine_failed/)),
  ),
]

const completions: readonly Row[] = [
  works(
    77,
    'prompts as text or token ids',
    // "1, 2, 3" as tokens of dragoman-tiny.
    tinyComplete({ prompt: [16, 11, 220, 17, 11, 220, 18, 11] }, text(' 4, '), has('usage.prompt_tokens', 8)),
    tinyComplete({ prompt: '1, 2, 3,' }, text(' 4, '), has('usage.prompt_tokens', 8)),
  ),
  better(
    78,
    ['one prompt', 'or a list, each with its choices'],
    complete(
      { prompt: ['a', 'b'], n: 2 },
      has('choices', (all: { index: number; text: string }[]) => {
        return all.map((choice) => `${choice.index}${choice.text}`).join() === '0a,1a,2b,3b'
      }),
    ),
  ),
  works(
    79,
    '`echo`',
    complete({ echo: true }, text('hellohello')),
    tinyComplete({ prompt: '1, 2, 3,', echo: true }, text('1, 2, 3, 4, ')),
  ),
  better(
    80,
    ['`echo` with `logprobs`', 'the prompt has its log-probabilities'],
    tinyComplete(
      { prompt: '1, 2', echo: true, logprobs: 1 },
      has('choices.0.logprobs.tokens', (all: string[]) => all.slice(0, 4).join('|') === '1|,| |2'),
      has('choices.0.logprobs.token_logprobs', ([first, ...others]: (number | null)[]) => {
        return first === null && others.length === 7 && others.every((value) => value !== null && value < 0)
      }),
    ),
  ),
  differs(
    81,
    ['`suffix` is put behind the text', 'the model fills in the middle, as in the API of OpenAI; 400 for models that cannot'],
    refuses(tinyComplete({ suffix: 'x' }), 'suffix'),
  ),
  works(
    82,
    '`logprobs` 0 to 5',
    tinyComplete(
      { prompt: '1, 2, 3,', logprobs: 5 },
      has('choices.0.logprobs.tokens', [' ', '4', ',', ' ']),
      has('choices.0.logprobs.text_offset', [0, 1, 2, 3]),
      has('choices.0.logprobs.top_logprobs.0', (top: object) => Object.keys(top).length === 5),
    ),
    tinyComplete(
      { logprobs: 0 },
      has('choices.0.logprobs.token_logprobs.0', (value: number) => value < 0),
    ),
  ),
  works(
    '82a',
    '`usage: null` in each chunk of completions',
    complete(
      { stream: true, prompt: 'a b' },
      streamed('a b'),
      body(/^(data: \{[^\n]*"usage":null[^\n]*\}\n\n)+data: \[DONE\]\n\n$/),
    ),
  ),
  works(
    83,
    'streams with usage, ids `cmpl-`',
    complete(
      { stream: true, stream_options: { include_usage: true }, prompt: 'a b' },
      streamed('a b'),
      event('id', /^cmpl-/),
      event('usage.total_tokens', 4),
      finish('stop'),
    ),
  ),
  works(
    84,
    'texts to embed: one, a list, token ids',
    embed({ input: ['a', 'b'] }, has('data.1.index', 1), has('usage.prompt_tokens', 2)),
    embed(
      { model: 'dragoman-tiny', input: [5, 6] },
      has('usage.prompt_tokens', 2),
      has('data', (all: unknown[]) => all.length === 1),
    ),
    embed({ model: 'dragoman-tiny', input: [[5, 6], [7]] }, has('usage.prompt_tokens', 3), has('data.1.index', 1)),
  ),
  differs(
    85,
    ['an empty text to embed', "a 400, as in OpenAI's API: its vector would mean nothing"],
    embed({ input: '' }, status(400, /empty/)),
  ),
  works(
    86,
    '`encoding_format: base64`',
    embed(
      { encoding_format: 'base64' },
      has('data.0.embedding', (data: string) => {
        const bytes = Buffer.from(data, 'base64')
        const vector = Array.from({ length: bytes.length / 4 }, (_, place) => bytes.readFloatLE(4 * place))
        return vector.length === 64 && Math.abs(lengthOf(vector) - 1) < 1e-5
      }),
    ),
  ),
  better(
    87,
    ['`dimensions`', 'vectors keep length 1'],
    embed(
      { dimensions: 8 },
      has('data.0.embedding', (vector: number[]) => vector.length === 8 && Math.abs(lengthOf(vector) - 1) < 1e-5),
    ),
    embed({ dimensions: 65 }, status(400, /dimensions/)),
  ),
  better(
    88,
    ['usage and index of embeddings', 'and errors with `param`'],
    embed({}, has('usage', { prompt_tokens: 2, total_tokens: 2 }), has('data.0.index', 0)),
    embed({ input: 3 }, status(400, /input/), has('error.param', 'input')),
  ),
]

/** What MLC-LLM serve answers. */
export const mlcReplies: readonly Group[] = [
  { title: 'replies', rows: replies },
  { title: 'completions and embeddings', rows: completions },
]
