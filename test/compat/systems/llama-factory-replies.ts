import { fine } from '../answers.ts'
import { body, calls, event, finish, has, header, status, text } from '../checks.ts'
import {
  assistant,
  better,
  called,
  chat,
  differs,
  elsewhere,
  type Group,
  get,
  imagePart,
  over,
  post,
  type Row,
  refused,
  result,
  shownBy,
  textPart,
  tiny,
  tool,
  user,
  works,
  writes,
} from '../row.ts'
import { picture, redPixel } from '../servers.ts'
import { score, seen } from './llama-factory-steps.ts'

const replies: readonly Row[] = [
  better(
    60,
    ['a whole reply', 'with `refusal`, and details of usage'],
    chat({}, has('choices.0.message.refusal', null), has('usage.completion_tokens_details')),
  ),
  works(61, '`n` choices', chat({ n: 3 }, has('choices.2.message.content', 'hello'))),
  better(
    62,
    ['calls in a reply', 'keep the text beside them'],
    writes(
      'hi <tool_call>{"name":"f","arguments":{}}</tool_call>',
      { model: 'writes-hermes', tools: [tool()] },
      calls('f({})'),
      text(/^hi/),
    ),
  ),
  better(
    63,
    ['`finish_reason`', 'also `length` for a call that is not complete'],
    chat(
      {
        model: 'writes-hermes',
        tools: [tool()],
        messages: [user(JSON.stringify({ raw: '<tool_call>{"name":"f","arguments":{"a":', finish: 'length' }))],
      },
      finish('length'),
    ),
  ),
  works(64, '`usage` counts the prompt once', chat({ n: 3 }, has('usage.prompt_tokens', 1), has('usage.completion_tokens', 3))),
  works(
    65,
    'a stream: role, texts, finish, `[DONE]`',
    chat({ stream: true }, event('choices.0.delta.role', 'assistant'), body(/\[DONE\]/)),
  ),
  better(
    66,
    ['streams with tools are refused', 'calls are streamed'],
    writes(
      '<tool_call>{"name":"f","arguments":{}}</tool_call>',
      { model: 'writes-hermes', stream: true, tools: [tool()] },
      event('choices.0.delta.tool_calls.0.function.name', 'f'),
    ),
  ),
  better(67, ['streams with `n` are refused', 'served'], chat({ n: 2, stream: true }, event('choices.0.index', 1))),
  better(
    68,
    ['streams always end with `stop`', 'with what is true'],
    chat({ stream: true, max_tokens: 1, messages: [user('a b')] }, finish('length')),
  ),
  better(
    69,
    ['errors of a stream come after its 200', 'before it, as JSON with their status'],
    chat({ stream: true, temperature: 99 }, status(400, /temperature/)),
  ),
  better(
    70,
    ['usage of a stream', '`stream_options.include_usage`'],
    chat({ stream: true, stream_options: { include_usage: true } }, event('usage.prompt_tokens', 1)),
  ),
]

const f = (raw: string, format: string, ...wanted: readonly string[]) =>
  writes(raw, { model: `writes-${format}`, tools: [tool(), tool('g')] }, calls(...wanted))

const formats: readonly Row[] = [
  better(71, ['`default` (ReAct)', 'also names with hyphens'], f('Action: f\nAction Input: {"a": 1}', 'react', 'f({"a":1})')),
  better(
    72,
    ['`llama3`', 'numbers and lists are text'],
    f('{"name":"f","parameters":{"a":1}}', 'llama3', 'f({"a":1})'),
    writes('42', { model: 'writes-llama3', tools: [tool()] }, text('42')),
  ),
  better(
    73,
    ['`mistral`', 'with the marker in front'],
    f('[TOOL_CALLS][{"name":"f","arguments":{"a":1}}]', 'mistral', 'f({"a":1})'),
  ),
  better(
    74,
    ['`qwen`', 'text around calls is kept'],
    f('<tool_call>\n{"name":"f","arguments":{"a":1}}\n</tool_call>', 'hermes', 'f({"a":1})'),
  ),
  works(75, '`ling`', f('<tool_call>{"name":"f","arguments":{}}</tool_call>', 'hermes', 'f({})')),
  works(
    76,
    '`qwen3_5`',
    f('<tool_call>\n<function=f>\n<parameter=a>\n1\n</parameter>\n</function>\n</tool_call>', 'qwen3-coder', 'f({"a":1})'),
  ),
  better(
    77,
    ['`seed_oss`', 'the name is `f`, not `f>`'],
    f('<seed:tool_call>\n<function=f>\n<parameter=a>1</parameter>\n</function>\n</seed:tool_call>', 'seed-oss', 'f({"a":1})'),
  ),
  better(
    78,
    ['`minimax1`', 'a bad line stays text, the others are calls'],
    f(
      '<tool_calls>\n{"name":"f","arguments":{}}\n{"name":"g","arguments":{}}\n</tool_calls>',
      'tool-calls-tag',
      'f({})',
      'g({})',
    ),
  ),
  better(
    79,
    ['`minimax2`', 'an empty wrapper is text'],
    f(
      '<minimax:tool_call>\n<invoke name="f">\n<parameter name="a">1</parameter>\n</invoke>\n</minimax:tool_call>',
      'minimax-m2',
      'f({"a":1})',
    ),
  ),
  better(
    80,
    ['`glm4`', 'lines with numbers are text'],
    f('f\n{"a": 1}', 'glm4', 'f({"a":1})'),
    writes('Hello\n42', { model: 'writes-glm4', tools: [tool()] }, text('Hello\n42')),
  ),
  better(
    81,
    ['`glm4_moe`', 'read, which LLaMA-Factory does not'],
    f('<tool_call>f\n<arg_key>a</arg_key>\n<arg_value>1</arg_value>\n</tool_call>', 'glm', 'f({"a":1})'),
  ),
  better(
    82,
    ['`gemma4`', 'values with commas and colons'],
    f('<|tool_call>call:f{a:<|"|>x, y: z<|"|>}<tool_call|>', 'gemma4', 'f({"a":"x,y:z"})'),
  ),
  better(83, ['`lfm2`', 'also values without a name'], f('<|tool_call_start|>[f(a=1)]<|tool_call_end|>', 'lfm2', 'f({"a":1})')),
  works(84, '`tool_format`: `toolFormat`', get('/v1/models/writes-hermes', has('id', 'writes-hermes'))),
  works(
    85,
    'results are wrapped as the family does',
    shownBy('e2e/models/template-renders.test.ts', 'real chat templates render as the jinja2'),
  ),
]

