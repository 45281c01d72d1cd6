import { fine } from '../answers.ts'
import { body, event, finish, has, header, status, text, upstreamGot } from '../checks.ts'
import {
  assistant,
  better,
  called,
  chat,
  differs,
  elsewhere,
  get,
  imagePart,
  over,
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
  user,
  withoutKey,
  works,
} from '../row.ts'
import { picture } from '../servers.ts'
import { llamaFactoryReplies } from './llama-factory-replies.ts'
import { score, seen } from './llama-factory-steps.ts'

const routes: readonly Row[] = [
  better(
    1,
    ['GET /v1/models', 'with state, aliases and context length'],
    get('/v1/models', has('data.0.state'), has('data.0.aliases')),
  ),
  works(2, 'POST /v1/chat/completions, whole and as events', chat({}, text('hello')), chat({ stream: true }, text('hello'))),
  better(
    3,
    ['a model that cannot generate refuses a chat', '400 that names embeddings and ranking, where LLaMA-Factory sends 405'],
    tiny({ model: 'ranker' }, status(400, /encoder/)),
  ),
  works(4, 'POST /v1/score/evaluation with a reward model', score({}, has('scores.1'), has('method', 'ranking_head'))),
  better(
    5,
    ['scores of a model without a reward head', 'the log-probability of the text, in place of 405'],
    score({ model: 'dragoman-tiny' }, has('method', 'log_likelihood')),
  ),
  works(6, '`max_length` of a score cuts the text', score({ max_length: 3 }, has('truncated', [true, false]))),
  works(7, 'a score of no text is a 400', score({ messages: [] }, status(400, /at least one text/))),
  better(
    8,
    ['a text to score that is not a string', '400 with its place'],
    score({ messages: [3] }, status(400, /messages\[0\]/)),
  ),
  better(
    9,
    ['scores from vLLM or SGLang', 'by the log-probabilities of the prompt, in place of 500'],
    shownBy('../src/engine/remote/echoed-prompt.test.ts', 'come from a server that repeats it, and are not those of the output'),
  ),
  works(10, 'GET /docs and /openapi.json', get('/docs', body(/<html/i)), get('/openapi.json', has('openapi', /^3/))),
  better(
    11,
    ['any `model` is answered', '404 with the names; an alias `*` takes every name, and the reply has the id that served'],
    chat({ model: 'nobody' }, status(404, /model_not_found/)),
    elsewhere(sent({ call: 'POST /llm/v1/chat/completions' }, chat({ model: 'nobody' }, has('model', 'any')))),
  ),
  better(
    12,
    ['unknown fields are ignored', 'and named in `x-dragoman-ignored`'],
    chat({ foo: 1 }, text('hello'), header('x-dragoman-ignored', /foo/)),
  ),
]

const server: readonly Row[] = [
  works(
    13,
    '`API_HOST`, `API_PORT`: `server.host`, `server.port`, `--port`',
    shownBy('../src/app/listen.test.ts', 'a port that is in use stops the start'),
  ),
  better(
    14,
    ['`API_KEY`; without one the server is open', 'any number of keys, as bearer or `x-api-key`; on loopback without a key'],
    withoutKey(get('/v1/models', status(401))),
    sent({ headers: { 'x-api-key': 'user' }, key: 'none' }, get('/v1/models')),
    elsewhere(get('/llm/v1/models')),
  ),
  works(15, '`API_MODEL_NAME`: `id` and `aliases`', chat({ model: 'default' }, has('model', 'scripted'))),
  works(
    16,
    '`API_VERBOSE` prints requests: `log.captureFolder` keeps them, for `dragoman replay`',
    shownBy('../src/http/capture/capture.test.ts', 'a request is kept as it came'),
  ),
  works(17, '`FASTAPI_ROOT_PATH`: `server.basePath`', elsewhere(get('/llm/v1/models', has('data.0.id', 'any')))),
  better(
    18,
    ['`MAX_CONCURRENT`: `slots`', 'with a queue, 429 and `Retry-After` when it is full; a client that leaves frees its place'],
    shownBy('e2e/models/lifecycle.test.ts', 'the slot is free within 250 ms'),
  ),
  better(
    19,
    ['`SAFE_MEDIA_PATH`, `ALLOW_LOCAL_FILES`', '`media.allowedLocalPath`; what is outside and what is missing get one answer'],
    seen(imagePart('file://FOLDER/media/red.png'), text(/image\/png/)),
    seen(imagePart('/etc/passwd'), status(400)),
  ),
  better(
    20,
    ['media placeholders in texts', 'a literal `<image>` is text, and a picture has its place'],
    seen(textPart('<image>'), text(/<image>/)),
  ),
  better(
    21,
    ['pages of all origins may call', '`server.allowedOrigins`; others get 403'],
    sent({ headers: { origin: 'https://evil.example' } }, chat({}, status(403, /origin_not_allowed/))),
  ),
  better(
    22,
    ['the address it listens on', '127.0.0.1 unless another is configured'],
    shownBy('e2e/install/cli.test.ts', 'reachable from elsewhere'),
  ),
]

