import { fine } from '../answers.ts'
import { body, calls, event, finish, has, header, lacks, status, text, upstreamGot } from '../checks.ts'
import {
  assistant,
  better,
  called,
  chat,
  differs,
  elsewhere,
  type Group,
  imagePart,
  over,
  post,
  type Row,
  refused,
  result,
  shownBy,
  textPart,
  tool,
  user,
  works,
  writes,
} from '../row.ts'
import { picture, redPixel } from '../servers.ts'
import { llamaFactoryFormats } from './llama-factory-formats.ts'
import { counting, inOrder, renders, score, seen, streamed, streamsCalls } from './shown-steps.ts'

const hermes = { model: 'writes-hermes', tools: [tool()] }
const cut = [user(JSON.stringify({ raw: '<tool_call>{"name":"f","arguments":{"a":', finish: 'length' }))]

const replies: readonly Row[] = [
  better(
    60,
    ['a whole reply', 'with `refusal`, and details of usage'],
    chat(
      {},
      has('object', 'chat.completion'),
      has('created', (value: number) => Math.abs(value - Date.now() / 1000) < 600),
      has('choices.0.message.role', 'assistant'),
      has('choices.0.message.refusal', null),
      has('choices.0.logprobs', null),
      has('usage.completion_tokens_details', { reasoning_tokens: 0 }),
      has('usage.prompt_tokens_details', { cached_tokens: 0 }),
    ),
  ),
  works(
    61,
    '`n` choices',
    chat({ n: 3 }, has('choices.2.message.content', 'hello'), has('choices.2.index', 2), lacks('choices.3')),
  ),
  better(
    62,
    ['calls in a reply', 'keep the text beside them'],
    writes('hi <tool_call>{"name":"f","arguments":{}}</tool_call>', hermes, calls('f({})'), text(/^hi/)),
  ),
  better(
    63,
    ['`finish_reason`', 'also `length` for a call that is not complete'],
    writes('<tool_call>{"name":"f","arguments":{}}</tool_call>', hermes, finish('tool_calls')),
    chat({ ...hermes, messages: cut }, finish('length'), calls('f({"a":)')),
    chat({}, finish('stop')),
  ),
  works(
    64,
    '`usage` counts the prompt once',
    chat(
      { n: 3, messages: [user('a b')] },
      has('usage.prompt_tokens', 2),
      has('usage.completion_tokens', 6),
      has('usage.total_tokens', 8),
    ),
  ),
  works(
    65,
    'a stream: role, texts, finish, `[DONE]`',
    chat(
      { stream: true, messages: [user('a b')] },
      body(
        /^data: [^\n]*"role":"assistant"[^\n]*\n\ndata: [^\n]*"content":"a"[^\n]*\n\ndata: [^\n]*"content":" b"[^\n]*\n\ndata: [^\n]*"finish_reason":"stop"[^\n]*\n\ndata: \[DONE\]\n\n$/,
      ),
      event('object', 'chat.completion.chunk'),
    ),
  ),
  better(
    66,
    ['streams with tools are refused', 'calls are streamed'],
    writes(
      'hi <tool_call>{"name":"f","arguments":{"a":1}}</tool_call>',
      { ...hermes, stream: true },
      streamsCalls('f({"a":1})'),
      event('choices.0.delta.tool_calls.0.id', /^call_/),
      finish('tool_calls'),
    ),
  ),
  better(
    67,
    ['streams with `n` are refused', 'served'],
    chat({ n: 2, stream: true, messages: [user('a b')] }, streamed('a b', 'a b')),
  ),
  better(
    68,
    ['streams always end with `stop`', 'with what is true'],
    chat({ stream: true, max_tokens: 1, messages: [user('a b')] }, finish('length'), streamed('a')),
  ),
  better(
    69,
    ['errors of a stream come after its 200', 'before it, as JSON with their status'],
    chat({ stream: true, temperature: 99 }, status(400, /temperature/), header('content-type', /^application\/json/)),
    chat({ stream: true, model: 'nobody' }, status(404, /model_not_found/)),
  ),
  better(
    70,
    ['usage of a stream', '`stream_options.include_usage`'],
    chat(
      { stream: true, stream_options: { include_usage: true }, messages: [user('a b')] },
      event('usage.prompt_tokens', 2),
      event('usage.total_tokens', 4),
      body(/"choices":\[\],"usage":\{"prompt_tokens":2/),
    ),
    chat({ stream: true }, body(/^(?!.*"usage")/s)),
  ),
]

const thoughts = [user('a'), assistant('b', { reasoning_content: 'IDEA' }), user('d')]
const divided = (raw: string, fields: object) =>
  writes(raw, fields, text('b'), has('choices.0.message.reasoning_content', 'a'), has('choices.0.message.reasoning', 'a'))

/** Files of a few bytes, of which a format is recognised. */
const files: readonly (readonly [type: string, bytes: string, found: RegExp])[] = [
  ['image/gif', 'R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', /\[image image\/gif 42 bytes 1x1 /],
  ['video/x-matroska', 'GkXfo5NCgohtYXRyb3NrYQ==', /\[video video\/matroska /],
  ['video/avi', 'UklGRiQAAABBVkkgTElTVA==', /\[video video\/vnd.avi /],
  ['audio/ogg', 'T2dnUwACAAAAAAAAAAABAAAAAAAAAAAAAAABE09wdXNIZWFk', /\[audio audio\/ogg /],
]

const rest: readonly Row[] = [
  works(
    86,
    'the marks of thoughts of each family',
    divided('<think>a</think>b', { model: 'thinking', enable_thinking: false }),
    divided('[[a]]b', { model: 'tagged' }),
    divided('<|channel|>analysis<|message|>a<|end|><|start|>assistant<|channel|>final<|message|>b', { model: 'writes-harmony' }),
    shownBy('../src/model-text/parse/reasoning-cases.test.ts', 'is recognised by the template'),
  ),
  works(
    87,
    'thoughts of earlier turns are left out, or kept with `preserve_thinking`',
    renders({ model: 'thinking', messages: thoughts }, has('prompt', '<|user|>a\n<|assistant|>b\n<|user|>d\n<|assistant|>')),
    renders({ model: 'thinking', messages: thoughts, preserve_thinking: true }, has('prompt', /<\|assistant\|>\(IDEA\) b/)),
  ),
  works(
    88,
    'thinking and kept thoughts as a default of the server: `chat` of a model',
    elsewhere(post('/llm/apply-template', { messages: thoughts }, has('prompt', /<\|assistant\|>\(IDEA\) b.*<think>/s))),
    elsewhere(
      post(
        '/llm/apply-template',
        { messages: thoughts, enable_thinking: false, preserve_thinking: false },
        has('prompt', /^[^(<]*(?!<think>)/),
      ),
    ),
  ),
  better(
    89,
    ['thoughts are in the text', 'in `reasoning_content` and `reasoning`'],
    divided('<think>a</think>b', { model: 'thinking' }),
    writes(
      '<think>a</think>b',
      { model: 'thinking', stream: true },
      event('choices.0.delta.reasoning_content', 'a'),
      event('choices.0.delta.reasoning', 'a'),
      streamed('b'),
    ),
  ),
  better(
    90,
    ['`logprobs`', 'exact, with bytes'],
    counting(
      { logprobs: true, top_logprobs: 2 },
      has('choices.0.logprobs.content.0.bytes', [...Buffer.from('1')]),
      has('choices.0.logprobs.content.0.top_logprobs', ([best, next]: { token: string; logprob: number }[]) => {
        return best?.token === '1' && next !== undefined && next.logprob < best.logprob && best.logprob < 0
      }),
      has('choices.0.logprobs.content.23.token', (token: unknown) => token !== undefined),
    ),
  ),
  better(
    91,
    ['a client leaves', 'its slot is free at once, in every phase'],
    ...[
      'while queued: its queue entry is freed, and the running request continues',
      'while its prompt is read: the slot is free within 250 ms',
      'while it is answered: the slot is free within 250 ms',
      'of a reply that is not a stream: the slot is free as well',
    ].map((name) => shownBy('e2e/models/lifecycle.test.ts', name)),
  ),
  better(
    92,
    ['errors', "OpenAI's envelope, with `param` and `code`"],
    chat(
      { messages: 3 },
      has('error', {
        message: 'messages: expected an array of messages, got 3',
        type: 'invalid_request_error',
        param: 'messages',
        code: 'invalid_request',
      }),
    ),
  ),
  differs(
    93,
    ['422 for what a schema does not allow', "400, as OpenAI's SDKs expect"],
    chat({ messages: 3 }, status(400, /invalid_request_error/)),
    chat({ temperature: 'warm' }, status(400, /temperature/)),
  ),
  differs(
    94,
    ['checkpoints of Hugging Face, run in the process', 'GGUF here; vLLM and SGLang serve checkpoints behind the same API'],
    counting({}, text(/^1, 2, 3/)),
    over(fine, {}, text('ok'), upstreamGot('model', 'up')),
  ),
  works(
    95,
    'its scripts for tool calls, with openai-python',
    renders(
      {
        messages: [
          user('q'),
          { ...called('{"a":1}'), refusal: null, annotations: [], audio: null, function_call: null },
          result('RES', {}),
        ],
        tools: [tool()],
      },
      has('prompt', inOrder('"a": 1', 'RES')),
    ),
    chat(
      {
        messages: [
          user('q'),
          { ...called('{"a":1}'), refusal: null, annotations: [], audio: null, function_call: null },
          result('RES', {}),
        ],
        tools: [tool()],
      },
      text('q'),
    ),
  ),
  works(
    96,
    'several pictures in several turns',
    chat(
      {
        messages: [
          user([textPart('a'), imagePart(picture)]),
          assistant('b'),
          user([imagePart(picture), textPart('c'), imagePart(picture)]),
        ],
      },
      text(/^\[image image\/png [^\]]*\]c\[image image\/png [^\]]*\]$/),
    ),
    over(
      fine,
      { messages: [user([textPart('a'), imagePart(picture)]), assistant('b'), user([imagePart(picture), textPart('c')])] },
      upstreamGot('messages.0.content.1.image_url.url', picture),
      upstreamGot('messages.2.content.0.image_url.url', picture),
      upstreamGot('messages.2.content.1.text', 'c'),
    ),
  ),
  better(
    97,
    ['data URLs of png, jpg, gif, bmp, mp4, mkv, avi, mpeg, ogg, wav', 'the bytes decide'],
    seen(imagePart(`DATA:image/png;charset=x;base64,${redPixel}`), text(/\[image image\/png /)),
    ...files.map(([type, bytes, found]) => {
      const kind = `${type.split('/')[0]}_url`
      return seen({ type: kind, [kind]: { url: `data:${type};base64,${bytes}` } }, text(found))
    }),
  ),
  refused(
    98,
    [
      'a picture in a system message',
      'the error says to send it in a user message; LLaMA-Factory reads the first text part and drops the picture',
    ],
    chat({ messages: [{ role: 'system', content: [imagePart(picture)] }, user('x')] }, status(400, /send it in a user message/)),
  ),
  works(
    99,
    'many stop sequences: up to 1,024',
    chat(
      { messages: [user('a s999 b')], stop: Array.from({ length: 1024 }, (_, index) => `s${index}`.padEnd(4, '.')) },
      text('a '),
    ),
  ),
  works(
    100,
    'a body with every optional field null',
    chat(
      {
        tools: null,
        do_sample: null,
        temperature: null,
        top_p: null,
        n: null,
        presence_penalty: null,
        max_tokens: null,
        stop: null,
        stream: null,
      },
      text('hello'),
    ),
  ),
  works(
    101,
    'a `max_length` that cuts nothing',
    score({ messages: ['a b c d', 'a b c d'], max_length: 64 }, has('truncated', [false, false])),
    score({ messages: ['a b c d'], max_length: 4 }, has('truncated', [false])),
  ),
  works(
    102,
    'scores without `model`',
    post('/v1/score/evaluation', { messages: ['a'] }, has('model', 'scripted'), has('scores', [0])),
  ),
  works(
    103,
    '`lfm2`, `granite`: earlier calls and results in the prompt',
    shownBy(
      '../src/model-text/template/describe-tools.test.ts',
      'are written as the model writes them, and results are turns of the tool',
    ),
  ),
  better(
    104,
    ['switches of thinking that the template lacks', 'without effect, and named in `x-dragoman-ignored`'],
    chat({ model: 'described', enable_thinking: true }, text('hello'), header('x-dragoman-ignored', /^enable_thinking$/)),
    chat({ model: 'thinking', enable_thinking: false }, text('hello'), header('x-dragoman-ignored', /^$/)),
  ),
]

/** What a chat with LLaMA-Factory's API gets. */
export const llamaFactoryReplies: readonly Group[] = [
  { title: 'replies', rows: replies },
  llamaFactoryFormats,
  { title: 'thinking, clients and the rest', rows: rest },
]