const rest: readonly Row[] = [
  works(
    86,
    'the marks of thoughts of each family',
    writes(
      '<think>a</think>b',
      { model: 'thinking', enable_thinking: false },
      text('b'),
      has('choices.0.message.reasoning_content', 'a'),
    ),
  ),
  works(
    87,
    'thoughts of earlier turns are left out, or kept with `preserve_thinking`',
    tiny({ preserve_thinking: true, messages: [user('a'), assistant('b', { reasoning_content: 'c' }), user('d')] }),
  ),
  works(
    88,
    'thinking and kept thoughts as a default of the server: `chat` of a model',
    elsewhere(post('/llm/apply-template', { messages: [user('x')] }, has('prompt', /<think>/))),
  ),
  better(
    89,
    ['thoughts are in the text', 'in `reasoning_content` and `reasoning`'],
    writes('<think>a</think>b', { model: 'thinking' }, has('choices.0.message.reasoning', 'a'), text('b')),
  ),
  better(
    90,
    ['`logprobs`', 'exact, with bytes'],
    tiny({ logprobs: true, top_logprobs: 2 }, has('choices.0.logprobs.content.0.top_logprobs.1.bytes')),
  ),
  better(
    91,
    ['a client leaves', 'its slot is free at once, in every phase'],
    shownBy('e2e/models/lifecycle.test.ts', 'the slot is free within 250 ms'),
  ),
  better(
    92,
    ['errors', "OpenAI's envelope, with `param` and `code`"],
    chat({ messages: 3 }, has('error.param', 'messages'), has('error.code')),
  ),
  differs(93, ['422 for what a schema does not allow', "400, as OpenAI's SDKs expect"], chat({ messages: 3 }, status(400))),
  differs(
    94,
    ['checkpoints of Hugging Face, run in the process', 'GGUF here; vLLM and SGLang serve checkpoints behind the same API'],
    over(fine, {}, text('ok')),
  ),
  works(
    95,
    'its scripts for tool calls, with openai-python',
    chat({
      messages: [
        user('q'),
        { ...called('{"a":1}'), refusal: null, annotations: [], audio: null, function_call: null },
        result('r', {}),
      ],
      tools: [tool()],
    }),
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
      text(/image.*c.*image/s),
    ),
  ),
  better(
    97,
    ['data URLs of png, jpg, gif, bmp, mp4, mkv, avi, mpeg, ogg, wav', 'the bytes decide'],
    seen(imagePart(`DATA:image/png;charset=x;base64,${redPixel}`), text(/image\/png/)),
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
    chat({ stop: Array.from({ length: 40 }, (_, index) => `s${index}`) }, text('hello')),
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
  works(101, 'a `max_length` that cuts nothing', score({ max_length: 64 }, has('scores.0'))),
  works(102, 'scores without `model`', post('/v1/score/evaluation', { messages: ['a'] }, status(200))),
  works(
    103,
    '`lfm2`, `granite`: earlier calls and results in the prompt',
    shownBy(
      '../src/model-text/template/describe-tools.test.ts',
      'calls for a template that shows tools and results, but no calls',
    ),
  ),
  better(
    104,
    ['switches of thinking that the template lacks', 'without effect, and named in `x-dragoman-ignored`'],
    chat({ model: 'described', enable_thinking: true }, header('x-dragoman-ignored', /enable_thinking/)),
  ),
]

/** What a chat with LLaMA-Factory's API gets. */
export const llamaFactoryReplies: readonly Group[] = [
  { title: 'replies', rows: replies },
  { title: 'formats of calls', rows: formats },
  { title: 'thinking, clients and the rest', rows: rest },
]