const fields: readonly Row[] = [
  better(
    23,
    ['roles', 'also `developer`; an unknown one is a 400 with the list'],
    chat({ messages: [{ role: 'developer', content: 'x' }, user('hi')] }, text('hi')),
    chat({ messages: [{ role: 'nobody', content: 'x' }] }, status(400, /role/)),
  ),
  better(
    24,
    ['`content: null`', 'of assistant messages; of others a 400, in place of 500'],
    chat({ messages: [user('a'), assistant(null), user('b')] }, text('b')),
    chat({ messages: [user(null)] }, status(400)),
  ),
  better(
    25,
    ['lists of text parts', 'of every role, all parts'],
    chat({ messages: [user([textPart('a'), textPart('b')])] }, text(/a\s*b/)),
  ),
  better(
    26,
    ['tools have description and parameters', 'both may be absent'],
    chat({ tools: [{ type: 'function', function: { name: 'f' } }] }, text('hello')),
  ),
  refused(
    27,
    [
      'tools of type `code_interpreter`',
      'the error says what to send: functions, custom tools, or `enable_tools`, which runs Python on the server',
    ],
    chat({ tools: [{ type: 'code_interpreter' }] }, status(400, /tools\[0\].*enable_tools/)),
  ),
  better(
    28,
    ['a tool without its function', '400, in place of 500'],
    chat({ tools: [{ type: 'function' }] }, status(400, /tools\[0\]\.function/)),
  ),
  works(29, '`do_sample: false` is greedy', tiny({ do_sample: false }, has('choices.0.message'))),
  works(30, '`temperature` up to 10', tiny({ temperature: 9.5 })),
  better(31, ['`top_p`', '0 to 1, else 400'], chat({ top_p: 0.5 }), refuses(chat({ top_p: 2 }), 'top_p')),
  better(
    32,
    ['`n`', 'also streamed'],
    chat({ n: 2 }, has('choices.1.index', 1)),
    chat({ n: 2, stream: true }, event('choices.0.index', 1)),
  ),
  better(
    33,
    ['`presence_penalty`', 'as OpenAI defines it; `repetition_penalty` is a field of its own'],
    tiny({ presence_penalty: 1, repetition_penalty: 1.1 }),
  ),
  differs(
    34,
    [
      '`max_tokens` 0 or null is the default',
      'null and -1 are; 0 is a 400 that says so: it is a limit for OpenAI, and none elsewhere',
    ],
    chat({ max_tokens: null }, text('hello')),
    chat({ max_tokens: -1 }, text('hello')),
    refuses(chat({ max_tokens: 0 }), 'max_tokens'),
  ),
  works(
    35,
    '`max_tokens` beyond the context is shortened',
    chat({ model: 'short', max_tokens: 4096 }, text('hello'), header('x-dragoman-shortened', /max_tokens;asked=4096/)),
  ),
  better(
    36,
    ['`stop`: a string or a list', 'also in streams, and empty ones are left out'],
    chat({ messages: [user('a STOP b')], stop: 'STOP' }, text(/^a\s?$/)),
    chat({ stop: [''] }, text('hello')),
  ),
  works(37, '`stream`', chat({ stream: true }, text('hello'), finish('stop'))),
  better(
    38,
    [
      'fields that it ignores: `tool_choice`, `seed`, `logprobs`, `response_format`, `stream_options`, `frequency_penalty`',
      'all used',
    ],
    tiny(
      { seed: 1, logprobs: true, frequency_penalty: 0.1, response_format: { type: 'json_object' } },
      has('choices.0.logprobs.content.0'),
    ),
  ),
  works(39, 'sampling defaults of the model', get('/props?model=dragoman-tiny', has('default_generation_settings'))),
]

const pipeline: readonly Row[] = [
  works(40, 'no messages is a 400', chat({ messages: [] }, status(400, /at least one message/))),
  better(41, ['an odd number of turns', 'any number'], chat({ messages: [user('a'), user('b')] }, text('b'))),
  better(
    42,
    ['user and assistant alternate', 'any order, merged as the template needs it'],
    tiny({ messages: [assistant('a'), user('b'), system('c'), user('d')] }),
  ),
  better(
    43,
    ['several results of tools in a row', 'in the order of their calls'],
    tiny({ messages: [user('q'), called('{}'), result('r'), user('n')] }),
  ),
  better(
    44,
    ['a result without `tool_call_id`', 'answers the first open call'],
    tiny({ messages: [user('q'), called('{}'), result('r', {})] }),
  ),
  differs(
    45,
    ['role `function` is a call of the model', "a result, as in OpenAI's API, whose SDKs send it"],
    tiny({ messages: [user('q'), { role: 'function', name: 'f', content: 'r' }] }),
  ),
  better(
    46,
    ['calls in the history', 'beside their text; arguments reach templates as an object'],
    prompt('dragoman-tiny', [user('q'), called('{"a":1}'), result('r')], has('prompt', /"a": ?1/)),
  ),
  works(47, 'an unknown part is a 400', chat({ messages: [user([{ type: 'smell' }])] }, status(400, /content\[0\]\.type/))),
  better(
    48,
    ['tools are in the system text', 'also where the template shows none'],
    shownBy('../src/model-text/template/describe-tools.test.ts', 'tools for a template that does not show them'),
  ),
]

const media: readonly Row[] = [
  works(49, '`image_url` with base64', seen(imagePart(picture), text(/image\/png \d+ bytes/))),
  better(
    50,
    ['`image_url` over HTTP', 'fetched and checked here; engines get bytes, never addresses'],
    shownBy('../src/app/media-addresses.test.ts', 'reads an address that is allowed'),
  ),
  works(51, '`image_url` with a path', seen(imagePart('FOLDER/media/red.png'), text(/image\/png/))),
  works(
    52,
    '`video_url`',
    sent(
      { upstream: fine },
      chat(
        {
          model: 'vllm',
          messages: [
            user([
              textPart('x'),
              { type: 'video_url', video_url: { url: 'data:video/mp4;base64,AAAAGGZ0eXBtcDQyAAAAAG1wNDJpc29t' } },
            ]),
          ],
        },
        upstreamGot('messages.0.content.1.type', 'video_url'),
      ),
    ),
  ),
  works(
    53,
    '`audio_url`',
    over(
      fine,
      {
        messages: [
          user([
            textPart('x'),
            {
              type: 'audio_url',
              audio_url: { url: 'data:audio/wav;base64,UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA=' },
            },
          ]),
        ],
      },
      upstreamGot('messages.0.content.1.type', /audio/),
    ),
  ),
  better(
    54,
    ['paths outside the folder are refused', 'also symbolic links; one answer for all'],
    seen(imagePart('FOLDER/media/../ranker.gguf'), status(400)),
    seen(imagePart('file:///etc/passwd'), status(400)),
  ),
  better(
    55,
    ['addresses of the local network are refused', 'in every spelling, also after redirects'],
    ...['http://127.0.0.1/a', 'http://[::1]/a', 'http://0x7f000001/', 'http://169.254.169.254/', 'ftp://example.com/a'].map(
      (url) => seen(imagePart(url), status(400)),
    ),
  ),
  better(
    56,
    ['MIME types and base64 are checked', 'also size and pixels; the bytes decide the type'],
    seen(imagePart('data:image/png;base64,@@@'), status(400)),
    seen(imagePart('data:image/svg+xml;base64,PHN2Zy8+'), status(400)),
  ),
  works(
    57,
    '`detail`',
    over(
      fine,
      { messages: [user([imagePart(picture, { detail: 'low' })])] },
      upstreamGot('messages.0.content.0.image_url.detail', 'low'),
    ),
  ),
  better(
    58,
    ['a model without that sense', '400 that names the part, in place of 500'],
    tiny({ messages: [user([imagePart(picture)])] }, status(400, /image/)),
  ),
  works(
    59,
    'pictures, videos and sound are converted',
    shownBy('../src/media/convert/converter.test.ts', 'a video becomes two pictures for each second'),
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
    { title: 'fields', rows: fields },
    { title: 'conversations', rows: pipeline },
    { title: 'media', rows: media },
    ...llamaFactoryReplies,
  ],
}
